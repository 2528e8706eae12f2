"""The end of a link at which environments are stepped. NumPy only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from .description import Board, Description

COMMANDS = (
    *("init", "reset", "autoreset", "reporting", "watch", "guard", "seed", "seed_episodes", "drain"),
    *("carried", "export", "import", "diagnostics", "warnings", "robot_state"),
)
"""What a host can be asked besides a step, each a method `do_NAME` of `EnvHost`."""


class EnvHost(ABC):
    """Environments at the far end of a link: they are stepped through a board, and asked everything else by commands.

    Arguments and answers are plain data: None, bool, int, float, str, lists, dictionaries with text for keys, and NumPy
    arrays. An error is an exception; the link carries it to whoever asked.

    Attributes:
        description: What they are.
        rows: How many there are.
        board: Where a step is told; set by whoever runs the host, before the first step.
    """

    description: Description
    rows: int
    board: Board

    @abstractmethod
    def step(self) -> None:
        """Take one control step in every row with the board's `actions`, and leave what came of it on the board.

        Raises:
            ValueError: An action, observation or reward is not finite.
            RuntimeError: The simulator lost correctness, or the step cannot be taken now.
        """

    def command(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is asked.

        Args:
            name: One of `COMMANDS`.
            arguments: Its keyword arguments.

        Returns:
            The answer. `blocked` in it: rows that must be reset before the next step.

        Raises:
            ValueError: No such command.
        """
        if name not in COMMANDS:
            raise ValueError(f"{name}: no such command; known: {', '.join(COMMANDS)}")
        answer: dict[str, Any] | None = getattr(self, f"do_{name}")(**arguments)
        return {**(answer or {}), "blocked": self.blocked()}

    @abstractmethod
    def blocked(self) -> list[int]:
        """Rows that must be reset before the next step."""

    @abstractmethod
    def do_init(self) -> None:
        """Start an episode in every row; the first state goes to the board."""

    @abstractmethod
    def do_reset(self, rows: Any) -> None:
        """Start a new episode in rows, int64 `[K]` (perhaps none), or in all if None; the state goes to the board."""

    @abstractmethod
    def do_autoreset(self, enabled: bool) -> None:
        """See `TorchEnv.set_autoreset`."""

    @abstractmethod
    def do_reporting(self, enabled: bool) -> None:
        """See `TorchEnv.set_reporting`."""

    def do_watch(self, enabled: bool) -> None:  # noqa: B027 (a host without an engine has nothing to do)
        """Take the simulator's share of each step, or no longer."""

    def do_guard(self, settings: dict[str, Any] | None) -> None:  # noqa: B027
        """See `TorchEnv.set_nan_guard`; `settings` are those of the guard, None removes it."""

    @abstractmethod
    def do_seed(self, seed: int) -> None:
        """See `TorchEnv.seed`."""

    @abstractmethod
    def do_seed_episodes(self, seed: int, count: int | None) -> None:
        """See `TorchEnv.seed_episodes`; `count` is that of all rows everywhere."""

    @abstractmethod
    def do_drain(self) -> dict[str, Any]:
        """Episodes finished since the last call.

        Returns:
            `tally`, `measured`, `succeeded` (or None) as in `Episodes`, `rows` int64 `[K]`, `ticks` int64 `[K]` (the
            number of the step each finished in, since the host was made) and `dropped`.
        """

    def do_carried(self) -> dict[str, Any]:
        """The training state as it is, whether or not it may be exported: `env`, `backend`, `task`."""
        raise self._stateless()

    def do_export(self) -> dict[str, Any]:
        """See `TorchEnv.export_training_state`."""
        raise self._stateless()

    def do_import(self, state: dict[str, Any]) -> None:
        """See `TorchEnv.import_training_state`; the state goes to the board."""
        raise self._stateless()

    def _stateless(self) -> NotImplementedError:
        return NotImplementedError(f"{self.description.simulator} cannot tell its state: it cannot be exported")

    @abstractmethod
    def do_diagnostics(self) -> dict[str, Any]:
        """See `TorchEnv.get_backend_runtime_diagnostics`; and `kernels_compiled`, how many this process compiled."""

    def do_warnings(self) -> dict[str, Any]:
        """`counts`: see `SimBackend.warning_counts`."""
        return {"counts": {}}

    def do_robot_state(self) -> dict[str, Any]:
        """`state`: see `SimBackend.robot_state`."""
        return {"state": {}}

    @abstractmethod
    def close(self) -> None:
        """Close the environments. Calling it twice is harmless."""
