"""The one agent description every library is given, per algorithm. Plain data: no torch, no library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

CNN = "cnn"
"""The one kind of encoder: convolutions."""


@dataclass(kw_only=True)
class Agent:
    """What every algorithm has. Each setting's meaning is written in `conf/agent/*.yaml`."""

    algorithm: str
    iterations: int
    rollout: int
    learning_rate: float
    gamma: float = 0.99
    hidden_layers: list[int]
    activation: str = "elu"
    normalize_observations: bool = False
    encoder: str | None = None
    encoder_channels: list[int] = field(default_factory=lambda: [16, 32])
    encoder_kernels: list[int] = field(default_factory=lambda: [4, 3])
    encoder_strides: list[int] = field(default_factory=lambda: [2, 2])
    timeout_bootstrap: str = "exact"
    precision: str = "float32"

    # Values a setting may take; numbers that must be positive, and that must lie in (0, 1]; whole numbers from 1.
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "activation": ("elu", "relu", "tanh"),
        "timeout_bootstrap": ("exact", "stock"),
        "precision": ("float32", "mixed"),
    }
    POSITIVE: ClassVar[tuple[str, ...]] = ("learning_rate",)
    FRACTIONS: ClassVar[tuple[str, ...]] = ("gamma",)
    COUNTS: ClassVar[tuple[str, ...]] = ("iterations", "rollout")
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = ()

    def problems(self, num_envs: int) -> list[str]:
        """Every setting no library could train with, as `key=value: what is allowed`; empty when all is well."""
        found = []
        for key in self.COUNTS:
            if getattr(self, key) < 1:
                found.append(f"{key}={getattr(self, key)}: must be at least 1")
        for key in self.POSITIVE:
            if not getattr(self, key) > 0:
                found.append(f"{key}={getattr(self, key)}: must be greater than 0")
        for key in self.FRACTIONS:
            if not 0 < getattr(self, key) <= 1:
                found.append(f"{key}={getattr(self, key)}: must be in (0, 1]")
        for key in self.NOT_NEGATIVE:
            if getattr(self, key) < 0:
                found.append(f"{key}={getattr(self, key)}: must not be negative")
        for key, allowed in self.CHOICES.items():
            if getattr(self, key) not in allowed:
                found.append(f"{key}={getattr(self, key)}: must be one of {', '.join(allowed)}")
        if not self.hidden_layers or any(width < 1 for width in self.hidden_layers):
            found.append(f"hidden_layers={self.hidden_layers}: must be a list of positive widths such as [32,32]")
        return found + self._encoder_problems()

    def _encoder_problems(self) -> list[str]:
        if self.encoder not in (None, CNN):
            return [f"encoder={self.encoder}: must be {CNN} or null"]
        layers = len(self.encoder_channels)
        found = [
            f"{key}={value}: must be a list of positive numbers such as [16,32]"
            for key, value in self.encoder_layers().items()
            if not value or any(number < 1 for number in value)
        ]
        return found + [
            f"{key}={value}: must have {layers} entries, one for each of agent.encoder_channels"
            for key, value in self.encoder_layers().items()
            if len(value) != layers and not found
        ]

    def encoder_layers(self) -> dict[str, list[int]]:
        """The encoder's settings that have an entry for each of its layers."""
        return {key: getattr(self, key) for key in ("encoder_channels", "encoder_kernels", "encoder_strides")}

    def encoded(self, height: int, width: int) -> int:
        """Numbers the encoder makes of an image of so many pixels; 0 or less where the image is too small for it.

        Each layer is a convolution without padding, followed by the activation; the last one's output is flattened.
        """
        sides = [height, width]
        for kernel, stride in zip(self.encoder_kernels, self.encoder_strides, strict=True):
            sides = [(side - kernel) // stride + 1 for side in sides]
            if min(sides) < 1:
                return 0
        return self.encoder_channels[-1] * sides[0] * sides[1]


@dataclass(kw_only=True)
class PPOAgent(Agent):
    """Proximal policy optimisation (Schulman et al. 2017)."""

    algorithm: str = "ppo"
    iterations: int = 150
    rollout: int = 16
    epochs: int = 5
    minibatches: int = 4
    learning_rate: float = 1.0e-3
    schedule: str = "adaptive"
    desired_kl: float = 0.01
    lam: float = 0.95
    clip: float = 0.2
    clip_value_loss: bool = False
    value_loss_coef: float = 1.0
    entropy_coef: float = 0.005
    max_grad_norm: float = 1.0
    hidden_layers: list[int] = field(default_factory=lambda: [32, 32])
    init_noise_std: float = 1.0
    learn_noise_std: bool = True
    normalize_values: bool = False
    normalize_advantage: str = "batch"

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **Agent.CHOICES,
        "schedule": ("adaptive", "fixed"),
        "normalize_advantage": ("batch", "minibatch"),
    }
    POSITIVE: ClassVar[tuple[str, ...]] = (*Agent.POSITIVE, "clip", "desired_kl", "max_grad_norm", "init_noise_std")
    FRACTIONS: ClassVar[tuple[str, ...]] = (*Agent.FRACTIONS, "lam")
    COUNTS: ClassVar[tuple[str, ...]] = (*Agent.COUNTS, "epochs", "minibatches")
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = ("value_loss_coef", "entropy_coef")

    def problems(self, num_envs: int) -> list[str]:
        """See `Agent.problems`; the minibatches must divide the samples."""
        found = super().problems(num_envs)
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


@dataclass(kw_only=True)
class SACAgent(Agent):
    """Soft actor-critic with two critics and a learned temperature (Haarnoja et al. 2018)."""

    algorithm: str = "sac"
    iterations: int = 150
    rollout: int = 16
    gradient_steps: int = 1
    learning_starts: int = 16
    buffer_size: int = 200_000
    batch_size: int = 256
    learning_rate: float = 1.0e-3
    tau: float = 0.005
    init_temperature: float = 1.0
    learn_temperature: bool = True
    target_entropy: float | None = None
    hidden_layers: list[int] = field(default_factory=lambda: [64, 64])
    activation: str = "relu"

    POSITIVE: ClassVar[tuple[str, ...]] = (*Agent.POSITIVE, "init_temperature")
    FRACTIONS: ClassVar[tuple[str, ...]] = (*Agent.FRACTIONS, "tau")
    COUNTS: ClassVar[tuple[str, ...]] = (*Agent.COUNTS, "gradient_steps", "batch_size", "buffer_size")
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = ("learning_starts",)

    def problems(self, num_envs: int) -> list[str]:
        """See `Agent.problems`; the replay buffer holds at least a batch, and whole steps of all environments."""
        found = super().problems(num_envs)
        if not found and self.buffer_size < max(self.batch_size, num_envs):
            found.append(f"buffer_size={self.buffer_size}: must hold agent.batch_size and num_envs transitions")
        if not found and self.learning_starts < 1:
            found.append(f"learning_starts={self.learning_starts}: must be at least 1, to have samples to learn from")
        steps = self.iterations * self.rollout
        if not found and self.learning_starts >= steps:
            found.append(
                f"learning_starts={self.learning_starts}: must be below the {steps} control steps of the training "
                "(iterations x rollout), or nothing is learned"
            )
        return found


AGENTS: dict[str, type[Agent]] = {"ppo": PPOAgent, "sac": SACAgent}
"""The description of each algorithm, by `agent.algorithm`."""


def agent_from_plain(data: dict[str, Any]) -> Agent:
    """Rebuild an agent description from plain data that was checked before."""
    return AGENTS[data["algorithm"]](**data)
