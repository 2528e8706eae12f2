"""The shared description in the constructor arguments of SB3's PPO and SAC. Light.

Arguments that are objects (buffers, feature extractors, a monitor's statistics) are not here: the adapter decides them.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from benchmark_app.frameworks.agent import Agent, PPOAgent, SACAgent
from benchmark_app.frameworks.mapping import (
    NO_ENCODER,
    Config,
    ParameterMapping,
    Shortfall,
    encoder_rows,
    no_encoder,
    table,
)

ALGORITHMS = ("ppo", "sac")

DISTRIBUTED: dict[str, str] = {}

RESERVED = {
    "policy": "agent.algorithm",
    "n_steps": "agent.rollout",
    "batch_size": "agent.minibatches (ppo) or agent.batch_size (sac)",
    "train_freq": "agent.rollout",
    "learning_starts": "agent.learning_starts",
    "seed": "seed",
    "device": "device",
    "tensorboard_log": "run.root",
}

DIFFERENCES = {
    "ppo": (
        "The samples are shuffled anew in every epoch, by NumPy.",
        "Rollouts are NumPy arrays: every step copies observations, rewards and actions between torch and NumPy, and "
        "every row that finished costs a Python dictionary.",
        "Images lie flat in its rollouts, as float32: four times the bytes of colours.",
        "The standard deviation has no bounds; the other libraries keep it between 1e-6 and 1e6.",
        "Episodes are missing from its own log, which has them only where a monitor wraps the environment.",
    ),
    "sac": (
        "The temperature is updated before the critics, whose losses are halved.",
        "Batches are drawn with replacement.",
        "A resumed training starts with an empty replay buffer, and so with random actions.",
        "The replay buffer is NumPy arrays, in the main memory.",
    ),
}

_PPO_PATHS: dict[str, str | tuple[str, ...]] = {
    "rollout": "n_steps",
    "epochs": "n_epochs",
    "learning_rate": "learning_rate",
    "gamma": "gamma",
    "lam": "gae_lambda",
    "clip": "clip_range",
    "clip_value_loss": "clip_range_vf",
    "value_loss_coef": "vf_coef",
    "entropy_coef": "ent_coef",
    "max_grad_norm": "max_grad_norm",
    "hidden_layers": ("policy_kwargs.net_arch.pi", "policy_kwargs.net_arch.vf"),
    "activation": "policy_kwargs.activation_fn",
    "init_noise_std": "policy_kwargs.log_std_init",
    "normalize_advantage": "normalize_advantage",
}

_ENCODER_PATHS = {f"encoder_{part}": (f"policy_kwargs.encoder.{part}",) for part in ("channels", "kernels", "strides")}

_SAC_PATHS: dict[str, str | tuple[str, ...]] = {
    "gradient_steps": "gradient_steps",
    "buffer_size": "buffer_size",
    "batch_size": "batch_size",
    "learning_rate": "learning_rate",
    "gamma": "gamma",
    "tau": "tau",
    "init_temperature": "ent_coef",
    "learn_temperature": "ent_coef",
    "target_entropy": "target_entropy",
    "hidden_layers": ("policy_kwargs.net_arch.pi", "policy_kwargs.net_arch.qf"),
    "activation": "policy_kwargs.activation_fn",
}


def translate(agent: Agent) -> Config:
    """The arguments of `PPO` or `SAC`; see `mapping.Translation`."""
    if isinstance(agent, SACAgent):
        return _sac(agent)
    assert isinstance(agent, PPOAgent)
    return _ppo(agent)


def mapping(agent: Agent) -> list[ParameterMapping]:
    """How each parameter reaches SB3; see `mapping.Translation`."""
    words = {
        "iterations": f"learn(total_timesteps=num_envs x {agent.rollout} x {agent.iterations})",
        "timeout_bootstrap": "terminal_observation and TimeLimit.truncated: SB3 by itself bootstraps with the value of "
        "the observation an episode was cut off at",
        "seed": "torch, NumPy and Python seeded before the algorithm is built",
    }
    if isinstance(agent, SACAgent):
        return _sac_mapping(agent, words)
    assert isinstance(agent, PPOAgent)
    return _ppo_mapping(agent, words)


def _ppo(agent: PPOAgent) -> Config:
    return {
        "learning_rate": agent.learning_rate,
        "n_steps": agent.rollout,
        "batch_size": None,  # num_envs x rollout / minibatches
        "n_epochs": agent.epochs,
        "gamma": agent.gamma,
        "gae_lambda": agent.lam,
        "clip_range": agent.clip,
        "clip_range_vf": agent.clip if agent.clip_value_loss else None,
        "normalize_advantage": agent.normalize_advantage == "minibatch",
        "ent_coef": agent.entropy_coef,
        "vf_coef": agent.value_loss_coef,
        "max_grad_norm": agent.max_grad_norm,
        "use_sde": False,
        "sde_sample_freq": -1,
        "target_kl": None,
        "verbose": 0,
        "policy_kwargs": {
            "net_arch": {"pi": list(agent.hidden_layers), "vf": list(agent.hidden_layers)},
            "activation_fn": agent.activation,
            "encoder": None
            if agent.encoder is None
            else {name.removeprefix("encoder_"): list(layers) for name, layers in agent.encoder_layers().items()},
            "ortho_init": False,
            "log_std_init": math.log(_single(agent.init_noise_std)),
            "full_std": True,
            "use_expln": False,
            **_adam(),
        },
    }


def _sac(agent: SACAgent) -> Config:
    return {
        "learning_rate": agent.learning_rate,
        "buffer_size": agent.buffer_size,
        "learning_starts": None,  # num_envs x learning_starts
        "batch_size": agent.batch_size,
        "tau": agent.tau,
        "gamma": agent.gamma,
        "train_freq": 1,
        "gradient_steps": agent.gradient_steps,
        "ent_coef": f"auto_{agent.init_temperature}" if agent.learn_temperature else agent.init_temperature,
        "target_update_interval": 1,
        "target_entropy": "auto" if agent.target_entropy is None else agent.target_entropy,
        "use_sde": False,
        "sde_sample_freq": -1,
        "use_sde_at_warmup": False,
        "verbose": 0,
        "policy_kwargs": {
            "net_arch": {"pi": list(agent.hidden_layers), "qf": list(agent.hidden_layers)},
            "activation_fn": agent.activation,
            "log_std_init": -3.0,  # of state-dependent exploration only
            "use_expln": False,
            "clip_mean": 2.0,
            "n_critics": 2,
            **_adam(),
        },
    }


def _single(value: float) -> float:
    """A number in single precision, as a library holds it that takes the logarithm itself."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def _adam() -> dict[str, Any]:
    """PyTorch's own defaults, of which SB3's PPO would change `eps`."""
    return {
        "optimizer_class": "Adam",
        "optimizer_kwargs": {"betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False},
    }


def _ppo_mapping(agent: PPOAgent, words: dict[str, str]) -> list[ParameterMapping]:
    adaptive = agent.schedule == "adaptive"
    statistics = "running statistics in the features extractors" if agent.normalize_observations else "FlattenExtractor"
    words |= {
        "algorithm": "stable_baselines3.PPO",
        "minibatches": f"batch_size=num_envs x {agent.rollout} / {agent.minibatches}",
        "schedule": "rate follows the KL divergence before every optimizer step" if adaptive else "rate kept",
        "max_grad_norm": f"each network clipped to {agent.max_grad_norm} by itself",
        "desired_kl": f"rate aims at {agent.desired_kl}" if adaptive else "unused by a fixed schedule",
        "learn_noise_std": f"log_std.requires_grad={agent.learn_noise_std}",
        "normalize_observations": statistics,
        "normalize_values": "values are not normalised",
        "precision": "evaluate_actions under torch.autocast(bfloat16)" if agent.precision == "mixed" else "float32",
    }
    if agent.clip_value_loss:
        words["clip_value_loss"] = f"the larger of both errors, values clipped to {agent.clip} around those acted on"
    if agent.normalize_advantage == "batch":
        words["normalize_advantage"] = "over the whole rollout, by the buffer (normalize_advantage=False)"
    short: dict[str, Shortfall] = {}
    if agent.normalize_values:
        short["normalize_values"] = ("unsupported", "SB3 has no value normalisation")
    if agent.precision == "mixed":
        short["precision"] = ("approximate", "the networks compute in bfloat16 and the loss in float32")
    paths, of_encoder = encoder_rows(
        agent, _ENCODER_PATHS, {"encoder": "a features extractor for each network; SB3's NatureCNN has fixed layers"}
    )
    return table(agent, _ppo(agent), paths={**_PPO_PATHS, **paths}, words={**words, **of_encoder}, short=short)


def _sac_mapping(agent: SACAgent, words: dict[str, str]) -> list[ParameterMapping]:
    words |= {
        "algorithm": "stable_baselines3.SAC",
        "rollout": f"{agent.rollout} times train_freq=1",
        "learning_starts": f"learning_starts=num_envs x {agent.learning_starts}",
        "normalize_observations": "FlattenExtractor",
        "precision": "float32",
    }
    short: dict[str, Shortfall] = {}
    if agent.normalize_observations:
        short["normalize_observations"] = (
            "unsupported",
            "SB3 normalises around the environment only (VecNormalize), in a file beside the checkpoint",
        )
    if agent.precision == "mixed":
        short["precision"] = (
            "unsupported",
            "SB3's SAC computes its losses in one method, all in float32",
        )
    if agent.encoder is not None:
        short["encoder"] = NO_ENCODER
    words |= no_encoder(agent)
    return table(agent, _sac(agent), paths=_SAC_PATHS, words=words, short=short)
