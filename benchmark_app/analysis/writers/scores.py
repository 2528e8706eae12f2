"""Scores as tables of plain text, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from benchmark_app.analysis.identity import IDENTITY
from benchmark_app.analysis.loading import Note
from benchmark_app.analysis.scores import READING, Level, OverSeeds, Recipe, Scores, SeedScore, headline
from benchmark_app.analysis.writers.wording import printable
from benchmark_app.bundle.evaluation import Average, Evaluation

FORMAT = "benchmark_app.scores/1"

_HEADS = ("", "seed", "iterations", "success", "% [95 % interval]", "avg_sum_reward", "avg_max_reward", "length")
_WIDTH = 120


def write_text(scores: Sequence[Scores], left_out: Sequence[Note], notes: Sequence[Note]) -> str:
    """A table per recipe, what was left out and why, and how to read an interval."""
    lines: list[str] = []
    for one in scores:
        lines += [_title(one.recipe), *_table(one), *_metrics(one), *_unsaid(one), ""]
    lines += [f"left out {note}" for note in left_out]
    lines += [f"note {note}" for note in notes]
    if scores:
        lines += [*([""] if left_out or notes else []), *wrap(READING, _WIDTH)]
    return "\n".join(map(printable, lines)) + "\n"


def write_json(scores: Sequence[Scores], left_out: Sequence[Note], notes: Sequence[Note]) -> str:
    """The same for programs, with everything that is known; numbers that do not exist are null."""
    content = {
        "format": FORMAT,
        "reading": READING,
        "scores": [
            {
                "recipe": dict(one.recipe),
                **{
                    f"{kind}s": [_level(level) for level in one.levels if level.kind == kind]
                    for kind in ("task", "suite")
                },
                "overall": next(_level(level) for level in one.levels if level.kind == "overall"),
                "elsewhere": [{"task": task, "differs": list(names)} for task, names in one.elsewhere.items()],
            }
            for one in scores
        ],
        "left_out": [{"path": note.path, "reason": note.text} for note in left_out],
        "notes": [{"path": note.path, "text": note.text} for note in notes],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _level(level: Level) -> dict[str, Any]:
    names = ("pc_success", "avg_sum_reward", "avg_max_reward")
    return {
        "name": level.name,
        "tasks": list(level.tasks),
        "seeds": [_seed(seed) for seed in level.seeds],
        "over_seeds": {name: _over_seeds(level.over_seeds(name)) for name in names},
        "unlike_iterations": level.unlike,
        "incomplete_seeds": [{"seed": seed, "missing": list(missing)} for seed, missing in level.incomplete],
    }


def _seed(score: SeedScore) -> dict[str, Any]:
    found = score.evaluation
    return {
        "seed": score.seed,
        "policy_iterations": dict(score.policy_iterations),
        "paths": list(score.paths),
        "n_episodes": found.n_episodes,
        "n_judged": found.n_judged,
        "n_success": found.n_success if found.n_judged else None,
        **headline(found),
        "pc_success_ci95": found.pc_success_ci95,
        "avg_length": found.ep_length.mean if found.ep_length is not None else None,
        "metrics": {name: _average(average) for name, average in found.metrics.items()},
        "reward_terms": {name: _average(average) for name, average in found.reward_terms.items()},
    }


def _average(average: Average) -> dict[str, Any]:
    return {"mean": average.mean, "n_episodes": average.n_episodes}


def _over_seeds(found: OverSeeds | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"n_seeds": found.n_seeds, "mean": found.mean, "std": found.std, "ci95": found.ci95}


def _title(recipe: Recipe) -> str:
    """Such as `rsl_rl · newton_mjwarp · agent=ppo · cpu · highest`; what is as shipped, or not known, is not told."""
    words = []
    for name, value in recipe:
        if value not in (None, "", "none"):
            words.append(f"{IDENTITY[name].title.lower()} {value}" if name in ("settings", "overrides") else str(value))
    return " · ".join(words)


def _table(scores: Scores) -> Iterator[str]:
    """A line per seed, and one over seeds where there are several; suites and overall where there are several tasks."""
    rows: list[tuple[str, ...]] = [_HEADS]
    for level in _shown(scores):
        for i, one in enumerate(level.seeds):
            rows.append((_name(level) if i == 0 else "", str(one.seed), _iterations(one), *_cells(one.evaluation)))
        if len(level.seeds) > 1 and not level.unlike:
            rows.append(("", "over seeds", "", *_over(level)))
        for seed, missing in level.incomplete:
            rows.append(
                (_name(level) if not level.seeds else "", str(seed), "", f"no {', no '.join(missing)}", *[""] * 4)
            )
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row in rows:
        first, *cells = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join([first, *cells])}".rstrip()


def _shown(scores: Scores) -> list[Level]:
    several = len({task for level in scores.levels for task in level.tasks}) > 1
    return [level for level in scores.levels if level.kind == "task" or several]


def _name(level: Level) -> str:
    return f"suite {level.name or '(none)'}" if level.kind == "suite" else level.name


def _iterations(one: SeedScore) -> str:
    """For how many iterations a task's policy was trained; nothing for several tasks."""
    (number, *others) = one.policy_iterations.values()
    return "" if others or number is None else f"{number:,}"


def _unsaid(scores: Scores) -> Iterator[str]:
    """Why there is no line over seeds, none for a suite or overall, or one without some tasks."""
    shown = _shown(scores)
    for level in shown:
        for task, numbers in level.unlike.items():
            pairs = zip(level.seeds, numbers, strict=True)
            each = ", ".join(f"seed {one.seed} {'?' if number is None else f'{number:,}'}" for one, number in pairs)
            yield f"  {_name(level)}: nothing over seeds, because iterations of {task} differ: {each}"
    if scores.elsewhere:
        several = any(level.kind != "task" for level in shown)
        lacking = "without" if several else "none, because one task is of this recipe; not of it:"
        tasks = "; ".join(f"{task} (differs in {', '.join(names)})" for task, names in scores.elsewhere.items())
        yield f"  suites and overall: {lacking} {tasks}"


def _cells(found: Evaluation) -> tuple[str, ...]:
    share = "-"
    if found.pc_success is not None and (interval := found.pc_success_ci95) is not None:
        share = f"{found.pc_success:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
    counts = f"{found.n_success} of {found.n_judged}" if found.n_judged else f"{found.n_episodes} episodes"
    length = found.ep_length.mean if found.ep_length is not None else None
    numbers = headline(found)
    return counts, share, _number(numbers["avg_sum_reward"]), _number(numbers["avg_max_reward"]), _number(length)


def _over(level: Level) -> tuple[str, ...]:
    """The means over seeds; of success with deviation and interval."""
    success = level.over_seeds("pc_success")
    share, rewards = "-", [level.over_seeds(name) for name in ("avg_sum_reward", "avg_max_reward")]
    if success is not None:
        between = f" [{success.ci95[0]:.2f}, {success.ci95[1]:.2f}]" if success.ci95 is not None else " [no spread]"
        share = f"{success.mean:.2f}{between}"
    return (
        f"{len(level.seeds)} seeds",
        share,
        *(_number(None) if one is None else f"{_number(one.mean)} ± {_number(one.std)}" for one in rewards),
        "",
    )


def _metrics(scores: Scores) -> Iterator[str]:
    """What the tasks measured, by task and seed, with the number of episodes that had it."""
    for level in scores.levels:
        if level.kind != "task":
            continue
        for seed in level.seeds:
            found = seed.evaluation
            told = [
                f"{name} {_number(one.mean)} ({one.n_episodes} of {found.n_episodes})"
                for name, one in found.metrics.items()
            ]
            if told:
                yield f"  {level.name}, seed {seed.seed}, mean of the episodes that have it: {', '.join(told)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
