"""A host of Gymnasium's plain environments, one in each row. NumPy only: no torch, no engine of ours."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from gymnasium import Env, Space, spaces

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.numbering import TALLY, Deal, stream_seed
from benchmark_app.physics.capabilities import BackendCapabilities

from .description import Description, Group
from .host import EnvHost

SIMULATOR = "gymnasium"
MOST_KEPT = 65536
"""Finished episodes kept until they are asked for; the oldest beyond them are dropped, and counted."""
# Two environments of one class that are given the same seeds and actions do the same, if they are any good; nothing is
# known of how they keep their state.
CAPABILITIES = BackendCapabilities(
    devices=("cpu",),
    row_reset=True,
    row_independent=True,
    deterministic=True,
    graph_replay=False,
    floating_base=False,
    contacts=True,
)
Factory = Callable[[], Env[Any, Any]]


class GymHost(EnvHost):
    """Steps environments that a task's `env_fns(cfg, num_envs)` gives factories of, with the rules of a `TorchEnv`.

    An environment is made when its row is first needed. Episode numbers decide its seeds; the task's time limit ends an
    episode that the environment would let run on; `info["is_success"]` and `info["metrics"]` are what it reports.

    Args:
        cfg: Task settings.
        rows: How many.
        first_row: Number of the first row here.
        total_rows: Rows in all; None: `rows`.

    Raises:
        ValueError: The task's environments have spaces that cannot be trained on; the message says which.
    """

    def __init__(self, cfg: EnvCfg, rows: int, first_row: int = 0, total_rows: int | None = None) -> None:
        self._cfg, self.rows = cfg, rows
        self._first, self._total = first_row, total_rows or rows
        self._factories: Sequence[Factory] = import_module(cfg.module).env_fns(cfg, rows)
        if len(self._factories) != rows:
            raise ValueError(f"task.module={cfg.module}: env_fns gave {len(self._factories)} factories for {rows} rows")
        self._envs: list[Env[Any, Any] | None] = [None] * rows
        self.description = self._describe(self._env(0))
        self._numbers = np.zeros(rows, dtype=np.int64)
        self._steps = np.zeros(rows, dtype=np.int64)
        self._returns, self._largest = np.zeros((2, rows), dtype=np.float32)
        self._metrics = np.full((rows, len(self.description.metrics)), np.nan, dtype=np.float32)
        self._success = np.zeros(rows, dtype=np.bool_)
        self._knows_success = False
        self._frozen = np.zeros(rows, dtype=np.bool_)
        self._autoreset, self._reporting, self._started = True, False, False
        self._deal: Deal | None = None
        self._tick = self._dropped = 0
        self._finished: list[tuple[int, int, list[float], np.ndarray, bool]] = []
        self.do_seed(0)

    # What the environments are.

    def _env(self, row: int) -> Env[Any, Any]:
        """The environment of a row, made now if nobody needed it before."""
        if (env := self._envs[row]) is None:
            env = self._envs[row] = self._factories[row]()
        return env

    def _describe(self, env: Env[Any, Any]) -> Description:
        actions = env.action_space
        if not isinstance(actions, spaces.Box) or len(actions.shape) != 1:
            raise ValueError(f"task={self._cfg.name}: its actions are {actions}; expected a Box of one dimension")
        declaration = self._cfg.declaration
        return Description(
            task=asdict(self._cfg),
            conventions=self._cfg.conventions(),
            simulator=SIMULATOR,
            groups=self._groups(env.observation_space),
            action_low=tuple(actions.low.tolist()),
            action_high=tuple(actions.high.tolist()),
            metrics=() if declaration is None else tuple(declaration.metrics),
            capabilities=CAPABILITIES,
            versions={"python": platform.python_version(), **{name: version(name) for name in ("gymnasium", "numpy")}},
        )

    def _groups(self, space: Space[Any]) -> dict[str, Group]:
        parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"policy": space}
        found = {}
        for name, part in parts.items():
            image = isinstance(part, spaces.Box) and part.dtype == np.uint8 and len(part.shape) == 3
            if not isinstance(part, spaces.Box) or not (image or len(part.shape) == 1):
                raise ValueError(
                    f"task={self._cfg.name}: observation '{name}' is {part}; expected a Box of one dimension, or an "
                    "image as uint8, height × width × channels"
                )
            found[name] = Group(shape=tuple(part.shape), dtype="uint8" if image else "float32")
        found = dict(sorted(found.items(), key=lambda item: len(item[1].shape)))  # those of numbers first
        if "policy" not in found:
            raise ValueError(f"task={self._cfg.name}: there is no observation 'policy'; there are {', '.join(found)}")
        return found

    # A step.

    def step(self) -> None:
        """Take a step; see `EnvHost.step`."""
        board = self.board
        actions = board["actions"]
        self._require_finite("actions", actions)
        was_frozen = self._frozen.copy()
        board["frozen"][:] = was_frozen
        board["final_mask"][:] = False
        for name in ("reward", "terminated", "truncated"):
            board[name][:] = 0
        moving = np.flatnonzero(~was_frozen)
        for row in moving:
            self._step_row(int(row), actions[row].copy())
        for name in self.description.groups:
            self._require_finite(f"observation '{name}'", board[f"obs.{name}"])
        self._require_finite("reward", board["reward"])
        self._tick += 1
        ended = np.flatnonzero(board["terminated"] | board["truncated"])
        if self._reporting:
            board["is_success"][:], board["metrics"][:] = self._success, self._metrics
        if len(ended):
            self._finish(ended)
        board["steps"][:] = self._steps
        board.tell(
            has_final=len(ended) > 0 and self._autoreset,
            has_frozen=not self._autoreset or bool(self._frozen.any()),
            has_success=self._knows_success,
        )

    def _step_row(self, row: int, action: np.ndarray) -> None:
        board = self.board
        observation, reward, terminated, truncated, info = self._env(row).step(action)
        self._show(row, observation)
        paid = np.float32(reward)
        self._steps[row] += 1
        self._largest[row] = paid if self._steps[row] == 1 else max(self._largest[row], paid)
        self._returns[row] += paid
        board["reward"][row] = paid
        board["terminated"][row] = terminated
        late = truncated or self._steps[row] >= self._cfg.max_episode_steps
        board["truncated"][row] = late and not terminated
        self._note(row, info)

    def _note(self, row: int, info: dict[str, Any]) -> None:
        if "is_success" in info:
            self._knows_success = True
            self._success[row] = bool(info["is_success"])
        measured = info.get("metrics", {})
        for column, name in enumerate(self.description.metrics):
            if name in measured:
                self._metrics[row, column] = measured[name]

    def _finish(self, ended: np.ndarray) -> None:
        """Record the episodes that ended, and begin the next ones or freeze their rows."""
        board = self.board
        for row in ended:
            tally = dict.fromkeys(TALLY, 0.0) | {
                "length": float(self._steps[row]),
                "return": float(self._returns[row]),
                "number": float(self._numbers[row]),
                "largest reward": float(self._largest[row]),
            }
            record = (self._tick, int(row), list(tally.values()), self._metrics[row].copy(), bool(self._success[row]))
            self._finished.append(record)
        beyond = max(0, len(self._finished) - max(MOST_KEPT, self.rows))
        self._dropped += beyond
        del self._finished[:beyond]
        if not self._autoreset:
            self._frozen[ended] = True
            return
        for name in self.description.groups:
            board[f"final.{name}"][:] = board[f"obs.{name}"]
        board["final_mask"][ended] = True
        again = ended if self._deal is None else ended[self._deal.has_more(ended)]
        if self._deal is not None:
            self._deal.begin(again)
            self._frozen[np.setdiff1d(ended, again)] = True
        self._begin(again)

    def _begin(self, rows: np.ndarray) -> None:
        """Start the next episode in rows."""
        for row in rows:
            self._numbers[row] += self._total
            seed = stream_seed(f"episode {self._numbers[row]}", self._seed)
            observation, _ = self._env(row).reset(seed=seed)
            self._show(row, observation)
        self._steps[rows] = 0
        self._returns[rows] = 0
        self._largest[rows] = 0
        self._success[rows] = False
        self._metrics[rows] = np.nan
        for name in self.description.groups:
            bad = self._bad_rows(self.board[f"obs.{name}"], rows)
            if bad:
                raise ValueError(f"observation '{name}' not finite in {self._named(bad)} after a reset")

    def _show(self, row: int, observation: Any) -> None:
        parts = observation if isinstance(observation, dict) else {"policy": observation}
        for name in self.description.groups:
            self.board[f"obs.{name}"][row] = parts[name]

    def _require_finite(self, name: str, values: np.ndarray) -> None:
        if bad := self._bad_rows(values, np.flatnonzero(~self._frozen)):
            raise ValueError(f"{name} not finite in {self._named(bad)}")

    @staticmethod
    def _bad_rows(values: np.ndarray, rows: np.ndarray) -> list[int]:
        found: list[int] = rows[~np.isfinite(values[rows]).all(tuple(range(1, values.ndim)))].tolist()
        return found

    def _named(self, rows: Sequence[int]) -> str:
        numbers = [self._first + row for row in rows]
        return f"row {numbers[0]}" if len(numbers) == 1 else f"rows {numbers}"

    # Commands.

    def blocked(self) -> list[int]:
        """Rows that ended while autoreset was off."""
        if not self._autoreset or self._deal is not None:
            return []
        return [self._first + int(row) for row in np.flatnonzero(self._frozen)]

    def do_init(self) -> None:
        """Start an episode in every row."""
        self.do_reset(None)

    def do_reset(self, rows: Any) -> None:
        """Start a new episode in some rows, or in all."""
        chosen = np.arange(self.rows) if rows is None else np.asarray(rows, dtype=np.int64)
        idle = np.zeros(0, dtype=np.int64) if self._deal is None else self._deal.begin(chosen)
        self._frozen[chosen] = False
        self._begin(chosen)
        self._frozen[idle] = True
        board = self.board
        for name in ("reward", "terminated", "truncated", "final_mask"):
            board[name][:] = 0
        board["steps"][:], board["frozen"][:] = self._steps, self._frozen
        board.tell(has_final=False, has_frozen=not self._autoreset or bool(self._frozen.any()))

    def do_autoreset(self, enabled: bool) -> None:
        """See `TorchEnv.set_autoreset`."""
        self._autoreset = enabled

    def do_reporting(self, enabled: bool) -> None:
        """See `TorchEnv.set_reporting`."""
        self._reporting = enabled

    def do_seed(self, seed: int) -> None:
        """See `TorchEnv.seed`."""
        self._number("training", seed, None)

    def do_seed_episodes(self, seed: int, count: int | None) -> None:
        """See `TorchEnv.seed_episodes`."""
        self._number("evaluation", seed, count)

    def _number(self, stream: str, seed: int, count: int | None) -> None:
        self._deal = None if count is None else Deal(self.rows, count, self._first, self._total)
        self._seed = stream_seed(stream, seed)
        self._numbers[:] = self._first + np.arange(self.rows) - self._total

    def do_drain(self) -> dict[str, Any]:
        """See `EnvHost.do_drain`."""
        ticks, rows, tallies, metrics, success = zip(*self._finished, strict=True) if self._finished else ((),) * 5
        count, dropped = len(ticks), self._dropped
        self._finished, self._dropped = [], 0
        return {
            "tally": np.array(tallies, dtype=np.float64).reshape(count, len(TALLY)).T,
            "measured": np.array(metrics, dtype=np.float32).reshape(count, len(self.description.metrics)).T,
            "succeeded": np.array(success, dtype=np.bool_) if self._knows_success else None,
            "rows": np.array(rows, dtype=np.int64),
            "ticks": np.array(ticks, dtype=np.int64),
            "dropped": dropped,
        }

    def do_diagnostics(self) -> dict[str, Any]:
        """See `EnvHost.do_diagnostics`."""
        made = [env for env in self._envs if env is not None]
        facts = {"environment": str(made[0]), "made": len(made), "num_envs": self.rows}
        return {"facts": {"backend_type": SIMULATOR, "available": True, "diagnostics": facts}, "kernels_compiled": 0}

    def close(self) -> None:
        """Close the environments that were made."""
        envs, self._envs = self._envs, [None] * self.rows
        for env in envs:
            if env is not None:
                env.close()
