"""rl_games' PPO network and model for observations in groups: each network sees those that `Inputs` says.

rl_games takes a dictionary of observations, but its MLP network does not, nor does its normalisation of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from rl_games.algos_torch.model_builder import register_model, register_network
from rl_games.algos_torch.models import ModelA2CContinuousLogStd
from rl_games.algos_torch.network_builder import A2CBuilder
from rl_games.algos_torch.running_mean_std import RunningMeanStdObs
from torch import nn

from benchmark_app.frameworks.inputs import Inputs, Pixels, Sees, features_of

_DRAWN_LATER = {"name": "default"}
"""An initialisation that leaves to `start.draw_weights` what every library starts from."""


class _Group(nn.Module):
    """Takes one group out of the observations."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        return obs[self.name]


class _Encoder(nn.Module):
    """Takes in the images of the observations, and puts what comes of them behind the vector, if there is one."""

    def __init__(self, sees: Sees, convolutions: nn.Module) -> None:
        super().__init__()
        assert sees.image is not None and sees.spec is not None, "without an image nothing is encoded"  # noqa: PT018
        self._sees, self._image = sees, sees.image
        self.pixels, self.convolutions = Pixels(sees.spec), convolutions
        self.width = sees.width + features_of(convolutions, sees.spec)

    def forward(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        vector = self._sees.vector
        features = self.convolutions(self.pixels(obs[self._image])).flatten(1)
        return features if vector is None else torch.cat((obs[vector], features), 1)


class _Network(A2CBuilder.Network):  # type: ignore[misc]
    """rl_games' network of two MLPs; each takes its share of the observations where a convolution would stand.

    Beyond the library's settings, `space.continuous` has `init_std`, the action noise at the start, and `learn_std`.
    """

    def __init__(self, params: dict[str, Any], inputs: Inputs, **sizes: Any) -> None:
        continuous = params["space"]["continuous"]
        fixed = {"fixed_sigma": True, "mu_init": _DRAWN_LATER, "sigma_init": _DRAWN_LATER}
        settings = {**params, "separate": True, "space": {"continuous": {**continuous, **fixed}}}
        cnn = settings.pop("cnn", None)
        super().__init__(settings, **{**sizes, "input_shape": (1,)})
        for network, sees in (("actor", inputs.actor), ("critic", inputs.critic)):
            takes_in, width = self._entrance(sees, cnn)
            setattr(self, f"{network}_cnn", takes_in)
            setattr(self, f"{network}_mlp", self._mlp(width))
        std = continuous["init_std"] * torch.ones(sizes["actions_num"])
        self.sigma = nn.Parameter(torch.log(std), requires_grad=continuous["learn_std"])

    def _entrance(self, sees: Sees, cnn: Mapping[str, Any] | None) -> tuple[nn.Module, int]:
        """What a network takes its observations in by, and how many numbers come of it."""
        if sees.image is None or sees.spec is None:
            assert sees.vector is not None, "a network sees something"
            return _Group(sees.vector), sees.width
        assert cnn is not None, "checked with the settings: images need an encoder"
        height, width, channels = sees.spec.shape
        convolutions = self._build_cnn2d((channels, height, width), cnn["convs"], cnn["activation"])
        encoder = _Encoder(sees, convolutions)
        return encoder, encoder.width

    def _mlp(self, inputs: int) -> nn.Module:
        layers: nn.Module = self._build_mlp(
            input_size=inputs,
            units=self.units,
            activation=self.activation,
            dense_func=nn.Linear,
            norm_only_first_layer=self.norm_only_first_layer,
            norm_func_name=self.normalization,
            d2rl=self.is_d2rl,
        )
        return layers


class _Builder(A2CBuilder):  # type: ignore[misc]
    def build(self, name: str, **sizes: Any) -> _Network:
        return _Network(self.params, self.params["inputs"], **sizes)


class _Model(ModelA2CContinuousLogStd):  # type: ignore[misc]
    """rl_games' model of a Gaussian policy with a learned logarithm of its standard deviation."""

    class Network(ModelA2CContinuousLogStd.Network):  # type: ignore[misc]
        def __init__(self, network: _Network, *, normalize_input: bool, **settings: Any) -> None:
            super().__init__(network, normalize_input=False, **settings)
            self.normalize_input = normalize_input
            if normalize_input:
                # rl_games would compile this module, and TorchScript takes the dictionary for a tensor.
                self.running_mean_std = RunningMeanStdObs(self.obs_shape)


register_network("actor_critic_groups", _Builder)
register_model("continuous_a2c_logstd_groups", _Model)


class Actor(nn.Module):
    """The policy's share of a model: the same modules and parameters, from observation groups to mean actions.

    Attributes:
        places: Where its parts stand in the model.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        network = model.a2c_network
        self.normalizer = _normalizer(model, "policy")
        self.encoder, self.mlp, self.mu, self.mu_act, self.sigma = (
            *(network.actor_cnn, network.actor_mlp),
            *(network.mu, network.mu_act, network.sigma),
        )
        self.places = {
            "normalizer": "running_mean_std.running_mean_std.policy",
            "encoder": "a2c_network.actor_cnn",
            "mlp": "a2c_network.actor_mlp",
            "mu": "a2c_network.mu",
            "sigma": "a2c_network.sigma",
        }

    def forward(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """`[B, …]` to `[B, A]`; in evaluation mode, or the normalisation would learn from them."""
        if "policy" in obs:
            obs = {**obs, "policy": self.normalizer(obs["policy"])}
        actions: torch.Tensor = self.mu_act(self.mu(self.mlp(self.encoder(obs))))
        return actions


class Critic(nn.Module):
    """The value's share of a model: the same modules and parameters, from observation groups to values.

    Attributes:
        places: Where its parts stand in the model.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        network = model.a2c_network
        self.group = "critic" if getattr(network.critic_cnn, "name", "") == "critic" else "policy"
        self.normalizer = _normalizer(model, self.group)
        self.encoder, self.mlp = network.critic_cnn, network.critic_mlp
        self.value, self.value_act = network.value, network.value_act
        self.denormalizer = model.value_mean_std if model.normalize_value else None
        self.places = {
            "normalizer": f"running_mean_std.running_mean_std.{self.group}",
            "encoder": "a2c_network.critic_cnn",
            "mlp": "a2c_network.critic_mlp",
            "value": "a2c_network.value",
            "denormalizer": "value_mean_std",
        }

    def forward(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """`[B, …]` to `[B]`, denormalised; in evaluation mode, or the normalisation would learn from them."""
        if self.group in obs:
            obs = {**obs, self.group: self.normalizer(obs[self.group])}
        values = self.value_act(self.value(self.mlp(self.encoder(obs))))
        if self.denormalizer is not None:
            values = self.denormalizer(values, denorm=True)
        return torch.squeeze(values, 1)


def share(weights: Mapping[str, torch.Tensor], places: Mapping[str, str]) -> dict[str, torch.Tensor]:
    """The state dict of an actor or critic, out of a model's."""
    return {
        part + name[len(place) :]: tensor
        for part, place in places.items()
        for name, tensor in weights.items()
        if name == place or name.startswith(f"{place}.")
    }


def _normalizer(model: Any, group: str) -> Any:
    return model.running_mean_std.running_mean_std[group] if model.normalize_input else nn.Identity()
