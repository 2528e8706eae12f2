"""Plain-data description of a task: what a light process may know of it. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from benchmark_app.rendering.camera import CameraSpec

from .declaration import DEFAULT_VIEW, TaskDeclaration
from .image_spec import ImageSpec

CANONICAL_KEYS = {
    "policy": "observation.state",
    "agent_pos": "observation.state",
    "environment_state": "observation.environment_state",
    "pixels": "observation.image",
    "depth": "observation.depth",
}


@dataclass(kw_only=True)
class EnvCfg:
    """Settings every task has; a task subclasses it and adds its own fields.

    Attributes:
        name: Short name, the one typed as `task=NAME`.
        module: Importable module of the task. It is light, and offers `Cfg` (a subclass of this class) and
            `load_env()`, which imports torch and returns the `TorchEnv` subclass.
        gym_id: Identifier written into bundles.
        physics_dt: Physics step [s].
        decimation: Physics steps per control step.
        episode_length_s: Time limit of an episode [s].
        declaration: What the task claims to be; None: nothing, and `check` cannot judge it.
    """

    declaration: ClassVar[TaskDeclaration | None] = None

    name: str
    module: str
    gym_id: str
    physics_dt: float
    decimation: int
    episode_length_s: float

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence; what a policy that takes language is told. The name by default."""
        return self.name

    @property
    def view(self) -> CameraSpec:
        """How people look at the task, in pictures and videos."""
        return DEFAULT_VIEW if self.declaration is None else self.declaration.view

    @property
    def state_names(self) -> list[str]:
        """Components of the policy's observation in their order; empty where the task names none."""
        return [entry["name"] for entry in self.conventions().get("observations", {}).get("policy", [])]

    @property
    def action_names(self) -> list[str]:
        """Components of an action in their order; empty where the task names none."""
        return [entry["name"] for entry in self.conventions().get("actions", [])]

    def image_groups(self) -> dict[str, ImageSpec]:
        """Observation groups that are images, by name; none by default. Such a task needs a renderer.

        `pixels` is the customary name of colours, `depth` of depths. A policy sees all of them beside its vectors.
        """
        return {}

    def cameras(self) -> tuple[CameraSpec, ...]:
        """The cameras of the image groups, each once."""
        return tuple({spec.camera.name: spec.camera for spec in self.image_groups().values()}.values())

    def canonical_key(self, group: str) -> str:
        """What an observation group is called where policies of any simulator are evaluated.

        `policy` (and `agent_pos`) is `observation.state`, `environment_state` is `observation.environment_state`,
        `pixels` is `observation.image`, or `observation.images.CAMERA` for several; `depth` is `observation.depth`. Of
        stacked pictures it is the newest: a policy that wants more keeps them itself. Every other group keeps its name,
        `observation.GROUP`: a critic's group too, so that a policy is never given by accident what only the critic may
        see. A task whose groups mean something else overrides this.
        """
        return CANONICAL_KEYS.get(group, f"observation.{group}")

    @property
    def control_dt(self) -> float:
        """Control step [s]."""
        return self.physics_dt * self.decimation

    @property
    def max_episode_steps(self) -> int:
        """Control steps until the time limit truncates an episode."""
        return max(1, round(self.episode_length_s / self.control_dt))

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`; empty when all is well."""
        found = []
        for key in ("physics_dt", "decimation", "episode_length_s"):
            if getattr(self, key) <= 0:
                found.append(f"{key}={getattr(self, key)}: must be greater than 0")
        if 0 < self.episode_length_s < self.control_dt * (1 - 1e-6):
            step = f"{self.control_dt:.6g} (physics_dt times decimation)"
            found.append(f"episode_length_s={self.episode_length_s}: must be at least one control step, {step}")
        return found

    def shortened(self, steps: int) -> Self:
        """The same task with episodes of so many control steps, as checks play it.

        A task with settings that must fit into an episode overrides this.
        """
        return replace(self, episode_length_s=steps * self.control_dt)

    def conventions(self) -> dict[str, Any]:
        """What the task's numbers mean, as plain JSON. A task adds its own: `super().conventions() | {…}`.

        Here are the rates (`control_rate_hz`, `physics_dt_s`, `decimation`, `episode_steps`) and, of a task with a
        declaration, `robot_type`, `controller` and `semantics`. `semantics` is `NAME-CONTROL-v1` and names the meaning
        of all the rest: a task that changes what its numbers mean, and not their names, gives it another version.

        Three entries decide which checkpoints fit the task, and are compared by name and order. A task gives each of
        them whole or not at all; without names only dimensions are compared.

        `observations`: every observation group to its components in order, each with at least a `name`.
        `actions`: the components of an action in order, likewise.
        `images`: every image to at least its `channels`; its height and width are not compared. Filled in from
        `image_groups`.
        """
        found: dict[str, Any] = {
            "control_rate_hz": round(1.0 / self.control_dt, 6),
            "physics_dt_s": self.physics_dt,
            "decimation": self.decimation,
            "episode_steps": self.max_episode_steps,
        }
        if self.declaration is not None:
            found |= {
                "robot_type": self.declaration.robot_type,
                "controller": self.declaration.control,
                "semantics": f"{self.name}-{self.declaration.control}-v1",
            }
        if images := self.image_groups():
            found["images"] = {name: spec.described() for name, spec in images.items()}
        return found
