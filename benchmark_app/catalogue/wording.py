"""How a task's claims are worded, on its page and on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from benchmark_app.envs.image_spec import DEFAULT_RENDERER

Task = Mapping[str, Any]
"""What `describe` gives."""


def number(value: float | None) -> str:
    """A number in a few digits; a dash where there is none."""
    return "–" if value is None else f"{value:.4g}"


def interval(bounds: list[float] | None) -> str:
    """`[lower, upper]`; a dash where there is none."""
    return "–" if bounds is None else f"[{number(bounds[0])}, {number(bounds[1])}]"


def rate(task: Task) -> str:
    """The rates and the time limit, in a sentence."""
    said = task["conventions"]
    return (
        f"{number(said['control_rate_hz'])} actions per second (physics step {number(said['physics_dt_s'])} s, "
        f"decimation {said['decimation']}); an episode is at most {number(task['settings']['episode_length_s'])} s, "
        f"{said['episode_steps']} actions"
    )


def judged(task: Task) -> str:
    """What counts as success, and from which share of episodes on the task is solved."""
    declaration = task["declaration"]
    if not declaration["success"]:
        return "None; policies are compared by their return."
    share = declaration["solved_at"]
    solved = "" if share is None else f" The task counts as solved from {100 * share:.0f} % of the episodes on."
    return str(declaration["success"]) + solved


def command(*settings: str) -> str:
    """A command of this program with settings, quoted for a shell."""
    return shlex.join(["python", "-m", "benchmark_app", *settings])


def chosen(task: Task) -> list[str]:
    """The settings by which a task is chosen for a run: images have to be drawn by something."""
    return [f"task={task['name']}", *([f"rendering={DEFAULT_RENDERER}"] if task["conventions"].get("images") else [])]


def component(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """Name, unit and meaning of a component of an observation or an action."""
    return entry["name"], entry.get("unit", ""), entry.get("meaning", "")


def result_line(result: Mapping[str, Any]) -> str:
    """A reference result in one line."""
    who = f"{result['framework']}, {result['agent']}, {result['physics']}, {result['device']}"
    over = result["over_seeds"]
    said = [f"return {number(over['avg_sum_reward']['mean'])}"] if "avg_sum_reward" in over else []
    if "pc_success" in over:
        said.insert(0, f"success {number(over['pc_success']['mean'])} %")
    seeds = len(result["seeds"])
    return f"{who}: {', '.join(said)} ({seeds} seed{'s' if seeds > 1 else ''})"
