"""A comparison in the terminal, in Markdown, as JSON and as JUnit XML; and the lines for git bisect."""

import json
import os
import shlex
import subprocess
import xml.etree.ElementTree as ET

import pytest

from benchmark_app.analysis.bisecting import bisect_between, bisect_lines, bisect_status
from benchmark_app.analysis.compare import Options, compare, compare_by
from benchmark_app.analysis.writers.json import SCHEMA_VERSION, write_json
from benchmark_app.analysis.writers.junit import write_junit
from benchmark_app.analysis.writers.markdown import write_markdown
from benchmark_app.analysis.writers.terminal import write_terminal
from tests.analysis.compare_cases import FAST, SLOW, rows, runtime, thresholds
from tests.analysis.test_compare import runs

HOSTILE = "<script>alert(1)</script> | `x` **b** [l](javascript:1) \x1b[31m\x00 é @all"


def compared(rate=700.0, **given):
    base, new = rows(runs(1000, commit=FAST, **given)), rows(runs(rate, minute=60, commit=SLOW, **given))
    return compare(base, new, Options(thresholds()), labels=("old", "new"))


def refused():
    return compare(rows(runs(1000)), rows(runs(1000, minute=60, num_envs=128)), Options(thresholds()))


def test_the_terminal_shows_medians_change_interval_and_verdict_in_aligned_columns():
    text = write_terminal(compared())
    (line,) = [line for line in text.splitlines() if line.lstrip().startswith("Total rate")]
    assert "1,000 frames/s" in line
    assert "-30.0 %" in line
    assert line.endswith("- regressed")
    table = [line for line in text.splitlines() if " frames/s " in line]
    assert len({line.index("frames/s") for line in table}) == 1
    assert text.splitlines()[0].endswith("new (5 runs) against old (5 runs)")


def test_the_terminal_names_what_could_not_be_compared():
    assert "num_envs: 64 against 128" in write_terminal(refused())
    assert "(--allow num_envs compares all the same)" in write_terminal(refused())
    assert write_terminal(refused()).endswith("1 could not be compared\n")


def test_equal_reasons_are_told_once():
    base = [one for i in range(20) for one in runs(1000, 1, num_envs=8 << i, minute=i)]
    new = [one for i in range(20) for one in runs(1000, 1, num_envs=8 << i, minute=100 + i, host="other")]
    text = write_terminal(compare(rows(base), rows(new), Options(thresholds())))
    assert text.count("cannot compare") == 1
    assert "and 19 more: host: box against other" in text


def test_underpowered_says_how_many_runs_are_needed():
    one = compare(rows(runs(1000, 1)), rows(runs(900, 1, minute=60)), Options(thresholds()))
    assert "1 run against 1 run, at least 3 are needed; needs at least 3 runs per side" in write_terminal(one)


def test_colours_are_there_only_when_asked_for():
    assert "\x1b[31m- regressed" in write_terminal(compared(), colour=True)
    assert "\x1b" not in write_terminal(compared())


def test_a_comparison_of_many_workloads_lists_changes_only_and_says_so():
    base = [one for i in range(9) for one in runs(1000, num_envs=8 << i, minute=10 * i)]
    new = [one for i in range(9) for one in runs(700 if i == 4 else 1000, num_envs=8 << i, minute=100 + 10 * i)]
    text = write_terminal(compare(rows(base), rows(new), Options(thresholds())))
    assert text.count("against BASE") == 1
    assert "only changes are listed" in text


def test_control_characters_of_a_name_do_not_reach_the_terminal():
    text = write_terminal(compared(task=HOSTILE), ["advice \x1b[2J"])
    assert "\x1b" not in text
    assert "\x00" not in text


def test_markdown_leads_with_the_summary_and_the_regressions():
    text = write_markdown(compared())
    head, _, details = text.partition("<details>")
    assert "**regressed**" in head
    assert "Total rate" in head
    assert "Memory" not in head
    assert "Memory" in details


def test_markdown_tables_are_whole_and_names_are_no_markup():
    text = write_markdown(compared(task=HOSTILE))
    assert "<script>" not in text
    widths = {line.replace(r"\|", "").count("|") for line in text.splitlines() if line.startswith("| ")}
    assert widths == {9}
    assert r"\`x\`" in text


def test_json_has_a_version_and_every_number():
    data = json.loads(write_json(compared()))
    assert (data["schema"], data["schema_version"]) == ("benchmark_app.comparison", SCHEMA_VERSION)
    assert data["status"] == 1
    (rate,) = [one for one in data["groups"][0]["metrics"] if one["metric"] == "total_fps"]
    assert rate["ratio"] == pytest.approx(0.7)
    assert rate["ratio_low"] < 0.7 < rate["ratio_high"]
    assert (rate["n_base"], rate["n_new"], rate["verdict"]) == (5, 5, "regressed")
    assert 0 <= rate["p_value"] <= rate["p_adjusted"] < 0.01
    assert data["policy"]["significance"] == 0.01


def test_json_records_what_was_allowed_and_what_was_refused():
    new = rows(runs(1000, minute=60, host="other"))
    allowed = json.loads(write_json(compare(rows(runs(1000)), new, Options(thresholds(), ("host",)))))
    assert allowed["allowed"] == ["host"]
    assert allowed["groups"][0]["allowed"] == ["host: box, other"]
    assert json.loads(write_json(refused()))["refusals"][0]["fields"] == ["num_envs"]


def test_json_of_extreme_values_is_valid():
    sides = [rows([runtime(rate, minute + i) for i, rate in enumerate(rates)]) for minute, rates in EXTREME]
    for base, new in (sides[:2], sides[2:]):
        text = write_json(compare(base, new, Options(thresholds())))
        json.loads(text, parse_constant=lambda name: pytest.fail(name))


EXTREME = [(0, [1e-90, 1e90, 1.0]), (60, [1e90, 1e-90, 2.0]), (0, [1e-300, 1e300, 1.0]), (60, [1e300, 1e-300, 2.0])]


def test_junit_marks_regressions_as_failures_and_doubt_as_skipped():
    root = ET.fromstring(write_junit(compared()))
    failures = {case.get("name") for case in root.iter("testcase") if case.find("failure") is not None}
    assert {"total_fps", "environment_step_time_s"} <= failures
    assert int(root.get("failures")) == len(failures)
    assert int(root.get("tests")) == len(list(root.iter("testcase")))
    few = ET.fromstring(write_junit(compare(rows(runs(1000, 1)), rows(runs(1, 1, 60)), Options(thresholds()))))
    assert few.get("failures") == "0"
    assert few.get("skipped") == few.get("tests")


def test_junit_marks_a_refusal_as_an_error_and_survives_hostile_names():
    root = ET.fromstring(write_junit(refused()))
    assert root.get("errors") == "1"
    assert "num_envs: 64 against 128" in next(root.iter("error")).get("message")
    ET.fromstring(write_junit(compared(task=HOSTILE + "\ud800"), ["\x07"]))


def with_commands(tmp_path, comparison, command):
    """The same comparison, NEW's bundles lying beside a run.json."""
    from dataclasses import replace

    (tmp_path / "run.json").write_text(json.dumps({"command": command}))
    (group,) = comparison.groups
    paths = tuple(str(tmp_path / "runtime.json") for _ in group.new.paths)
    return replace(comparison, groups=(replace(group, new=replace(group.new, paths=paths)),))


def environment(folder):
    """With a stand-in for python first in the path, and a folder of its own for temporary files."""
    (folder / "temporary").mkdir()
    return {"PATH": f"{folder}:/usr/bin:/bin", "TMPDIR": str(folder / "temporary")}


def test_bisect_lines_name_both_commits_and_repeat_the_runs(tmp_path):
    command = "python -m benchmark_app workflow=runtime hydra.run.dir=/old/place"
    head, start, run, reset = bisect_lines(with_commands(tmp_path, compared(), command), "runs/base", "runs/new")
    assert "Total rate" in head
    assert start == f"git bisect start {SLOW} {FAST}"
    script = shlex.split(run)[-1]
    assert 'workflow=runtime hydra.run.dir="$runs/$i" || exit 125' in script
    assert "/old/place" not in script
    assert "for i in 1 2 3 4 5" in script
    base, new = (os.path.abspath(path) for path in ("runs/base", "runs/new"))
    assert f'compare --bisect --bad {new} --metric total_fps -- {base} "$runs"' in script
    assert reset == "git bisect reset"


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (1, 1), (2, 125), (125, 125), (127, 125)])
def test_the_bisect_script_tells_git_good_bad_or_skip(tmp_path, status, expected):
    """A stand-in for python: runs succeed, and compare ends with `status`."""
    stand_in = tmp_path / "python"
    stand_in.write_text(f'#!/bin/sh\ncase "$*" in *compare*) exit {status};; esac\n')
    stand_in.chmod(0o755)
    *_, run, _ = bisect_lines(with_commands(tmp_path, compared(), "python -m benchmark_app"), "base dir", "new dir")
    words = shlex.split(run)[3:]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, check=False)
    assert done.returncode == expected
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_commit_that_cannot_be_run_is_skipped(tmp_path):
    stand_in = tmp_path / "python"
    stand_in.write_text('#!/bin/sh\ncase "$*" in *compare*) exit 0;; esac\nexit 1\n')
    stand_in.chmod(0o755)
    *_, run, _ = bisect_lines(with_commands(tmp_path, compared(), "python -m benchmark_app"), "base", "new")
    done = subprocess.run(shlex.split(run)[3:], env=environment(tmp_path), check=False)
    assert done.returncode == 125
    assert list((tmp_path / "temporary").iterdir()) == []


def test_there_is_nothing_to_bisect_without_a_regression_or_inside_one_commit():
    assert bisect_lines(compared(rate=1000.0), "base", "new") == []
    same = compare(rows(runs(1000, commit=FAST)), rows(runs(700, minute=60, commit=FAST)), Options(thresholds()))
    assert bisect_lines(same, "base", "new") == []
    by = compare_by(rows(runs(1000, physics="physx") + runs(700, minute=60)), "physics", Options(thresholds()))
    assert bisect_lines(by, "base", "new") == []


def test_bisect_skips_a_commit_about_which_nothing_can_be_said():
    assert bisect_status(compared()) == 1
    assert bisect_status(compared(rate=1000.0)) == 0
    assert bisect_status(refused()) == 125
    few = compare(rows(runs(1000, 1)), rows(runs(700, 1, minute=60)), Options(thresholds()))
    assert bisect_status(few) == 125


def noisy(rate, minute):
    """Three runs whose rates differ by tens of percents, as times of a start-up do."""
    return rows([runtime(rate * factor, minute + i) for i, factor in enumerate((0.7, 1.0, 1.5))])


def answer(new):
    """What bisecting a regression from 1000 to 40 says of a commit."""
    options = Options(thresholds(), metrics=frozenset(["total_fps"]))
    base, bad = rows(runs(1000, 3)), rows(runs(40, 3, minute=60))
    return bisect_between(compare(base, new, options), compare(base, bad, options))


def test_a_commit_is_judged_against_the_regression_that_is_searched_for_and_not_against_the_minimum_effect():
    good, bad = noisy(1000, 200), noisy(40, 200)
    assert bisect_status(compare(rows(runs(1000, 3)), good, Options(thresholds()))) == 125
    assert answer(good) == (0, ["Total rate: good"])
    assert answer(bad) == (1, ["Total rate: bad"])


def test_a_commit_between_both_ends_and_one_beyond_them_have_an_answer_too():
    assert [answer(rows(runs(rate, 3, minute=200)))[0] for rate in (300, 130, 5, 5000)] == [0, 1, 1, 0]


def test_a_commit_whose_runs_vary_more_than_the_regression_is_skipped():
    wild = rows([runtime(rate, 200 + i) for i, rate in enumerate((20.0, 300.0, 4000.0))])
    assert answer(wild) == (125, ["Total rate: neither good nor bad (the runs vary too much)"])
    assert answer(rows(runs(1000, 1, minute=200)))[0] == 125
    assert answer(rows(runs(1000, 3, minute=200, num_envs=128)))[0] == 125


def test_without_a_regression_to_search_for_there_is_no_answer():
    options = Options(thresholds())
    same = compare(rows(runs(1000, 3)), rows(runs(1000, 3, minute=60)), options)
    status, (line,) = bisect_between(same, same)
    assert status == 125
    assert "no regression" in line


def test_the_means_that_are_shown_are_those_the_change_is_of():
    base, new = ([runtime(rate, minute + i) for i, rate in enumerate(rates)] for minute, rates in SKEWED)
    text = write_terminal(compare(rows(base), rows(new), Options(thresholds())))
    head, line = text.splitlines()[1], next(line for line in text.splitlines() if "Total rate" in line)
    assert "BASE (mean)" in head
    assert "NEW (mean)" in head
    assert "1,000 frames/s" in line
    assert "2,000 frames/s" in line
    assert "+100.0 %" in line


SKEWED = [(0, [1000.0, 2000.0, 500.0]), (60, [1000.0, 1000.0, 8000.0])]


def test_a_number_of_runs_says_which_change_it_would_show():
    def total_rate(base, new):
        sides = (
            rows([runtime(rate, minute + i) for i, rate in enumerate(rates)])
            for minute, rates in ((0, base), (60, new))
        )
        lines = write_terminal(compare(*sides, Options(thresholds()))).splitlines()
        return next(line for line in lines if "Total rate" in line)

    assert "to show +100.0 % takes" in total_rate([500.0, 1000.0, 2000.0], [1000.0, 2000.0, 4000.0])
    assert "to show +5.0 % takes" in total_rate([900.0, 1000.0, 1100.0], [910.0, 1000.0, 1110.0])
    assert "to show -4.8 % takes more than 1000 runs per side" in total_rate([1.0, 1000.0, 10.0], [1.0, 990.0, 10.0])


def test_junit_marks_what_new_no_longer_measures_as_an_error():
    base = rows(runs(1000))
    new = [row | {"total_fps": None} for row in rows(runs(1000, minute=60))]
    root = ET.fromstring(write_junit(compare(base, new, Options(thresholds()))))
    (case,) = [case for case in root.iter("testcase") if case.find("error") is not None]
    assert case.get("name") == "total_fps"
    assert "not measured in NEW" in case.find("error").get("message")
    gained = ET.fromstring(write_junit(compare(new, base, Options(thresholds()))))
    assert gained.get("errors") == "0"
