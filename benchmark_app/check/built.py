"""Checks that build the environment for themselves: the time limit, the bounds of actions, Gymnasium's form of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest import SkipTest

import torch

from .findings import require
from .traces import is_exact, outcome, require_same
from .walk import Live, shortened

SHORT = 5
"""Control steps of an episode so short that no task has ended it by itself."""
ROWS = 3
FAR = 1e6
CANONICAL = ("observation.state", "observation.image", "observation.depth")
"""Names of which every policy finds one."""
STEADY = 0.1
"""Change of a velocity within a physics step, relative to it, up to which the step counts as steady."""
SUBSTEPS = 60


def the_time_limit_is_exact(live: Live) -> str:
    """A row that its task does not end is truncated at the time limit, not one step sooner or later."""
    cfg = shortened(live.cfg, SHORT)
    limit = cfg.max_episode_steps
    with closing(live.build(cfg, ROWS)) as env:
        env.init_state()
        going = torch.ones(ROWS, dtype=torch.bool, device=env.device)
        for number in range(1, limit + 1):
            state = env.step(torch.zeros(ROWS, env.num_actions, device=env.device))
            early = bool((state.truncated & going).any()) and number < limit
            require(not early, f"truncated after {number} of {limit} steps")
            going &= ~state.terminated
            if number == limit:
                late = (going & ~state.truncated).nonzero().flatten().tolist()
                require(not late, f"rows {late} are not truncated after {limit} steps, the time limit")
    if not going.any():
        raise SkipTest(f"every row ended by itself within {limit} steps")
    return f"shortened to {limit} steps; really {live.cfg.max_episode_steps}"


def actions_are_bounded(live: Live) -> str:
    """An action beyond [-1, 1] does what the bound does, in the control and in everything that is seen of it."""
    with closing(live.build(live.cfg, ROWS)) as env:
        for sign in (1.0, -1.0):
            runs, controls = [], []
            for size in (1.0, FAR):
                env.seed(3)
                env.reset()
                action = torch.full((ROWS, env.num_actions), sign * size, device=env.device)
                runs.append([outcome(env.step(action)) for _ in range(SHORT)])
                controls.append({"control": env.control.clone()})
            what = f"an action of {sign * FAR:g} differs from one of {sign:g}; clamp actions in apply_action"
            try:
                require_same(controls[1:], controls[:1])
                require_same(runs[1], runs[0], exact=is_exact(env))
            except AssertionError as error:
                raise AssertionError(f"{what} ({error})") from error
    return f"at {FAR:g}"


def the_control_step_takes_its_time(live: Live) -> str:
    """A control step is `decimation` physics steps, and positions change by velocity times `physics_dt` in each."""
    cfg = live.cfg
    with closing(live.build(cfg, ROWS)) as env, closing(live.build(replace(cfg, decimation=1), ROWS)) as fine:
        asked = {"physics_dt": env.backend.robot_facts().physics_dt, "decimation": type(env).scene(cfg, 1).decimation}
        for key, value in asked.items():
            wanted = getattr(cfg, key)
            same = math.isclose(value, wanted, rel_tol=1e-6)
            require(same, f"the engine has {key}={value}, the settings say {wanted}; pass cfg.{key} to SceneSpec")
        for each in (env, fine):
            each.seed(5)
            each.init_state()
        # A target a little off is an effort, and no effort is one that every robot can stand.
        control = torch.zeros_like(env.control)
        if type(env).scene(cfg, 1).actuator is not None:
            control += env.backend.joint_pos + 0.2
        env.backend.step(control)
        moved, mean, change = [], [], []
        for number in range(SUBSTEPS):
            before = fine.backend.joint_pos.double(), fine.backend.joint_vel.double()
            fine.backend.step(control)
            after = fine.backend.joint_pos.double(), fine.backend.joint_vel.double()
            moved.append(after[0] - before[0])
            mean.append(0.5 * (after[1] + before[1]))
            change.append(after[1] - before[1])
            if number + 1 == cfg.decimation:
                same = torch.allclose(after[0], env.backend.joint_pos.double(), rtol=1e-4, atol=1e-4)
                require(same, f"a control step is not {cfg.decimation} physics steps; SceneSpec.decimation is not kept")
    x, v, dv = (torch.cat(parts) for parts in (moved, mean, change))
    steady = (dv.abs() < STEADY * v.abs()) & (v.abs() > 1e-3) & (x.abs() < 1.0)  # an angle may jump by a whole turn
    if int(steady.sum()) < 10:
        raise SkipTest(f"no joint moves steadily enough to tell ({int(steady.sum())} of {steady.numel()} steps)")
    measured = float((x[steady] / v[steady]).median())
    close = math.isclose(measured, cfg.physics_dt, rel_tol=STEADY)
    require(close, f"joints move as if a physics step took {measured:.4g} s; the settings say {cfg.physics_dt:.4g}")
    return f"{cfg.decimation} × {measured:.4g} s measured, {cfg.decimation} × {cfg.physics_dt:.4g} s declared"


def the_robot_is_made_of_declared_files(live: Live) -> str:
    """The robot's files are there and lie in the task's folder, where their sources and licences are told.

    Or in that of another task, where the declaration says so: that task's tells them.
    """
    from importlib import import_module

    module = import_module(live.cfg.module)
    scene = module.load_env().scene(live.cfg, 1)
    found = import_module(live.declaration.assets_of or live.cfg.module).__file__
    assert found is not None, f"{live.cfg.module} has no file"
    names = []
    for key in ("mjcf", "usd"):
        if (path := getattr(scene, key)) is None:
            continue
        require(Path(path).is_file(), f"SceneSpec.{key}={path}: there is no such file")
        inside = Path(path).resolve().is_relative_to(Path(found).resolve().parent)
        require(
            inside,
            f"SceneSpec.{key}={path}: lies outside the task's folder; move it there, with its licence, or name its "
            "task in DECLARATION.assets_of",
        )
        names.append(Path(path).name)
    return ", ".join(names)


def gymnasium_sees_success_and_metrics(live: Live) -> str:
    """As Gymnasium's environment it fits its spaces and tells `is_success` and `metrics` at every step."""
    try:
        from benchmark_app.envs.gymnasium_envs import TorchSingleEnv
    except ImportError as error:
        raise SkipTest(f"gymnasium is not installed here ({error})") from error
    from benchmark_app.envs.canonical import canonical_observation

    cfg = shortened(live.cfg, SHORT)
    with closing(TorchSingleEnv(live.build(cfg, 1))) as env:
        require(env.task_description == cfg.description, "task_description is not the task's description")
        limit, wanted = env._max_episode_steps, env.torch_env.cfg.max_episode_steps
        require(limit == wanted, f"_max_episode_steps is {limit}, not {wanted}")
        obs, info = env.reset(seed=0)
        env.action_space.seed(0)
        named = {group: len(parts) for group, parts in cfg.conventions().get("observations", {}).items()}
        if named != dict(env.torch_env.obs_groups_spec):
            raise SkipTest("conventions() does not fit the environment, which another check tells")
        for _ in range(SHORT):
            require(env.observation_space.contains(obs), "an observation lies outside observation_space")
            keys = canonical_observation(cfg, obs)
            known = any(key.startswith(CANONICAL) for key in keys)
            require(known, f"canonical_observation() gives {', '.join(keys)}; expected {', '.join(CANONICAL)}")
            require(isinstance(info.get("is_success"), bool), "info['is_success'] is missing, or no bool")
            told = info.get("metrics", {})
            unknown = set(told) - set(live.declaration.metrics) - {"episode_return", "episode_length"}
            require(not unknown, f"info['metrics'] has {', '.join(sorted(unknown))}, which is not declared")
            require(all(math.isfinite(value) for value in told.values()), f"info['metrics'] is not finite: {told}")
            obs, _, terminated, truncated, info = env.step(env.action_space.sample())
            if terminated or truncated:
                break
        lacking = set(live.declaration.metrics) - set(info["metrics"])
    absent = f"; {', '.join(sorted(lacking))} not measured in {SHORT} steps" if lacking else ""
    return f"{', '.join(keys)}{absent}"


BUILT: tuple[Callable[[Live], str], ...] = (
    the_robot_is_made_of_declared_files,
    the_control_step_takes_its_time,
    the_time_limit_is_exact,
    actions_are_bounded,
    gymnasium_sees_success_and_metrics,
)
"""Every check that builds the task for itself."""
