"""Engines with one defect each, to show that the checks catch it. Each wraps a sound engine of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from scipy.spatial.transform import Rotation

from .engine import Engine
from .robots import TUMBLER

SOUND = "newton_mjwarp"


class Wrapped:
    """A backend that is sound; what a subclass defines takes the place of the sound one's."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Broken(Engine):
    """An engine whose backends are wrapped, whose scenes are altered, or whose robot files are."""

    wrapper: Any = Wrapped
    altered: tuple[str, str] | None = None

    def __init__(self, folder: Path) -> None:
        super().__init__(SOUND, folder)

    def alter(self, spec: Any) -> Any:
        if self.altered is None:
            return spec
        wrong = Path(spec.mjcf).with_name("wrong.xml")
        wrong.write_text(Path(spec.mjcf).read_text().replace(*self.altered))
        return replace(spec, mjcf=str(wrong))

    def build(self, spec: Any, settings: dict[str, Any]) -> Any:
        return self.wrapper(super().build(self.alter(spec), settings))


def rotation(pose: torch.Tensor) -> Rotation:
    return Rotation.from_quat(pose[..., 3:].reshape(-1, 4).numpy())


class SwappedJoints(Broken):
    class wrapper(Wrapped):
        @property
        def joint_vel(self) -> torch.Tensor:
            return self.inner.joint_vel.flip(1)


class CentreOfMassVelocity(Broken):
    class wrapper(Wrapped):
        @property
        def link_vel(self) -> torch.Tensor:
            moved, pose = self.inner.link_vel.clone(), self.inner.link_pose
            for index, link in enumerate(TUMBLER.links):
                arm = torch.tensor(rotation(pose[:, index]).apply(link.com), dtype=torch.float32)
                moved[:, index, :3] += torch.linalg.cross(moved[:, index, 3:], arm)
            return moved

        @property
        def root_vel(self) -> torch.Tensor:
            return self.link_vel[:, 0]


class ScalarFirst(Broken):
    class wrapper(Wrapped):
        @property
        def link_pose(self) -> torch.Tensor:
            pose = self.inner.link_pose
            return torch.cat((pose[..., :3], pose[..., 3:].roll(1, -1)), -1)


class SpinInBodyAxes(Broken):
    class wrapper(Wrapped):
        @property
        def root_vel(self) -> torch.Tensor:
            turned = self.inner.root_vel.clone()
            turned[:, 3:] = torch.tensor(rotation(self.inner.root_pose).inv().apply(turned[:, 3:].numpy()))
            return turned


class Heavy(Broken):
    def alter(self, spec: Any) -> Any:
        return replace(spec, gravity=tuple(1.01 * part for part in spec.gravity))


class Slippery(Broken):
    def alter(self, spec: Any) -> Any:
        return replace(spec, friction=0.97 * spec.friction)


class Tireless(Broken):
    def alter(self, spec: Any) -> Any:
        return replace(spec, effort_limit=None)


class HeldLaw(Broken):
    """The PD law acts once per control step."""

    def build(self, spec: Any, settings: dict[str, Any]) -> Any:
        backend, law, limit = super().build(replace(spec, actuator=None), settings), spec.actuator, spec.effort_limit

        def step(control: torch.Tensor) -> None:
            gap = torch.tensor(law.stiffness) * (control - backend.joint_pos)
            effort = gap - torch.tensor(law.damping) * backend.joint_vel
            bound = torch.full_like(effort, torch.inf) if limit is None else torch.tensor(limit)
            backend.inner.step(effort.clamp(-bound, bound))

        backend.step = step
        return backend


class LittleArmature(Broken):
    altered = ('armature="0.6"', 'armature="0.599"')


class LittleDamping(Broken):
    altered = ('damping="1.7"', 'damping="1.68"')


class WideLimits(Broken):
    altered = ('range="-0.9 1.2"', 'range="-0.9 1.21"')


class WrongMass(Broken):
    altered = ('mass="1.3"', 'mass="1.301"')


class Sunken(Broken):
    class wrapper(Wrapped):
        @property
        def root_pose(self) -> torch.Tensor:
            return self.inner.root_pose - torch.tensor([0, 0, 0.002, 0, 0, 0, 0])


class Accelerating(Broken):
    """Velocities that are shown are two per cent too large once something has moved."""

    class wrapper(Wrapped):
        moved = False

        def step(self, control: torch.Tensor) -> None:
            self.inner.step(control)
            self.moved = True

        def reset_rows(self, *state: torch.Tensor) -> None:
            self.inner.reset_rows(*state)
            self.moved = False

        @property
        def link_vel(self) -> torch.Tensor:
            return self.inner.link_vel * (1.02 if self.moved else 1.0)


class ResetsTooMuch(Broken):
    class wrapper(Wrapped):
        def reset_rows(self, mask: torch.Tensor, *state: torch.Tensor) -> None:
            self.inner.reset_rows(mask | mask.roll(1), *state)


class Noisy(Broken):
    class wrapper(Wrapped):
        def step(self, control: torch.Tensor) -> None:
            self.inner.step(control + 1e-6 * torch.rand_like(control))


class Leaky(Broken):
    """What one row does reaches the next."""

    class wrapper(Wrapped):
        def step(self, control: torch.Tensor) -> None:
            self.inner.step(control + 1e-6 * self.inner.joint_vel.roll(1, 0))


class Silent(Broken):
    class wrapper(Wrapped):
        fault = torch.zeros(())


class Forgetful(Broken):
    class wrapper(Wrapped):
        def import_state(self, state: dict[str, torch.Tensor]) -> None:
            self.inner.import_state(state | {"qacc_warmstart": torch.zeros_like(state["qacc_warmstart"])})


class Unrecorded(Broken):
    class wrapper(Wrapped):
        def record(self, body: Any) -> Any:
            return body
