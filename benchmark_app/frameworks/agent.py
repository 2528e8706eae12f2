"""The one agent description every library is given. Plain data: no torch, no library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MappingQuality = Literal["exact", "approximate", "unsupported"]


@dataclass(kw_only=True)
class PPOAgent:
    """Proximal policy optimisation, described once for every library (see `conf/agent/ppo.yaml` for each meaning)."""

    algorithm: str = "ppo"
    iterations: int = 150
    rollout: int = 16
    epochs: int = 5
    minibatches: int = 4
    learning_rate: float = 1.0e-3
    schedule: str = "adaptive"
    desired_kl: float = 0.01
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    clip_value_loss: bool = False
    value_loss_coef: float = 1.0
    entropy_coef: float = 0.005
    max_grad_norm: float = 1.0
    hidden_layers: list[int] = field(default_factory=lambda: [32, 32])
    activation: str = "elu"
    init_noise_std: float = 1.0
    normalize_observations: bool = False
    timeout_bootstrap: str = "exact"

    def problems(self, num_envs: int) -> list[str]:
        """Every setting no library could train with, as `key=value: what is allowed`; empty when all is well."""
        found = []
        for key in ("iterations", "rollout", "epochs", "minibatches"):
            if getattr(self, key) < 1:
                found.append(f"{key}={getattr(self, key)}: must be at least 1")
        for key in ("learning_rate", "clip", "desired_kl", "max_grad_norm", "init_noise_std"):
            if not getattr(self, key) > 0:
                found.append(f"{key}={getattr(self, key)}: must be greater than 0")
        for key in ("gamma", "lam"):
            if not 0 < getattr(self, key) <= 1:
                found.append(f"{key}={getattr(self, key)}: must be in (0, 1]")
        for key in ("value_loss_coef", "entropy_coef"):
            if getattr(self, key) < 0:
                found.append(f"{key}={getattr(self, key)}: must not be negative")
        for key, allowed in (
            ("algorithm", ("ppo",)),
            ("schedule", ("adaptive", "fixed")),
            ("activation", ("elu", "relu", "tanh")),
            ("timeout_bootstrap", ("exact", "stock")),
        ):
            if getattr(self, key) not in allowed:
                found.append(f"{key}={getattr(self, key)}: must be one of {', '.join(allowed)}")
        if not self.hidden_layers or any(width < 1 for width in self.hidden_layers):
            found.append(f"hidden_layers={self.hidden_layers}: must be a list of positive widths such as [32,32]")
        samples = num_envs * self.rollout
        if not found and samples < 2 * self.minibatches:
            found.append(
                f"minibatches={self.minibatches}: leaves fewer than 2 of the {samples} samples (num_envs x rollout) in "
                "each, too few to normalise advantages"
            )
        if not found and samples % self.minibatches:
            found.append(
                f"minibatches={self.minibatches}: must divide num_envs x rollout = {samples}, or the libraries would "
                "drop different samples"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class ParameterMapping:
    """How one parameter of the shared description reached a library.

    Attributes:
        parameter: Its name in the shared description.
        quality: `exact`, `approximate` or `unsupported`.
        native: The library's own setting and value, "" if it has none.
        reason: Why it is not exact, "" if it is.
    """

    parameter: str
    quality: MappingQuality
    native: str
    reason: str = ""
