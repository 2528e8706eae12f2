"""What a task implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch

from benchmark_app.physics.scene import SceneSpec

from .state import TorchEnvState


class TaskHooks(ABC):
    """The part of a `TorchEnv` that is the task's own.

    Subclass `TorchEnv`, set the class attributes, and implement `scene`, `apply_action`, `update_state`,
    `observe`, `initial_state` and, where the task knows success or measures something else, `episode_success` and
    `episode_metrics`. Hooks work in place, on tensors that live as long as the environment: they write into the private
    `state` they are given (its `obs`, `reward`, `terminated`), into `self.control` and `self.terms`, and into buffers
    of their own; they read the engine through `self.backend`.
    What a caller gets is always a copy. Torch operations will do (`torch.stack(…, out=state.obs["policy"])`). A task
    whose hooks launch nothing but Warp kernels may set `recordable`: they then run once, while the whole step is
    recorded as one graph together with the engine, and never again in Python.

    Attributes:
        num_actions: Actions per row.
        obs_groups_spec: Observation group to its dimension; `"policy"` always, `"critic"` where a task has it.
        reward_terms: Names of the terms the reward is the sum of, in the order of `self.terms`; empty: it is not told.
        metrics: Names of what `episode_metrics` measures, in its order.
        num_reset_randoms: Random numbers a row's initial state needs.
        recordable: Every hook but `episode_success` and `episode_metrics` launches Warp kernels only. It is not
            inherited, so that a subclass may override a hook in Python without knowing of it.
    """

    num_actions: int
    obs_groups_spec: ClassVar[dict[str, int]]
    num_reset_randoms: int
    reward_terms: ClassVar[tuple[str, ...]] = ()
    metrics: ClassVar[tuple[str, ...]] = ()
    recordable: bool = False

    @staticmethod
    @abstractmethod
    def scene(cfg: Any, num_envs: int) -> SceneSpec:
        """What an engine must build for the task."""

    @abstractmethod
    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """Turn actions into the control, held over the control step.

        The control is joint efforts [N or N·m], or target positions [rad or m] where the scene has an actuator.

        Args:
            actions: float32 `[N, num_actions]`; not to be written.
            state: The private state, as the last step left it.

        Returns:
            `self.control`, filled; or any float32 `[N, D]`, which is then copied.
        """

    @abstractmethod
    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Fill `state.obs`, `state.reward` and `state.terminated` in place, for the step just taken.

        Where the task names its `reward_terms`, `self.terms` too: every term as it enters the reward, their sum.

        `state.info["steps"]` counts the steps of the episode before this one; `state.truncated` and the resets are the
        environment's business.

        Returns:
            `state`.
        """

    @abstractmethod
    def observe(self, state: TorchEnvState) -> None:
        """Fill `state.obs` in place, after rows were reset. Rows that were not must come out as they were."""

    @abstractmethod
    def initial_state(self, rows: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """First state of the next episode of some rows; the task's own buffers of these rows are cleared here too.

        Args:
            rows: bool `[N]`, the rows concerned.
            uniform: Random numbers `[N, num_reset_randoms]` in [0, 1): the only randomness to use.

        Returns:
            Joint positions and velocities, each `[N, D]`; of a floating robot also the root's pose `[N, 7]` and
            velocity `[N, 6]`, as in `SimBackend.robot_state`. Only those of `rows` are used.
        """

    def task_state(self) -> dict[str, torch.Tensor]:
        """Buffers of the task's own that a later step depends on, by name, each with N rows; empty by default.

        A task that keeps its previous action, say, names it here. The tensors are the live ones: they are copied
        when the training state is exported, and written in place when one is imported.
        """
        return {}

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor | None:
        """Whether the episodes in rows `env_ids` `[K]`, if they ended with this step, have succeeded: bool `[K]`.

        Called before the rows are reset. None: the task reports no success.
        """
        return None

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """What the task measures of the episodes in rows `env_ids` `[K]`, as of this step.

        Called as `episode_success` is.

        Returns:
            float32 `[M, K]`, in the order of `metrics`. NaN: nothing was measured in this episode, which is never 0.
        """
        return torch.empty((0, len(env_ids)), device=env_ids.device)
