"""Rolling one engine out with recorded actions, and keeping every row's trajectory."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchmark_app.envs.numbering import stream_seed
from benchmark_app.journal.events import EngineFacts, Finished, LoopStarted
from benchmark_app.physics.availability import distributions, version
from benchmark_app.profiling.host.interpreter import this_interpreter
from benchmark_app.workflows.stepping import StepRecorder

from .actions import open_loop_actions
from .rollout import PERTURBATION, Rollout, Trace, trace_path

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv
    from benchmark_app.workflows.session import Session


def trace(session: Session) -> None:
    """Roll out from the task's seeded episodes, and again from slightly perturbed ones."""
    env = session.open(with_framework=False)
    settings = session.settings
    probe = settings.equivalence
    steps = probe.steps or settings.task.max_episode_steps
    env.set_autoreset(False)
    if session.part == "reference":
        actions = open_loop_actions(
            stream_seed("equivalence", settings.seed),
            steps=steps,
            num_envs=env.num_envs,
            num_actions=env.num_actions,
            control_dt=settings.task.control_dt,
            amplitude=probe.amplitude,
        )
    else:
        actions = Trace.load(trace_path(session.directory, "reference")).actions
    if not session.part.endswith(".half_step"):
        _tell_facts(session, env)
    session.journal.append(LoopStarted(t=time.monotonic(), steps_per_iteration=env.num_envs, warmup_iterations=0))
    recorder = StepRecorder(session.journal, count_frames=False)
    rollouts = []
    for perturbation in (0.0, PERTURBATION):
        rollout = _roll_out(session, env, actions, perturbation, recorder)
        if rollout is None:
            session.journal.append(Finished(t=time.monotonic(), outcome="stopped"))
            return
        rollouts.append(rollout)
    recorder.flush()
    found = Trace(
        joints=env.backend.joint_names,
        units=joint_units(type(env).scene(settings.task, env.num_envs).mjcf, env.backend.joint_names),
        actions=actions,
        nominal=rollouts[0],
        perturbed=rollouts[1],
    )
    found.save(trace_path(session.directory, session.part))
    session.journal.append(Finished(t=time.monotonic(), outcome="budget"))


def _tell_facts(session: Session, env: TorchEnv) -> None:
    physics = session.settings.physics
    session.journal.append(
        EngineFacts(
            t=time.monotonic(),
            part=session.part,
            engine=physics.name,
            version=version(physics.name, this_interpreter(distributions(physics.name))) or "",
            settings=physics.keywords(),
            facts=dataclasses.asdict(env.backend.robot_facts()),
        )
    )


def _roll_out(
    session: Session, env: TorchEnv, actions: np.ndarray, perturbation: float, recorder: StepRecorder
) -> Rollout | None:
    """Step through all actions once.

    Returns:
        The rollout; None if the run was asked to stop.
    """
    backend, steps = env.backend, len(actions)
    env.seed_episodes(session.settings.seed)
    env.reset()
    if perturbation:
        state = {name: tensor.clone() for name, tensor in backend.robot_state.items()}
        state["joint_pos"] += perturbation
        if "root_pose" in state:
            state["root_pose"][:, :3] += perturbation
        everywhere = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
        backend.reset_rows(everywhere, *state.values())
    watched = {"joint_pos": backend.joint_pos}
    if backend.root_pose is not None:
        watched["root_pose"] = backend.root_pose
    seen = {name: torch.empty((steps + 1, *live.shape), device=env.device) for name, live in watched.items()}
    ended = torch.full((env.num_envs,), steps, dtype=torch.int64, device=env.device)
    for name, live in watched.items():
        seen[name][0] = live
    for index, action in enumerate(torch.from_numpy(actions).to(env.device)):
        if session.link.stop_requested:
            return None
        begin = time.perf_counter()
        state_now = env.step(action)
        taken = time.perf_counter() - begin
        recorder.add(taken, taken)
        for name, live in watched.items():
            seen[name][index + 1] = live
        over = state_now.terminated | state_now.truncated
        ended[over] = ended[over].clamp(max=index + 1)
    kept = {name: tensor.cpu().numpy() for name, tensor in seen.items()}
    return Rollout(joint_pos=kept["joint_pos"], root_pose=kept.get("root_pose"), ended=ended.cpu().numpy())


def joint_units(mjcf: str, joints: tuple[str, ...]) -> tuple[str, ...]:
    """The unit of each joint's position, from the robot's file: m for a slide, rad for a hinge."""
    import mujoco

    spec = mujoco.MjSpec.from_file(mjcf)
    slide = mujoco.mjtJoint.mjJNT_SLIDE
    return tuple("m" if spec.joint(name).type == slide else "rad" for name in joints)
