"""The pages in docs/tasks/: generated, complete and up to date."""

import re
import shlex

import pytest

from benchmark_app.catalogue import describe, find_tasks
from benchmark_app.catalogue.page import page
from tests.conftest import ROOT

PAGES = ROOT / "docs" / "tasks"
HEADINGS = [
    "What it tests",
    "Links",
    "Provenance and licences",
    "Picture",
    "Tasks",
    "Installation",
    "Evaluation",
    "Policy inputs and outputs",
    "Training",
    "Reference results",
]
TASKS = find_tasks()


def video_of(name):
    return f"{name}.mp4" if (PAGES / f"{name}.mp4").is_file() else ""


@pytest.mark.parametrize("name", TASKS)
def test_the_page_is_what_the_task_declares_now(name):
    written = (PAGES / f"{name}.md").read_text() if (PAGES / f"{name}.md").is_file() else ""
    assert written == page(describe(TASKS[name]), video_of(name)), "type: make task-pages"


@pytest.mark.parametrize("name", TASKS)
def test_the_page_has_every_heading_and_its_picture(name):
    text = page(describe(TASKS[name]))
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert (PAGES / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", "type: make task-pictures"


def test_the_picture_of_a_task_with_a_video_leads_to_it():
    assert "(cartpole.mp4)" in page(describe(TASKS["cartpole"]), "cartpole.mp4")
    assert ".mp4" not in page(describe(TASKS["cartpole"]))


@pytest.mark.parametrize("name", [name for name in TASKS if video_of(name)])
def test_a_video_of_a_task_plays_in_a_browser_and_is_small(name):
    content = (PAGES / f"{name}.mp4").read_bytes()
    assert content[4:8] == b"ftyp"
    assert b"avc1" in content
    assert len(content) < 1_000_000


def test_there_is_no_page_without_a_task():
    assert {path.stem for path in PAGES.iterdir()} == set(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_the_commands_on_the_page_name_settings_and_verbs_there_are(name):
    from benchmark_app.cli import VERBS

    text = page(describe(TASKS[name]))
    commands = [shlex.split(line) for line in re.findall(r"^python -m benchmark_app .*$", text, re.MULTILINE)]
    assert len(commands) >= 6
    for _, _, _, first, *_ in commands:
        assert "=" in first or first in VERBS or first == "-m"
