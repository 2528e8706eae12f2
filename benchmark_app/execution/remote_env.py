"""An environment whose rows are stepped elsewhere; whoever trains on it is none the wiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import torch

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.checks import checked_rows, require_tensor
from benchmark_app.envs.episodes import Episodes
from benchmark_app.envs.observing import seen_by_policy, spaces_of
from benchmark_app.envs.playback import Playback
from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.training_state import VERSION, check_training_state
from benchmark_app.physics.base import name_rows

from .description import places
from .hosts import Hosts
from .joining import Joined, episodes, training_sections, training_share
from .link import EnvLink, LinkError
from .remote_backend import RemoteBackend

if TYPE_CHECKING:
    from gymnasium import Space
    from gymnasium.spaces import Box

    from benchmark_app.envs.image_spec import ImageSpec
    from benchmark_app.envs.nan_guard import NanGuard


class Share(Protocol):
    """What takes the engine's share of a step (`SimulationShare`)."""

    def add(self, seconds: float, calls: int) -> None:
        """Add the engine's seconds and calls of a step."""


class RemoteEnv(Playback):
    """What a `TorchEnv` offers to libraries, workflows and checks, over links to hosts that step some rows each.

    Row numbers, episodes and seeds, checks, errors and what a state holds are those of one `TorchEnv` of all rows;
    where the engine's rows are independent, every number is bitwise the same. Every step and command goes to all hosts
    before any is waited for. Of the engine, only what it tells is there (`RemoteBackend`).

    Args:
        cfg: Task settings.
        links: Links to the hosts, in the order of their rows, their boards parts of one. The environment closes them.
        device: Torch device of every tensor here; the hosts have their own.

    Raises:
        ValueError: The hosts do not have the same environments.
    """

    def __init__(self, cfg: EnvCfg, links: Sequence[EnvLink], *, device: torch.device | str = "cpu") -> None:
        self._cfg, self._links, self._device = cfg, list(links), torch.device(device)
        self._hosts = Hosts(self._links)
        self._description = links[0].description
        if any(link.description != self._description for link in links):
            raise ValueError("the hosts have built different environments")
        ends = np.cumsum([link.rows for link in links]).tolist()
        self._rows = [range(end - link.rows, end) for link, end in zip(links, ends, strict=True)]
        self._num_envs: int = ends[-1]
        self._action_shape = (self._num_envs, self._description.num_actions)
        memory = links[0].board.memory
        self._boards = Joined(self._description, memory, self._rows, self._device)
        place = places(self._description, self._num_envs, len(links))["actions"]
        with torch.inference_mode(False):
            self._actions = torch.from_numpy(np.ndarray(place.shape, place.dtype, memory, place.offset))
        self._backend = RemoteBackend(self._description, self._num_envs, self._device, self._ask)
        self._state: TorchEnvState | None = None
        self._closed = False
        self._autoreset = True
        self._reporting = False
        self._failed = ""  # why the last step failed
        self._blocked: list[int] = []  # rows that must be reset before the next step
        self._share: Share | None = None
        self._guard: NanGuard | None = None
        self.seed(0)

    # What it is.

    @property
    def cfg(self) -> EnvCfg:
        """Task settings."""
        return self._cfg

    @property
    def backend(self) -> RemoteBackend:
        """What stands for the engine."""
        return self._backend

    @property
    def device(self) -> torch.device:
        """Device of every tensor."""
        return self._device

    @property
    def num_envs(self) -> int:
        """Rows N."""
        return self._num_envs

    @property
    def num_actions(self) -> int:
        """Actions per row."""
        return self._description.num_actions

    @property
    def obs_groups_spec(self) -> dict[str, int]:
        """Observation group of numbers to its dimension."""
        return {name: group.shape[0] for name, group in self._description.groups.items() if len(group.shape) == 1}

    @property
    def reward_terms(self) -> tuple[str, ...]:
        """Names of the terms of the reward."""
        return self._description.reward_terms

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of what is measured of an episode."""
        return self._description.metrics

    @property
    def state(self) -> TorchEnvState | None:
        """The last state returned; None before the first `init_state` or `reset`."""
        return self._state

    @property
    def image_groups(self) -> dict[str, ImageSpec]:
        """Observation group of images to what they are; see `TorchEnv.image_groups`."""
        return self._cfg.image_groups()

    @property
    def group_spaces(self) -> dict[str, Space[Any]]:
        """Space of one row of each observation group."""
        return spaces_of(self.obs_groups_spec, self.image_groups)

    @property
    def observation_space(self) -> Space[Any]:
        """Space of one row of what a policy sees; see `TorchEnv.observation_space`."""
        return seen_by_policy(self.group_spaces, self.image_groups)

    @property
    def action_space(self) -> Box:
        """Space of one row of actions."""
        from gymnasium.spaces import Box

        low, high = (np.array(bound, dtype=np.float32) for bound in self._bounds)
        return Box(low, high, dtype=np.float32)

    @property
    def _bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self._description.action_low, self._description.action_high

    @property
    def produces_completion_receipts(self) -> bool:
        """False: outputs are there when `step` returns."""
        return False

    @property
    def kernel_loads(self) -> int:
        """Kernel modules the hosts' processes have compiled or loaded, as of the last step or reset."""
        return int(self._boards.total("kernel_loads"))

    @property
    def kernels_compiled(self) -> int:
        """Those of them that were compiled. Cold path."""
        return sum(int(answer["kernels_compiled"]) for answer in self._ask("diagnostics"))

    @property
    def _steps(self) -> torch.Tensor:  # type: ignore[override]  # read by `Playback`
        assert self._state is not None, "no row has an episode yet"
        steps: torch.Tensor = self._state.info["steps"]
        return steps

    def get_backend_runtime_diagnostics(self) -> dict[str, Any]:
        """See `TorchEnv.get_backend_runtime_diagnostics`; `processes` says where the rows are."""
        facts: dict[str, Any] = {"backend_type": self._description.simulator, "available": not self._closed}
        if self._closed:
            return facts | {"unavailable_reason": "the environment is closed"}
        try:
            told: dict[str, Any] = self._ask("diagnostics")[0]["facts"]
        except Exception as error:  # whatever keeps an engine from telling must not end a run
            return facts | {"available": False, "unavailable_reason": f"{type(error).__name__}: {error}"}
        return told | {"processes": [link.facts() for link in self._links]}

    # How it goes about things.

    def set_autoreset(self, enabled: bool) -> None:
        """See `TorchEnv.set_autoreset`."""
        self._require_open()
        if not isinstance(enabled, bool):
            raise TypeError(f"set_autoreset: expected bool, got {enabled!r}")
        self._ask("autoreset", enabled=enabled)
        self._autoreset = enabled

    def set_reporting(self, enabled: bool) -> None:
        """See `TorchEnv.set_reporting`."""
        self._require_open()
        if not isinstance(enabled, bool):
            raise TypeError(f"set_reporting: expected bool, got {enabled!r}")
        self._ask("reporting", enabled=enabled)
        self._reporting = enabled

    def set_nan_guard(self, guard: NanGuard | None) -> None:
        """See `TorchEnv.set_nan_guard`: each host gets a guard with the settings of this one."""
        self._require_open()
        self._ask("guard", settings=None if guard is None else guard.settings())
        self._guard = guard

    def set_simulation_watch(self, watch: Share | None) -> None:
        """Have every host take its engine's share of a step; `watch` is told that of the host whose share was longest.

        The hosts step side by side, so that this is what the engine adds to the wall time of a step.

        Args:
            watch: A `SimulationShare`; None: the engine's share is not taken.

        Raises:
            TypeError: It cannot be told: only a step in this process can be run by it.
            RuntimeError: The environment is closed.
        """
        self._require_open()
        if watch is not None and not hasattr(watch, "add"):
            raise TypeError("set_simulation_watch: the engine is in another process; expected a SimulationShare")
        self._ask("watch", enabled=watch is not None)
        self._share = watch

    def seed(self, seed: int) -> None:
        """See `TorchEnv.seed`."""
        self._ask("seed", seed=int(seed))

    def seed_episodes(self, seed: int, count: int | None = None) -> None:
        """See `TorchEnv.seed_episodes`."""
        if count is not None and count < 1:
            raise ValueError(f"count={count}: must be at least 1")
        self._ask("seed_episodes", seed=int(seed), count=count)

    # Episodes.

    def drain_episodes(self) -> Episodes:
        """Episodes finished since the last call, in order."""
        answers = self._ask("drain")
        return episodes(answers, [rows.start for rows in self._rows], self._description)

    def init_state(self) -> TorchEnvState:
        """See `TorchEnv.init_state`."""
        self._require_open()
        self._attempt(lambda: self._ask("init"))
        self._failed = ""
        self._state = self._boards.state(reporting=False)
        return self._state

    def reset(self, env_ids: torch.Tensor | None = None) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """See `TorchEnv.reset`."""
        self._require_open()
        everywhere = np.arange(self._num_envs)
        rows = everywhere if env_ids is None else checked_rows(env_ids, self._num_envs)
        if env_ids is not None and self._state is None:
            raise RuntimeError("reset(env_ids) before init_state(): no row has an episode yet")
        if self._failed and len(rows) < self._num_envs:
            self._refuse_after_failure()
        shares = [rows[(rows >= share.start) & (rows < share.stop)] - share.start for share in self._rows]
        if len(rows) == self._num_envs:
            self._attempt(lambda: self._ask("reset", rows=None))
        else:
            self._attempt(lambda: self._ask_each("reset", [{"rows": share} for share in shares]))
        self._failed = ""
        self._state = state = self._boards.state(reporting=False)
        return state.obs, state.info

    def step(self, actions: torch.Tensor) -> TorchEnvState:
        """See `TorchEnv.step`."""
        if self._closed or self._state is None or self._failed or self._blocked or self._hosts.lost:
            self._refuse_step()
        require_tensor("actions", actions, self._action_shape, self._device)
        if actions.requires_grad:
            raise ValueError("actions: expected no gradients; pass actions.detach()")
        self._actions.copy_(actions)
        self._attempt(self._hosts.step)
        self._state = state = self._boards.state(reporting=self._reporting)
        if self._share is not None:
            seconds, calls = self._boards.largest("simulation_s"), self._boards.largest("simulation_calls")
            self._share.add(seconds, int(calls))
        return state

    def close(self) -> None:
        """Close the hosts' environments, and leave nothing running. Calling it twice is harmless."""
        if not self._closed:
            self._closed = True
            for link in self._links:
                link.close()

    # The training state.

    def export_training_state(self) -> dict[str, Any]:
        """See `TorchEnv.export_training_state`: it is the same, whatever the rows are split into."""
        self._require_open()
        if self._state is None:
            raise RuntimeError("export_training_state() before init_state(): no row has an episode yet")
        if self._failed:
            self._refuse_after_failure()
        answers = self._ask("export")
        header = {"version": VERSION, "num_envs": self._num_envs, "autoreset": self._autoreset}
        return {**header, **training_sections(answers)}

    def import_training_state(self, state: Mapping[str, Any]) -> None:
        """See `TorchEnv.import_training_state`."""
        self._require_open()
        # Before any host is told of it, so that one that is refused changes nothing anywhere.
        check_training_state(state, self._num_envs, training_sections(self._ask("carried")))
        self._ask_each("import", [{"state": training_share(state, rows)} for rows in self._rows])
        self._autoreset, self._failed = state["autoreset"], ""
        self._state = self._boards.state(reporting=False)

    # The links.

    def _ask(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """Have every host do the same; their answers, in the order of their rows."""
        return self._ask_each(name, [arguments] * len(self._links))

    def _ask_each(self, name: str, arguments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        answers = self._hosts.ask(name, arguments)
        self._blocked = [row for answer in answers for row in answer["blocked"]]
        return answers

    def _attempt(self, what: Callable[[], Any]) -> None:
        """Do what starts or steps episodes; if it fails, only a reset of all rows helps."""
        try:
            what()
        except Exception as error:
            self._failed = str(error)
            if self._guard is not None and not self._hosts.lost:
                self._adopt_dump(self._guard)
            raise

    def _adopt_dump(self, guard: NanGuard) -> None:
        """Let the guard that was set here know of the dump a host wrote."""
        dumps = [answer["nan_dump"] for answer in self._ask("diagnostics") if answer.get("nan_dump")]
        if dumps:
            guard.adopt(dumps[0])

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed")

    def _refuse_step(self) -> NoReturn:
        self._require_open()
        if self._hosts.lost:
            raise LinkError(self._hosts.lost)
        if self._state is None:
            raise RuntimeError("step() before init_state(): no row has an episode yet")
        if self._failed:
            self._refuse_after_failure()
        raise RuntimeError(
            f"{name_rows(self._blocked)} ended while autoreset was off and must be reset before the next step"
        )

    def _refuse_after_failure(self) -> NoReturn:
        raise RuntimeError(f"an earlier step failed ({self._failed}); reset all rows first")
