"""A result file is complete or absent."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from bundle_events import RUNS

from benchmark_app.bundle import write
from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.bundle.schema import Bundle


def bundle_of(workflow: str) -> Bundle:
    bundle = build_bundle(RUNS[workflow])
    assert bundle is not None
    return bundle


@pytest.mark.parametrize("workflow", RUNS)
def test_what_was_written_is_read_back_equal_whatever_the_file_is_called(workflow: str, tmp_path: Path) -> None:
    path = tmp_path / "Ergebnis für später.json"
    write.write_bundle_file(bundle_of(workflow), path)
    loaded = read_bundle_file(path)
    assert loaded.bundle == bundle_of(workflow)
    assert loaded.workflow == workflow
    assert loaded.warnings == ()
    text = path.read_text()
    assert text.endswith("}\n")
    assert text.startswith('{\n  "run": {\n    "run_id"')


def test_the_file_obeys_the_umask_like_any_other(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write.write_json_file({}, tmp_path / "run.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "run.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_file_and_no_temporary_one(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runtime.json"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="No space left"):
        write.write_bundle_file(bundle_of("runtime"), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["runtime.json"]


def test_file_and_folder_reach_the_disk_around_the_renaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_fsync(descriptor)

    def replace(source: Path, target: Path) -> None:
        assert Path(source).parent == Path(target).parent
        assert json.loads(Path(source).read_text()) == {"a": 1}
        calls.append("replace")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write.write_json_file({"a": 1}, tmp_path / "run.json")
    assert calls == ["file", "replace", "folder"]


def test_an_invalid_bundle_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text("old")
    bundle = bundle_of("training")
    assert bundle.learning.reward.series_per_iter is not None  # type: ignore[union-attr]
    bundle.learning.reward.series_per_iter[2] = float("nan")  # type: ignore[union-attr]
    with pytest.raises(
        BundleError, match=r"^learning\.reward\.series_per_iter\[2\]: expected a finite number, got nan$"
    ):
        write.write_bundle_file(bundle, path)
    with pytest.raises(BundleError, match="schema_version"):
        write.write_bundle_file(dataclasses.replace(bundle_of("runtime"), schema_version="1.2"), path)
    with pytest.raises(BundleError, match="expected a bundle"):
        write.write_bundle_file({"run": {}}, path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write.write_json_file({"a": float("nan")}, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["training.json"]
