"""Where a run may stand: any folder, once, and never at the price of another run."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, SYNTHETIC

QUICK = ("agent.iterations=3", "workflow=training")


def test_two_runs_started_at_the_same_instant_get_two_folders(app):
    processes = [app.synthetic(*QUICK, run_dir=False) for _ in range(4)]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    runs = {path.parent for path in app.folder.glob("outputs/*/*/training.json")}
    assert len(runs) == 4
    assert (app.folder / "outputs" / "latest").resolve() in runs


def test_two_runs_in_one_folder_end_as_one_run_and_one_refusal(app):
    processes = [app.synthetic(*QUICK) for _ in range(3)]
    outputs = [process.communicate(timeout=30) for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes == [0, 2, 2]
    assert sum("already holds a run" in err for _, err in outputs) == 2
    assert app.bundle("training").run.status == "completed"


def test_a_folder_that_holds_a_run_is_never_touched_again(app):
    assert app.status(*QUICK) == 0
    before = {path: path.read_bytes() for path in app.run_dir.rglob("*") if path.is_file()}
    process = app.synthetic("agent.iterations=5", "workflow=training")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "already holds a run" in err
    assert len(err.splitlines()) == 1
    assert {path: path.read_bytes() for path in app.run_dir.rglob("*") if path.is_file()} == before


def test_a_path_with_spaces_and_non_ascii_letters(app):
    app.run_dir = app.folder / "ein Lauf, für Ökonomen = 試験"
    assert app.status("agent.iterations=3") == 0
    assert app.bundle("play").run.status == "completed"


@pytest.fixture
def read_only(tmp_path):
    """A folder nobody may write, root included."""
    folder = tmp_path / "readonly"
    folder.mkdir(mode=0o555)
    mounted = os.geteuid() == 0
    if mounted:
        command = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("root may write everywhere, and cannot mount a read-only folder here")
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_folder_is_refused_at_once(app, read_only):
    app.run_dir = read_only / "run"
    process = app.synthetic(*QUICK)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "hydra.run.dir=" in err
    assert "cannot be written" in err
    assert len(err.splitlines()) == 1
    app.folder = read_only  # and from within it, where `outputs` would be made
    process = app.synthetic(*QUICK, run_dir=False)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "cannot be written" in err


HOSTILE = "raise SystemExit('the user has a module of this name, and it was imported')\n"


def test_a_folder_with_its_own_tasks_and_conf_and_modules_does_not_matter(app):
    for name in ("tasks.py", "conf.py", "worker.py", "bundle.py", "torch.py", "newton.py"):
        (app.folder / name).write_text(HOSTILE)
    (app.folder / "conf").mkdir()
    (app.folder / "conf" / "config.yaml").write_text("hostile: true\n")
    process = app.synthetic("agent.iterations=3")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err


def test_a_reader_that_goes_away_does_not_touch_the_run(app):
    """`… 2>&1 | head -1`, and a log on a full disk."""
    assert app.status(*QUICK) == 0
    for verb in ("validate .", f"recover {app.run_dir}", "--help", "--version"):
        for broken in ("| true", "> /dev/full", "2>&1 >&-"):
            command = f"set -o pipefail; {sys.executable} -m benchmark_app {verb} {broken}"
            done = subprocess.run(
                ["/bin/bash", "-c", command], cwd=app.folder, capture_output=True, text=True, timeout=60, check=False
            )
            assert (done.returncode, done.stderr) == (0, ""), (verb, broken)
    refused = f"{sys.executable} -m benchmark_app num_envs=0 2> /dev/full"
    assert subprocess.run(["/bin/bash", "-c", refused], cwd=app.folder, check=False, timeout=60).returncode == 2
    for broken in ("2>&1 | true", "> /dev/full", "2> /dev/full", ">&- 2>&-", "2>&1 <&- | head -1"):
        app.run_dir = app.folder / re.sub(r"\W+", "_", broken)
        command = f"{sys.executable} -m benchmark_app worker.program={SYNTHETIC} agent.iterations=3 workflow=training"
        done = subprocess.run(
            f"set -o pipefail; {command} hydra.run.dir={app.run_dir} {broken}",
            shell=True,
            executable="/bin/bash",
            cwd=app.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (broken, done)
        assert app.bundle("training").run.status == "completed"
        assert app.manifest()["status"] == "completed"
        assert "Traceback" not in done.stderr


def test_a_terminal_that_cannot_show_our_letters_still_gets_the_summary(app):
    code, out, err = app.run(f"worker.program={SYNTHETIC}", *QUICK, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert code == 0, err
    assert "completed" in out


def test_an_interpreter_that_is_none_is_refused(app):
    code, _, err = app.run("worker.python=/bin/true", "workflow=startup")
    assert code == 2
    assert "worker.python=/bin/true: cannot be asked what it has installed (it ran, and is no Python" in err
    assert not app.run_dir.exists()


def test_an_interpreter_without_the_engine_or_the_library_is_refused_by_name(app, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    code, _, err = app.run(f"worker.python={bare}", "workflow=training")
    assert code == 2
    assert f"physics=newton_mjwarp with worker.python={bare}: needs the packages newton, warp-lang and mujoco" in err
    assert not app.run_dir.exists()


def test_a_checkpoint_named_through_latest_is_the_one_it_named(app):
    assert app.status("agent.iterations=3", run_dir=False) == 0
    (first,) = app.folder.glob("outputs/*/*/checkpoints/policy.txt")
    latest = "checkpoint=outputs/latest/checkpoints/policy.txt"
    process = app.synthetic("workflow=play", latest, run_dir=False)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    manifest = json.loads((app.folder / "outputs" / "latest" / "run.json").read_text())
    assert str(first) in manifest["command"]


def test_the_run_says_how_to_repeat_it(app):
    assert app.status(*QUICK, "seed=7") == 0
    manifest = app.manifest()
    assert manifest["command"].startswith("python -m benchmark_app ")
    assert "seed=7" in manifest["command"]
    assert "seed: 7" in (app.run_dir / ".hydra" / "config.yaml").read_text()
    assert manifest["status"] == "completed"


@pytest.mark.parametrize("name", ["a 'quoted' \\name\\", "b,c=[d] {e}", "f$g\\'h"])
def test_the_command_repeats_a_run_whatever_its_checkpoint_is_called(app, name):
    path = app.folder / name
    path.write_text("synthetic")
    quoted = str(path).replace("\\'", "\\\\'").replace("'", "\\'") if "'" in name else str(path)
    quoted += "\\" if quoted.endswith("\\") else ""
    assert app.status("workflow=play", f"checkpoint='{quoted}'") == 0
    command = shlex.split(app.manifest()["command"])
    assert [word for word in command if word.startswith("checkpoint=")]
    app.run_dir = app.folder / "again"
    overrides = [word for word in command[3:] if not word.startswith(("hydra.run.dir", "worker."))]
    assert app.status(*overrides) == 0
    config = yaml.safe_load((app.run_dir / ".hydra" / "config.yaml").read_text())
    assert Path(config["checkpoint"]).name == name


def test_the_bundle_tells_the_user_s_project_not_ours(app):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(app.folder)]
    subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    (app.folder / "mine.txt").write_text("1")
    subprocess.run([*git, "add", "mine.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "mine"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert app.status(*QUICK) == 0
    versions = app.bundle("training").versions
    assert (versions.git_commit, versions.git_branch) == (head, "trunk")
    assert versions.git_dirty is True  # the run directory itself is not tracked here


def test_presets_name_the_choices_without_a_typed_field_and_no_other(app, tmp_path):
    presets = tmp_path / "presets" / "experiment"
    presets.mkdir(parents=True)
    (presets / "mine.yaml").write_text("# @package _global_\nnum_envs: 8\nagent:\n  gamma: 0.5\n")
    process = app.synthetic(*QUICK, "--config-dir", str(presets.parent), "experiment=mine")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    run = app.bundle("training").run
    assert run.config.presets == ["ppo", "host_return", "mine"]
    assert run.num_envs == 8
    assert f"--config-dir {presets.parent}" in app.manifest()["command"]
    assert "gamma: 0.5" in (app.run_dir / ".hydra" / "config.yaml").read_text()


def test_a_worker_in_another_interpreter_is_used(app, tmp_path):
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    assert app.status(*QUICK, f"worker.python={other}") == 0
    spawned = (app.run_dir / "journal" / "training.supervisor.jsonl").read_text()
    assert str(other) in spawned
    assert app.bundle("training").versions.torch


def test_launchers_variables_for_distributed_runs_do_not_reach_the_worker(app, tmp_path):
    program = tmp_path / "printing.py"
    program.write_text(
        f"import os, runpy, sys\nprint('RANKS', os.environ.get('WORLD_SIZE'), os.environ['OMP_NUM_THREADS'])\n"
        f"sys.argv[0] = {str(SYNTHETIC)!r}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    ranks = {"WORLD_SIZE": "4", "RANK": "1", "LOCAL_RANK": "1"}
    code, _, err = app.run(*QUICK, "threads=2", f"worker.program={program}", env=ranks)
    assert code == 0, err
    assert "RANKS None 2" in (app.run_dir / "logs" / "training.log").read_text()


def test_debugging_a_worker_marks_the_bundle(app):
    assert app.status(*QUICK, "worker.debug=true", stdin=subprocess.DEVNULL) == 0
    assert app.bundle("training").extra["perturbed"] == "worker.debug"


def test_the_configuration_ships_with_the_package():
    from benchmark_app.places import conf_dir

    assert (conf_dir() / "config.yaml").is_file()
    assert (Path(ROOT) / "conf").samefile(conf_dir())
