"""The code of docs/tutorial_pendulum.md, taken out of the page and run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest

from benchmark_app.check.contract import RULES
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "tutorial_pendulum.md").read_text()
FILES = dict(re.findall(r"^`(my_tasks/\S+)`\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def write(folder):
    """What a reader types, and the PYTHONPATH the page asks for."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"PYTHONPATH": os.pathsep.join([str(folder / "my_tasks"), str(ROOT)])}


def command(module):
    """What follows `python -m MODULE` in the page's one command that runs it."""
    (found,) = [line[3:] for line in COMMANDS if line[:3] == ["python", "-m", module]]
    return found


def test_the_page_lists_the_files_it_shows():
    (tree,) = re.findall(r"^```\nmy_tasks/\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert sorted(f"my_tasks/{line.split()[0]}" for line in tree.splitlines()) == sorted(FILES)


def test_the_task_takes_less_than_a_hundred_lines():
    lines = {name: len(text.splitlines()) for name, text in FILES.items() if "test_" not in name}
    assert len(lines) == 4
    assert sum(lines.values()) < 100, lines


@pytest.mark.engine
def test_the_pendulum_keeps_the_contract(tmp_path):
    env = {**os.environ, **write(tmp_path)}
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *command("pytest")]
    done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert re.search(rf"\b{len(RULES)} passed", done.stdout), done.stdout


@pytest.mark.engine
def test_the_pendulum_trains_from_the_command_line(app):
    env = write(app.folder)
    small = ("num_envs=8", "agent.iterations=3", "play.episodes=8", "play.policy_batch=8")
    short = ("task.episode_length_s=0.4", "device=cpu")
    code, out, err = app.run(*command("benchmark_app"), *small, *short, env=env)
    assert code == 0, err
    assert re.search(r"training +completed +3/3 iterations", out)
    training, play = app.bundle("training"), app.bundle("play")
    for bundle in (training, play):
        assert bundle.run.status == "completed"
        assert bundle.run.task == "My-Pendulum-v0"
    assert training.extra["episodes_finished"] > 0
    assert play.extra["n_episodes"] == 8
    app.assert_clean()
