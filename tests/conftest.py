"""What the process tests share: starting the application as a user would, and looking at what it left."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmark_app.bundle.read import read_bundle_file

ROOT = Path(__file__).resolve().parent.parent
FRAMEWORKS = sorted(path.stem for path in (ROOT / "conf" / "framework").glob("*.yaml"))
SYNTHETIC = ROOT / "tests" / "doubles" / "synthetic_worker.py"


class App:
    """The application in a folder of its own, as a child process."""

    def __init__(self, folder):
        self.folder = folder
        self.run_dir = folder / "run"
        self._started = []

    def start(self, *arguments, env=None, prefix=(), run_dir=True, **popen):
        command = [*prefix, sys.executable, "-m", "benchmark_app", *arguments]
        if run_dir:
            command.append(f"hydra.run.dir='{self.run_dir}'")
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )
        self._started.append(process)
        return process

    def close(self):
        """End whatever a failed test left running."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def synthetic(self, *arguments, fault="", step_s=0.01, **options):
        env = {"SYNTHETIC": fault, "SYNTHETIC_STEP_S": str(step_s), **options.pop("env", {})}
        quick = () if any(argument.startswith("run.report=") for argument in arguments) else ("run.report=false",)
        return self.start(f"worker.program={SYNTHETIC}", *quick, *arguments, env=env, **options)

    def status(self, *arguments, **options):
        """Exit status of a whole synthetic run."""
        process = self.synthetic(*arguments, **options)
        process.communicate(timeout=60)
        return process.returncode

    def run(self, *arguments, timeout=240, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err

    def wait_for_event(self, workflow, text, process, timeout=120):
        """Wait until a worker's journal holds a line with this text."""
        path = self.run_dir / "journal" / f"{workflow}.worker.jsonl"
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if path.exists() and text in path.read_text():
                return
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        raise AssertionError(f"{path} never held {text}")

    def bundle(self, workflow):
        return read_bundle_file(self.run_dir / f"{workflow}.json").bundle

    def manifest(self):
        return json.loads((self.run_dir / "run.json").read_text())

    def worker_pid(self, workflow):
        for line in (self.run_dir / "journal" / f"{workflow}.supervisor.jsonl").read_text().splitlines():
            if '"worker_spawned"' in line:
                return json.loads(line)["pid"]
        raise AssertionError("no worker was spawned")

    def assert_clean(self):
        """No half-written file, no reserve left, no process of this run alive."""
        leftovers = [path for path in self.run_dir.rglob("*") if path.name.endswith((".tmp", ".reserve"))]
        assert not leftovers
        assert not alive_in(self.run_dir)


def gone(process):
    """Whether a process has ended, be it that nobody has asked for its status yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def alive_in(folder):
    """Processes whose command line names the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
            state = (path.parent / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue
        if str(folder).encode() in command and state != "Z" and int(path.parent.name) != os.getpid():
            found.append(command)
    return found


@pytest.fixture
def app(tmp_path):
    app = App(tmp_path)
    yield app
    app.close()
