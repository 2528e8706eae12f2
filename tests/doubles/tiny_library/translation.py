"""The shared description in the tiny library's configuration. Light."""

from __future__ import annotations

from benchmark_app.frameworks.agent import Agent, PPOAgent
from benchmark_app.frameworks.mapping import Config, MappingQuality, ParameterMapping, no_encoder, table

ALGORITHMS = ("ppo",)

DISTRIBUTED = {"ppo": "any"}

RESERVED = {"horizon": "agent.rollout"}

DIFFERENCES = {"ppo": ("The samples are shuffled anew in every epoch.",)}

_PATHS = {
    "rollout": "horizon",
    "epochs": "update.epochs",
    "minibatches": "update.minibatches",
    "learning_rate": "update.learning_rate",
    "schedule": "update.schedule",
    "desired_kl": "update.desired_kl",
    "gamma": "update.gamma",
    "lam": "update.lam",
    "clip": "update.clip",
    "clip_value_loss": "update.clip_value_loss",
    "value_loss_coef": "update.value_loss_coef",
    "entropy_coef": "update.entropy_coef",
    "max_grad_norm": "update.max_grad_norm",
    "normalize_advantage": "update.normalize_advantage",
    "hidden_layers": "network.hidden",
    "activation": "network.activation",
    "normalize_observations": "network.normalize",
    "init_noise_std": "noise.init_std",
    "learn_noise_std": "noise.learn_std",
}


def translate(agent: Agent) -> Config:
    """The library's configuration; see `mapping.Translation`."""
    assert isinstance(agent, PPOAgent)
    return {
        "horizon": agent.rollout,
        "network": {
            "hidden": list(agent.hidden_layers),
            "activation": agent.activation,
            "normalize": agent.normalize_observations,
        },
        "noise": {"init_std": agent.init_noise_std, "learn_std": agent.learn_noise_std},
        "update": {
            "epochs": agent.epochs,
            "minibatches": agent.minibatches,
            "learning_rate": agent.learning_rate,
            "schedule": agent.schedule,
            "desired_kl": agent.desired_kl,
            "gamma": agent.gamma,
            "lam": agent.lam,
            "clip": agent.clip,
            "clip_value_loss": agent.clip_value_loss,
            "value_loss_coef": agent.value_loss_coef,
            "entropy_coef": agent.entropy_coef,
            "max_grad_norm": agent.max_grad_norm,
            "normalize_advantage": agent.normalize_advantage,
        },
    }


def mapping(agent: Agent) -> list[ParameterMapping]:
    """How each parameter reaches the library; see `mapping.Translation`."""
    assert isinstance(agent, PPOAgent)
    words = no_encoder(agent) | {
        "algorithm": "the only one there is",
        "iterations": f"{agent.iterations} times round the loop of learn()",
        "timeout_bootstrap": "reward + gamma * V(final observation), whatever is asked for",
        "normalize_values": "values are not normalised",
        "precision": "torch.float32",
        "seed": "torch, NumPy and Python seeded before the networks are drawn",
    }
    short: dict[str, tuple[MappingQuality, str]] = {}
    if agent.normalize_values:
        short["normalize_values"] = ("unsupported", "the tiny library has no value normalisation")
    if agent.precision == "mixed":
        short["precision"] = ("unsupported", "the tiny library computes in float32 only")
    if agent.encoder is not None:
        short["encoder"] = ("unsupported", "the tiny library reads no images")
    return table(agent, translate(agent), paths=_PATHS, words=words, short=short)
