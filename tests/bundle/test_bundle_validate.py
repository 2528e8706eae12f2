"""`validate` judges results, one line each, and its exit status tells a script."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundle_events import RUNS
from test_bundle_read import SAMPLES, changed, raw_bundle

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.equivalence import build_equivalence
from benchmark_app.bundle.pick import first
from benchmark_app.bundle.validate import validate_paths
from benchmark_app.bundle.write import write_bundle_file
from benchmark_app.journal.events import EngineFacts, RunPlanned, StopRequested

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run directory with four good bundles and what else lies in one."""
    folder = tmp_path / "outputs" / "läuft gut"
    folder.mkdir(parents=True)
    for workflow, events in RUNS.items():
        bundle = build_bundle(events)
        assert bundle is not None
        write_bundle_file(bundle, folder / f"{workflow}.json")
    (folder / "run.json").write_text('{"run_id": "x", "schema_version": "1"}')
    (folder / "truncated-notes.json").write_text('{"schema_version": ')
    (folder / ".hydra").mkdir()
    (folder / ".hydra" / "training.json").write_text("not ours to judge")
    return folder


def test_good_bundles_give_one_line_each_and_nothing_else_is_judged(run_folder: Path, capsys: Capture) -> None:
    assert validate_paths([str(run_folder.parent)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"ok {run_folder}/{workflow}.json ({workflow} 1.4)" for workflow in ("play", "runtime", "startup", "training")
    ]


def test_an_invalid_bundle_is_named_with_the_path_of_its_field(run_folder: Path, capsys: Capture) -> None:
    bad = changed(raw_bundle("training"), "runtime.total_fps.mean", "fast")
    (run_folder / "copy of training.json").write_text(json.dumps(bad))
    (run_folder / "play.json").write_text("{")
    assert validate_paths([str(run_folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    expected = (
        f"invalid {run_folder}/copy of training.json: runtime.total_fps.mean: expected a finite number, got 'fast'"
    )
    assert expected in lines
    assert any(line.startswith(f"invalid {run_folder}/play.json: not JSON") for line in lines)


def test_a_file_given_by_name_is_judged_whatever_it_is(run_folder: Path, capsys: Capture) -> None:
    assert validate_paths([str(run_folder / "run.json")]) == 1
    assert capsys.readouterr().out.startswith(f"invalid {run_folder}/run.json: ")


def test_missing_paths_and_folders_without_bundles_are_errors(
    run_folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "empty").mkdir()
    assert validate_paths([str(tmp_path / "empty")]) == 2
    assert validate_paths([str(tmp_path / "absent.json"), str(run_folder / "play.json")]) == 2
    output = capsys.readouterr()
    assert output.err.splitlines() == [
        f"error {tmp_path}/empty: no result in this folder",
        f"error {tmp_path}/absent.json: no such file or folder",
    ]
    assert output.out == f"ok {run_folder}/play.json (play 1.4)\n"
    assert validate_paths([]) == 2


def test_a_newer_minor_version_is_accepted_and_what_was_ignored_is_said(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "runtime.json"
    path.write_text(json.dumps(raw_bundle("runtime") | {"schema_version": "1.5", "mood": "good"}))
    assert validate_paths([str(path)]) == 0
    output = capsys.readouterr()
    assert output.out == f"ok {path} (runtime 1.5)\n"
    assert output.err == f"warning {path}: mood: unknown field, ignored\n"


def equivalence(**changes: Any) -> dict[str, Any]:
    """The result of an equivalence run that was interrupted before its engines were compared."""
    facts = {"joints": [], "links": [], "gravity": [0.0, 0.0, -9.81], "physics_dt": 0.01}
    told = EngineFacts(
        t=100.3, part="physics", engine="newton_mjwarp", version="1", settings={"allow": []}, facts=facts
    )
    plan = replace(first(RUNS["runtime"], RunPlanned), workflow="equivalence", reference_physics="newton_mjwarp")
    stop = StopRequested(t=100.4, reason="stopped by SIGINT", signal="SIGINT")
    built = build_equivalence([plan, told, stop])
    assert built is not None
    return json.loads(json.dumps(built | changes))  # type: ignore[no-any-return]


def test_an_equivalence_result_is_judged_and_counted_wherever_it_lies(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "run").mkdir()
    for name in ("equivalence.json", "kept.json"):
        (tmp_path / "run" / name).write_text(json.dumps(equivalence()))
    assert validate_paths([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"ok {tmp_path}/run/{name} (equivalence 1)" for name in ("equivalence.json", "kept.json")
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("{}", "format: expected 'benchmark_app.equivalence'"),
        (equivalence(version=2), "version: 2 is not supported, expected 1"),
        (equivalence(status="fine"), "status: expected one of completed, interrupted, crashed, got 'fine'"),
        (equivalence(status="completed"), "engines: missing, although the run is completed"),
        (equivalence(reason=""), "reason: empty, although the run is interrupted"),
        (equivalence(seed="one"), "seed: expected an integer, got 'one'"),
        (equivalence(mood="good"), "mood: unknown field"),
        (equivalence(engine_warnings={"reference": 3}), "engine_warnings.reference: expected an object, got 3"),
        (
            equivalence(fact_differences=[{"fact": "mass", "reference": 1.0, "physics": math.nan}]),
            "fact_differences[0].physics: expected a finite number, got nan",
        ),
        (equivalence(hardware={"ram_gb": math.inf}), "Infinity is not a JSON number"),
    ],
)
def test_a_broken_equivalence_result_is_named_with_its_fault(
    content: str | dict[str, Any], said: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "equivalence.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert validate_paths([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f"invalid {path}: {said}")


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the peer's sample files are not at hand")
def test_all_real_files_of_the_peer_are_accepted(capsys: Capture) -> None:
    assert validate_paths([str(SAMPLES)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(list(SAMPLES.glob("*.json")))
