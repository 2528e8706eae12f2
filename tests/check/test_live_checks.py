"""Each check of a running task catches the task that breaks its claim, and blames no task that breaks another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark_app.check import golden, golden_file
from benchmark_app.check.built import BUILT
from benchmark_app.check.contract import RULES
from benchmark_app.check.findings import FAILED, OK, judge
from benchmark_app.check.played import PLAYED
from benchmark_app.check.walk import shortened, take_walk

from .broken import BROKEN, Shifted, Slow, live


def findings(live):
    walk = take_walk(live)
    return [judge("rail", check, walk) for check in PLAYED] + [judge("rail", check, live) for check in BUILT]


def failed(findings):
    return [finding.check.replace(" ", "_") for finding in findings if finding.verdict == FAILED]


def test_every_check_has_a_task_that_breaks_its_claim():
    checks = [*PLAYED, *BUILT]
    assert list(BROKEN) == [check.__name__ for check in checks]
    assert all(check.__doc__ for check in checks)


def test_a_sound_task_passes_every_check_and_every_rule():
    sound = live()
    assert {finding.verdict for finding in findings(sound)} == {OK}
    for rule in RULES:
        rule(lambda num_envs: sound.build(shortened(sound.cfg, 20), num_envs))


@pytest.mark.parametrize(("check", "broken"), BROKEN.items(), ids=BROKEN)
def test_a_broken_task_is_caught_by_exactly_its_check(check, broken):
    found = findings(broken)
    assert failed(found) == [check]
    (text,) = [finding.text for finding in found if finding.verdict == FAILED]
    assert text
    assert "\n" not in text


def test_an_engine_whose_time_is_not_the_declared_one_is_caught():
    assert failed(findings(live(rail=Slow))) == ["the_control_step_takes_its_time"]


def test_a_walk_comes_to_both_kinds_of_end():
    walk = take_walk(live())
    ends = [number for number, step in enumerate(walk.steps, start=1) if step.ended.any()]
    limit = walk.live.cfg.max_episode_steps
    assert ends[0] < limit  # a row left the rail
    assert limit in ends
    assert not walk.error


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "golden.json"
    golden_file.write(path, "sliding", {"rail": golden.record(live(), {"rail": "1"})}, "the first", "none")
    return path


def check_golden(path: Path, subject):
    return judge("rail", golden.the_golden_file_is_reproduced, subject, path, {"rail": "2"})


def test_the_golden_file_is_reproduced_by_the_task_it_was_made_of(recorded):
    assert check_golden(recorded, live()).verdict == OK
    record = golden_file.Record(**json.loads(recorded.read_text())["engines"]["rail"])
    assert record.truncated  # every row was reset on the way
    assert {row for _, row in record.truncated + record.terminated} == {0, 1}


def test_what_a_policy_sees_does_not_change_unseen(recorded, monkeypatch):
    monkeypatch.setattr(Shifted, "off", 0.001)
    found = check_golden(recorded, live(Shifted))
    assert found.verdict == FAILED
    assert "observation 'policy'[0] of row 0 at step 0" in found.text
    assert "recorded with rail 1" in found.text
    monkeypatch.setattr(Shifted, "off", 1e-6)  # rounding
    assert check_golden(recorded, live(Shifted)).verdict == OK


def test_a_missing_golden_file_or_engine_is_a_failure_that_says_how_to_write_it(tmp_path, recorded):
    other = live()
    for path, engine in ((tmp_path / "none.json", "rail"), (recorded, "another")):
        object.__setattr__(other, "engine", engine)
        found = check_golden(path, other)
        assert found.verdict == FAILED
        assert "--write-golden" in found.text


def test_a_golden_file_keeps_why_it_changed(recorded, monkeypatch):
    monkeypatch.setattr(Shifted, "off", 0.01)
    new = golden.record(live(Shifted), {"rail": "1"})
    assert golden_file.write(recorded, "sliding", {"rail": new, "track": new}, "moved", "none") == ["rail", "track"]
    assert golden_file.write(recorded, "sliding", {"rail": new}, "again", "none") == []
    history = json.loads(recorded.read_text())["history"]
    assert [entry["reason"] for entry in history] == ["the first", "moved"]
    assert "step 0" in history[1]["changed"]["rail"]
    assert history[1]["effect"] == "none"


def test_the_golden_file_has_a_row_of_numbers_on_a_line(recorded):
    assert max(len(line) for line in recorded.read_text().splitlines()) < 400
    assert any(line.count(",") > 1 and line.lstrip().startswith("[") for line in recorded.read_text().splitlines())
