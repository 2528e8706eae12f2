"""The essential ends of a run once more, on the real engine and the real libraries."""

import os
import signal

import pytest

from tests.conftest import ROOT, alive_in

pytestmark = pytest.mark.engine

BROKEN = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "doubles")])}
SMALL = ("num_envs=8", "agent.rollout=8", "device=cpu", "task.module=broken_cartpole")
# The first step belongs to start-up, so iteration k begins with step 2 + 8 k.
THIRD_ITERATION = 2 + 8 * 3 + 4


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """A real checkpoint, barely trained."""
    from tests.conftest import App

    app = App(tmp_path_factory.mktemp("policy"))
    code, _, err = app.run("workflow=training", "num_envs=8", "agent.iterations=3", "device=cpu", timeout=120)
    assert code == 0, err
    return app.bundle("training").checkpoint_path


def start(app, workflow, policy, broken, *arguments):
    chosen = ["agent.iterations=100000"] if workflow == "training" else [f"checkpoint={policy}", "play.episodes=100000"]
    return app.start(f"workflow={workflow}", *SMALL, *chosen, *arguments, env={**BROKEN, "BROKEN": broken})


@pytest.mark.parametrize(
    ("workflow", "broken", "reason"),
    [
        ("training", "raise", "the task is broken"),
        ("training", "os_exit", "status 0"),
        ("training", "nan", "control not finite"),
        ("play", "nan", "control not finite"),  # what else ends a worker ends it in play as in training
    ],
)
def test_a_task_that_fails_is_a_crash_with_the_real_iterations(app, workflow, policy, broken, reason):
    process = start(app, workflow, policy, f"{broken}@{THIRD_ITERATION}")
    out, _ = process.communicate(timeout=60)
    bundle = app.bundle(workflow)
    assert process.returncode == 1
    assert bundle.run.status == "crashed"
    assert reason in bundle.extra["reason"]
    assert reason in out
    if workflow == "training":
        assert bundle.runtime.iterations_completed == 3
    app.assert_clean()


@pytest.mark.parametrize("workflow", ["training", pytest.param("play", marks=pytest.mark.slow)])
def test_an_interrupt_stops_at_the_next_step(app, workflow, policy):
    process = start(app, workflow, policy, "sleep@0")
    app.wait_for_event(workflow, '"iteration"' if workflow == "training" else '"steps"', process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    bundle = app.bundle(workflow)
    assert process.returncode == 130
    assert bundle.run.status == "interrupted"
    assert bundle.runtime.iterations_completed > 0
    assert "exit_code" not in bundle.extra  # the worker ended by itself, within the grace period
    if workflow == "training":
        assert os.path.getsize(bundle.checkpoint_path) > 0
    app.assert_clean()


@pytest.mark.parametrize("workflow", ["training", pytest.param("play", marks=pytest.mark.slow)])
def test_sigkill_to_the_worker_and_to_the_application(app, workflow, policy):
    process = start(app, workflow, policy, "sleep@0")
    app.wait_for_event(workflow, '"iteration"' if workflow == "training" else '"steps"', process)
    os.kill(app.worker_pid(workflow), signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == 1
    assert "SIGKILL" in app.bundle(workflow).extra["reason"]

    app.run_dir = app.folder / "second"
    process = start(app, workflow, policy, "sleep@0")
    app.wait_for_event(workflow, '"iteration"' if workflow == "training" else '"steps"', process)
    process.kill()
    process.communicate(timeout=30)
    assert app.run("recover", str(app.run_dir), run_dir=False)[0] == 0
    assert app.bundle(workflow).run.status == "crashed"
    assert app.bundle(workflow).runtime.iterations_completed > 0
    assert not alive_in(app.run_dir)
