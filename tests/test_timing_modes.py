"""What a run gives in both timing modes: the same observations, and in the serialized one where the time went."""

from __future__ import annotations

import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.envs.make import make_env
from benchmark_app.physics.availability import missing
from benchmark_app.physics.physx.tensors import PhysxBackend
from benchmark_app.profiling.worker.timing import SERIALIZED, Timing
from benchmark_app.workflows.device import drain_of

from .physics.articulations import FakeView

N, STEPS = 4, 24
ENGINES = [
    pytest.param("newton_mjwarp", marks=pytest.mark.engine),
    pytest.param("newton_kamino", marks=[pytest.mark.engine, pytest.mark.measure]),  # recording it takes seconds
    pytest.param("ovphysx", marks=[pytest.mark.engine, pytest.mark.ovphysx]),
    "physx_on_plain_tensors",
]


def environment(engine):
    """Cartpole; its whole step is recorded on every engine."""
    cfg = Cfg(episode_length_s=0.2)
    if engine == "physx_on_plain_tensors":  # what PhysX's engines share, segments of recorded launches among it
        env_class = __import__(cfg.module, fromlist=["load_env"]).load_env()
        spec = env_class.scene(cfg, N)
        view = FakeView(N, spec.joints, fixed_base=True)
        return env_class(cfg, PhysxBackend(spec, torch.device("cpu"), "ovphysx", view, torch.zeros(N, 3)), N)
    if reason := missing(engine):
        pytest.skip(f"{engine}: {reason}")
    return make_env(cfg, engine, N, "cpu")


def rollout(env):
    """Everything a caller sees of some steps with autoreset, and of some in which rows that ended are frozen."""
    env.seed(3)
    env.reset()
    generator, seen = torch.Generator().manual_seed(0), []
    for step in range(STEPS):
        if step == STEPS // 2:
            env.set_autoreset(False)
        state = env.step(2 * torch.rand(N, 1, generator=generator) - 1)
        seen += [*state.obs.values(), state.reward, state.terminated, state.truncated, state.info["steps"]]
    env.set_autoreset(True)
    return seen


@pytest.mark.parametrize("engine", ENGINES)
def test_timing_the_engine_apart_changes_nothing_that_a_step_gives(engine):
    env = environment(engine)
    whole = rollout(env)
    timing = Timing(SERIALIZED)
    env.set_simulation_watch(timing.simulation)
    apart = rollout(env)
    seconds, calls = timing.simulation.take()
    env.close()
    assert all(torch.equal(a, b) for a, b in zip(whole, apart, strict=True))
    assert calls == STEPS
    assert seconds > 0


def test_without_the_watch_nothing_is_timed_any_more():
    env, timing = environment("physx_on_plain_tensors"), Timing(SERIALIZED)
    env.set_simulation_watch(timing.simulation)
    apart = rollout(env)
    assert timing.simulation.take()[1] == STEPS
    env.set_simulation_watch(None)
    assert all(torch.equal(a, b) for a, b in zip(apart, rollout(env), strict=True))
    assert timing.simulation.take() == (0.0, 0)
    env.close()


def test_the_watch_is_given_the_engine_and_nothing_else():
    env = environment("physx_on_plain_tensors")
    env.set_simulation_watch(lambda simulate: None)  # it does not run it: the engine stands still
    env.seed(0)
    env.reset()
    before = env.backend.joint_pos.clone()
    env.step(torch.ones(N, 1))
    assert torch.equal(env.backend.joint_pos, before)
    assert env.state.info["steps"].tolist() == [1] * N, "the rest of the step was taken all the same"
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.set_simulation_watch(None)


def test_what_is_drained_is_the_device_in_use_and_no_other(monkeypatch):
    drained = []
    monkeypatch.setattr(torch.cuda, "synchronize", drained.append)
    assert drain_of("cpu") is None
    drain_of("cuda:1")()
    assert drained == ["cuda:1"]


def test_a_device_is_drained_at_every_look_at_the_clock_only_when_asked():
    told = []
    drain, clock = lambda: told.append("drain"), lambda: float(len(told))
    assert Timing(SERIALIZED, drain, clock).now() == 1.0
    assert Timing("host_return", drain, clock).now() == 1.0
    assert told == ["drain"]
