"""Reading is strict: what is not a bundle of schema 1.x is refused in one line that names the field."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from bundle_events import RUNS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.read import parse_bundle, read_bundle_file
from benchmark_app.bundle.schema import MeanStd, TrainingBundle

SAMPLES = next(
    (p / "shared/samples/isaaclab" for p in Path(__file__).resolve().parents if (p / "shared").is_dir()), Path("absent")
)


def raw_bundle(workflow: str) -> dict[str, Any]:
    bundle = build_bundle(RUNS[workflow])
    assert bundle is not None
    return dataclasses.asdict(bundle)


def changed(raw: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of `raw` with one field replaced, or removed if `value` is `...`."""
    raw = copy.deepcopy(raw)
    *parents, name = path.split(".")
    target = raw
    for parent in parents:
        target = target[parent]
    if value is ...:
        del target[name]
    else:
        target[name] = value
    return raw


WRONG_VALUES = [
    ("training", "run", []),
    ("training", "run", None),
    ("training", "run.run_id", 5),
    ("training", "run.run_id", None),
    ("training", "run.framework", "banana"),
    ("training", "run.config", ["physx"]),
    ("training", "run.config.physics_backend", "banana"),
    ("training", "run.config.physics_backend", ["physx"]),
    ("training", "run.config.rendering_backend", None),
    ("training", "run.config.presets", "rgb"),
    ("training", "run.seed", 1.5),
    ("training", "run.seed", True),
    ("training", "run.seed", 10**25),
    ("training", "run.duration_s", -0.5),
    ("training", "run.duration_s", 10**400),
    ("training", "run.status", "running"),
    ("training", "run.num_envs", "64"),
    ("training", "versions.torch", None),
    ("training", "versions.git_dirty", 0),
    ("training", "hardware.gpu_devices", {}),
    ("training", "hardware.ram_gb", "16"),
    ("training", "runtime.startup_time_s.app_launch", None),
    ("training", "runtime.total_fps", 3.0),
    ("training", "runtime.total_fps.mean", float("nan")),
    ("training", "runtime.total_fps.peak", 0.0),
    ("training", "runtime.total_fps.std", float("inf")),
    ("training", "runtime.environment_step_timing.simulation_step_calls", 3),
    ("training", "runtime.environment_step_timing.measurement_mode", "fast"),
    ("training", "resources.devices", []),
    ("training", "resources.devices", {"0": None}),
    ("training", "learning.reward.series_per_iter", 1.0),
    ("training", "learning.ema_alpha", None),
    ("training", "success_rate", "high"),
    ("training", "checkpoint_path", 3),
    ("training", "extra", [1]),
    ("training", "extra.list", [1]),
    ("training", "extra.nothing", None),
    ("play", "reward", 4.0),
    ("play", "ep_length.mean", "long"),
    ("startup", "phases", []),
    ("startup", "phases.app_launch", 0.5),
    ("startup", "phases.app_launch.top_functions", None),
    ("startup", "config.top_n", 3.5),
    ("runtime", "schema_version", 1.4),
    ("runtime", "schema_version", "1"),
    ("runtime", "schema_version", "1.4.0"),
    ("runtime", "schema_version", "2.0"),
    ("runtime", "schema_version", "0.9"),
]


@pytest.mark.parametrize(("workflow", "path", "value"), WRONG_VALUES)
def test_a_wrong_value_is_refused_by_the_path_of_its_field(workflow: str, path: str, value: Any) -> None:
    with pytest.raises(BundleError) as caught:
        parse_bundle(changed(raw_bundle(workflow), path, value))
    assert caught.value.path.startswith(path)
    assert "\n" not in str(caught.value)


def required_fields(workflow: str) -> list[str]:
    """Dotted paths of all fields without a default, in the objects of a bundle that are not in lists or mappings."""

    def walk(record: Any, path: str) -> list[str]:
        found = []
        for field in dataclasses.fields(record):
            where = f"{path}{field.name}"
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                found.append(where)
            if dataclasses.is_dataclass(getattr(record, field.name)):
                found += walk(getattr(record, field.name), f"{where}.")
        return found

    return walk(build_bundle(RUNS[workflow]), "")


@pytest.mark.parametrize("workflow", RUNS)
def test_a_bundle_that_lost_any_required_field_is_refused(workflow: str) -> None:
    paths = [*required_fields(workflow), "schema_version"]
    assert len(paths) >= 28
    for path in paths:
        with pytest.raises(BundleError):
            parse_bundle(changed(raw_bundle(workflow), path, ...))


def test_the_lost_learning_part_of_a_training_is_missed() -> None:
    with pytest.raises(BundleError, match=r"^learning: missing$"):
        parse_bundle(changed(raw_bundle("training"), "learning", ...))


@pytest.mark.parametrize("workflow", RUNS)
def test_unknown_fields_are_refused_up_to_our_version_and_reported_in_a_newer_one(workflow: str) -> None:
    raw = changed(raw_bundle(workflow), "run.config.lighting", {"lux": [300]})
    for version in ("1.0", "1.3", "1.4"):
        with pytest.raises(BundleError, match=r"^run\.config\.lighting: unknown field"):
            parse_bundle(raw | {"schema_version": version})
    for version in ("1.5", "1.10"):
        loaded = parse_bundle(raw | {"schema_version": version})
        assert loaded.warnings == ("run.config.lighting: unknown field, ignored",)
        assert loaded.workflow == workflow


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4"])
def test_fields_an_older_minor_version_did_not_have_take_their_defaults(version: str) -> None:
    raw = raw_bundle("training") | {"schema_version": version}
    for path in ("resources.devices", "learning.success_rate", "runtime.environment_step_timing", "versions.numpy"):
        raw = changed(raw, path, ...)
    bundle = parse_bundle(raw).bundle
    assert isinstance(bundle, TrainingBundle)
    assert bundle.schema_version == version
    assert bundle.resources.devices == {}
    assert bundle.learning.success_rate is None


def test_another_major_version_is_refused_by_name() -> None:
    with pytest.raises(BundleError, match=r"^schema_version: schema 2\.1 is not supported, expected 1\.0 to 1\.4$"):
        parse_bundle(raw_bundle("runtime") | {"schema_version": "2.1"})


def test_integers_become_floats_where_floats_are_expected_and_stay_integers_elsewhere() -> None:
    raw = changed(raw_bundle("runtime"), "runtime.iteration_time_s", {"mean": 1, "std": 0, "peak": 2})
    bundle = parse_bundle(changed(raw, "extra", {"count": 3, "ratio": 0.5, "on": True})).bundle
    stat = bundle.runtime.iteration_time_s  # type: ignore[union-attr]
    assert stat == MeanStd(1.0, 0.0, 2.0)
    assert type(stat.mean) is float
    assert bundle.extra == {"count": 3, "ratio": 0.5, "on": True}
    assert [type(value) for value in bundle.extra.values()] == [int, float, bool]


def test_a_play_run_of_a_library_without_a_name_in_the_schema_is_still_a_play_run() -> None:
    raw = changed(raw_bundle("play"), "run.framework", None)
    assert parse_bundle(raw).workflow == "play"


VALID = json.dumps(raw_bundle("training"))
BROKEN_FILES: dict[str, bytes] = {
    "empty": b"",
    "truncated": VALID[: len(VALID) // 2].encode(),
    "two documents": (VALID + VALID).encode(),
    "a list": b"[]",
    "null": b"null",
    "a number": b"3",
    "text": b'"schema_version"',
    "an empty object": b"{}",
    "utf-16": VALID.encode("utf-16"),
    "latin-1": VALID.replace("Cartpole", "Stäbe").encode("latin-1"),
    "a byte order mark": b"\xef\xbb\xbf" + VALID.encode(),
    "zero bytes": bytes(1000),
    "a duplicate key": VALID.replace('"seed": 7', '"seed": 7, "seed": 8').encode(),
    "a NaN token": VALID.replace('"duration_s": ', '"duration_s": NaN, "x": ').encode(),
    "an overflowing number": VALID.replace('"seed": 7', '"seed": 1e999').encode(),
    "a huge integer": VALID.replace('"seed": 7', '"seed": ' + "9" * 5000).encode(),
    "deep nesting": b'{"schema_version":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nesting in a field": VALID.replace('"seed": 7', '"seed": ' + "[" * 900 + "]" * 900).encode(),
    "an unprintable key": VALID.replace('"seed": 7', '"seed": 7, "a\\ud800\\n": 8').encode(),
    "single quotes": VALID.replace('"', "'").encode(),
    "a comment": ("// bundle\n" + VALID).encode(),
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_a_broken_file_is_one_clean_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_bytes(BROKEN_FILES[name])
    with pytest.raises(BundleError) as caught:
        read_bundle_file(path)
    assert str(caught.value).isprintable()
    assert 0 < len(str(caught.value)) < 300


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(BROKEN_FILES["latin-1"])
    with pytest.raises(BundleError, match=r"^not UTF-8 text \(byte \d+\)$"):
        read_bundle_file(path)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_a_nan_token_is_refused_with_its_path_and_even_in_a_field_we_do_not_know(token: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    raw = raw_bundle("runtime") | {"schema_version": "1.5"}
    path.write_text(json.dumps(changed(raw, "run.duration_s", float(token))))
    with pytest.raises(BundleError, match=r"^run\.duration_s: expected a finite number"):
        read_bundle_file(path)
    path.write_text(json.dumps(raw | {"new": float(token)}))
    with pytest.raises(BundleError, match=f"{token} is not a JSON number"):
        read_bundle_file(path)


@pytest.mark.parametrize("name", ["absent.json", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_the_same_clean_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cannot be read"):
        read_bundle_file(f"{tmp_path}/{name}")


def every_slot(raw: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    return [slot for key, value in items for slot in [(*path, key), *every_slot(value, (*path, key))]]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("workflow", RUNS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_any_value_at_any_place_gives_a_bundle_or_a_clean_error(workflow: str, data: st.DataObject) -> None:
    raw = raw_bundle(workflow)
    slot = data.draw(st.sampled_from(every_slot(raw)))
    target = raw
    for key in slot[:-1]:
        target = target[key]
    target[slot[-1]] = data.draw(JSON_VALUES)
    message = "accepted"
    try:
        parse_bundle(raw)
    except BundleError as error:
        message = str(error)
    assert message.isprintable()


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the peer's sample files are not at hand")
@pytest.mark.parametrize("workflow", RUNS)
def test_the_peers_real_files_are_read_and_known_for_what_they_are(workflow: str) -> None:
    paths = sorted(SAMPLES.glob(f"{workflow}_*.json"))
    assert paths
    for path in paths:
        loaded = read_bundle_file(path)
        assert loaded.workflow == workflow
        assert dataclasses.asdict(loaded.bundle) == json.loads(path.read_text())
