"""How well policies do: by task, by suite and overall, for every seed, and over seeds.

Two kinds of chance are kept apart. A policy was played for some episodes: how far their choice reaches, Wilson's
interval says. It was trained from one seed: how far that reaches, only other seeds can say. So the episodes of several
seeds are never pooled; each seed gives one value, and the values are set side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmark_app.analysis.statistics import mean, t_quantile, variance
from benchmark_app.bundle.evaluation import Evaluation, Row, evaluate

READING = (
    "The interval of a line is Wilson's, at 95 %: how far chance in the choice of episodes reaches, for the one policy "
    "that was played. It says nothing about training again. Seeds are never pooled with episodes: every seed gives one "
    "value, and `over seeds` is the mean of these values with their standard deviation and Student's 95 % interval. "
    "Suites and overall pool the episodes of their tasks, so that each episode weighs the same."
)

Kind = Literal["task", "suite", "overall"]
Recipe = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Play:
    """One policy that was evaluated to the end.

    Args:
        path: File of its bundle.
        started: When it was played, as text that sorts.
        recipe: What it was made and played with, name and value; plays that differ in it are not of one kind.
        policy_iterations: For how many iterations it was trained; None: not known.
        task: Gym id.
        suite: Suite the task belongs to, `""` where it is not known.
        seed: Seed of the run.
        rows: Its episodes (`bundle.evaluation.episode_rows`).
    """

    path: str
    started: str
    recipe: Recipe
    policy_iterations: int | None
    task: str
    suite: str
    seed: int
    rows: Sequence[Row]


@dataclass(frozen=True)
class SeedScore:
    """One seed's value: the episodes of its policy, or of its policies for the tasks of a suite.

    Args:
        seed: The seed.
        policy_iterations: For how many iterations the policies were trained, by task.
        paths: Files of their bundles.
        evaluation: The numbers.
    """

    seed: int
    policy_iterations: Mapping[str, int | None]
    paths: tuple[str, ...]
    evaluation: Evaluation


@dataclass(frozen=True)
class OverSeeds:
    """The values of several seeds.

    Args:
        n_seeds: Seeds that have a value.
        mean: Their mean.
        std: Sample standard deviation; None for one seed.
        ci95: Student's interval of the mean; None for one seed, and where the seeds do not vary: then their spread
            says nothing of how far it may reach.
    """

    n_seeds: int
    mean: float
    std: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True)
class Level:
    """A task, a suite, or everything, by seed.

    Args:
        kind: Which of them.
        name: The task's gym id, the suite's name, or `overall`.
        tasks: The tasks in it.
        seeds: Values by seed, in order.
        incomplete: Seeds that have no play of some of the tasks, with those: they have no value here, because it would
            be of other tasks than the others'.
    """

    kind: Kind
    name: str
    tasks: tuple[str, ...]
    seeds: tuple[SeedScore, ...]
    incomplete: tuple[tuple[int, tuple[str, ...]], ...]

    @property
    def unlike(self) -> dict[str, list[int | None]]:
        """Tasks whose policies were trained for other numbers of iterations from seed to seed, with those numbers."""
        found = {task: [seed.policy_iterations[task] for seed in self.seeds] for task in self.tasks}
        return {task: numbers for task, numbers in found.items() if len(set(numbers)) > 1}

    def over_seeds(self, name: str) -> OverSeeds | None:
        """The seeds' values of `pc_success`, `avg_sum_reward` or `avg_max_reward`.

        None where no seed has one, or they are `unlike`.
        """
        if self.unlike:
            return None
        values = [value for seed in self.seeds if (value := headline(seed.evaluation)[name]) is not None]
        if not values:
            return None
        if len(values) == 1:
            return OverSeeds(1, values[0], None, None)
        centre, std = mean(values), math.sqrt(variance(values))
        half = t_quantile(len(values) - 1, 0.975) * std / math.sqrt(len(values))
        low, high = centre - half, centre + half
        if name == "pc_success":
            low, high = max(0.0, low), min(100.0, high)
        return OverSeeds(len(values), centre, std, (low, high) if std > 0 else None)


@dataclass(frozen=True)
class Scores:
    """All levels of the plays of one recipe: its tasks, their suites, and overall.

    Args:
        recipe: What is the same in all of them.
        levels: The tasks by suite, each suite after its tasks, then everything.
        elsewhere: Tasks that were played with other recipes only, so that they are in no suite here; each with the
            names of what differs, of the recipe that differs least.
    """

    recipe: Recipe
    levels: tuple[Level, ...]
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def headline(evaluation: Evaluation) -> dict[str, float | None]:
    """The numbers that are set side by side over seeds."""
    return {
        "pc_success": evaluation.pc_success,
        "avg_sum_reward": evaluation.reward.mean if evaluation.reward is not None else None,
        "avg_max_reward": evaluation.max_reward.mean,
    }


def score(plays: Iterable[Play]) -> tuple[list[Scores], list[tuple[Play, Play]]]:
    """Aggregate plays.

    Returns:
        Scores by recipe, in the order in which recipes first appear; and the plays that do not count, each with the
        one that does: of one recipe, task and seed the newest counts, for however many iterations its policy was
        trained, because a seed that was played twice played the same episodes.
    """
    counting: dict[tuple[Recipe, str, int], Play] = {}
    older = []
    for play in sorted(plays, key=lambda play: play.started):
        if (before := counting.pop(_key(play), None)) is not None:
            older.append(before)
        counting[_key(play)] = play
    recipes: dict[Recipe, list[Play]] = {}
    for play in counting.values():
        recipes.setdefault(play.recipe, []).append(play)
    scores = [Scores(recipe, tuple(_levels(found)), _elsewhere(recipe, recipes)) for recipe, found in recipes.items()]
    return scores, [(play, counting[_key(play)]) for play in older]


def _key(play: Play) -> tuple[Recipe, str, int]:
    return play.recipe, play.task, play.seed


def _elsewhere(recipe: Recipe, recipes: Mapping[Recipe, Sequence[Play]]) -> dict[str, tuple[str, ...]]:
    own, found = {play.task for play in recipes[recipe]}, dict[str, tuple[str, ...]]()
    for other, plays in recipes.items():
        differs = tuple(name for (name, one), (_, two) in zip(recipe, other, strict=True) if one != two)
        for task in {play.task for play in plays} - own:
            if task not in found or len(differs) < len(found[task]):
                found[task] = differs
    return dict(sorted(found.items()))


def _levels(plays: Sequence[Play]) -> Iterable[Level]:
    """The tasks by suite and name, each suite after its tasks, then everything."""
    for suite in sorted({play.suite for play in plays}):
        inside = [play for play in plays if play.suite == suite]
        for task in sorted({play.task for play in inside}):
            yield _level("task", task, [play for play in inside if play.task == task])
        yield _level("suite", suite, inside)
    yield _level("overall", "overall", plays)


def _level(kind: Kind, name: str, plays: Sequence[Play]) -> Level:
    tasks = tuple(sorted({play.task for play in plays}))
    seeds, incomplete = [], []
    for seed in sorted({play.seed for play in plays}):
        own = sorted((play for play in plays if play.seed == seed), key=lambda play: play.task)
        if missing := tuple(task for task in tasks if task not in {play.task for play in own}):
            incomplete.append((seed, missing))
        else:
            rows = [row for play in own for row in play.rows]
            iterations = {play.task: play.policy_iterations for play in own}
            seeds.append(SeedScore(seed, iterations, tuple(play.path for play in own), evaluate(rows)))
    return Level(kind, name, tasks, tuple(seeds), tuple(incomplete))
