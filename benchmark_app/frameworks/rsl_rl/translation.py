"""The shared description in rsl_rl's own configuration. Its PPO is what the description describes. Light."""

from __future__ import annotations

from typing import Any

from benchmark_app.frameworks.agent import Agent, PPOAgent
from benchmark_app.frameworks.mapping import (
    MIXED_PRECISION,
    Config,
    ParameterMapping,
    Shortfall,
    encoder_rows,
    table,
)

ALGORITHMS = ("ppo",)

DISTRIBUTED: dict[str, str] = {"ppo": "cuda"}

RESERVED = {
    "num_steps_per_env": "agent.rollout",
    "save_interval": "training.checkpoint_interval",
    "actor.class_name": "framework",
    "critic.class_name": "framework",
    "algorithm.class_name": "agent.timeout_bootstrap",
}

DIFFERENCES = {
    "ppo": (
        "A rollout is shuffled once; every epoch walks the same minibatches.",
        "Observations and actions stay torch tensors, in one TensorDict per step.",
    )
}

_PATHS: dict[str, str | tuple[str, ...]] = {
    "algorithm": "algorithm.class_name",
    "rollout": "num_steps_per_env",
    "epochs": "algorithm.num_learning_epochs",
    "minibatches": "algorithm.num_mini_batches",
    "learning_rate": "algorithm.learning_rate",
    "schedule": "algorithm.schedule",
    "desired_kl": "algorithm.desired_kl",
    "gamma": "algorithm.gamma",
    "lam": "algorithm.lam",
    "clip": "algorithm.clip_param",
    "clip_value_loss": "algorithm.use_clipped_value_loss",
    "value_loss_coef": "algorithm.value_loss_coef",
    "entropy_coef": "algorithm.entropy_coef",
    "max_grad_norm": "algorithm.max_grad_norm",
    "hidden_layers": ("actor.hidden_dims", "critic.hidden_dims"),
    "activation": ("actor.activation", "critic.activation"),
    "init_noise_std": "actor.distribution_cfg.init_std",
    "learn_noise_std": "actor.distribution_cfg.learn_std",
    "normalize_observations": ("actor.obs_normalization", "critic.obs_normalization"),
    "normalize_advantage": "algorithm.normalize_advantage_per_mini_batch",
    "precision": "algorithm.use_mixed_precision",
}

_ENCODER_PATHS = {
    f"encoder_{setting}": tuple(f"{network}.cnn_cfg.{native}" for network in ("actor", "critic"))
    for setting, native in (("channels", "output_channels"), ("kernels", "kernel_size"), ("strides", "stride"))
}


def translate(agent: Agent) -> Config:
    """The configuration of `OnPolicyRunner`; see `mapping.Translation`."""
    assert isinstance(agent, PPOAgent)
    encoder: dict[str, Any] = {}
    if agent.encoder is not None:
        encoder["cnn_cfg"] = {
            "output_channels": list(agent.encoder_channels),
            "kernel_size": list(agent.encoder_kernels),
            "stride": list(agent.encoder_strides),
            "dilation": 1,
            "padding": "none",
            "norm": "none",
            "activation": agent.activation,
            "max_pool": False,
            "global_pool": "none",
            "flatten": True,
        }
    network: dict[str, Any] = {
        "class_name": "CNNModel" if encoder else "MLPModel",
        "hidden_dims": list(agent.hidden_layers),
        "activation": agent.activation,
        "obs_normalization": agent.normalize_observations,
        **encoder,
    }
    return {
        "num_steps_per_env": agent.rollout,
        "save_interval": agent.iterations,
        "check_for_nan": False,  # the environment refuses non-finite values itself, and costs no host reads for it
        "torch_compile_mode": None,
        "logger": "tensorboard",
        "run_name": "",
        "actor": {
            **network,
            "distribution_cfg": {
                "class_name": "GaussianDistribution",
                "init_std": agent.init_noise_std,
                "std_range": [1e-6, 1e6],
                "std_type": "log",
                "learn_std": agent.learn_noise_std,
            },
        },
        "critic": network.copy(),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": agent.epochs,
            "num_mini_batches": agent.minibatches,
            "learning_rate": agent.learning_rate,
            "optimizer": "adam",
            "schedule": agent.schedule,
            "desired_kl": agent.desired_kl,
            "gamma": agent.gamma,
            "lam": agent.lam,
            "clip_param": agent.clip,
            "use_clipped_value_loss": agent.clip_value_loss,
            "value_loss_coef": agent.value_loss_coef,
            "entropy_coef": agent.entropy_coef,
            "max_grad_norm": agent.max_grad_norm,
            "normalize_advantage_per_mini_batch": agent.normalize_advantage == "minibatch",
            "use_mixed_precision": agent.precision == "mixed",
            "rnd_cfg": None,
            "symmetry_cfg": None,
            "grad_reduce_bucket_mb": 25.0,
        },
    }


def mapping(agent: Agent) -> list[ParameterMapping]:
    """How each parameter reaches rsl_rl; see `mapping.Translation`."""
    exact = agent.timeout_bootstrap == "exact"
    words = {
        "iterations": f"learn(num_learning_iterations={agent.iterations})",
        "timeout_bootstrap": "reward + gamma * V(final observation), in PPO.process_env_step"
        if exact
        else "extras['time_outs']: reward + gamma * V(observation before the last step)",
        "normalize_values": "values are not normalised",
        "seed": "torch, NumPy and Python seeded before the runner is built",
    }
    short: dict[str, Shortfall] = {}
    if getattr(agent, "normalize_values", False):
        short["normalize_values"] = ("unsupported", "rsl_rl has no value normalisation")
    if agent.precision == "mixed":
        short["precision"] = MIXED_PRECISION
    paths, of_encoder = encoder_rows(
        agent, _ENCODER_PATHS, {"encoder": "CNNModel, one for the actor, one for the critic"}
    )
    words |= of_encoder
    return table(agent, translate(agent), paths={**_PATHS, **paths}, words=words, short=short)
