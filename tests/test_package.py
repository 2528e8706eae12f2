"""The wheel: complete, and the same package under the same name as the checkout."""

import os
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT, SYNTHETIC


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel's content, unpacked as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def python(site, *arguments, cwd):
    env = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_the_wheel_holds_configuration_tasks_assets_and_licence(wheel):
    assert (wheel / "benchmark_app" / "conf" / "config.yaml").is_file()
    for path in (ROOT / "conf" / "task").glob("*.yaml"):
        folder = ROOT / "tasks" / path.stem
        data = [*folder.glob("assets/*"), *folder.glob("*.json")]  # golden and reference results
        assert len(data) >= (3 if (folder / "assets").is_dir() else 2)
        for file in data:
            assert (wheel / "benchmark_app" / "tasks" / file.relative_to(ROOT / "tasks")).is_file()
    assert list(wheel.glob("benchmark_app-*.dist-info/licenses/LICENSE"))
    assert "benchmark_app = benchmark_app.cli:entry" in next(wheel.glob("*.dist-info/entry_points.txt")).read_text()
    top = {path.name for path in wheel.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"benchmark_app"}  # no top-level `tasks` or `conf` of ours in anybody's site-packages


def test_the_wheel_runs_from_any_folder(wheel, tmp_path):
    code = "import benchmark_app, benchmark_app.tasks.cartpole as t; print(benchmark_app.__file__, t.__file__)"
    files = python(wheel, "-c", code, cwd=tmp_path).stdout.split()
    assert all(file.startswith(str(wheel)) for file in files)
    run = f"hydra.run.dir={tmp_path / 'run'}"
    done = python(wheel, "-m", "benchmark_app", f"worker.program={SYNTHETIC}", "agent.iterations=3", run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "play.json").is_file()


@pytest.mark.engine
def test_the_wheel_steps_the_real_task(wheel, tmp_path):
    run = f"hydra.run.dir={tmp_path / 'run'}"
    small = ("workflow=runtime", "num_envs=4", "runtime.steps=20", "device=cpu")
    done = python(wheel, "-m", "benchmark_app", *small, run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert str(wheel) in (tmp_path / "run" / "journal" / "runtime.supervisor.jsonl").read_text()
