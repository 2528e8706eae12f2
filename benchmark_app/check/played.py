"""Checks of what a task did while it was played on an engine, and of what the live objects say of themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import SkipTest

import torch

from .findings import require
from .walk import Step, Walk

SUM_TOLERANCE = 1e-6
"""Of the reward against the sum of its terms, relative to the sum of the terms' sizes."""
FACT_TOLERANCE = 1e-4


def random_and_extreme_actions_do_no_harm(walk: Walk) -> str:
    """Every observation and reward stays finite and the engine sound, whatever the actions."""
    require(not walk.error, f"{walk.error}; make the task sound for every action in [-1, 1]")
    told = ", ".join(f"{name} ({count} rows)" for name, count in walk.warnings.items() if count)
    require(
        not told,
        f"the engine warned of {told}; give it room (SceneSpec.max_contacts, max_constraints) or smaller steps",
    )
    return f"{len(walk.steps)} steps of {len(walk.steps[0].reward)} rows, {len(walk.endings)} episodes ended"


def success_is_told_at_every_step(walk: Walk) -> str:
    """Every step tells `is_success` of every row where success is declared, and nowhere else."""
    declared = bool(walk.live.declaration.success)
    for number, step in enumerate(_steps(walk)):
        told = step.info.get("is_success")
        require(
            told is None or declared, "episode_success reports success, and DECLARATION.success is empty; fill it in"
        )
        require(told is not None or not declared, "DECLARATION.success is declared, and episode_success returns None")
        if told is not None:
            right = told.shape == step.reward.shape and told.dtype is torch.bool
            require(right, f"is_success is {told.dtype} {list(told.shape)} at step {number}; bool, one for each row")
    return "at every step" if declared else "the task knows no success"


def metrics_are_told_at_every_step(walk: Walk) -> str:
    """Every step tells the declared metrics in their order; each is a number, or NaN for none, never infinite."""
    names = list(walk.live.declaration.metrics)
    found = list(walk.env["metrics"])
    require(found == names, f"the environment's metrics are {found}, DECLARATION.metrics {names}; make them the same")
    for number, step in enumerate(_steps(walk)):
        told = step.info["metrics"]
        require(list(told) == names, f"metrics told at step {number} are {list(told)}, not {names}")
        for name, values in told.items():
            require(not torch.isinf(values).any(), f"the metric {name} is infinite at step {number}; NaN means none")
    return ", ".join(names) or "none are declared"


def the_end_is_told_as_recorded(walk: Walk) -> str:
    """What the last step of an episode told of success and metrics is what its record says."""
    told = []
    for step in _steps(walk):
        for row in step.ended.nonzero().flatten().tolist():
            success = bool(step.info["is_success"][row]) if "is_success" in step.info else None
            told.append((success, {name: float(values[row]) for name, values in step.info["metrics"].items()}))
    if not told or walk.error:
        raise SkipTest("no episode ended" if not told else f"the play stopped at {walk.error}")
    for number, (one, other) in enumerate(zip(told, walk.endings, strict=True)):
        same = one[0] == other[0] and all(_same(one[1][name], other[1][name]) for name in one[1])
        require(
            same,
            f"episode {number} ended with {one}, and its record says {other}; success and metrics must not "
            "change when they are asked for twice",
        )
    return f"{len(told)} episodes"


def reward_terms_sum_to_the_reward(walk: Walk) -> str:
    """The declared terms, in their order, add up to the reward of every row at every step."""
    names, found = list(walk.live.declaration.reward_terms), list(walk.env["reward_terms"])
    require(found == names, f"the environment's reward_terms are {found}, DECLARATION.reward_terms {names}")
    largest, silent = 0.0, set(names)
    for number, step in enumerate(_steps(walk)):
        terms = torch.stack([step.info["reward_terms"][name].double() for name in names])
        silent -= {name for name, values in zip(names, terms, strict=True) if values.any()}
        off = (terms.sum(0) - step.reward.double()).abs() / terms.abs().sum(0).clamp(min=1e-12)
        row = int(off.argmax())
        largest = max(largest, float(off[row]))
        parts = ", ".join(f"{name} {float(values[row]):g}" for name, values in zip(names, terms, strict=True))
        told = f"step {number}, row {row}: the reward is {float(step.reward[row]):g}, its terms are {parts}"
        require(float(off[row]) <= SUM_TOLERANCE, f"{told}; put every term into self.terms as it enters the reward")
    never = f"; never other than 0: {', '.join(name for name in names if name in silent)}" if silent else ""
    return f"to {largest:.1e} of the terms' sizes{never}"


def the_joints_are_the_declared_ones(walk: Walk) -> str:
    """The engine's joints have the declared names, order, limits, damping and armature, and no dry friction."""
    rows = walk.live.declaration.joints
    names = tuple(row.name for row in rows)
    for where, found in (("the scene's", walk.scene.joints), ("the engine's", walk.joint_names)):
        require(tuple(found) == names, f"{where} joints are {list(found)}, DECLARATION.joints {list(names)}")
    require(tuple(joint.name for joint in walk.facts.joints) == names, "robot_facts() has joints in another order")
    for row, fact in zip(rows, walk.facts.joints, strict=True):
        for key in ("lower", "upper", "damping", "armature"):
            wanted, got = getattr(row, key), getattr(fact, key)
            require(
                _close(wanted, got),
                f"{row.name}: DECLARATION.joints says {key}={wanted}, the engine has {got}; "
                "correct the table or the robot's file",
            )
        require(not fact.friction, f"{row.name}: the engine has dry friction {fact.friction}; remove it from the file")
    return f"{len(rows)} joints"


def the_controller_is_the_declared_one(walk: Walk) -> str:
    """Actions act as declared: efforts where the scene has no actuator, joint targets where it has a PD law."""
    control, actuator = walk.live.declaration.control, walk.scene.actuator
    targets = control.startswith("joint_")
    require(
        targets == (actuator is not None),
        f"DECLARATION.control={control}, and SceneSpec.actuator is "
        f"{'none: the control is an effort' if actuator is None else 'a PD law: the control is a joint position'}",
    )
    limits = walk.scene.effort_limit
    if targets or limits is None:
        return control
    bounds = torch.tensor(limits)
    for number, step in enumerate(_steps(walk)):
        over = (step.control.cpu().abs() > bounds * (1 + 1e-6)).any(0).nonzero().flatten().tolist()
        names = ", ".join(walk.scene.joints[joint] for joint in over)
        require(not over, f"step {number}: efforts of {names} exceed SceneSpec.effort_limit; actions beyond are wasted")
    return f"{control}, within the effort limits"


def the_conventions_fit_the_environment(walk: Walk) -> str:
    """Names and numbers of observations and actions go together, group by group."""
    told = walk.live.cfg.conventions()
    named = {group: len(parts) for group, parts in told.get("observations", {}).items()}
    spec = dict(walk.env["obs_groups_spec"])
    require(named == spec, f"conventions() names {named} components, the environment has {spec}; name each, in order")
    count, wanted = len(told.get("actions", [])), walk.env["num_actions"]
    require(count == wanted, f"conventions() names {count} actions, the environment has {wanted}")
    images = {
        name: tuple(of[key] for key in ("height", "width", "channels")) for name, of in told.get("images", {}).items()
    }
    drawn = {name: of.shape for name, of in walk.env["image_groups"].items()}
    require(images == drawn, f"conventions() has the images {images}, the environment {drawn}; declare image_groups()")
    groups = [f"{group} {width}" for group, width in spec.items()]
    groups += [f"{name} {'x'.join(map(str, shape))}" for name, shape in drawn.items()]
    return f"{', '.join(groups)}, {wanted} actions"


PLAYED: tuple[Callable[[Walk], str], ...] = (
    random_and_extreme_actions_do_no_harm,
    success_is_told_at_every_step,
    metrics_are_told_at_every_step,
    the_end_is_told_as_recorded,
    reward_terms_sum_to_the_reward,
    the_joints_are_the_declared_ones,
    the_controller_is_the_declared_one,
    the_conventions_fit_the_environment,
)
"""Every check of a walk."""


def _steps(walk: Walk) -> list[Step]:
    if not walk.steps:
        raise SkipTest(f"not a single step could be taken ({walk.error})")
    return walk.steps


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _close(wanted: float | None, got: float | None) -> bool:
    if wanted is None or got is None:
        return wanted is got
    return math.isclose(wanted, got, rel_tol=FACT_TOLERANCE, abs_tol=1e-6)
