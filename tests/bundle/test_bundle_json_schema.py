"""The committed JSON Schema is what the dataclasses say, and real files fit it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bundle_events import RUNS
from test_bundle_read import SAMPLES

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.json_schema import json_schema

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "bundle-1.4.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(COMMITTED.read_text()))


def test_the_committed_schema_is_up_to_date() -> None:
    assert COMMITTED.read_text() == json.dumps(json_schema(), indent=2) + "\n"
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("workflow", RUNS)
def test_our_bundles_fit_the_schema_and_a_damaged_one_does_not(workflow: str) -> None:
    bundle: Any = build_bundle(RUNS[workflow])
    raw = dataclasses.asdict(bundle)
    VALIDATOR.validate(raw)
    assert not VALIDATOR.is_valid(raw | {"unknown": 1})
    assert not VALIDATOR.is_valid(raw | {"schema_version": "2.0"})
    assert not VALIDATOR.is_valid(raw | {"extra": {"list": []}})
    assert not VALIDATOR.is_valid(raw | {"run": raw["run"] | {"status": "running"}})
    assert not VALIDATOR.is_valid({key: value for key, value in raw.items() if key != "versions"})


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the peer's sample files are not at hand")
def test_the_peers_real_files_fit_the_schema() -> None:
    paths = sorted(SAMPLES.glob("*.json"))
    assert paths
    for path in paths:
        VALIDATOR.validate(json.loads(path.read_text()))


def test_fields_carry_the_documentation_of_the_dataclasses() -> None:
    definitions = json_schema()["$defs"]
    assert len(definitions) == 20
    assert "n-1" in definitions["MeanStd"]["properties"]["std"]["description"]
    assert definitions["MeanStd"]["required"] == ["mean", "std"]
