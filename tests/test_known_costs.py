"""Every reported time and rate of a run whose costs are known: real workflows, environment, hooks and builders.

The clock runs only where something costs time, so that figures are exact on any machine; one case waits in real time.
"""

from __future__ import annotations

import random
import time
from statistics import mean, stdev
from types import SimpleNamespace

import pytest
import torch

from benchmark_app.bundle.build import build_bundle
from benchmark_app.compose import settings_of
from benchmark_app.journal.events import RunClosed, RunPlanned, WorkerExited, WorkerSpawned
from benchmark_app.profiling.worker.timing import HOST_RETURN, SERIALIZED, Timing
from benchmark_app.workflows import play, runtime, training
from benchmark_app.workflows.session import Session

from .envs.doubles import Glider, GliderEnv

ENVS, ROLLOUT, ITERATIONS, EPISODES, STEPS, WARMUP = 3, 4, 24, 60, 80, 2
SLOW_START = 0.5  # [s] more in the first step's physics, as a compilation takes
COSTS = {"physics": 2e-3, "rest": 1e-3, "policy": 5e-4, "draw": 4e-4, "learn": 8e-3, "log": 7e-4}  # [s], mean
BOTH = pytest.mark.parametrize("mode", [HOST_RETURN, SERIALIZED])


class Costs:
    """A clock that runs where something costs time, and a ledger of what did, by step.

    Args:
        jitter: Each cost is drawn from this far around its mean, as a share of it.
    """

    def __init__(self, jitter=0.3):
        self._random, self._jitter = random.Random(0), jitter
        self._now = 50.0
        self.drained = 0
        self.spent = {name: [] for name in COSTS}

    def clock(self):
        return self._now

    def drain(self):
        self.drained += 1

    def spend(self, name):
        seconds = COSTS[name] * (1 + self._random.uniform(-self._jitter, self._jitter))
        seconds += SLOW_START if name == "physics" and not self.spent["physics"] else 0.0
        self.spent[name].append(self.wait(seconds))

    def wait(self, seconds):
        self._now += seconds
        return seconds


class RealCosts(Costs):
    """The same in real time; what was really spent goes into the ledger."""

    clock = staticmethod(time.perf_counter)

    def wait(self, seconds):
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            pass
        return time.perf_counter() - begin


class CostlyGlider(Glider):
    def __init__(self, num_envs, costs):
        super().__init__(num_envs)
        self.costs = costs

    def step(self, effort):
        self.costs.spend("physics")
        super().step(effort)


class CostlyEnv(GliderEnv):
    def update_state(self, state):
        self.backend.costs.spend("rest")
        return super().update_state(state)


class CostlyLearner:
    """A library whose policy, update and logging take a known time."""

    def __init__(self, env, run, hooks, costs):
        self.actor, self.critic = torch.nn.Linear(2, 1), torch.nn.Sequential(torch.nn.Linear(2, 1))
        self.optimizers = (torch.optim.SGD([*self.actor.parameters(), *self.critic.parameters()], lr=0.0),)
        self._env, self._run, self._hooks, self._costs = env, run, hooks, costs
        env.reset()

    def learn(self):
        for _ in range(self._run.iterations):
            for _ in range(self._run.agent.rollout):
                self._costs.spend("policy")
                self._hooks.env_step(torch.zeros(ENVS, 1))
            self._hooks.rollout_ended()
            self._costs.spend("learn")
            self._hooks.iteration_ended()
            self._costs.spend("log")  # a part of the next iteration, as the library's own logging is

    def save(self, stem):
        stem.parent.mkdir(exist_ok=True)
        return stem

    def close(self):
        pass

    def mean_actions(self, obs):
        return torch.zeros(ENVS, 1)


class OpenSession(Session):
    """A session whose environment and library are the doubles above; everything else is the real one's."""

    def __init__(self, folder, costs, mode, settings):
        self.settings, self.journal, self.rank = settings, [], 0
        self.link = SimpleNamespace(stop_requested=False)
        self.directory = self.checkpoint_dir = self.log_dir = folder
        self.checkpoint = None
        self._spec = {"settings": settings.to_plain(), "workflow": ""}
        self._cache = self._adapter = None
        self._costs = costs
        self._env = CostlyEnv(ENVS, steps=4, backend=CostlyGlider(ENVS, costs))
        self.timing = Timing(mode, costs.drain, costs.clock)
        if self.timing.simulation is not None:
            self._env.set_simulation_watch(self.timing.simulation)

    def open(self, *, with_framework):
        self._env.seed(1)
        self._env.reset()
        return self._env

    def settle(self):
        pass

    @property
    def adapter(self):
        costs = self._costs

        def policy(env, agent, config, checkpoint):
            def act(obs):
                costs.spend("policy")
                return torch.zeros(len(obs["policy"]), 1)

            return act

        return SimpleNamespace(build=lambda env, run, hooks: CostlyLearner(env, run, hooks, costs), policy=policy)


def bundle_of(workflow, folder, mode, costs, monkeypatch, *settings):
    """Run a workflow for real, in this process, and build its bundle."""
    monkeypatch.setattr(training, "write_card", lambda *_: None)
    settings = settings_of(
        [
            f"num_envs={ENVS}",
            *(f"agent.iterations={ITERATIONS}", f"agent.rollout={ROLLOUT}", "agent.minibatches=1"),
            *(f"training.warmup_iterations={WARMUP}", f"runtime.warmup_steps={WARMUP}", f"play.warmup_steps={WARMUP}"),
            *(f"runtime.steps={STEPS - WARMUP}", f"play.episodes={EPISODES}", f"play.policy_batch={ENVS}"),
            *settings,
        ]
    )
    session = OpenSession(folder, costs, mode, settings)
    if workflow is play:
        session.checkpoint = folder / "policy"
    begin = time.monotonic()
    with pytest.MonkeyPatch.context() as patched:
        if workflow is runtime:  # drawing actions is no part of a step; it takes its time beside it
            rand = torch.rand
            patched.setattr(torch, "rand", lambda *args, **kwargs: (costs.spend("draw"), rand(*args, **kwargs))[1])
        workflow.run(session)
    name = workflow.__name__.rpartition(".")[2]
    plan = RunPlanned(
        t=begin,
        run_id="known",
        workflow=name,
        framework="rsl_rl",
        physics="newton_mjwarp",
        rendering="none",
        task="Glider-v0",
        seed=1,
        num_envs=ENVS,
        max_iterations=ITERATIONS if workflow is training else None,
        presets=[],
        start_time_utc="2026-11-30T10:00:00+00:00",
    )
    end = time.monotonic()
    around = [
        WorkerSpawned(t=begin, pid=1, command=[], log=""),
        WorkerExited(t=end, exit_code=0),
        RunClosed(t=end, end_time_utc="2026-11-30T10:01:00+00:00"),
    ]
    bundle = build_bundle([plan, *around[:1], *session.journal, *around[1:]])
    assert bundle.run.status == "completed"
    return bundle


def same(stat, samples, rel, peak=True):
    """An aggregate of times against the known ones."""
    assert stat.mean == pytest.approx(mean(samples), rel=rel)
    assert stat.std == pytest.approx(stdev(samples), rel=rel)
    if peak:
        assert stat.peak == pytest.approx(max(samples), rel=rel)


def same_rate(stat, work, seconds, rel):
    """A rate, all work over all time, against the known times."""
    assert stat.mean == pytest.approx(sum(work) / sum(seconds), rel=rel)
    single = [w / s for w, s in zip(work, seconds, strict=True)]
    assert stat.std == pytest.approx(stdev(single), rel=rel)
    assert stat.peak == pytest.approx(max(single), rel=rel)


def same_steps(timing, mode, costs, first, rel):
    """The timing of the environment's calls from the call `first` on."""
    physics, rest = costs.spent["physics"][first:], costs.spent["rest"][first:]
    whole = [a + b for a, b in zip(physics, rest, strict=True)]
    same(timing.environment_step_time_s, whole, rel)
    same_rate(timing.environment_step_fps, [ENVS] * len(whole), whole, rel)
    assert timing.environment_step_calls == len(whole)
    assert timing.warmup_steps == first
    assert timing.measurement_mode == mode
    if mode == HOST_RETURN:
        assert timing.simulation_step_time_s is None
        assert costs.drained == 0, "in this mode no device is waited for"
        return
    same(timing.simulation_step_time_s, physics, rel)
    same(timing.outside_simulation_step_time_s, rest, rel)
    assert timing.outside_simulation_step_fraction == pytest.approx(sum(rest) / sum(whole), rel=rel)
    assert timing.simulation_step_calls == len(whole)
    assert costs.drained >= 4 * len(whole), "both ends of each environment step and of its physics"


@BOTH
def test_every_figure_of_a_runtime_run_is_the_known_one(tmp_path, monkeypatch, mode):
    costs = Costs()
    bundle = bundle_of(runtime, tmp_path, mode, costs, monkeypatch)
    spent = costs.spent
    steps = [a + b for a, b in zip(spent["physics"], spent["rest"], strict=True)]
    assert len(steps) == STEPS
    same_steps(bundle.runtime.environment_step_timing, mode, costs, WARMUP, 1e-9)
    run = bundle.runtime
    same(run.iteration_time_s, steps[WARMUP:], 1e-9)
    for stat in (run.total_fps, run.collection_fps):
        same_rate(stat, [ENVS] * (STEPS - WARMUP), steps[WARMUP:], 1e-9)
    same_rate(run.iterations_per_s, [1] * (STEPS - WARMUP), steps[WARMUP:], 1e-9)
    assert run.total_wall_time_s == pytest.approx(sum(steps))
    assert (run.iterations_completed, run.steps_per_iteration) == (STEPS, ENVS)
    assert bundle.extra["measured_wall_time_s"] == pytest.approx(sum(steps[WARMUP:]))


@BOTH
def test_every_figure_of_a_play_is_the_known_one(tmp_path, monkeypatch, mode):
    costs = Costs()
    bundle = bundle_of(play, tmp_path, mode, costs, monkeypatch)
    spent = costs.spent
    count = 4 * EPISODES // ENVS
    steps = [sum(parts) for parts in zip(spent["policy"], spent["physics"], spent["rest"], strict=True)]
    assert len(steps) == count
    same_steps(bundle.runtime.environment_step_timing, mode, costs, WARMUP, 1e-9)
    run = bundle.runtime
    same(run.iteration_time_s, steps[WARMUP:], 1e-9)
    for stat in (run.total_fps, run.collection_fps):
        same_rate(stat, [ENVS] * (count - WARMUP), steps[WARMUP:], 1e-9)
    assert run.total_wall_time_s == pytest.approx(sum(steps))
    assert (bundle.extra["n_episodes"], bundle.ep_length.mean) == (EPISODES, 4)


@BOTH
def test_every_figure_of_a_training_is_the_known_one(tmp_path, monkeypatch, mode):
    costs = Costs()
    same_training(bundle_of(training, tmp_path, mode, costs, monkeypatch), mode, costs, 1e-9)


def same_training(bundle, mode, costs, rel):
    spent, measured = costs.spent, range(WARMUP, ITERATIONS)

    def of(name, iteration):
        return sum(spent[name][iteration * ROLLOUT : (iteration + 1) * ROLLOUT])

    # What the library logs after an iteration stands in the next one's collecting.
    collecting = [of("policy", i) + of("physics", i) + of("rest", i) + spent["log"][i - 1] for i in measured]
    learning = [spent["learn"][i] for i in measured]
    whole = [a + b for a, b in zip(collecting, learning, strict=True)]
    same_steps(bundle.runtime.environment_step_timing, mode, costs, WARMUP * ROLLOUT, rel)
    run, frames = bundle.runtime, [ENVS * ROLLOUT] * len(whole)
    same(run.iteration_time_s, whole, rel)
    same_rate(run.total_fps, frames, whole, rel)
    same_rate(run.collection_fps, frames, collecting, rel)
    same_rate(run.iterations_per_s, [1] * len(whole), whole, rel)
    assert bundle.extra["collection_time_s"] == pytest.approx(sum(collecting), rel=rel)
    assert bundle.extra["learning_time_s"] == pytest.approx(sum(learning), rel=rel)
    assert (run.iterations_completed, run.steps_per_iteration) == (ITERATIONS, ENVS * ROLLOUT)


def test_figures_are_within_two_percent_in_real_time(tmp_path, monkeypatch):
    """Of several attempts, since another process may take the core between our clock and the double's: a bias of our
    own would be in every one."""

    def deviations():
        costs = RealCosts()
        bundle = bundle_of(training, tmp_path, SERIALIZED, costs, monkeypatch)
        spent, first, timing = costs.spent, WARMUP * ROLLOUT, bundle.runtime.environment_step_timing
        yield timing.simulation_step_time_s.mean / mean(spent["physics"][first:]) - 1
        yield bundle.extra["learning_time_s"] / sum(spent["learn"][WARMUP:]) - 1

    attempts = (max(map(abs, deviations())) for _ in range(8))
    assert any(worst <= 0.02 for worst in attempts)


@pytest.mark.parametrize("workflow", [runtime, play, training])
def test_a_slow_start_is_found_and_left_out(tmp_path, monkeypatch, workflow):
    automatic = ("training.warmup_iterations=auto", "runtime.warmup_steps=auto", "play.warmup_steps=auto")
    bundle = bundle_of(workflow, tmp_path, HOST_RETURN, Costs(jitter=0.02), monkeypatch, *automatic)
    run, least = bundle.runtime, 2 if workflow is training else 1
    assert bundle.extra["warmup_rule"] == "mser5"
    assert least <= bundle.extra["warmup_iterations"] <= 0.5 * run.iterations_completed
    assert bundle.extra["steady_state"] is True
    assert run.iteration_time_s.peak < SLOW_START
    assert run.total_wall_time_s > SLOW_START, "what is left out of the rates still took its time"
    assert run.iterations_completed == {runtime: STEPS - WARMUP, play: 80, training: ITERATIONS}[workflow]
