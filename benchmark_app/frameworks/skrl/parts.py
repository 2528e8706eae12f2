"""What skrl's parts are made of: networks and classes by the names the configuration has for them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import torch
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.utils.model_instantiators.torch.common import generate_containers
from torch.optim import lr_scheduler

from benchmark_app.frameworks.inputs import FlatEncoder, Inputs, Sees
from benchmark_app.frameworks.mapping import Config

from .environment import space_of

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

_ACTIVATIONS = {"elu": torch.nn.ELU, "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}
_PREPROCESSORS = {"RunningStandardScaler": RunningStandardScaler}
_SCHEDULERS = {
    "KLAdaptiveLR": KLAdaptiveLR,
    **{key: found for key, found in vars(lr_scheduler).items() if key.endswith("LR")},
}


def hidden(inputs: int, network: Config) -> torch.nn.Sequential:
    """The hidden layers of a network, `[B, inputs]` to `[B, last width]`.

    Args:
        inputs: Width of what goes in.
        network: `hidden_layers` and `activation`.
    """
    layers: list[torch.nn.Module] = []
    for width, next_width in itertools.pairwise([inputs, *network["hidden_layers"]]):
        layers += [torch.nn.Linear(width, next_width), _named(_ACTIVATIONS, network["activation"], "activation")()]
    return torch.nn.Sequential(*layers)


def mlp(inputs: int, network: Config, outputs: int) -> torch.nn.Sequential:
    """A whole network, `[B, inputs]` to `[B, outputs]`."""
    return hidden(inputs, network).append(torch.nn.Linear(network["hidden_layers"][-1], outputs))


def encoder(sees: Sees, network: Config) -> FlatEncoder | None:
    """What takes in the images a network sees; None where it sees none. Its layers are those skrl generates."""
    if sees.image is None:
        return None
    (container,), _ = generate_containers([network["encoder"]], output="encoder")
    return FlatEncoder(sees, eval(container["sequential"], {"nn": torch.nn}))


def mixin_settings(network: Config) -> Config:
    """What of a model's configuration goes to skrl's mixin: all that is not about its layers and first weights."""
    ours = ("hidden_layers", "activation", "encoder", "initial_std", "fixed_log_std")
    return {key: value for key, value in network.items() if key not in ours}


def agent_settings(config: Config, env: TorchEnv) -> Config:
    """The agent's configuration with classes in place of names, and the sizes and devices of this environment.

    Raises:
        ValueError: skrl has no class of a name.
    """
    settings: Config = deepcopy(config["agent"])
    sizes = {
        "observation": space_of(env),
        "state": space_of(env, "critic") if "critic" in Inputs(env).flat_groups else None,
        "value": 1,
    }
    for of, size in sizes.items():
        key = f"{of}_preprocessor"
        if settings.get(key) is None:
            continue
        settings[key] = None if size is None else _named(_PREPROCESSORS, settings[key], key)
        settings[f"{key}_kwargs"].update(size=size, device=env.device)
    if settings[key := "learning_rate_scheduler"] is not None:
        settings[key] = _named(_SCHEDULERS, settings[key], key)
    return settings


def _named(classes: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in classes:
        raise ValueError(f"{what}={name}: skrl has {', '.join(classes)}")
    return classes[name]
