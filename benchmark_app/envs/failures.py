"""What an environment refuses, and how a step that failed is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np

from benchmark_app.physics.base import SimBackend

from .cfg import EnvCfg
from .checks import find_suspects, step_error
from .numbering import Deal
from .observing import Observing, judged
from .state import TorchEnvState

if TYPE_CHECKING:
    from .torch_env import TorchEnv

NO_ROWS = np.zeros(0, dtype=np.int64)


class Failures(Observing):
    """The part of a `TorchEnv` that knows whether it may go on, and says why not.

    Args:
        cfg: Task settings.
        backend: The engine.
    """

    def __init__(self, cfg: EnvCfg, backend: SimBackend) -> None:
        super().__init__(cfg, backend)
        self._state: TorchEnvState | None = None
        self._closed = False
        self._autoreset = True
        self._failed = ""  # why the last step failed; it left rows half-way, so that only a whole reset helps
        self._deal: Deal | None = None  # the episodes to play, where their number is fixed
        self._waiting = NO_ROWS  # what the frozen rows' mask says, for the host
        self._just_reset = NO_ROWS

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed")

    def _must_reset(self) -> bool:
        """Rows that were to be left alone are, although autoreset is on again."""
        return len(self._waiting) > 0 and self._autoreset and self._deal is None

    def _refuse_step(self) -> None:
        self._require_open()
        if self._state is None:
            raise RuntimeError("step() before init_state(): no row has an episode yet")
        if self._failed:
            self._refuse_after_failure()
        raise RuntimeError(
            f"{self._named(self._waiting.tolist())} ended while autoreset was off and must be reset before the next "
            "step"
        )

    def _refuse_after_failure(self) -> NoReturn:
        raise RuntimeError(f"an earlier step failed ({self._failed}); reset all rows first")

    def _raise_alarm(self) -> NoReturn:
        """Say which tensor is to blame. In the order of the step, so that the cause is named, not its consequence."""
        restart_failed = float(self._report[-1]) != 0.0
        self._report[self._num_envs :].zero_()
        if restart_failed:
            rows = self._just_reset.tolist()
            error = ValueError(f"an observation was not finite after the reset of {self._named(rows)}")
            self._fail(error, {"observations after a reset": rows})
        unsound = self._backend.describe_fault() if float(self._backend.fault) != 0.0 else ""
        tensors = {"actions": self._actions, "control": self.control, **judged(self._all_observed())}
        suspects = find_suspects(tensors | {"reward": self._work.reward})
        self._fail(step_error(suspects, unsound, self._named), suspects)

    def _fail(self, error: Exception, suspects: dict[str, list[int]]) -> NoReturn:
        """Raise, once the guard has written down what led to it."""
        self._failed = str(error)
        if self._guard is not None and (note := self._guard.dump(cast("TorchEnv", self), str(error), suspects)):
            error.add_note(note)
        raise error
