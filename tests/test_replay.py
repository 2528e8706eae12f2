"""The verb `replay`: from a run that met a NaN to its failing step taken again, and every dump that is refused."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from benchmark_app.cli import main
from tests.conftest import ROOT

DOUBLES = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "doubles")])}
SMALL = ("workflow=runtime", "num_envs=8", "runtime.steps=400", "device=cpu", "task.module=nan_cartpole")


def replay(folder, cwd, bad=""):
    """The command as a user types it; the task makes the same number bad again, or not."""
    command = [sys.executable, "-m", "benchmark_app", "replay", str(folder)]
    env = {**os.environ, **DOUBLES, "NAN": bad}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.engine
def test_the_failing_step_of_a_real_run_is_taken_again(app):
    code, out, err = app.run(*SMALL, env={**DOUBLES, "NAN": "reward"})
    assert code == 1, err
    extra = app.bundle("runtime").extra
    dump = app.run_dir / "nan_dump"
    assert extra["nan_dump"] == str(dump)
    assert "reward not finite in row 5" in extra["reason"]
    assert "reward not finite in row 5" in out
    assert f"python -m benchmark_app replay {dump}" in (app.run_dir / "logs" / "runtime.log").read_text()
    app.assert_clean()

    code, out, err = replay(dump, app.folder, "reward")
    assert code == 0, out + err
    assert out == (
        "reproduced: reward not finite in row 5, as recorded\nthe run on cpu said: reward not finite in row 5\n"
    )

    code, out, _ = replay(dump, app.folder)
    assert code == 1
    assert out.startswith("not reproduced: reward: finite here in row 5\n")


def run_into(bad, folder, monkeypatch):
    """Play the double of cartpole in this process until it meets its number."""
    monkeypatch.syspath_prepend(ROOT / "tests" / "doubles")
    monkeypatch.setenv("NAN", bad)
    import torch
    from nan_cartpole import Cfg

    from benchmark_app.envs.make import make_env
    from benchmark_app.envs.nan_guard import NanGuard

    env = make_env(Cfg(module="nan_cartpole"), "newton_mjwarp", 8)
    env.set_nan_guard(NanGuard(folder, max_rows=3))
    env.init_state()
    try:
        for _ in range(400):
            env.step(torch.ones(8, 1))
    except ValueError as error:
        return str(error)
    finally:
        env.close()
    raise AssertionError("all numbers were finite")


@pytest.mark.engine
@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        ("observation", "observation 'policy'"),
        ("control", "control"),
        ("velocity", "joint_pos"),
        ("reset", "observations after a reset"),
    ],
)
def test_whatever_was_bad_is_bad_again_and_only_then(bad, cause, tmp_path, monkeypatch, capsys):
    reason = run_into(bad, tmp_path, monkeypatch)
    dump = tmp_path / "nan_dump"
    name, rows = next(iter(json.loads((dump / "dump.json").read_text())["suspects"].items()))
    assert (name, rows) == (cause, [5])
    capsys.readouterr()
    assert main(["replay", str(dump)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"reproduced: {cause} not finite in row 5, as recorded"
    assert second == f"the run on cpu said: {reason}"
    monkeypatch.setenv("NAN", "")
    assert main(["replay", str(dump)]) == 1
    assert capsys.readouterr().out.startswith(f"not reproduced: {cause}: finite here in row 5\n")


@pytest.mark.engine
def test_a_step_that_fails_for_another_reason_is_not_reproduced(tmp_path, monkeypatch, capsys):
    run_into("reward", tmp_path, monkeypatch)
    monkeypatch.setenv("NAN", "observation")
    capsys.readouterr()
    assert main(["replay", str(tmp_path / "nan_dump")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("not reproduced: reward: finite here in row 5; observation 'policy': not, in row 5\n")


@pytest.mark.engine
def test_a_run_without_the_guard_leaves_no_dump(app):
    code, _, _ = app.run(*SMALL, "nan_guard=false", env={**DOUBLES, "NAN": "reward"})
    assert code == 1
    assert "reward not finite in row 5" in app.bundle("runtime").extra["reason"]
    assert not (app.run_dir / "nan_dump").exists()
    assert "nan_dump" not in app.bundle("runtime").extra


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A dump of the real engine: actions that are not finite, in row 2 of 3."""
    import torch
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env
    from benchmark_app.envs.nan_guard import NanGuard

    folder = tmp_path_factory.mktemp("made")
    env = make_env(Cfg(), "newton_mjwarp", 3)
    env.set_nan_guard(NanGuard(folder))
    env.init_state()
    for _ in range(5):
        env.step(torch.zeros(3, 1))
    with pytest.raises(ValueError, match="actions"):
        env.step(torch.tensor([[0.0], [0.0], [torch.nan]]))
    env.close()
    return folder / "nan_dump"


@pytest.fixture
def dump(made, tmp_path):
    return shutil.copytree(made, tmp_path / "nan_dump")


def change(dump, **changes):
    """Replace entries of `dump.json`; `task__settings=…` reaches inside, and None takes an entry out."""
    facts = json.loads((dump / "dump.json").read_text())
    for key, value in changes.items():
        *path, last = key.split("__")
        node = facts
        for name in path:
            node = node[name]
        if value is None:
            del node[last]
        else:
            node[last] = value
    (dump / "dump.json").write_text(json.dumps(facts))


def rewrite(dump, save=np.savez, **changes):
    with np.load(dump / "history.npz") as arrays:
        found = dict(arrays)
    save(dump / "history.npz", **{**found, **changes})


@pytest.mark.engine
def test_bad_actions_point_to_the_policy(dump, capsys):
    assert main(["replay", str(dump)]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines()[0] == (
        "reproduced: actions not finite in row 2, as recorded; the step was given them: look at the policy"
    )


@pytest.mark.engine
def test_other_versions_are_mentioned_only(dump, capsys):
    change(dump, versions__torch="1.0.0")
    assert main(["replay", str(dump)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("(it had torch 1.0.0)")


@pytest.mark.engine
def test_what_a_dump_says_cannot_write_to_the_terminal(dump, capsys):
    change(dump, reason="\x1b[2Jfine\nreproduced", versions__torch="\x07")
    assert main(["replay", str(dump)]) == 0
    out, _ = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert not {"\x1b", "\x07"} & set(out)


class Hostile:
    def __reduce__(self):
        return (os.mkdir, ("executed",))


REFUSED = [
    (lambda dump: shutil.rmtree(dump), r"no dump in this folder \(dump.json is missing\); give the folder nan_dump"),
    (lambda dump: (dump / "history.npz").unlink(), r"no dump in this folder \(history.npz is missing\)"),
    (lambda dump: (dump / "dump.json").write_text("{"), r"dump.json cannot be read"),
    (lambda dump: (dump / "dump.json").write_bytes(b"\xff\xfe"), r"dump.json cannot be read"),
    (lambda dump: (dump / "dump.json").write_text("[" * 100000), r"dump.json cannot be read"),
    (lambda dump: (dump / "dump.json").write_text("[]"), r"dump.json has version None; this program replays version 1"),
    (lambda dump: os.truncate(dump / "dump.json", 2**28 + 1), r"dump.json is larger than 256 MiB"),
    (lambda dump: change(dump, version=2), r"dump.json has version 2"),
    (lambda dump: change(dump, rows=None), r"dump.json: rows is missing or of another type than list"),
    (lambda dump: change(dump, rows=[]), r"rows must name rows, each once"),
    (lambda dump: change(dump, rows=[0, 0, 1]), r"rows must name rows, each once"),
    (lambda dump: change(dump, rows=[0, 1, 2.5]), r"rows must be a list of whole numbers"),
    (lambda dump: change(dump, episode=[1]), r"episode the episode of each"),
    (lambda dump: change(dump, episode=[1, 2, 2**70]), r"episode must be a list of whole numbers"),
    (lambda dump: change(dump, suspects={"reward": "all"}), r"reward must be a list of whole numbers"),
    (lambda dump: change(dump, suspects={"reward": [7]}), r"the first of suspects names none of the rows"),
    (lambda dump: change(dump, seed=-1), r"seed=-1: must be from 0"),
    (lambda dump: change(dump, seed=True), r"seed is missing or of another type than int"),
    (lambda dump: change(dump, physics={"name": "os", "settings": {}}), r"physics must name one of newton_mjwarp"),
    (lambda dump: change(dump, physics={"name": [], "settings": {}}), r"physics must name one of newton_mjwarp"),
    (lambda dump: change(dump, physics__settings={"evil": 1}), r"evil=1: no such setting of newton_mjwarp; known: "),
    (lambda dump: change(dump, task={}), r"task.settings names no module"),
    (lambda dump: change(dump, task__settings__module="no_such_task"), r"no_such_task: cannot be used as a task"),
    (lambda dump: change(dump, task__settings__module="antigravity_"), r"cannot be used as a task"),
    (lambda dump: change(dump, task__settings__module="json"), r"task.module=json: cannot be used as a task"),
    (lambda dump: change(dump, task__settings__module=".x"), r"task.module=.x: cannot be used as a task"),
    (lambda dump: change(dump, task__settings__evil=1), r"task.settings do not fit benchmark_app.tasks.cartpole"),
    (lambda dump: change(dump, task__settings__max_effort="much"), r"task.settings do not fit"),
    (lambda dump: change(dump, task__settings__max_effort=-1.0), r"cannot be built: ValueError: task.max_effort=-1.0"),
    (lambda dump: os.truncate(dump / "history.npz", 300), r"history.npz cannot be read"),
    (lambda dump: (dump / "history.npz").write_bytes(b""), r"history.npz cannot be read"),
    (lambda dump: rewrite(dump, steps=np.array([Hostile()], dtype=object)), r"history.npz cannot be read.*pickle"),
    (lambda dump: rewrite(dump, np.savez_compressed), r"history.npz cannot be read.*compressed"),
    (lambda dump: rewrite(dump, actions=np.zeros((6, 3, 9), np.float32)), r"actions: expected .*, got .*\[6, 3, 9\]"),
    (lambda dump: rewrite(dump, actions=np.zeros((6, 3, 1))), r"actions: expected torch.float32"),
    (lambda dump: rewrite(dump, episode=np.zeros((1, 3), np.int64)), r"episode: expected .*\[6, 3\], got .*\[1, 3\]"),
    (lambda dump: rewrite(dump, steps=np.int64(3)), r"expected .*, got .*\[6, 3, 2\]"),
]


@pytest.mark.engine
@pytest.mark.parametrize(("damage", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_a_dump_that_cannot_be_trusted_is_refused_in_one_line(damage, message, dump, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    damage(dump)
    status = main(["replay", str(dump)])
    out, err = capsys.readouterr()
    assert (status, out) == (2, ""), err
    assert len(err.splitlines()) == 1
    assert re.search(message, err), err
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "usage: "), (["a", "b"], "usage: "), (["--bogus"], "usage: "), ([""], "give the path of a dump")],
)
def test_wrong_arguments_are_refused(arguments, message, capsys):
    assert main(["replay", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_help_says_what_it_does(capsys):
    assert main(["replay", "--help"]) == 0
    assert "replay DUMP" in capsys.readouterr().out


def test_nothing_heavy_is_imported_before_a_dump_is_found(tmp_path):
    code = (
        "import sys\nfrom benchmark_app.cli import main\nmain(['replay', '.'])\n"
        "print(*[m for m in ('torch', 'numpy', 'warp', 'newton') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "\n", done.stderr
    assert "no dump in this folder" in done.stderr
