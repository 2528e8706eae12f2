"""What stands for the engine of environments that are elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import RobotFacts

from .description import Description

Ask = Callable[[str], list[dict[str, Any]]]


class RemoteBackend(SimBackend):
    """An engine in other processes: it tells what it is and what it found, and is stepped with its environment only.

    Args:
        description: What the environments are.
        num_envs: Rows in all.
        device: Torch device of every tensor here.
        ask: Asks every host a command, and returns the answers in the order of their rows.
    """

    def __init__(self, description: Description, num_envs: int, device: torch.device, ask: Ask) -> None:
        self.num_envs, self.device = num_envs, device
        self.joint_names = description.joint_names
        # A step is over when it returns, wherever it was computed: its results were read by the host.
        self.capabilities = replace(description.capabilities, completion_receipts=False)
        self._simulator, self._ask = description.simulator, ask

    @property
    def robot_state(self) -> dict[str, torch.Tensor]:
        """Copies of the present state; see `SimBackend.robot_state`. Cold path."""
        parts = [answer["state"] for answer in self._ask("robot_state")]
        return {name: torch.cat([torch.from_numpy(part[name]) for part in parts]).to(self.device) for name in parts[0]}

    def warning_counts(self) -> dict[str, int]:
        """Sums over all processes; see `SimBackend.warning_counts`."""
        counts: Counter[str] = Counter()
        for answer in self._ask("warnings"):
            counts.update({str(name): int(count) for name, count in answer["counts"].items()})
        return dict(counts)

    def diagnostics(self) -> dict[str, Any]:
        """Those of the first process; see `TorchEnv.get_backend_runtime_diagnostics` for all."""
        facts: dict[str, Any] = self._ask("diagnostics")[0]["facts"]
        return facts

    def close(self) -> None:
        """Nothing: the environment closes its links."""

    def _elsewhere(self, what: str) -> NoReturn:
        raise NotImplementedError(f"{self._simulator} is in another process and cannot {what}; set execution=local")

    def step(self, control: torch.Tensor) -> None:
        """Not from here."""
        self._elsewhere("be stepped by itself")

    def reset_rows(self, mask: torch.Tensor, *parts: Any, **named: Any) -> None:
        """Not from here."""
        self._elsewhere("be put into a state")

    def export_state(self) -> dict[str, torch.Tensor]:
        """Not from here; `TorchEnv.export_training_state` has it."""
        self._elsewhere("export its own state")

    def import_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Not from here; `TorchEnv.import_training_state` has it."""
        self._elsewhere("import its own state")

    @property
    def fault(self) -> torch.Tensor:
        """Not from here: a step that lost correctness raises."""
        self._elsewhere("show its fault")

    def describe_fault(self) -> str:
        """Not from here: a step that lost correctness raises."""
        self._elsewhere("describe its fault")

    def robot_facts(self) -> RobotFacts:
        """Not from here."""
        self._elsewhere("tell of its robot")
