"""Whole runs on a server: one that runs already, and one of their own. The task imports NumPy and Gymnasium only."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest

from tests.conftest import ROOT, App, gone

DOUBLES = ROOT / "tests" / "doubles"
TASK = """\
name: rolling_ball
module: rolling_ball
gym_id: Rolling-Ball-v0
physics_dt: 0.02
decimation: 2
episode_length_s: 0.8
push: 5.0
"""
QUICK = ("workflow=runtime", "task=rolling_ball", "num_envs=3", "device=cpu", "run.report=false")
NO_TORCH = "raise ImportError('torch is blocked in this process')\n"


@pytest.fixture(scope="module")
def presets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets")
    (folder / "task").mkdir()
    (folder / "task" / "rolling_ball.yaml").write_text(TASK)
    for name in ("torch", "warp"):
        (folder / "blocked" / name).mkdir(parents=True)
        (folder / "blocked" / name / "__init__.py").write_text(NO_TORCH)
    return folder


def environment(*first, **variables):
    path = os.pathsep.join(map(str, (*first, ROOT, DOUBLES)))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}


@contextmanager
def a_server(folder, presets, *arguments, **variables):
    ready, token = folder / "ready.json", folder / "token"
    command = [sys.executable, "-m", "benchmark_app", "serve", "rolling_ball", "--config-dir", str(presets)]
    command += ["--token-file", str(token), "--ready-file", str(ready), "--logs", str(folder), *arguments]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(presets / "blocked", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        port = json.loads(ready.read_text())["port"]
        yield process, (f"execution.address=127.0.0.1:{port}", f"execution.token_file={token}")
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            finally:
                process.kill()
        process.stdout.close()


def run(app, presets, *arguments, **variables):
    return app.run("--config-dir", str(presets), *QUICK, *arguments, env=environment(**variables), timeout=120)


def start(app, presets, *arguments, **variables):
    return app.start("--config-dir", str(presets), *QUICK, *arguments, env=environment(**variables))


def children_of(pid):
    found = []
    for path in os.listdir("/proc"):
        if path.isdecimal():
            try:
                with open(f"/proc/{path}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(path))
    return found


def test_a_server_without_torch_serves_runs_one_after_another_and_refuses_others(tmp_path, presets):
    with a_server(tmp_path, presets) as (server, served):
        app = App(tmp_path)
        code, out, err = run(app, presets, "execution=served", *served, "runtime.steps=40")
        assert code == 0, out + err
        bundle = app.bundle("runtime")
        assert bundle.run.status == "completed"
        assert bundle.extra["execution"] == "served:apart"
        assert bundle.extra["served_engine"].startswith("gymnasium ")

        app.run_dir = tmp_path / "other"
        for setting, said in (
            ("task.push=4.0", "task.push: 4.0 here, 5.0 at the server"),
            ("task.episode_length_s=0.4", "conventions.episode_steps: 10 here, 20 at the server"),
        ):
            code, out, err = run(app, presets, "execution=served", *served, setting)
            assert code == 2, out + err
            assert said in err
            assert len(err.strip().splitlines()) == 1
        wrong = tmp_path / "wrong"
        wrong.write_text("x" * 40)
        wrong.chmod(0o600)
        code, _, err = run(app, presets, "execution=served", served[0], f"execution.token_file={wrong}")
        assert (code, "the token is another" in err) == (2, True)
        assert not app.run_dir.exists(), "what is refused leaves nothing behind"

        assert not children_of(server.pid), "the session of a client that is done goes on"
        server.send_signal(signal.SIGTERM)
        out, _ = server.communicate(timeout=10)
        assert server.returncode == 0
        assert out.splitlines()[-1] == "stopped; every session is closed"


@pytest.mark.parametrize(
    ("rolling", "said"),
    [
        ("kill@10", "ended by SIGKILL"),
        pytest.param("raise@10", "ZeroDivisionError: the ball is flat", marks=pytest.mark.slow),
        pytest.param("hang@10", "no answer within 2 s", marks=pytest.mark.slow),
    ],
)
def test_a_session_that_fails_ends_the_run_as_crashed_with_the_reason(app, presets, rolling, said):
    arguments = ("execution=served", "execution.timeout_s=2", "runtime.steps=100000")
    code, out, err = run(app, presets, *arguments, ROLLING=rolling)
    assert code == 1, out + err
    bundle = app.bundle("runtime")
    assert bundle.run.status == "crashed"
    assert said in bundle.extra["reason"]
    app.assert_clean()
    assert (app.run_dir / "logs" / "runtime.env0.log").exists()


@pytest.mark.slow
def test_stopping_the_server_ends_the_run_with_its_last_word(tmp_path, presets):
    with a_server(tmp_path, presets) as (server, served):
        app = App(tmp_path)
        process = start(app, presets, "execution=served", *served, "runtime.steps=10000000")
        app.wait_for_event("runtime", '"steps"', process)
        server.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 1, out + err
        assert "the server was stopped" in app.bundle("runtime").extra["reason"]
        assert server.wait(10) == 0
        assert not children_of(server.pid)


@pytest.mark.slow
def test_a_client_that_is_killed_leaves_no_session_behind(tmp_path, presets):
    with a_server(tmp_path, presets) as (server, served):
        app = App(tmp_path)
        process = start(app, presets, "execution=served", *served, "runtime.steps=10000000")
        app.wait_for_event("runtime", '"steps"', process)
        assert len(children_of(server.pid)) == 1
        os.kill(app.worker_pid("runtime"), signal.SIGKILL)
        process.communicate(timeout=30)
        deadline = time.monotonic() + 10
        while children_of(server.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not children_of(server.pid)
        app.run_dir = tmp_path / "after"
        code, out, err = run(app, presets, "execution=served", *served, "runtime.steps=20")
        assert code == 0, out + err


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_server_or_a_session_killed_at_random_moments_always_leaves_a_bundle_and_nothing_else(tmp_path, presets):
    """Twenty times, from the start of the worker to the middle of its steps."""
    import random

    rng = random.Random(5)
    said = set()
    for number in range(20):
        app = App(tmp_path)
        app.run_dir = tmp_path / f"run{number}"
        process = start(app, presets, "execution=served", "runtime.steps=10000000")
        victim, deadline = None, time.monotonic() + 60
        level = rng.choice((1, 2))  # the listening process, or its session
        while victim is None and time.monotonic() < deadline and process.poll() is None:
            victim = descendant(process.pid, 1 + level)
        assert victim is not None, process.communicate()
        time.sleep(rng.uniform(0, 1.5))
        running = psutil.Process(process.pid).children(recursive=True)
        os.kill(victim, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1, out + err
        bundle = app.bundle("runtime")
        assert bundle.run.status == "crashed"
        said.add(bundle.extra["reason"])
        app.assert_clean()
        assert not [one for one in running if not gone(one)], bundle.extra["reason"]
    assert any("SIGKILL" in reason for reason in said), said


def descendant(pid, depth):
    """A process so many generations below, if there is one: the worker, its server, the session."""
    generation = [pid]
    for _ in range(depth):
        generation = [child for parent in generation for child in children_of(parent)]
    for child in generation:
        with open(f"/proc/{child}/cmdline", "rb") as file:
            if b"served/__main__.py" in file.read():
                return child
    return None


def test_a_server_that_cannot_begin_is_told_of(tmp_path):
    from benchmark_app.execution.served.client import ServerError, ServerRefusal
    from benchmark_app.execution.served.owned import OwnedServer

    def started(python, settings):
        log = tmp_path / "log"
        return OwnedServer(str(python), settings, max_envs=1, max_sessions=1, timeout_s=20, log=log)

    with pytest.raises(ServerRefusal, match="cannot be started"):
        started(tmp_path / "none", {})
    with pytest.raises(ServerError, match=r"ended with exit status 1 before it served; the last of .*KeyError"):
        started(sys.executable, {})
