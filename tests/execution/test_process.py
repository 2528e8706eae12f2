"""Environments in processes of their own do what they do in one, and nothing is left of them, however they end."""

import signal
import subprocess
import sys
import time
from contextlib import closing
from importlib import import_module

import psutil
import pytest
import torch

from benchmark_app.check.contract import an_exported_state_continues
from benchmark_app.check.traces import drained, only, outcome, random_actions, record, require_same
from benchmark_app.envs.make import make_env
from benchmark_app.envs.nan_guard import NanGuard
from benchmark_app.execution.cfg import PROCESS, ExecutionCfg, free_cores
from benchmark_app.execution.link import LinkError
from benchmark_app.execution.make import make_execution_env
from benchmark_app.execution.process import start as starting
from benchmark_app.profiling.worker.timing import SimulationShare
from tests.conftest import ROOT, gone
from tests.contracts.test_contracts import TASKS

from . import upright


def make(cfg=None, rows=4, workers=2, physics="", log_of=None, **execution):
    where = ExecutionCfg(name=PROCESS, num_workers=workers, **execution)
    return make_execution_env(cfg or upright.Cfg(), physics, rows, execution=where, log_of=log_of)


def processes(env):
    return [psutil.Process(link.pid) for link in env._links]


@pytest.mark.engine
def test_an_engine_split_over_processes_does_bitwise_what_it_does_in_one():
    cfg = TASKS["cartpole"]
    with closing(make_env(cfg, "newton_mjwarp", 3)) as one, closing(make(cfg, 3, physics="newton_mjwarp")) as split:
        actions = random_actions(one, 2 * cfg.max_episode_steps)
        for env in (one, split):
            env.set_reporting(True)
            env.seed(5)
            env.init_state()
        require_same(record(split, actions), record(one, actions))
        assert drained(split) == drained(one)
        # What one exports the other continues.
        state = one.export_training_state()
        split.import_training_state(state)
        assert torch.equal(split.state.obs["policy"], one.state.obs["policy"])
        for part in ("env", "backend", "task"):
            require_same([split.export_training_state()[part]], [state[part]])
        found = [env.step(actions[0]) for env in (split, one)]
        require_same([outcome(found[0])], [outcome(found[1])])
        for name in ("metrics", "reward_terms"):
            require_same([found[0].info[name]], [found[1].info[name]])
        # Episodes dealt to all rows, of which the last has none.
        for env in (one, split):
            env.seed_episodes(5, 2)
            env.reset()
        assert split.state.info["frozen"].tolist() == one.state.info["frozen"].tolist() == [False, False, True]
        require_same(record(split, actions), record(one, actions))
        assert drained(split) == drained(one)
        # The engine's share of a step is that of the process that took longest.
        share = SimulationShare(time.perf_counter)
        split.set_simulation_watch(share)
        split.seed(5)
        split.reset()
        begin = time.perf_counter()
        record(split, actions[:5])
        seconds, calls = share.take()
        assert calls == 5
        assert 0 < seconds < time.perf_counter() - begin
        # Its numbers decide the rows' names in messages.
        bad = actions[0].clone()
        bad[2] = torch.nan
        with pytest.raises(ValueError, match=r"actions not finite in row 2; newton_mjwarp: .* in row 2$"):
            split.step(bad)
        with pytest.raises(RuntimeError, match=r"an earlier step failed \(actions not finite in row 2"):
            split.step(actions[0])
        split.reset()
        split.step(actions[0])
        facts = split.get_backend_runtime_diagnostics()
        assert [each["rows"] for each in facts["processes"]] == [1, 2]
        assert facts["diagnostics"]["graph"] is True


@pytest.mark.engine
@pytest.mark.tasks
def test_a_state_exported_by_processes_continues_bitwise():
    an_exported_state_continues(lambda rows: make(TASKS["in_contact"], rows, min(2, rows), "newton_mjwarp"))


@pytest.mark.engine
@pytest.mark.slow
def test_a_nan_dump_of_a_process_can_be_replayed(tmp_path):
    from benchmark_app.replay import replay

    told = []
    with closing(make(TASKS["cartpole"], 4, physics="newton_mjwarp")) as env:
        env.set_nan_guard(NanGuard(tmp_path, physics="newton_mjwarp", on_dump=told.append))
        env.init_state()
        actions = random_actions(env, 4)
        record(env, actions[:3])
        actions[3, 3] = torch.inf
        with pytest.raises(ValueError, match="row 3") as caught:
            env.step(actions[3])
    assert told == [tmp_path / "nan_dump"]
    assert any("benchmark_app replay" in note for note in caught.value.__notes__)
    assert replay(tmp_path / "nan_dump") == 0


def test_a_killed_process_ends_the_step_with_its_name_its_rows_and_how_it_ended(tmp_path):
    with closing(make(log_of=lambda number: tmp_path / f"env{number}.log")) as env:
        env.init_state()
        actions = random_actions(env, 3)
        env.step(actions[0])
        ends = processes(env)
        ends[1].kill()
        said = rf"environment process 1 \(rows 2 to 3\) was killed by SIGKILL; its output is in {tmp_path}/env1.log"
        with pytest.raises(LinkError, match=said):
            env.step(actions[1])
        with pytest.raises(LinkError, match=said):  # and nothing can be done with the other one
            env.reset()
    assert all(map(gone, ends))


def test_a_process_that_ends_by_itself_is_told_of_with_its_last_words():
    with closing(make(upright.Cfg(dies_at=3))) as env:
        env.init_state()
        with pytest.raises(LinkError, match=r"ended with status 3; the last it said: the simulator has had enough"):
            record(env, random_actions(env, 5))


def test_a_process_that_does_not_answer_is_given_up():
    with closing(make(timeout_s=0.5)) as env:
        env.init_state()
        processes(env)[0].suspend()
        with pytest.raises(
            LinkError, match=r"process 0 \(rows 0 to 1\) did not answer within 0.5 s \(execution.timeout_s\)"
        ):
            env.step(random_actions(env, 1)[0])
        begin = time.monotonic()
    assert time.monotonic() - begin < 5.0, "it was waited for"


def test_processes_of_several_ranks_are_kept_to_different_cores(monkeypatch):
    kept = []

    class Started:
        def __init__(self, environments, memory, *, cores, **_):
            kept.append(cores)
            if len(kept) % 2 == 0:
                raise InterruptedError  # nothing needs to be started to know where it would have been kept

        def close(self):
            pass

    monkeypatch.setattr(starting, "ProcessLink", Started)
    monkeypatch.setattr(starting, "free_cores", lambda: [4, 5, 6, 7])
    for beside in ((0, 2), (1, 2), (0, 3)):
        with pytest.raises(InterruptedError):
            starting.start({}, 8, ExecutionCfg(name=PROCESS, num_workers=2), beside=beside)
    assert kept == [(4,), (5,), (6,), (7,), (), ()]  # where there are too few, two are not kept to one


def test_what_a_process_cannot_build_is_said_in_its_own_words_and_leaves_nothing():
    before = set(psutil.Process().children())
    with pytest.raises(ValueError, match=r"fails_at=-1: no such step"):
        make(upright.Cfg(fails_at=-1))
    assert set(psutil.Process().children()) == before


def test_an_observation_that_is_not_finite_names_its_row_among_all():
    with closing(make(upright.Cfg(fails_at=2))) as env:
        env.init_state()
        with pytest.raises(ValueError, match=r"observation 'policy' not finite in rows \[0, 1\]"):
            record(env, random_actions(env, 2))


def test_each_process_keeps_to_a_core_of_its_own():
    with closing(make(rows=2, workers=min(2, len(free_cores())))) as env:
        cores = [tuple(process.cpu_affinity()) for process in processes(env)]
        assert all(len(kept) == 1 for kept in cores)
        assert len(set(cores)) == len(cores)
    with closing(make(rows=2, workers=1, pin=False)) as env:
        assert processes(env)[0].cpu_affinity() == psutil.Process().cpu_affinity()


ORPHAN = """
import sys, time
from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.execution.make import make_execution_env
from tests.execution.upright import Cfg
env = make_execution_env(Cfg(), "", 2, execution=ExecutionCfg(name="process", num_workers=2))
env.init_state()
print(*(link.pid for link in env._links), flush=True)
time.sleep(60)
"""


def test_shared_memory_has_no_name_that_could_be_left_behind():
    with closing(make()) as env:
        for process in [psutil.Process(), *processes(env)]:
            shared = [each for each in process.memory_maps(grouped=False) if "environments" in each.path]
            assert {each.path for each in shared} == {"/memfd:environments"}


def test_processes_end_with_a_parent_that_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    children = [psutil.Process(pid) for pid in pids]
    assert len(children) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while not all(map(gone, children)):
        assert time.monotonic() < deadline, "a process outlives its parent"
        time.sleep(0.01)


def test_an_environment_of_gymnasium_is_made_when_it_is_first_needed():
    upright.Upright.made = 0
    with closing(make_execution_env(upright.Cfg(), "", 5)) as env:
        assert upright.Upright.made == 1  # whose spaces tell what the others are
        assert env.obs_groups_spec == {"policy": 4}
        first = env.init_state().obs["policy"]
        assert upright.Upright.made == 5
        # Every episode begins in a state of its own.
        assert len(torch.unique(torch.cat((first, env.reset()[0]["policy"])), dim=0)) == 10


def test_the_simulator_on_the_page_about_adding_tasks_is_a_task(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "add_a_task.md").read_text().partition("## 4.")[2]
    (tmp_path / "swinging").mkdir()
    (tmp_path / "swinging" / "__init__.py").write_text("")
    code = page.partition("```python\n")[2].partition("```")[0].replace("pole_tasks.swing", "swinging.swing")
    (tmp_path / "swinging" / "swing.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    cfg = import_module("swinging.swing").Cfg(gravity=5.0)
    with closing(make_execution_env(cfg, "", 2)) as one, closing(make(cfg, 2)) as split:
        actions = random_actions(one, 5)
        for env in (one, split):
            env.init_state()
        require_same(record(one, actions), record(split, actions))
        assert split.action_space.high.tolist() == [1.0]


def test_a_process_of_gymnasium_environments_needs_no_torch(tmp_path, monkeypatch):
    # Whoever imports torch there finds this, which is no torch.
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch here')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    refused = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, text=True, cwd=tmp_path)
    assert "there is no torch here" in refused.stderr
    with closing(make(rows=2)) as env:
        env.init_state()
        record(env, random_actions(env, 5))
        assert env.state.info["steps"].tolist() == [5, 5]


def test_rows_do_what_they_would_alone_among_any_number_of_processes():
    runs = []
    for workers in (1, 3):
        with closing(make(rows=4, workers=workers)) as env:
            env.seed(1)
            env.init_state()
            runs.append(record(env, random_actions(env, 90)))
    require_same(*runs)
    with closing(make(rows=1, workers=1)) as alone:
        alone.seed(1)
        first = alone.init_state()
        assert torch.equal(
            only(runs[0][0], 0)["obs.policy"], outcome(alone.step(random_actions(env, 90)[0][:1]))["obs.policy"]
        )
        assert first.info["steps"].tolist() == [0]
