"""What random actions earn: what a policy must beat to have learned anything."""

from __future__ import annotations

import math
from contextlib import closing
from statistics import fmean, stdev
from typing import Any

import torch

from .walk import Live


def random_episodes(live: Live, episodes: int, rows: int, seed: int) -> dict[str, Any]:
    """Play episodes with actions uniform in [-1, 1].

    Args:
        live: The task on an engine.
        episodes: How many, the first by their number, so that short ones do not count more often.
        rows: Rows to play them in.
        seed: Of the episodes and of the actions.

    Returns:
        `n_episodes`, the mean return `avg_sum_reward` and its `standard_error`.
    """
    returns: dict[int, float] = {}
    with closing(live.build(live.cfg, rows)) as env:
        env.seed(seed)
        env.init_state()
        draw = torch.Generator().manual_seed(seed)
        while len(returns) < episodes:
            action = 2.0 * torch.rand(rows, env.num_actions, generator=draw) - 1.0
            env.step(action.to(env.device))
            ended = env.drain_episodes()
            found = zip(ended.index.tolist(), ended.returns.tolist(), strict=True)
            returns |= {index: value for index, value in found if index < episodes}
    values = list(returns.values())
    error = stdev(values) / math.sqrt(len(values))
    return {"n_episodes": len(values), "avg_sum_reward": fmean(values), "standard_error": error}
