"""`validate` judges bundles, one line each, and its exit status tells a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundle_events import RUNS
from test_bundle_read import SAMPLES, changed, raw_bundle

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.validate import validate_paths
from benchmark_app.bundle.write import write_bundle_file

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
        f"error {tmp_path}/empty: no bundle in this folder",
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


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the peer's sample files are not at hand")
def test_all_real_files_of_the_peer_are_accepted(capsys: Capture) -> None:
    assert validate_paths([str(SAMPLES)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(list(SAMPLES.glob("*.json")))
