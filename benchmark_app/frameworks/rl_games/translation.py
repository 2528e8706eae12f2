"""The shared description in rl_games' own configuration: what stands below `params` in its YAML files. Light.

rl_games reads its settings key by key and passes over those it does not know, so every key that its PPO or SAC reads
is listed here. Left out, and so refused, is what has no place in a run: recurrent networks, its own central
value network (the network here takes both observation groups), several GPUs, self-play, population based
training, action masks, its seed and threads, initialisations (all libraries start from the same weights), and
`normalize_rms_advantage`, which cannot be built in 1.6.5.
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

DISTRIBUTED: dict[str, str] = {"ppo": "cuda"}

RESERVED = {
    "algo.name": "agent.algorithm",
    "model.name": "agent.algorithm",
    "network.name": "agent.algorithm",
    "config.horizon_length": "agent.rollout",
    "config.num_steps_per_episode": "agent.rollout",
    "config.max_epochs": "agent.iterations",
    "config.minibatch_size": "agent.minibatches",
    "config.num_actors": "num_envs",
    "config.device": "device",
    "config.save_frequency": "training.checkpoint_interval",
    "config.value_bootstrap": "agent.timeout_bootstrap",
    "config.target_entropy_coef": "agent.target_entropy",
}

DIFFERENCES = {
    "ppo": (
        "Minibatches are slices of the environments (all steps of some), the same in every epoch: nothing is shuffled.",
        "Adam takes its steps in one fused operation.",
    ),
    "sac": (
        "The logarithm of the action noise is squashed into network.log_std_bounds by a tanh, not clamped.",
        "Actor and critics see the policy's observations only, also where a task has others for the critic.",
        "A resumed training starts with an empty replay buffer, and so with random actions.",
        "Adam takes its steps in one fused operation.",
    ),
}

_PPO_PATHS: dict[str, str | tuple[str, ...]] = {
    "algorithm": "algo.name",
    "iterations": "config.max_epochs",
    "rollout": "config.horizon_length",
    "epochs": "config.mini_epochs",
    "learning_rate": "config.learning_rate",
    "schedule": "config.lr_schedule",
    "desired_kl": "config.kl_threshold",
    "gamma": "config.gamma",
    "lam": "config.tau",
    "clip": "config.e_clip",
    "clip_value_loss": "config.clip_value",
    "value_loss_coef": "config.critic_coef",
    "entropy_coef": "config.entropy_coef",
    "max_grad_norm": "config.grad_norm",
    "hidden_layers": "network.mlp.units",
    "activation": "network.mlp.activation",
    "init_noise_std": "network.space.continuous.init_std",
    "learn_noise_std": "network.space.continuous.learn_std",
    "normalize_observations": "config.normalize_input",
    "normalize_values": "config.normalize_value",
    "normalize_advantage": "config.normalize_advantage",
    "precision": "config.mixed_precision",
}

_ENCODER_PATHS: dict[str, tuple[str, ...]] = {
    "encoder": ("network.cnn.type",),
    **{f"encoder_{part}": ("network.cnn.convs",) for part in ("channels", "kernels", "strides")},
}

_SAC_PATHS: dict[str, str | tuple[str, ...]] = {
    "algorithm": "algo.name",
    "rollout": "config.num_steps_per_episode",
    "gradient_steps": "config.num_updates_per_step",
    "learning_starts": "config.num_warmup_steps",
    "buffer_size": "config.replay_buffer_size",
    "batch_size": "config.batch_size",
    "learning_rate": ("config.actor_lr", "config.critic_lr", "config.alpha_lr"),
    "gamma": "config.gamma",
    "tau": "config.critic_tau",
    "init_temperature": "config.init_alpha",
    "learn_temperature": "config.learnable_temperature",
    "hidden_layers": "network.mlp.units",
    "activation": "network.mlp.activation",
    "normalize_observations": "config.normalize_input",
    "precision": "config.mixed_precision",
}


def translate(agent: Agent) -> Config:
    """The configuration of `Runner`, below `params`; see `mapping.Translation`."""
    if isinstance(agent, SACAgent):
        return _translate_sac(agent)
    assert isinstance(agent, PPOAgent)
    return {
        "algo": {"name": "a2c_continuous"},
        "model": {"name": "continuous_a2c_logstd_groups"},
        "network": {
            "name": "actor_critic_groups",
            "cnn": _cnn(agent),
            "mlp": {**_mlp(agent), "d2rl": False},
            "normalization": None,
            "value_activation": "None",
            "space": {
                "continuous": {
                    "mu_activation": "None",
                    "sigma_activation": "None",
                    "init_std": agent.init_noise_std,
                    "learn_std": agent.learn_noise_std,
                }
            },
        },
        "config": {
            **_common(agent),
            "weight_decay": 0.0,
            "max_epochs": agent.iterations,
            "horizon_length": agent.rollout,
            "mini_epochs": agent.epochs,
            "minibatch_size": None,
            "learning_rate": agent.learning_rate,
            "lr_schedule": "adaptive" if agent.schedule == "adaptive" else "constant",
            "schedule_type": "legacy",
            "schedule_entropy": False,
            "kl_threshold": agent.desired_kl,
            "tau": agent.lam,
            "ppo": True,
            "e_clip": agent.clip,
            "use_smooth_clamp": False,
            "clip_value": agent.clip_value_loss,
            "critic_coef": 2.0 * agent.value_loss_coef,  # rl_games halves it
            "entropy_coef": agent.entropy_coef,
            "bounds_loss_coef": 0.0,
            "bound_loss_type": "none",
            "truncate_grads": True,
            "grad_norm": agent.max_grad_norm,
            "normalize_value": agent.normalize_values,
            "freeze_critic": False,
            "normalize_advantage": agent.normalize_advantage == "batch",
            "clip_actions": False,  # the environment clamps
            "use_diagnostics": False,
            "torch_compile": False,
        },
    }


def _translate_sac(agent: SACAgent) -> Config:
    return {
        "algo": {"name": "sac"},
        "model": {"name": "soft_actor_critic"},
        "network": {
            "name": "soft_actor_critic",
            "mlp": _mlp(agent),
            "normalization": None,
            "log_std_bounds": [-5.0, 2.0],
        },
        "config": {
            **_common(agent),
            "num_steps_per_episode": agent.rollout,
            "num_updates_per_step": agent.gradient_steps,
            "num_warmup_steps": 1
            + math.ceil(agent.learning_starts / agent.rollout),  # it counts from 1 and learns in it
            "replay_buffer_size": agent.buffer_size,
            "batch_size": agent.batch_size,
            "actor_lr": agent.learning_rate,
            "actor_betas": [0.9, 0.999],
            "critic_lr": agent.learning_rate,
            "critic_betas": [0.9, 0.999],
            "critic_grad_clip": 0.0,
            "critic_tau": agent.tau,
            "policy_frequency": 1,
            "init_alpha": agent.init_temperature,
            "learnable_temperature": agent.learn_temperature,
            "alpha_lr": agent.learning_rate,
            "alphas_betas": [0.9, 0.999],
            "target_entropy_coef": 1.0,
        },
    }


def _cnn(agent: Agent) -> Config | None:
    if agent.encoder is None:
        return None
    layers = zip(agent.encoder_channels, agent.encoder_kernels, agent.encoder_strides, strict=True)
    return {
        "type": "conv2d",
        "activation": agent.activation,
        "convs": [
            {"filters": channels, "kernel_size": kernel, "strides": stride, "padding": 0}
            for channels, kernel, stride in layers
        ],
    }


def _mlp(agent: Agent) -> Config:
    return {"units": list(agent.hidden_layers), "activation": agent.activation, "norm_only_first_layer": False}


def _common(agent: Agent) -> dict[str, Any]:
    return {
        "num_actors": None,
        "device": None,
        "gamma": agent.gamma,
        "normalize_input": agent.normalize_observations,
        "mixed_precision": agent.precision == "mixed",
        "value_bootstrap": True,
        "games_to_track": 100,
        "save_frequency": 0,
        "reward_shaper": {
            "scale_value": 1.0,
            "shift_value": 0.0,
            "min_val": None,
            "max_val": None,
            "log_val": False,
        },
    }


def mapping(agent: Agent) -> list[ParameterMapping]:
    """How each parameter reaches rl_games; see `mapping.Translation`."""
    rows = _map_sac(agent) if isinstance(agent, SACAgent) else _map_ppo(agent)
    paths, words, short = rows
    words["seed"] = "torch, NumPy and Python seeded before the networks are drawn (rl_games leaves out seed 0)"
    if agent.precision == "mixed":
        short["precision"] = MIXED_PRECISION
    return table(agent, translate(agent), paths=paths, words=words, short=short)


_Short = dict[str, Shortfall]


def _map_ppo(agent: Agent) -> tuple[dict[str, str | tuple[str, ...]], dict[str, str], _Short]:
    assert isinstance(agent, PPOAgent)
    paths = dict(_PPO_PATHS)
    words = {
        "minibatches": f"config.minibatch_size = num_envs x rollout / {agent.minibatches}",
        "timeout_bootstrap": "shaped reward + gamma * V(final observation)"
        if agent.timeout_bootstrap == "exact"
        else "infos['time_outs']: reward + gamma * V(observation before the last step)",
    }
    if agent.normalize_advantage == "minibatch":
        del paths["normalize_advantage"]
        words["normalize_advantage"] = "config.normalize_advantage=False, and each minibatch normalised before its loss"
    short: _Short = {}
    if agent.normalize_observations and agent.encoder is not None:
        short["normalize_observations"] = ("unsupported", "rl_games would normalise the images with the vectors")
    elif agent.normalize_observations:
        short["normalize_observations"] = (
            "approximate",
            "rl_games updates its statistics with every minibatch of the update, those of the first one before its "
            "loss, and clips to 5 standard deviations; rsl_rl updates once, after the update, and does not clip",
        )
    if agent.normalize_values:
        short["normalize_values"] = (
            "approximate",
            "rl_games normalises old values and returns by statistics of both, clipped to 5 standard deviations",
        )
    of_encoder, told = encoder_rows(agent, _ENCODER_PATHS, {})
    return {**paths, **of_encoder}, {**words, **told}, short


def _map_sac(agent: SACAgent) -> tuple[dict[str, str | tuple[str, ...]], dict[str, str], _Short]:
    words = {
        "iterations": f"{agent.iterations} calls of train_epoch",
        "target_entropy": "minus the number of actions"
        if agent.target_entropy is None
        else f"config.target_entropy_coef = {-agent.target_entropy} / number of actions",
        "timeout_bootstrap": "replay buffer: next_obs = final observation"
        if agent.timeout_bootstrap == "exact"
        else "infos['time_outs']: next_obs = observation before the last step",
    }
    short: _Short = {}
    if agent.learning_starts % agent.rollout:
        short["learning_starts"] = (
            "approximate",
            f"rl_games counts it in whole iterations: {math.ceil(agent.learning_starts / agent.rollout)} of them",
        )
    if agent.normalize_observations:
        short["normalize_observations"] = (
            "approximate",
            "rl_games updates its statistics with every batch sampled, and clips to 5 standard deviations",
        )
    if agent.encoder is not None:
        short["encoder"] = NO_ENCODER
    return dict(_SAC_PATHS), {**words, **no_encoder(agent)}, short
