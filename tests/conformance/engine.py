"""How the suite drives an engine: scenes by robot, states by keyword, and motions as float64 arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark_app.physics import make_backend
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.physics.scene import SceneSpec

from .mjcf import to_mjcf
from .robots import Robot
from .usda import to_usda

NO_GRAVITY = (0.0, 0.0, 0.0)
GRAVITY = 9.81
UNIT_POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
STATE = ("joint_pos", "joint_vel", "root_pose", "root_vel", "link_pose", "link_vel")


@dataclass(frozen=True, kw_only=True)
class Motion:
    """What a backend showed after a reset (the first entry) and after every control step: arrays `[T + 1, N, …]`.

    float64 holds every float32 exactly, so equal arrays are bitwise equal states.
    """

    time: np.ndarray
    joint_pos: np.ndarray
    joint_vel: np.ndarray
    root_pose: np.ndarray
    root_vel: np.ndarray
    link_pose: np.ndarray
    link_vel: np.ndarray

    def row(self, rows: int | slice | list[int]) -> dict[str, np.ndarray]:
        """Everything of some rows, to be compared with another motion's."""
        return {name: getattr(self, name)[:, rows] for name in STATE}


class Sim:
    """A scene built in an engine."""

    def __init__(self, backend: SimBackend, spec: SceneSpec, robot: Robot) -> None:
        self.backend, self.spec, self.robot = backend, spec, robot
        self.shapes = {
            name: (spec.num_envs, width)
            for name, width in (("joint", len(spec.joints)), ("root_pose", 7), ("root_vel", 6))
        }

    @property
    def tolerance(self) -> float:
        """Up to which speed [m/s, rad/s] an engine whose joints are constraints solves them; 0 where there is none."""
        return float(self.backend.diagnostics().get("tolerance", 0.0))

    def place(self, *, rows: Any = None, joint_pos=0.0, joint_vel=0.0, root_pose=UNIT_POSE, root_vel=0.0) -> None:
        """Reset rows (None: all), each value broadcast to all of them."""
        mask = torch.zeros(self.spec.num_envs, dtype=torch.bool)
        mask[slice(None) if rows is None else rows] = True
        state = [self._tensor(joint_pos, "joint"), self._tensor(joint_vel, "joint")]
        if self.spec.floating:
            state += [self._tensor(root_pose, "root_pose"), self._tensor(root_vel, "root_vel")]
        self.backend.reset_rows(mask.to(self.backend.device), *state)

    def run(self, seconds: float, control: Any = 0.0) -> Motion:
        """Step on with a constant control `[N, D]`, or with one of each step `[T, N, D]`."""
        step_dt = self.spec.physics_dt * self.spec.decimation
        steps = round(seconds / step_dt)
        controls = [self._tensor(control, "joint")] * steps
        if np.ndim(control) == 3:
            controls = [self._tensor(each, "joint") for each in control]
        seen = [self.look()]
        for effort in controls:
            self.backend.step(effort)
            seen.append(self.look())
        columns = {name: np.stack([each[name] for each in seen]) for name in STATE}
        return Motion(time=step_dt * np.arange(len(seen)), **columns)

    def look(self) -> dict[str, np.ndarray]:
        """The state now, in copies; an empty array where there is none."""
        empty = torch.zeros(self.spec.num_envs, 0)
        shown = {name: getattr(self.backend, name, None) for name in STATE}
        return {
            name: (empty if value is None else value).cpu().double().numpy().copy() for name, value in shown.items()
        }

    def _tensor(self, value: Any, kind: str) -> torch.Tensor:
        full = np.broadcast_to(np.asarray(value, dtype=np.float32), self.shapes[kind])
        return torch.from_numpy(full.copy()).to(self.backend.device)


class Engine:
    """One engine. It holds one scene at a time: opening another closes the one before."""

    def __init__(self, name: str, folder: Path, device: str = "cpu") -> None:
        self.name, self.folder, self.device = name, folder, device
        self.declared = ENGINES[name].capabilities
        self._open: tuple[Any, Sim] | None = None

    def scene(self, robot: Robot, *, dt: float, num_envs: int = 1, **given: Any) -> SceneSpec:
        """A scene with all of a robot's links; `given` are further fields of `SceneSpec`."""
        room = given.pop("max_contacts", 0)
        return SceneSpec(
            mjcf=self._file(f"{robot.name}.xml", to_mjcf(robot)),
            usd=self._file(f"{robot.name}.usda", to_usda(robot)),
            joints=tuple(joint.name for joint in robot.joints),
            links=tuple(link.name for link in robot.links),
            floating=robot.floating,
            num_envs=num_envs,
            physics_dt=dt,
            decimation=given.pop("decimation", 1),
            max_contacts=room,
            max_constraints=given.pop("max_constraints", 4 * room + 2 * len(robot.joints) + 1),
            extent=given.pop("extent", (2.0, 2.0)),
            **given,
        )

    def open(self, robot: Robot, *, fresh: bool = False, settings: dict[str, Any] | None = None, **scene: Any) -> Sim:
        """A scene of this robot, the one that is open where it is the same and `fresh` does not forbid it."""
        spec, settings = self.scene(robot, **scene), settings or {}
        wanted = (spec, settings)
        if self._open is None or self._open[0] != wanted or fresh:
            self.close()
            keywords = ENGINES[self.name].cfg(name=self.name).keywords() | settings
            self._open = (wanted, Sim(self.build(spec, keywords), spec, robot))
        return self._open[1]

    def build(self, spec: SceneSpec, settings: dict[str, Any]) -> SimBackend:
        return make_backend(self.name, spec, self.device, **settings)

    def close(self) -> None:
        if self._open is not None:
            self._open[1].backend.close()
            self._open = None

    def _file(self, name: str, text: str) -> str:
        """A file of this content; robots may differ and bear one name."""
        path = self.folder / hashlib.sha256(text.encode()).hexdigest()[:8] / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Bitwise the same states."""
    return all(np.array_equal(one[name], other[name]) for name in one)
