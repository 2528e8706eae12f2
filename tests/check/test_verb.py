"""The verb `check` as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmark_app.check.agreement import engines_agree_on_the_robot
from benchmark_app.check.findings import FAILED, OK, UNCHECKED, Finding, judge
from benchmark_app.check.job import Job
from benchmark_app.check.parent import results_of
from benchmark_app.check.table import finding_lines, summary
from benchmark_app.cli import main
from tests.conftest import ROOT

JOB = Job(task="cartpole", config_dir=None, place="newton_mjwarp", device="cpu", what="check")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["no_such_task"], "no_such_task: no such task; known: "),
        (["cartpol"], "did you mean cartpole or cartpole_camera?"),
        (["cartpole", "--engine", "physx3"], "--engine physx3: cartpole is declared for newton_mjwarp"),
        (["cartpole", "--engine", "newton_mjwarp", "--device", "tpu"], "device=tpu"),
        (["cartpole", "--python", "bullet=python3"], "bullet is no engine; known: newton_mjwarp"),
        (["cartpole", "--python", "/no/such/python"], "no such program"),
        (["cartpole", "--write-golden"], '--write-golden: needs --reason TEXT, such as --reason "'),
        (["cartpole", "--write-golden", "--reason", "new robot"], "needs --effect TEXT"),
        (["cartpole", "--reason", "none"], "--reason none: belongs to --write-golden"),
        (["cartpole", "pendulum", "--write-reference", "runs"], "takes one task, 2 are given"),
        (["cartpole", "--write-reference", "/no/such/run"], "/no/such/run: holds no run"),
        (["cartpole", "--config-dir", "/no/such/folder"], "no such folder"),
        (["cartpole", "--golden"], "unrecognized arguments: --golden"),
        ([], "arguments are required: TASK"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(capsys, arguments, text):
    assert main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("benchmark_app: error: check: ")
    assert err.count("\n") == 1
    assert text in err


def test_the_verb_imports_neither_torch_nor_an_engine():
    code = (
        "import sys, benchmark_app.check.verb, benchmark_app.check.runs, benchmark_app.check.golden_file; "
        "print([name for name in ('torch', 'warp', 'newton', 'mujoco', 'pxr', 'gymnasium') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_process_that_dies_is_a_finding_with_its_last_words(tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "the engine fell over" >&2\nkill -SEGV $$\n')
    python.chmod(0o755)
    (found,) = results_of(JOB, str(python))
    assert found["finding"]["verdict"] == FAILED
    assert "signal 11: the engine fell over" in found["finding"]["text"]


def test_what_was_found_before_a_process_died_is_kept(tmp_path):
    python = tmp_path / "python"
    told = 'import os, sys; os.write(int(sys.argv[4]), b\'{"facts": {"joints": []}}\\n\'); sys.exit(3)'
    python.write_text(f"#!{sys.executable}\n{told}\n")
    python.chmod(0o755)
    facts, crash = results_of(JOB, str(python))
    assert facts == {"facts": {"joints": []}}
    assert "exit status 3" in crash["finding"]["text"]


def finding(verdict, text="a mass is missing; add it"):
    return Finding(
        place="files", check="the robot is whole", claim="Every link has a mass.", verdict=verdict, text=text
    )


def test_a_failure_says_what_must_hold_and_the_summary_counts():
    lines = finding_lines(finding(FAILED))
    assert lines[0].split() == ["FAILED", "the", "robot", "is", "whole"]
    assert "must hold: Every link has a mass." in " ".join(lines)
    assert finding_lines(finding(OK, "3 links")) == [f"  ok        {'the robot is whole':<46} 3 links"]
    told = summary([finding(FAILED), finding(OK), finding(UNCHECKED)])
    assert told == "1 ok, 1 failed, 1 not checkable here (failed: files)\n"


FACTS = {
    "joints": [
        {
            "name": "hinge",
            "lower": None,
            "upper": None,
            "damping": 0.1,
            "armature": 0.0,
            "friction": 0.0,
            "effort_limit": 1.0,
        }
    ],
    "links": [{"name": "rod", "mass": 1.0, "com": [0.0, 0.0, 0.5], "inertia": [0.1, 0.1, 0.001, 0.0, 0.0, 0.0]}],
    "gravity": [0.0, 0.0, -9.81],
    "physics_dt": 0.01,
}


@pytest.mark.parametrize(
    ("part", "change", "text"),
    [
        ("links", {"mass": 1.01}, "link rod: mass [kg] (1.0 and 1.01)"),
        ("links", {"com": [0.0, 0.01, 0.5]}, "link rod: centre of mass y"),
        ("links", {"name": "pole"}, "link rod: mass [kg] (1.0 and None)"),
        ("joints", {"upper": 1.0}, "joint hinge: upper (None and 1.0)"),
        ("joints", {"damping": 5.7}, "joint hinge: damping"),
    ],
)
def test_engines_that_simulate_different_robots_are_caught(part, change, text):
    other = {**FACTS, part: [{**FACTS[part][0], **change}]}
    found = judge("all engines", engines_agree_on_the_robot, {"one": FACTS, "two": other})
    assert found.verdict == FAILED
    assert text in found.text


def test_engines_that_agree_pass_and_one_alone_cannot_be_compared():
    rounded = {**FACTS, "gravity": [0.0, 0.0, -9.8100004]}
    assert judge("all engines", engines_agree_on_the_robot, {"one": FACTS, "two": rounded}).verdict == OK
    assert judge("all engines", engines_agree_on_the_robot, {"one": FACTS}).verdict == UNCHECKED


@pytest.mark.engine
def test_a_shipped_task_passes_every_check_on_a_real_engine(app):
    code, out, err = app.run("check", "cartpole", "--engine", "newton_mjwarp", "--json", run_dir=False)
    (report,) = json.loads(out)
    failed = [f"{entry['check']}: {entry['text']}" for entry in report["findings"] if entry["verdict"] == FAILED]
    assert failed == [], err
    assert code == 0
    assert report["ok"] > 40
    # One engine cannot be compared with another, and that is all.
    assert [entry["check"] for entry in report["findings"] if entry["verdict"] == UNCHECKED] == [
        "engines agree on the robot"
    ]
