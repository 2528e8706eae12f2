"""However a run ends, it leaves a valid bundle with the true status, and nothing else.

The worker is synthetic; `test_real_ends.py` repeats the essential cases on a real engine.
"""

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

from benchmark_app.journal import read_journal
from benchmark_app.launch.recover import rebuild
from tests.conftest import alive_in

QUICK = ("agent.iterations=3", "workflow=training")
LONG = ("agent.iterations=100000", "workflow=training")


def endless(app, workflow):
    """Arguments of a run that only ends when something ends it."""
    if workflow == "training":
        return LONG
    (app.folder / "policy.pt").write_text("synthetic")
    return ("workflow=play", f"checkpoint={app.folder / 'policy.pt'}", "play.episodes=100000")


def counted(workflow, index):
    """What a worker's journal holds once it completed this iteration."""
    return f'"index":{index},' if workflow == "training" else f'"first_index":{index},'


def finish(process, timeout=30):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def journal_iterations(app, workflow="training"):
    events, _ = read_journal(app.run_dir / "journal" / f"{workflow}.worker.jsonl")
    return sum(event.kind in ("iteration", "steps") for event in events)


def assert_episodes_of(bundle, app):
    """The rows beside the bundle are the episodes it counts."""
    rows = [json.loads(line) for line in (app.run_dir / "episodes.jsonl").read_text().splitlines()]
    assert [row["index"] for row in rows] == list(range(bundle.extra["n_episodes"]))
    assert len(rows) > 0


@pytest.mark.parametrize("workflow", ["training", "play"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_the_application_leaves_an_interrupted_bundle(app, workflow, number, status):
    process = app.synthetic(*endless(app, workflow))
    app.wait_for_event(workflow, counted(workflow, 5), process)
    process.send_signal(number)
    code, _, _ = finish(process)
    bundle = app.bundle(workflow)
    assert code == status
    assert bundle.run.status == "interrupted"
    assert number.name in bundle.extra["reason"]
    assert bundle.runtime.iterations_completed == journal_iterations(app, workflow) >= 6
    if workflow == "training":
        assert bundle.checkpoint_path is not None  # the policy of that moment was saved
    else:
        assert_episodes_of(bundle, app)
    app.assert_clean()


@pytest.mark.parametrize("workflow", ["training", "play"])
def test_ctrl_c_in_a_terminal_reaches_the_supervisor_which_ends_the_run(app, workflow):
    main, terminal = pty.openpty()
    process = app.synthetic(
        *endless(app, workflow),
        stdin=terminal,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(terminal)
    app.wait_for_event(workflow, counted(workflow, 5), process)
    os.write(main, b"\x03")  # the terminal turns this into SIGINT for its foreground group
    code, _, _ = finish(process)
    os.close(main)
    assert code == 130
    assert app.bundle(workflow).run.status == "interrupted"
    app.assert_clean()


def test_a_worker_that_does_not_stop_is_killed_after_the_grace_period(app):
    process = app.synthetic(*LONG, "run.grace_s=0.5", fault="hang@3")
    app.wait_for_event("training", '"index":2', process)
    time.sleep(0.2)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code, _, _ = finish(process)
    assert 0.4 < time.monotonic() - begin < 5
    assert code == 143
    assert app.bundle("training").run.status == "interrupted"
    assert app.bundle("training").runtime.iterations_completed == 3
    app.assert_clean()


def test_a_second_signal_does_not_wait_for_the_grace_period(app):
    process = app.synthetic(*LONG, "run.grace_s=60", fault="hang@3")
    app.wait_for_event("training", '"index":2', process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    code, _, _ = finish(process, timeout=10)
    assert code == 130
    assert app.bundle("training").run.status == "interrupted"


@pytest.mark.parametrize("workflow", ["training", "play"])
def test_sigkill_to_the_worker_is_a_crash(app, workflow):
    process = app.synthetic(*endless(app, workflow))
    app.wait_for_event(workflow, counted(workflow, 5), process)
    os.kill(app.worker_pid(workflow), signal.SIGKILL)
    code, out, _ = finish(process)
    bundle = app.bundle(workflow)
    assert code == 1
    assert bundle.run.status == "crashed"
    assert "SIGKILL" in bundle.extra["reason"]
    assert bundle.runtime.iterations_completed == journal_iterations(app, workflow)
    assert "SIGKILL" in out
    assert f"{workflow}.log" in out
    if workflow == "play":
        assert_episodes_of(bundle, app)
        (app.run_dir / "episodes.jsonl").unlink()
        rebuild(app.run_dir)
        assert_episodes_of(bundle, app)
        assert "no score" in out
    app.assert_clean()


@pytest.mark.parametrize("workflow", ["training", "play"])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("raise@4", "the synthetic task failed"), ("os_exit@4", "status 0 before"), ("kill@4", "SIGKILL")],
)
def test_a_task_that_ends_the_worker_is_a_crash_with_the_real_iterations(app, workflow, fault, reason):
    code, _, _ = finish(app.synthetic(*endless(app, workflow), fault=fault))
    bundle = app.bundle(workflow)
    assert code == 1
    assert bundle.run.status == "crashed"
    assert reason in bundle.extra["reason"]
    assert bundle.runtime.iterations_completed == 4
    if workflow == "training":
        assert bundle.learning.reward.series_per_iter == [0.0, 1.0, 2.0, 3.0]
    app.assert_clean()


def test_a_crash_of_the_runtime_workflow_leaves_its_bundle_too(app):
    code, _, _ = finish(app.synthetic("workflow=runtime", fault="raise@2"))
    assert code == 1
    assert app.bundle("runtime").run.status == "crashed"
    assert app.bundle("runtime").runtime.iterations_completed == 2


def test_a_crash_before_the_first_iteration_still_leaves_a_bundle_that_names_what_was_not_reached(app):
    code, _, _ = finish(app.synthetic(*LONG, fault="raise@0"))
    bundle = app.bundle("training")
    assert code == 1
    assert bundle.runtime.iterations_completed == 0
    assert bundle.runtime.environment_step_timing is None
    assert "runtime.total_fps" in bundle.extra["not_reached"]


def test_processes_a_worker_left_behind_are_ended_with_it(app):
    finish(app.synthetic("agent.iterations=3", "workflow=training", fault="spawn@1"))
    child = int((app.run_dir / "journal" / "training.worker.child").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and os.path.exists(f"/proc/{child}"):
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{child}")


def test_sigkill_to_the_application_ends_the_worker_and_recover_builds_the_bundle(app):
    process = app.synthetic("agent.iterations=100000")
    app.wait_for_event("training", '"index":5', process)
    process.kill()
    finish(process)
    deadline = time.monotonic() + 5
    while alive_in(app.run_dir) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive_in(app.run_dir)
    assert not (app.run_dir / "training.json").exists()
    code, out, _ = app.run("recover", str(app.run_dir), run_dir=False)
    bundle = app.bundle("training")
    assert code == 0
    assert bundle.run.status == "crashed"
    assert bundle.runtime.iterations_completed == journal_iterations(app) >= 6
    assert app.bundle("startup").run.status == "completed"
    statuses = {name: entry["status"] for name, entry in app.manifest()["workflows"].items()}
    assert statuses == {"startup": "completed", "runtime": "completed", "training": "crashed", "play": "not_run"}
    assert "crashed" in out
    app.assert_clean()


def test_recover_refuses_a_run_that_still_goes_on(app):
    process = app.synthetic(*LONG)
    app.wait_for_event("training", '"index":2', process)
    code, _, err = app.run("recover", str(app.run_dir), run_dir=False)
    process.terminate()
    finish(process)
    assert code == 2
    assert "still goes on" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("manifest", ["[]", "null", "{", '{"planned": null, "workflows": [], "diagnostics": 3}'])
def test_recover_needs_nothing_but_the_journals(app, manifest):
    assert app.status(*QUICK) == 0
    (app.run_dir / "run.json").write_text(manifest)
    (app.run_dir / "training.json").unlink()
    (app.run_dir / "journal" / "play.supervisor.jsonl").mkdir()
    code, _, err = app.run("recover", str(app.run_dir), run_dir=False)
    assert code == 0, err
    assert app.bundle("training").run.status == "completed"
    assert app.manifest()["workflows"]["training"]["status"] == "completed"


def test_ctrl_c_in_the_moment_a_worker_is_spawned_is_an_interrupt(app):
    """The child belongs to the terminal until it has a session of its own."""
    for _ in range(5):
        app.run_dir = app.run_dir.with_name(app.run_dir.name + "x")
        process = app.synthetic("workflow=training", "agent.iterations=100000", start_new_session=True)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not children.read_text():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        code, _, _ = finish(process)
        assert code == 130
        assert app.bundle("training").run.status == "interrupted"


def test_recover_without_a_run_says_so(app, tmp_path):
    code, _, err = app.run("recover", str(tmp_path), run_dir=False)
    assert code == 2
    assert "no run in this folder" in err


def test_a_failed_training_means_play_is_not_run_and_no_bundle_is_invented(app):
    code, _, _ = finish(app.synthetic("agent.iterations=5", fault="raise@2", env={"SYNTHETIC_STEP_S": "0.01"}))
    entries = app.manifest()["workflows"]
    assert code == 1
    assert entries["training"]["status"] == "crashed"
    assert entries["play"]["status"] == "not_run"
    assert "no checkpoint" in entries["play"]["reason"]
    assert not (app.run_dir / "play.json").exists()


def test_settings_the_worker_refuses_end_as_refused_without_a_bundle(app):
    code, out, _ = finish(app.synthetic(fault="refuse"))
    entries = app.manifest()["workflows"]
    assert code == 2
    assert entries["startup"]["status"] == "refused"
    assert entries["training"]["status"] == "not_run"
    assert {path.name for path in app.run_dir.glob("*.json")} == {"run.json", "agent_mapping.json"}
    assert "device=cuda" in out


def test_a_completed_run_is_complete(app):
    code, out, _ = finish(app.synthetic("agent.iterations=4"))
    assert code == 0
    for workflow in ("startup", "runtime", "training", "play"):
        bundle = app.bundle(workflow)
        assert bundle.run.status == "completed"
        assert bundle.extra["synthetic"] is True
        assert workflow in out
    assert app.bundle("training").checkpoint_path == str(app.run_dir / "checkpoints" / "policy.txt")
    assert app.manifest()["status"] == "completed"
    app.assert_clean()


def small_disk(folder, megabytes):
    """Mount a small disk, or skip where this user may not."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting a small disk needs root")


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    small_disk(folder, 8)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("workflow", ["training", "play"])
def test_a_full_disk_is_a_crash_with_a_bundle_written_from_the_reserve(app, disk, workflow):
    app.run_dir = disk / "run"
    code, _, err = finish(app.synthetic(*endless(app, workflow), fault="bulk@20"))
    bundle = app.bundle(workflow)
    assert code == 1
    assert bundle.run.status == "crashed"
    assert "No space left" in bundle.extra["reason"]
    assert bundle.runtime.iterations_completed == 20
    assert app.manifest()["workflows"][workflow]["status"] == "crashed", err


def test_a_run_that_cannot_set_disk_aside_is_refused_at_once(app, disk):
    app.run_dir = disk / "run"
    code, _, err = finish(app.synthetic(*LONG, "run.reserve_mb=64"))
    assert code == 2
    assert "cannot set 64 MiB aside (No space left on device)" in err
    assert len(err.splitlines()) == 1


def test_when_even_the_reserve_is_not_enough_the_loss_is_told_and_recover_works_later(app, disk):
    """Something else takes the disk the moment the reserve is given back."""
    app.run_dir = disk / "run"
    process = app.synthetic(*LONG)
    app.wait_for_event("training", '"index":5', process)
    filler = subprocess.Popen(
        ["sh", "-c", f"while :; do cat /dev/zero >>'{disk}/filler' 2>/dev/null; done"], start_new_session=True
    )
    code, _, err = finish(process)
    os.killpg(filler.pid, signal.SIGKILL)
    filler.wait()
    assert code == 1
    lost = not (app.run_dir / "training.json").exists()  # the race is the filler's to win or lose
    if lost:
        assert "recover" in err
    (disk / "filler").unlink()
    assert app.run("recover", str(app.run_dir), run_dir=False)[0] == 0
    bundle = app.bundle("training")
    assert bundle.run.status == "crashed"
    assert bundle.runtime.iterations_completed == journal_iterations(app) >= 6
