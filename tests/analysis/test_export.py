"""Exports say what the table says, and Isaac Lab's harness finds its copies."""

import errno
import glob
import json
import os
import re
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from benchmark_app.analysis import load
from benchmark_app.analysis.export import markdown, write_csv, write_isaaclab, write_parquet
from benchmark_app.analysis.verbs.export import run
from benchmark_app.bundle.equivalence import FORMAT
from benchmark_app.bundle.read import read_bundle_file
from tests.analysis.made import WORKFLOWS, write

HOSTILE = "<script>alert(1)</script> | `x` **b** [l](http://e) \\| ; \"q\", 'é'"


def odin_read_bundle(folder):
    """Isaac Lab's rule (tools/odin, results.read_bundle): of `benchmark_*.json`, sorted by name, the first that parses
    to an object with a truthy `schema_version`."""
    for path in sorted(glob.glob(os.path.join(folder, "benchmark_*.json"))):
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except ValueError:
            continue
        if isinstance(content, dict) and content.get("schema_version"):
            return content
    return None


def odin_harvests(content):
    """What its harvest asks of a training."""
    run = content["run"]
    return bool(run["status"] == "completed" and run["task"] and run["framework"] and run["config"]["physics_backend"])


def test_isaac_labs_harness_finds_every_exported_bundle(tmp_path):
    paths = [write(tmp_path / "runs", workflow, number) for workflow in WORKFLOWS for number in range(2)]
    written = write_isaaclab(list(map(str, paths)), tmp_path / "out")
    found = [odin_read_bundle(folder) for folder in (tmp_path / "out").iterdir()]
    assert None not in found
    assert sorted(content["run"]["run_id"] for content in found) == sorted(
        f"{w}-{n}" for w in WORKFLOWS for n in (0, 1)
    )
    trainings = [content for content in found if content.get("learning")]
    assert len(trainings) == 2
    for content in trainings:
        assert odin_harvests(content)
        assert content["learning"]["reward"]["final_ema"] is not None
        assert content["runtime"]["total_wall_time_s"] > 0
    for path in written:
        workflow = read_bundle_file(path).workflow
        assert re.fullmatch(
            rf"benchmark_{workflow}_Benchmark-Cartpole-v0_\d{{4}}-\d\d-\d\d_\d\d-\d\d-\d\d-\d{{6}}_[0-9a-f]{{8}}\.json",
            path.name,
        )


def test_a_training_is_found_beside_the_play_that_followed_it(tmp_path):
    for workflow in ("training", "play"):
        write(tmp_path / "run", workflow, name=f"{workflow}.json")
    write_isaaclab([str(tmp_path / "run" / f"{w}.json") for w in ("play", "training")], tmp_path / "out")
    assert sum("learning" in odin_read_bundle(folder) for folder in (tmp_path / "out").iterdir()) == 1


def test_exporting_to_isaac_lab_again_changes_nothing(tmp_path):
    path = str(write(tmp_path, "training"))
    first = write_isaaclab([path], tmp_path / "out")
    assert write_isaaclab([path], tmp_path / "out") == first
    assert len(list((tmp_path / "out").rglob("*.json"))) == 1
    assert load([path, tmp_path / "out"]).runs.height == 1


def test_an_older_bundle_becomes_a_complete_one_of_the_newest_schema(tmp_path):
    content = json.loads(write(tmp_path, "runtime").read_text())
    del content["resources"]["devices"], content["runtime"]["environment_step_timing"]
    old = tmp_path / "old.json"
    old.write_text(json.dumps(content | {"schema_version": "1.0"}))
    (copy,) = write_isaaclab([str(old)], tmp_path / "out")
    assert json.loads(copy.read_text())["schema_version"] == "1.4"
    assert json.loads(copy.read_text())["resources"]["devices"] == {}


@pytest.mark.parametrize("text", ["../../evil", "a/b\\c:d*?", "..", "\u202e\n", "x" * 300, "/abs"])
def test_names_from_a_bundle_stay_inside_the_folder(tmp_path, text):
    path = write(tmp_path, "runtime", run={"run_id": text, "task": text, "start_time_utc": text})
    (copy,) = write_isaaclab([str(path)], tmp_path / "deep" / "out")
    assert copy.resolve().parent.parent == (tmp_path / "deep" / "out").resolve()
    assert copy.name.isascii()
    assert odin_read_bundle(copy.parent) is not None


def test_csv_and_parquet_hold_the_table(tmp_path):
    for number, workflow in enumerate(WORKFLOWS):
        write(tmp_path, workflow, number, run={"task": HOSTILE})
    runs = load(tmp_path).runs
    write_parquet(runs, tmp_path / "runs.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "runs.parquet"), runs)
    write_csv(runs, tmp_path / "runs.csv")
    back = pl.read_csv(tmp_path / "runs.csv", schema_overrides={"synthetic": pl.Boolean}, infer_schema_length=None)
    assert back.columns == runs.columns
    assert back["task"].to_list() == [HOSTILE] * 4
    assert back["total_fps"].to_list() == runs["total_fps"].to_list()


def test_markdown_shows_what_differs_and_names_the_rest_once(tmp_path):
    write(tmp_path, "runtime", 0, fps=1234.5)
    write(tmp_path, "runtime", 1, fps=1.5, run={"num_envs": 128})
    write(tmp_path, "startup", 2)
    text = markdown(load(tmp_path).runs)
    runtime, startup = text.split("## startup")
    head, rule, *rows = [line for line in runtime.splitlines() if line.startswith("|")]
    assert head.startswith("| Environments | Status | Seed | Total rate [frames/s] |")
    assert [row.split("|")[1:5] for row in rows] == [
        [" 64 ", " completed ", " 0 ", " 1,234 "],
        [" 128 ", " completed ", " 1 ", " 1.5 "],
    ]
    assert rule.count("|") == head.count("|") == rows[0].count("|")
    assert "Host: box" in runtime
    assert "Host" not in head
    assert "Total rate" not in startup
    assert "Time to the first step [s]" in startup


def test_a_hostile_value_is_text_in_markdown(tmp_path):
    write(tmp_path, "runtime", 0, run={"task": HOSTILE + "\n\n# big"})
    write(tmp_path, "runtime", 1)
    text = markdown(load(tmp_path).runs)
    assert "<script>" not in text
    assert "\n# big" not in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1  # equal numbers of bare bars


def test_the_verb_writes_every_format_at_once(tmp_path, capsys):
    write(tmp_path / "runs", "training")
    (tmp_path / "runs" / "broken.json").write_text("{")
    out = tmp_path / "out"
    out.mkdir()
    targets = {"--csv": "a.csv", "--parquet": "a.parquet", "--markdown": "a.md", "--isaaclab": "lab"}
    arguments = [part for option, name in targets.items() for part in (option, str(out / name))]
    assert run([str(tmp_path / "runs"), *arguments]) == 0
    assert all((out / name).exists() for name in targets.values())
    assert "broken.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--csv", "a.csv"], "PATH"),
        (["RUNS"], "--isaaclab DIR"),
        (["RUNS", "--cvs", "a"], "--cvs"),
        (["RUNS/none", "--csv", "a.csv"], "no such file or folder"),
        (["EMPTY", "--csv", "a.csv"], "no runs found"),
        (["RUNS", "--csv", "RUNS/no/a.csv"], "--csv"),
        (["RUNS", "--csv", "RUNS/run-0/training.json"], "ends in .csv"),
        (["RUNS", "--parquet", "RUNS/run-0/training.json"], "ends in .parquet"),
        (["RUNS", "--markdown", "RUNS/run-0/training.json"], "ends in .md"),
        (["RUNS", "--isaaclab", "RUNS/run-0/training.json"], "--isaaclab"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(tmp_path, capsys, arguments, said):
    write(tmp_path / "runs", "training")
    (tmp_path / "empty").mkdir()
    arguments = [a.replace("RUNS", str(tmp_path / "runs")).replace("EMPTY", str(tmp_path / "empty")) for a in arguments]
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1
    read_bundle_file(tmp_path / "runs" / "run-0" / "training.json")


@pytest.mark.parametrize("form", ["csv", "parquet", "markdown"])
def test_a_full_disk_leaves_the_older_file_and_nothing_else(tmp_path, capsys, monkeypatch, form):
    write(tmp_path / "runs", "training")
    target = tmp_path / "out" / {"csv": "a.csv", "parquet": "a.parquet", "markdown": "a.md"}[form]
    target.parent.mkdir()
    target.write_text("old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run([str(tmp_path / "runs"), f"--{form}", str(target)]) == 2
    captured = capsys.readouterr()
    assert "cannot be written (No space left on device)" in captured.err
    assert captured.err.count("\n") == 1
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no such names")
def test_a_file_name_that_is_no_text_is_exported_like_any_other(tmp_path, capsys):
    write(tmp_path / "runs", "training", 0)
    odd = write(tmp_path / "runs", "training", 1)
    os.rename(odd, os.fsencode(tmp_path / "runs") + b"/odd\xff.json")
    assert run([str(tmp_path / "runs"), "--isaaclab", str(tmp_path / "lab"), "--csv", str(tmp_path / "a.csv")]) == 0
    assert len(list((tmp_path / "lab").rglob("*.json"))) == 2
    assert capsys.readouterr().err == ""
    results = load(tmp_path / "runs")
    assert all(results.bundle(path)["run"] for path in results.runs["path"])


def test_a_named_equivalence_result_is_passed_over_with_a_note(tmp_path, capsys):
    result = tmp_path / "runs" / "equivalence.json"
    write(tmp_path / "runs", "training")
    result.write_text(json.dumps({"format": FORMAT, "version": 1}))
    assert run([str(tmp_path / "runs"), "--markdown", "-"]) == 0
    assert capsys.readouterr().err == ""
    assert run([str(tmp_path / "runs"), str(result), "--markdown", "-"]) == 0
    assert capsys.readouterr().err == ""
    assert run([str(result), str(tmp_path / "runs"), "--markdown", "-"]) == 0
    captured = capsys.readouterr()
    assert "equivalence.json: the result of an equivalence run" in captured.err
    assert captured.out.count("| completed |") == 1
