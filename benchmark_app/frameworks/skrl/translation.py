"""The shared description in skrl's own configuration: the sections and names of its `Runner`, networks as ours. Light.

Classes are named by text, or None: `adapter` looks them up. Sizes and devices it fills in itself.
"""

from __future__ import annotations

import math
from typing import Any

from benchmark_app.frameworks.agent import Agent, PPOAgent, SACAgent
from benchmark_app.frameworks.mapping import (
    MIXED_PRECISION,
    NO_ENCODER,
    Config,
    ParameterMapping,
    Shortfall,
    encoder_rows,
    no_encoder,
    table,
)

ALGORITHMS = ("ppo", "sac")

DISTRIBUTED: dict[str, str] = {"ppo": "cuda", "sac": "cuda"}

RESERVED = {
    "agent.rollouts": "agent.rollout",
    "agent.rewards_shaper": "the rewards of the task",
    "agent.experiment.directory": "run.root",
    "agent.experiment.experiment_name": "run.root",
    "agent.experiment.write_interval": "agent.rollout",
    "agent.experiment.checkpoint_interval": "training.checkpoint_interval",
    "agent.experiment.store_separately": "training.checkpoint_interval",
    "memory.memory_size": "agent.rollout (PPO) or agent.buffer_size (SAC)",
    "memory.num_envs": "num_envs",
    "trainer.timesteps": "agent.iterations",
}

DIFFERENCES = {
    "ppo": (
        "The samples are shuffled anew in every epoch.",
        "The actor's and the critic's observations are held and stepped as two tensors.",
        "Images lie flat in its memory, as float32: four times the bytes of colours.",
        "It writes no TensorBoard row at its first timestep: with agent.rollout=1 the first iteration has none.",
    ),
    "sac": (
        "Batches are drawn with replacement.",
        "A resumed training starts with an empty replay buffer, and so with random actions.",
        "The squashed policy is this project's: skrl's own Gaussian is not squashed.",
    ),
}


def _networks(critic: str) -> dict[str, tuple[str, ...]]:
    both = ("models.policy", f"models.{critic}")
    return {
        "hidden_layers": tuple(f"{model}.hidden_layers" for model in both),
        "activation": tuple(f"{model}.activation" for model in both),
        "normalize_observations": ("agent.observation_preprocessor", "agent.state_preprocessor"),
    }


_ENCODER_PATHS = dict.fromkeys(
    ("encoder", "encoder_channels", "encoder_kernels", "encoder_strides"),
    ("models.policy.encoder.layers", "models.value.encoder.layers"),
)

_PATHS = {
    "learning_rate": "agent.learning_rate",
    "gamma": "agent.discount_factor",
    "precision": "agent.mixed_precision",
}

_PPO_PATHS: dict[str, str | tuple[str, ...]] = {
    **_PATHS,
    **_networks("value"),
    "rollout": "agent.rollouts",
    "epochs": "agent.learning_epochs",
    "minibatches": "agent.mini_batches",
    "schedule": "agent.learning_rate_scheduler",
    "desired_kl": "agent.learning_rate_scheduler_kwargs.kl_threshold",
    "lam": "agent.gae_lambda",
    "clip": "agent.ratio_clip",
    "clip_value_loss": "agent.value_clip",
    "value_loss_coef": "agent.value_loss_scale",
    "entropy_coef": "agent.entropy_loss_scale",
    "max_grad_norm": "agent.grad_norm_clip",
    "init_noise_std": "models.policy.initial_std",
    "learn_noise_std": "models.policy.fixed_log_std",
    "normalize_values": "agent.value_preprocessor",
    "timeout_bootstrap": "agent.time_limit_bootstrap",
}

_SAC_PATHS: dict[str, str | tuple[str, ...]] = {
    **_PATHS,
    **_networks("critic"),
    "gradient_steps": "agent.gradient_steps",
    "learning_starts": "agent.learning_starts",
    "batch_size": "agent.batch_size",
    "tau": "agent.polyak",
    "init_temperature": "agent.initial_entropy_value",
    "learn_temperature": "agent.learn_entropy",
    "target_entropy": "agent.target_entropy",
}


def translate(agent: Agent) -> Config:
    """The configuration of models, memory, agent and trainer; see `mapping.Translation`."""
    if isinstance(agent, SACAgent):
        return _sac(agent)
    assert isinstance(agent, PPOAgent)
    return _ppo(agent)


def mapping(agent: Agent) -> list[ParameterMapping]:
    """How each parameter reaches skrl; see `mapping.Translation`."""
    short: dict[str, Shortfall] = {}
    if agent.precision == "mixed":
        short["precision"] = MIXED_PRECISION
    if isinstance(agent, SACAgent):
        paths, words = _SAC_PATHS, _sac_words(agent)
        if agent.encoder is not None:
            short["encoder"] = NO_ENCODER
        if agent.normalize_observations:
            short["normalize_observations"] = (
                "approximate",
                "statistics are of the sampled batches and move with every gradient step, not of what was collected",
            )
    else:
        assert isinstance(agent, PPOAgent)
        paths, words = _PPO_PATHS, _ppo_words(agent)
        if agent.schedule == "fixed":
            paths = {key: path for key, path in paths.items() if key != "desired_kl"}
        if agent.normalize_observations and agent.encoder is not None:
            short["normalize_observations"] = ("unsupported", "skrl would normalise the images with the vectors")
        elif agent.normalize_observations:
            short["normalize_observations"] = (
                "approximate",
                "statistics move between the minibatches of the first epoch, not after the update",
            )
        if agent.normalize_values:
            short["normalize_values"] = (
                "approximate",
                "each library keeps these statistics its own way; skrl's are of values and returns, clipped to 5 std",
            )
    if isinstance(agent, SACAgent):
        words |= no_encoder(agent)
    else:
        of_encoder, told = encoder_rows(agent, _ENCODER_PATHS, {})
        paths, words = {**paths, **of_encoder}, {**words, **told}
    words["iterations"] = f"SequentialTrainer timesteps = {agent.iterations} iterations x {agent.rollout}"
    words["seed"] = "torch, NumPy and Python seeded before the models' weights are drawn"
    return table(agent, translate(agent), paths=paths, words=words, short=short)


def _ppo(agent: PPOAgent) -> Config:
    adaptive = agent.schedule == "adaptive"
    network = {**_network(agent), **_encoder(agent)}
    return {
        "models": {
            "policy": {
                **network,
                **_gaussian(min_log_std=math.log(1e-6), max_log_std=math.log(1e6)),
                "initial_std": agent.init_noise_std,
                "fixed_log_std": not agent.learn_noise_std,
            },
            "value": {**network, "clip_actions": False},
        },
        "memory": {**_memory(), "replacement": False},
        "agent": {
            "rollouts": agent.rollout,
            "learning_epochs": agent.epochs,
            "mini_batches": agent.minibatches,
            "discount_factor": agent.gamma,
            "gae_lambda": agent.lam,
            "learning_rate": agent.learning_rate,
            "learning_rate_scheduler": "KLAdaptiveLR" if adaptive else None,
            # The limits and factors are those rsl_rl has built in.
            "learning_rate_scheduler_kwargs": {
                "kl_threshold": agent.desired_kl,
                "min_lr": 1e-5,
                "max_lr": 1e-2,
                "kl_factor": 2.0,
                "lr_factor": 1.5,
            }
            if adaptive
            else {},
            **_normalisation(agent),
            "value_preprocessor": "RunningStandardScaler" if agent.normalize_values else None,
            "value_preprocessor_kwargs": {"epsilon": 1e-8, "clip_threshold": 5.0},
            "grad_norm_clip": agent.max_grad_norm,
            "ratio_clip": agent.clip,
            "value_clip": agent.clip if agent.clip_value_loss else 0.0,
            "entropy_loss_scale": agent.entropy_coef,
            "value_loss_scale": agent.value_loss_coef,
            "kl_threshold": 0.0,
            "time_limit_bootstrap": agent.timeout_bootstrap == "exact",
            "mixed_precision": agent.precision == "mixed",
            "experiment": _experiment(),
        },
        "trainer": _trainer(),
    }


def _ppo_words(agent: PPOAgent) -> dict[str, str]:
    unused = {} if agent.schedule == "adaptive" else {"desired_kl": "unused by a fixed schedule"}
    return {
        **unused,
        "algorithm": "skrl.agents.torch.ppo.PPO",
        "normalize_advantage": "by skrl over the batch"
        if agent.normalize_advantage == "batch"
        else "in each minibatch the memory hands out, which undoes skrl's own over the batch",
    }


def _sac(agent: SACAgent) -> Config:
    network = _network(agent)
    return {
        "models": {
            "policy": {**network, **_gaussian(min_log_std=-20.0, max_log_std=2.0)},
            "critic": {**network, "clip_actions": False},
        },
        "memory": {**_memory(), "replacement": True},
        "agent": {
            "gradient_steps": agent.gradient_steps,
            "batch_size": agent.batch_size,
            "discount_factor": agent.gamma,
            "polyak": agent.tau,
            "learning_rate": agent.learning_rate,
            "learning_rate_scheduler": None,
            "learning_rate_scheduler_kwargs": {},
            **_normalisation(agent),
            "random_timesteps": agent.learning_starts,
            "learning_starts": agent.learning_starts,
            "grad_norm_clip": 0.0,
            "learn_entropy": agent.learn_temperature,
            "initial_entropy_value": agent.init_temperature,
            "target_entropy": agent.target_entropy,
            "mixed_precision": agent.precision == "mixed",
            "experiment": _experiment(),
        },
        "trainer": _trainer(),
    }


def _sac_words(agent: SACAgent) -> dict[str, str]:
    return {
        "algorithm": "skrl.agents.torch.sac.SAC, its policy squashed by tanh",
        "rollout": f"an iteration is {agent.rollout} timesteps",
        "buffer_size": f"RandomMemory memory_size = {agent.buffer_size} // num_envs",
        "timeout_bootstrap": "value of the final observation, stored as the next one"
        if agent.timeout_bootstrap == "exact"
        else "value of the next episode's first observation",
    }


def _network(agent: Agent) -> dict[str, Any]:
    return {"hidden_layers": list(agent.hidden_layers), "activation": agent.activation}


def _encoder(agent: Agent) -> dict[str, Any]:
    """A network of skrl's model instantiators, whose layers are generated from it."""
    if agent.encoder is None:
        return {"encoder": None}
    layers = zip(agent.encoder_channels, agent.encoder_kernels, agent.encoder_strides, strict=True)
    convolutions = [{"conv2d": list(layer)} for layer in layers]
    return {
        "encoder": {
            "name": "encoder",
            "input": "OBSERVATIONS",
            "layers": [*convolutions, "flatten"],
            "activations": agent.activation,
        }
    }


def _gaussian(*, min_log_std: float, max_log_std: float) -> dict[str, Any]:
    """Settings of `GaussianMixin`."""
    return {
        "clip_actions": False,
        "clip_mean_actions": False,
        "clip_log_std": True,
        "min_log_std": min_log_std,
        "max_log_std": max_log_std,
        "reduction": "sum",
    }


def _normalisation(agent: Agent) -> dict[str, Any]:
    """Settings under which skrl's scaler computes what rsl_rl's does: a floor of 0.01 on the scale, no clipping."""
    found: dict[str, Any] = {}
    for of in ("observation", "state"):
        found[f"{of}_preprocessor"] = "RunningStandardScaler" if agent.normalize_observations else None
        found[f"{of}_preprocessor_kwargs"] = {"epsilon": 1e-2, "clip_threshold": 1e30}
    return found


def _memory() -> dict[str, Any]:
    return {"export": False, "export_format": "pt", "export_directory": ""}


def _experiment() -> dict[str, Any]:
    return {"wandb": False, "wandb_kwargs": {}}


def _trainer() -> dict[str, Any]:
    return {
        "headless": True,
        "render_interval": 1,
        "disable_progressbar": True,
        "close_environment_at_exit": False,
        "environment_info": "episode",
        "stochastic_evaluation": False,
    }
