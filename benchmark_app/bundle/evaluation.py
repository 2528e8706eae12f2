"""How well a policy does (play): a row for every finished episode, and what all of them together say.

An episode is one trial of one policy. Intervals here say how far chance in the choice of episodes reaches, and nothing
about what training again with another seed would give: policies are set side by side in `analysis.scores`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark_app.bundle.aggregate import mean_std, wilson_interval
from benchmark_app.bundle.pick import every, first
from benchmark_app.bundle.schema import MeanStd
from benchmark_app.journal.events import Episode, Event, RunPlanned, Scalar

EPISODES = "episodes.jsonl"
"""The rows of a play, beside its bundle."""

Row = dict[str, Any]


def episode_rows(events: Iterable[Event]) -> list[Row]:
    """The finished episodes of a play, ordered by index, in plain data.

    Returns:
        Of each episode: `index`; `seed` of the run, which with the index decides all that was drawn for it; `return`;
        `max_reward` of a single step; `length` in control steps; `success`, null where the task knows none; `metrics`
        as of its last step, null where nothing was measured; `reward_terms`, each summed over the episode.
    """
    events = list(events)
    plan = first(events, RunPlanned)
    seed = plan.seed if plan is not None else None
    return [
        {
            "index": episode.index,
            "seed": seed,
            "return": episode.reward,
            "max_reward": episode.max_reward,
            "length": episode.length,
            "success": episode.success,
            "metrics": episode.metrics,
            "reward_terms": episode.reward_terms,
        }
        for episode in sorted(every(events, Episode), key=lambda episode: episode.index)
    ]


@dataclass(frozen=True)
class Average:
    """The mean of a number over the episodes that have it.

    Args:
        mean: None where none has it, which is never 0.
        n_episodes: How many have it.
    """

    mean: float | None
    n_episodes: int


@dataclass(frozen=True)
class Evaluation:
    """Aggregates over episodes; None where no episode says.

    Args:
        n_episodes: Finished episodes.
        n_judged: Those of them whose task knows success.
        n_success: Those of them that succeeded.
        reward: Return.
        max_reward: Largest reward of a single step.
        ep_length: Length [control steps].
        metrics: What tasks measured, by name.
        reward_terms: Terms of the reward, each summed over an episode, by name.
    """

    n_episodes: int
    n_judged: int
    n_success: int
    reward: MeanStd | None
    max_reward: Average
    ep_length: MeanStd | None
    metrics: dict[str, Average] = field(default_factory=dict)
    reward_terms: dict[str, Average] = field(default_factory=dict)

    @property
    def success_rate(self) -> float | None:
        """Share of the judged episodes that succeeded, 0 to 1."""
        return self.n_success / self.n_judged if self.n_judged else None

    @property
    def pc_success(self) -> float | None:
        """The same in percent."""
        return 100 * self.n_success / self.n_judged if self.n_judged else None

    @property
    def pc_success_ci95(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of it, in percent."""
        if not self.n_judged:
            return None
        low, high = wilson_interval(self.n_success, self.n_judged)
        return 100 * low, 100 * high


def evaluate(rows: Sequence[Row]) -> Evaluation:
    """Judge by rows of episodes. Those of several tasks are pooled, so that each episode weighs the same."""
    judged = [row["success"] for row in rows if row["success"] is not None]
    return Evaluation(
        n_episodes=len(rows),
        n_judged=len(judged),
        n_success=sum(judged),
        reward=mean_std([row["return"] for row in rows]),
        max_reward=_average([row["max_reward"] for row in rows]),
        ep_length=mean_std([float(row["length"]) for row in rows]),
        metrics=_averages([row["metrics"] for row in rows]),
        reward_terms=_averages([row["reward_terms"] for row in rows]),
    )


def evaluation_extra(evaluation: Evaluation) -> dict[str, Scalar]:
    """What the bundle's schema has no field for; a mean that does not exist is left out."""
    extra: dict[str, Scalar | None] = {"n_episodes": evaluation.n_episodes}
    if (interval := evaluation.pc_success_ci95) is not None:
        extra |= {"n_success": evaluation.n_success, "pc_success": evaluation.pc_success}
        extra |= {"pc_success_ci95_low": interval[0], "pc_success_ci95_high": interval[1]}
    extra["avg_sum_reward"] = evaluation.reward.mean if evaluation.reward is not None else None
    extra["avg_max_reward"] = evaluation.max_reward.mean
    for name, average in evaluation.metrics.items():
        extra |= {f"metrics.{name}": average.mean, f"metrics.{name}.n_episodes": average.n_episodes}
    extra |= {f"reward_terms.{name}": average.mean for name, average in evaluation.reward_terms.items()}
    return {key: value for key, value in extra.items() if value is not None}


def _averages(tables: Sequence[dict[str, float | None]]) -> dict[str, Average]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: _average([table.get(name) for table in tables]) for name in names}


def _average(values: Iterable[float | None]) -> Average:
    known = [value for value in values if value is not None]
    return Average(math.fsum(known) / len(known) if known else None, len(known))
