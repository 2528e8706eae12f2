"""From what several hosts tell of their rows to what one environment of all rows would have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from benchmark_app.envs.episodes import Episodes
from benchmark_app.envs.state import TorchEnvState

from .description import Board, Description

SHARED = ("seed",)
"""What every host has of the training state's section `env` that is not kept by row."""


class Boards:
    """The boards of all hosts, in the order of their rows, joined in tensors that are the caller's to keep.

    Args:
        description: What the environments are.
        boards: The hosts' boards.
        device: Where the joined tensors go.
    """

    def __init__(self, description: Description, boards: Sequence[Board], device: torch.device) -> None:
        self._description, self._boards, self._device = description, boards, device
        with torch.inference_mode(False):
            self._views = [{name: torch.from_numpy(array) for name, array in board.arrays.items()} for board in boards]

    def state(self, *, reporting: bool) -> TorchEnvState:
        """What the boards say, as one state."""
        groups = self._description.groups
        state = TorchEnvState(
            {name: self._join(f"obs.{name}") for name in groups},
            self._join("reward"),
            self._join("terminated"),
            self._join("truncated"),
        )
        if reporting:
            self._tell(state.info)
        state.info["steps"] = self._join("steps")
        if any(board.number("has_frozen") for board in self._boards):
            state.info["frozen"] = self._where("has_frozen", "frozen")
        if any(board.number("has_final") for board in self._boards):
            state.final_observation = {
                name: self._where("has_final", f"final.{name}", f"obs.{name}") for name in groups
            }
            state.final_mask = self._where("has_final", "final_mask")
        return state

    def _tell(self, info: dict[str, Any]) -> None:
        if all(board.number("has_success") for board in self._boards):
            info["is_success"] = self._join("is_success")
        metrics = self._join("metrics").t().contiguous()
        info["metrics"] = dict(zip(self._description.metrics, metrics, strict=True))
        terms = self._join("reward_terms").unbind(1)
        info["reward_terms"] = dict(zip(self._description.reward_terms, terms, strict=True))

    def _join(self, name: str) -> torch.Tensor:
        """The arrays of a name as one fresh tensor."""
        return self._joined([views[name] for views in self._views])

    def _where(self, flag: str, name: str, otherwise: str | None = None) -> torch.Tensor:
        """The same, of the boards that say it is there; of others `otherwise`, or zeros."""
        parts = []
        for board, views in zip(self._boards, self._views, strict=True):
            if board.number(flag):
                parts.append(views[name])
            else:
                parts.append(views[otherwise] if otherwise is not None else torch.zeros_like(views[name]))
        return self._joined(parts)

    def _joined(self, parts: list[torch.Tensor]) -> torch.Tensor:
        joined = torch.cat(parts) if len(parts) > 1 else parts[0].clone()
        return joined.to(self._device)

    def largest(self, name: str) -> float:
        """The largest of the boards' numbers."""
        return max(board.number(name) for board in self._boards)

    def total(self, name: str) -> float:
        """The sum of the boards' numbers."""
        return sum(board.number(name) for board in self._boards)


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
