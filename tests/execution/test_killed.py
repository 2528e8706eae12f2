"""A process with environments that dies ends the run as crashed, with the reason and its log, and leaves nothing."""

import os
import random
import time

import psutil
import pytest

from tests.conftest import ROOT, gone

CONF = str(ROOT / "tests" / "execution" / "conf")
KILLS = 20


def environments_of(run):
    """The processes of a run that hold environments, once there are two of them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = []
        for child in psutil.Process(run.pid).children(recursive=True):
            try:
                if "environments" in child.cmdline():
                    found.append(child)
            except psutil.Error:
                continue
        if len(found) == 2:
            return found
        time.sleep(0.01)
    raise AssertionError("no environments were started")


def assert_crashed(app, run, workflow, victim, others):
    out, err = run.communicate(timeout=60)
    assert run.returncode == 1, (out, err)
    bundle = app.bundle(workflow)
    assert bundle.run.status == "crashed"
    number = bundle.extra["reason"].partition("environment process ")[2][:1]
    assert f"environment process {number} (rows " in bundle.extra["reason"], bundle.extra["reason"]
    assert "was killed by SIGKILL" in bundle.extra["reason"]
    assert (app.run_dir / "logs" / f"{workflow}.env{number}.log").is_file()
    assert f"{workflow}.env{number}.log" in bundle.extra["reason"]
    for process in (victim, *others):
        assert gone(process)
    app.assert_clean()


def test_a_killed_process_of_a_run_leaves_a_bundle_that_says_so_and_nothing_else(app):
    run = app.start(
        *("--config-dir", CONF, "task=upright", "execution=process", "execution.num_workers=2", "workflow=runtime"),
        *("num_envs=4", "runtime.steps=1000000", "device=cpu", "run.report=false"),
        env={"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
    )
    ends = environments_of(run)
    app.wait_for_event("runtime", '"loop_started"', run)
    ends[1].kill()
    assert_crashed(app, run, "runtime", ends[1], ends[:1])
    assert app.bundle("runtime").extra["execution"] == "process:2"


@pytest.mark.slow
def test_what_an_engine_prints_in_another_process_fails_the_run_as_it_would_in_the_workers(app):
    says = "nefc overflow - please increase njmax beyond 9"
    status, out, err = app.run(
        *("--config-dir", CONF, "task=upright", "execution=process", "execution.num_workers=2", "workflow=runtime"),
        *(f"task.says='{says}'", "num_envs=4", "runtime.steps=1000000", "device=cpu", "run.report=false"),
        env={"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert status == 1, (out, err)
    assert app.bundle("runtime").extra["engine_warnings.constraint_overflow"] >= 4
    app.assert_clean()


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.timeout(1800)
def test_kills_at_random_moments_of_a_training_leave_a_bundle_each_and_nothing_else(tmp_path):
    from tests.conftest import App

    draw = random.Random(11)
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        app = App(folder)
        try:
            run = app.start(
                *("execution=process", "execution.num_workers=2", "workflow=training", "num_envs=8"),
                *("agent.iterations=1000000", "device=cpu", "run.report=false"),
            )
            ends = environments_of(run)
            time.sleep(draw.uniform(0.0, 14.0))  # while it imports, builds, compiles, or trains
            victim = draw.choice(ends)
            victim.kill()
            assert_crashed(app, run, "training", victim, [end for end in ends if end is not victim])
        finally:
            app.close()
