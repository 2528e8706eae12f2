"""From what several hosts tell of their rows to what one environment of all rows would have said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from benchmark_app.envs.episodes import Episodes
from benchmark_app.envs.state import TorchEnvState

from .description import NUMBERS, Description, places

HAS_FINAL, HAS_FROZEN = NUMBERS.index("has_final"), NUMBERS.index("has_frozen")
SHARED = ("seed",)
"""What every host has of the training state's section `env` that is not kept by row."""


class Joined:
    """The board of all hosts, read as one state in tensors that are the caller's to keep.

    Args:
        description: What the environments are.
        memory: Memory of the board.
        parts: Rows of each host.
        device: Where the tensors go.
    """

    def __init__(
        self, description: Description, memory: np.ndarray, parts: Sequence[range], device: torch.device
    ) -> None:
        self._description, self._parts = description, parts
        found = {
            name: np.ndarray(place.shape, place.dtype, memory, place.offset)
            for name, place in places(description, parts[-1].stop, len(parts)).items()
        }
        self._numbers = found["numbers"]
        with torch.inference_mode(False):
            self._live = {name: torch.from_numpy(array) for name, array in found.items()}
        self._copy: Callable[[torch.Tensor], torch.Tensor] = (
            torch.clone if device.type == "cpu" else lambda tensor: tensor.to(device)
        )
        self._obs = [(name, self._live[f"obs.{name}"]) for name in description.groups]
        self._final = [(name, self._live[f"final.{name}"]) for name in description.groups]

    def state(self, *, reporting: bool) -> TorchEnvState:
        """What the hosts told, as one state."""
        live, copy = self._live, self._copy
        numbers = self._numbers.tolist()
        obs = {name: copy(group) for name, group in self._obs}
        state = TorchEnvState(obs, copy(live["reward"]), copy(live["terminated"]), copy(live["truncated"]))
        if reporting:
            self._tell(state.info)
        state.info["steps"] = copy(live["steps"])
        if any(part[HAS_FROZEN] for part in numbers):
            state.info["frozen"] = self._alone("frozen", HAS_FROZEN)
        if any(part[HAS_FINAL] for part in numbers):
            mask = copy(live["final_mask"])
            final = {name: copy(group) for name, group in self._final}
            for rows, part in zip(self._parts, numbers, strict=True):
                if not part[HAS_FINAL]:  # nothing ended there: what it wrote is of an earlier step
                    mask[rows.start : rows.stop] = False
                    for name, group in final.items():
                        group[rows.start : rows.stop] = obs[name][rows.start : rows.stop]
            state.final_observation, state.final_mask = final, mask
        return state

    def _alone(self, name: str, flag: int) -> torch.Tensor:
        """A copy of an array; 0 in the rows of hosts that do not say by the number `flag` that it is there."""
        tensor = self._copy(self._live[name])
        for rows, there in zip(self._parts, self._numbers[:, flag].tolist(), strict=True):
            if not there:
                tensor[rows.start : rows.stop] = 0
        return tensor

    def _tell(self, info: dict[str, Any]) -> None:
        if self._numbers[:, NUMBERS.index("has_success")].all():
            info["is_success"] = self._copy(self._live["is_success"])
        metrics = self._copy(self._live["metrics"]).t().contiguous()
        info["metrics"] = dict(zip(self._description.metrics, metrics, strict=True))
        terms = self._copy(self._live["reward_terms"]).unbind(1)
        info["reward_terms"] = dict(zip(self._description.reward_terms, terms, strict=True))

    def largest(self, name: str) -> float:
        """The largest of the hosts' numbers."""
        return float(self._numbers[:, NUMBERS.index(name)].max())

    def total(self, name: str) -> float:
        """The sum of the hosts' numbers."""
        return float(self._numbers[:, NUMBERS.index(name)].sum())


def episodes(answers: Sequence[Mapping[str, Any]], firsts: Sequence[int], description: Description) -> Episodes:
    """The hosts' finished episodes in the order in which one environment would have recorded them.

    Args:
        answers: What each host said to `drain`.
        firsts: Number of each host's first row.
        description: What the environments are.
    """
    rows = np.concatenate([answer["rows"] + first for answer, first in zip(answers, firsts, strict=True)])
    order = np.lexsort((rows, np.concatenate([answer["ticks"] for answer in answers])))
    known = [answer["succeeded"] for answer in answers if answer["succeeded"] is not None]
    return Episodes(
        tally=np.concatenate([answer["tally"] for answer in answers], 1)[:, order],
        measured=np.concatenate([answer["measured"] for answer in answers], 1)[:, order],
        term_names=description.reward_terms,
        metric_names=description.metrics,
        # A host none of whose episodes ended knows of no success.
        succeeded=np.concatenate(known)[order] if known else None,
        played_in=[rows[order]],
        dropped=sum(int(answer["dropped"]) for answer in answers),
    )


def training_sections(answers: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, torch.Tensor]]:
    """The hosts' training states (`env`, `backend`, `task`) as that of one environment of all rows."""
    found: dict[str, dict[str, torch.Tensor]] = {}
    for part in ("env", "backend", "task"):
        tensors = [{name: torch.from_numpy(array) for name, array in answer[part].items()} for answer in answers]
        found[part] = {
            name: first.clone() if part == "env" and name in SHARED else torch.cat([each[name] for each in tensors])
            for name, first in tensors[0].items()
        }
    return found


def training_share(state: Mapping[str, Any], rows: range) -> dict[str, Any]:
    """A host's share of a training state, as plain data."""
    share: dict[str, Any] = {"version": state["version"], "num_envs": len(rows), "autoreset": state["autoreset"]}
    for part in ("env", "backend", "task"):
        share[part] = {
            name: (tensor if part == "env" and name in SHARED else tensor[rows.start : rows.stop]).numpy()
            for name, tensor in state[part].items()
        }
    return share
