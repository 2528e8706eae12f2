"""The NaN guard: remembers the last steps on the device, and writes them down when a number is no longer finite."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import json
import platform
import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import benchmark_app
from benchmark_app.physics.catalogue import ENGINES

from .checks import bad_rows
from .dump import FACTS, FOLDER, HISTORY, VERSION
from .guard_kernels import remember

if TYPE_CHECKING:
    from .device_side import DeviceSide
    from .torch_env import TorchEnv

AFTER_RESET = "observations after a reset"
"""The suspect when the autoreset of the step before went wrong; the environment then names all rows it reset."""

ENGINE = "engine"
"""The suspect when every tensor is finite and the engine still lost correctness."""


class NanGuard:
    """Keeps the last steps of every row in a ring on the device, and dumps them once.

    Bind it with `TorchEnv.set_nan_guard`. Each step then launches one kernel more; nothing is read by the host. What is
    wrong, and where, is found by the environment's own verdict, which calls `dump` before it raises.

    A dump is a folder `nan_dump` of two files, described in the README: `dump.json` (what is bad, task, engine,
    seed, versions) and `history.npz` (the rows' last steps). `python -m benchmark_app replay` takes the failing step
    again.

    Args:
        directory: Where the dump goes; it exists. One that holds a dump already keeps the older one.
        history: Steps remembered K.
        max_rows: Rows written at most; bad ones come first.
        physics: Name of the engine; None finds it by the engine's class.
        physics_settings: The engine's own settings, as given to `make_env`.
        on_dump: Called with the folder once it is written.

    Raises:
        ValueError: `history` or `max_rows` is below 1.

    Attributes:
        path: The dump; None until there is one.
    """

    def __init__(
        self,
        directory: Path,
        history: int = 16,
        max_rows: int = 8,
        *,
        physics: str | None = None,
        physics_settings: dict[str, Any] | None = None,
        on_dump: Callable[[Path], None] | None = None,
    ) -> None:
        for name, value in (("history", history), ("max_rows", max_rows)):
            if value < 1:
                raise ValueError(f"{name}={value}: must be at least 1")
        self.path: Path | None = None
        self._directory = Path(directory).absolute()
        self._history = history
        self._max_rows = max_rows
        self._physics = physics
        self._physics_settings = physics_settings or {}
        self._on_dump = on_dump
        self._spent = False

    def bind(self, env: TorchEnv) -> None:
        """Make the ring for an environment, empty. Called by `TorchEnv.set_nan_guard`."""
        n = env.num_envs
        kept = {**env.backend.robot_state, "control": env.control, "actions": env._actions}
        self._widths = {name: tensor.shape[1] for name, tensor in kept.items()}
        with torch.inference_mode(False):
            self._no_root = torch.zeros(n, 0, device=env.device)
            self._count = torch.zeros(n, dtype=torch.int64, device=env.device)
            self._places = torch.zeros(self._history, n, 2, dtype=torch.int64, device=env.device)
            self._numbers = torch.zeros(self._history, n, sum(self._widths.values()), device=env.device)

    def settings(self) -> dict[str, Any]:
        """What a guard like this one is made with elsewhere, as plain data; see `adopt`."""
        return {
            "directory": str(self._directory),
            "history": self._history,
            "max_rows": self._max_rows,
            "physics": self._physics,
            "physics_settings": self._physics_settings,
        }

    def adopt(self, path: str) -> None:
        """Take over the dump that a guard like this one has written elsewhere; a later one is nothing new."""
        if self._spent:
            return
        self._spent, self.path = True, Path(path)
        if self._on_dump is not None:
            self._on_dump(self.path)

    def clear(self) -> None:
        """Forget the steps remembered so far, in place: what an engine ran only to record it is no step."""
        self._count.zero_()

    def before(self, env: DeviceSide) -> None:
        """Remember the step about to be taken. One launch and nothing else, so that it can be part of a graph."""
        joint_pos, joint_vel, *root = env.backend.robot_state.values()
        env.launch(
            remember,
            env.num_envs,
            joint_pos,
            joint_vel,
            *(root or (self._no_root, self._no_root)),
            env._actions,
            env.control,
            env._steps,
            env._episode,
            self._count,
            self._numbers,
            self._places,
        )

    def dump(self, env: TorchEnv, reason: str, suspects: dict[str, list[int]]) -> str:
        """Write the dump, the first time; later calls do nothing. It never raises: another error is on its way.

        Args:
            env: The environment the guard is bound to, as the failing step left it.
            reason: The error's text.
            suspects: Bad rows of each tensor that has some, the cause before its consequences; empty where the engine
                is unsound.

        Returns:
            A sentence for the reader of the error: where the dump is, or why there is none; "" from the second call on.
        """
        if self._spent:
            return ""
        self._spent = True
        try:
            suspects = _completed(env, suspects)
            healthy = range(env.num_envs)
            rows = list(dict.fromkeys([*(row for bad in suspects.values() for row in bad), *healthy]))
            self._write(env, reason, suspects, rows[: self._max_rows])
            if self._on_dump is not None and self.path is not None:
                self._on_dump(self.path)
        except Exception as error:  # a full disk, a broken device: whatever it is, it is not what went wrong first
            if self.path is None:
                return f"no NaN dump was written ({type(error).__name__}: {error})"
        return f"to take this step again: python -m benchmark_app replay {shlex.quote(str(self.path))}"

    def _write(self, env: TorchEnv, reason: str, suspects: dict[str, list[int]], rows: list[int]) -> None:
        target = self._directory / FOLDER
        facts = json.dumps(self._facts(env, reason, suspects, rows), indent=2, default=str)
        arrays = self._arrays(env, rows)
        # Renamed when complete: a kill leaves all of it or nothing under its name.
        if target.exists():
            raise FileExistsError(f"{self._directory} holds a dump already")
        folder = Path(tempfile.mkdtemp(prefix=f".{FOLDER}.", dir=self._directory))
        try:
            (folder / FACTS).write_text(facts + "\n", encoding="utf-8")
            np.savez(folder / HISTORY, **arrays)  # type: ignore[arg-type]
            with contextlib.suppress(Exception):  # the robot is for a person to look at; the dump is whole without it
                if (model := env.backend.get_scene_visual_model_file()) is not None:
                    shutil.copyfile(model, folder / f"model{Path(model).suffix}")
            folder.chmod(0o755)
            folder.rename(target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.path = target

    def _facts(self, env: TorchEnv, reason: str, suspects: dict[str, list[int]], rows: list[int]) -> dict[str, Any]:
        known = [name for name, engine in ENGINES.items() if engine.backend[1] == type(env.backend).__name__]
        return {
            "version": VERSION,
            "reason": reason,
            "suspects": suspects,
            "rows": rows,
            "first_row": env._first_row,  # of the environments in other processes, if these are not all rows
            "num_envs": env.num_envs,
            "device": str(env.device),
            "seed": int(env._seed),
            "episode": env._episode[rows].tolist(),
            "steps": env._steps[rows].tolist(),
            "task": {"name": env.cfg.name, "module": env.cfg.module, "settings": dataclasses.asdict(env.cfg)},
            "physics": {
                "name": self._physics or next(iter(known), type(env.backend).__name__),
                "settings": self._physics_settings,
            },
            "engine": env.get_backend_runtime_diagnostics(),
            "versions": versions(),
        }

    def _arrays(self, env: TorchEnv, rows: list[int]) -> dict[str, np.ndarray]:
        """History, oldest step first, `[K, R, …]`; then the tensors as the failing step left them, `[R, …]`."""
        taken = int(self._count[0])
        slots = [step % self._history for step in range(max(0, taken - self._history), taken)]
        numbers, places = (ring[slots][:, rows].cpu().numpy() for ring in (self._numbers, self._places))
        ends = np.cumsum(list(self._widths.values()))[:-1]
        arrays = dict(zip(self._widths, np.split(numbers, ends, axis=2), strict=True))
        arrays |= {"episode": places[..., 0], "steps": places[..., 1]}
        after = {"failed.actions": env._actions, "failed.control": env.control, "failed.reward": env._work.reward}
        after |= {f"failed.obs.{name}": group for name, group in env._work.obs.items()}
        after |= {f"engine.{name}": tensor for name, tensor in env.backend.export_state().items()}
        after |= {f"task.{name}": tensor for name, tensor in env.task_state().items()}
        return arrays | {
            name: tensor[rows].cpu().numpy()
            for name, tensor in after.items()
            if tensor.shape[:1] == (env.num_envs,)  # what is not kept by row cannot be told apart
        }


def versions() -> dict[str, str]:
    """Versions of what a step is computed with, in this interpreter."""
    found = {"benchmark_app": benchmark_app.__version__, "python": platform.python_version()}
    for distribution in ("torch", "numpy", "warp-lang", "newton", "mujoco-warp"):
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _completed(env: TorchEnv, suspects: dict[str, list[int]]) -> dict[str, list[int]]:
    """Put the robot's state where it belongs: what is observed and rewarded follows from it, not the reverse.

    Where every tensor is finite, the engine itself is the suspect, in the rows it names a fault of.
    """
    if AFTER_RESET in suspects:
        tensors = [*env.backend.robot_state.values(), *env._work.obs.values()]
        still_bad = {row for tensor in tensors for row in bad_rows(tensor)}
        named = suspects[AFTER_RESET]
        return {AFTER_RESET: [row for row in named if row in still_bad] or named}
    robot = {name: bad_rows(tensor) for name, tensor in env.backend.robot_state.items()}
    inputs = {name: rows for name, rows in suspects.items() if name in ("actions", "control")}
    found = inputs | {name: rows for name, rows in robot.items() if rows} | suspects
    faults = env.backend.export_state().get("faults")
    return found if found or faults is None else {ENGINE: faults.nonzero().flatten().tolist()}
