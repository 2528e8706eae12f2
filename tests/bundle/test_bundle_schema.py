"""The schema is the published one, and it is enforced when an object is made."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from pathlib import Path
from typing import Any

import pytest
from bundle_events import RUNS

from benchmark_app.bundle import schema
from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.check import BundleError, check_record
from benchmark_app.bundle.write import write_bundle_file

SEED = next(
    (
        p / "shared/reference/seed_bundle_schema.txt"
        for p in Path(__file__).resolve().parents
        if (p / "shared").is_dir()
    ),
    None,
)
needs_seed = pytest.mark.skipif(SEED is None or not SEED.exists(), reason="the published schema is not at hand")


def published_classes() -> dict[str, list[tuple[str, str, str]]]:
    """Class → (field, annotation, default) from the published text, which lost its indentation."""
    assert SEED is not None
    text = re.sub(r'""".*?"""', "", SEED.read_text(), flags=re.DOTALL)
    classes: dict[str, list[tuple[str, str, str]]] = {}
    for name, body in re.findall(r"^class (\w+):\n(.*?)(?=^@dataclass|\Z)", text, re.DOTALL | re.MULTILINE):
        head = re.split(r"^def ", body, flags=re.MULTILINE)[0]
        classes[name] = re.findall(r"^(\w+): ([^=\n]+?)(?: = (.+))?$", head, re.MULTILINE)
    return classes


def our_fields(cls: type) -> list[tuple[str, str, str]]:
    def default(field: dataclasses.Field[Any]) -> str:
        if field.default_factory is not dataclasses.MISSING:
            return f"field(default_factory={field.default_factory.__name__})"  # type: ignore[attr-defined]
        if field.default is dataclasses.MISSING:
            return ""
        return "SCHEMA_VERSION" if field.name == "schema_version" else json.dumps(field.default).replace("null", "None")

    return [(field.name, str(field.type).replace("'", '"'), default(field)) for field in dataclasses.fields(cls)]


@needs_seed
def test_every_published_class_has_the_same_fields_types_order_and_defaults_here() -> None:
    published = published_classes()
    assert len(published) == 20
    ours = {name: our_fields(cls) for name, cls in vars(schema).items() if hasattr(cls, "__dataclass_fields__")}
    assert ours == published


@needs_seed
def test_literals_and_version_are_the_published_ones() -> None:
    assert SEED is not None
    text = SEED.read_text()
    for name in ("Framework", "PhysicsBackend", "RenderingBackend", "RunStatus"):
        published = re.search(rf"^{name} = Literal\[(.*)\]$", text, re.MULTILINE)
        assert published is not None
        assert list(typing.get_args(getattr(schema, name))) == json.loads(f"[{published[1]}]")
    assert f'SCHEMA_VERSION = "{schema.SCHEMA_VERSION}"' in text


@needs_seed
@pytest.mark.parametrize("workflow", RUNS)
def test_a_written_file_rebuilds_strictly_from_the_published_definitions(workflow: str, tmp_path: Path) -> None:
    namespace: dict[str, Any] = {name: getattr(schema, name) for name in vars(schema) if name.endswith("Backend")}
    namespace |= {"Framework": schema.Framework, "RunStatus": schema.RunStatus, "Literal": typing.Literal}
    for name, fields in published_classes().items():
        namespace[name] = dataclasses.make_dataclass(name, [(f, eval(hint, namespace)) for f, hint, _ in fields])

    def rebuild(hint: Any, value: Any) -> Any:
        if value is None:
            return None
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        if typing.get_origin(hint) is list:
            return [rebuild(options[0], item) for item in value]
        if typing.get_origin(hint) is dict:
            return {key: rebuild(options[1], item) for key, item in value.items()}
        if len(options) == 1 and dataclasses.is_dataclass(options[0]):
            hint = options[0]
        if not dataclasses.is_dataclass(hint):
            return value
        assert list(value) == [field.name for field in dataclasses.fields(hint)]
        return hint(**{field.name: rebuild(field.type, value[field.name]) for field in dataclasses.fields(hint)})

    bundle = build_bundle(RUNS[workflow])
    assert bundle is not None
    write_bundle_file(bundle, tmp_path / "b.json")
    written = json.loads((tmp_path / "b.json").read_text())
    rebuilt = rebuild(namespace[type(bundle).__name__], written)
    assert dataclasses.asdict(rebuilt) == written


def stat(mean: Any = 1.0, std: Any = 0.0, peak: Any = None) -> schema.MeanStd:
    return schema.MeanStd(mean, std, peak)


def timing(**changes: Any) -> schema.EnvironmentStepTiming:
    values: dict[str, Any] = {
        "environment_step_time_s": stat(0.5),
        "environment_step_fps": stat(8.0),
        "simulation_step_time_s": stat(0.4),
        "outside_simulation_step_time_s": stat(0.1),
        "outside_simulation_step_fraction": 0.2,
        "environment_step_calls": 10,
        "simulation_step_calls": 20,
        "measurement_mode": "serialized_synchronized",
    }
    return schema.EnvironmentStepTiming(**(values | changes))


HOST_RETURN = {
    "simulation_step_time_s": None,
    "outside_simulation_step_time_s": None,
    "outside_simulation_step_fraction": None,
    "simulation_step_calls": None,
    "measurement_mode": "host_return",
}


def test_values_at_the_edge_of_the_rules_are_accepted() -> None:
    timing()
    timing(**HOST_RETURN)
    stat(1.0, 0.0, 1.0 - 5e-7)
    stat(1, 0)
    schema.RunConfig("physx")


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: schema.RunConfig("banana"), "physics_backend"),  # type: ignore[arg-type]
        (lambda: schema.RunConfig("physx", "banana"), "rendering_backend"),  # type: ignore[arg-type]
        (lambda: schema.RunConfig("physx", presets=("rgb",)), "presets"),  # type: ignore[arg-type]
        (lambda: schema.RunConfig("physx", presets=["rgb", 3]), r"presets\[1\]"),  # type: ignore[list-item]
        (lambda: stat(float("nan")), "mean"),
        (lambda: stat(std=float("inf")), "std"),
        (lambda: stat(peak=float("-inf")), "peak"),
        (lambda: stat(True), "mean"),
        (lambda: stat("1.0"), "mean"),
        (lambda: stat(None), "mean"),
        (lambda: stat(10**400), "mean"),
        (lambda: stat(1.0, 0.0, 0.99), "peak"),
        (lambda: schema.GpuResources(stat(), {"mean": 1.0, "std": 0.0}), "mem_gb"),  # type: ignore[arg-type]
        (lambda: schema.LearningCurve(0.0, 0.0, [1.0, float("nan")]), r"series_per_iter\[1\]"),
        (lambda: schema.CProfileFunction("f", 0.0, 0.0, 1.5), "calls"),  # type: ignore[arg-type]
        (lambda: timing(warmup_steps=-1), "warmup_steps"),
        (lambda: timing(environment_step_calls=0), "environment_step_calls"),
        (lambda: timing(environment_step_time_s=stat(0.0)), "environment_step_time_s.mean"),
        (lambda: timing(environment_step_fps=stat(0.0)), "environment_step_fps.mean"),
        (lambda: timing(measurement_mode="banana"), "measurement_mode"),
        (lambda: timing(measurement_mode="host_return"), "simulation_step_time_s"),
        (lambda: timing(**(HOST_RETURN | {"simulation_step_calls": 0})), "simulation_step_calls"),
        (lambda: timing(outside_simulation_step_fraction=None), "outside_simulation_step_fraction"),
        (lambda: timing(simulation_step_calls=0), "simulation_step_calls"),
        (lambda: timing(simulation_step_time_s=stat(0.0)), "simulation_step_time_s.mean"),
        (lambda: timing(outside_simulation_step_time_s=stat(-0.1)), "outside_simulation_step_time_s.mean"),
        (lambda: timing(outside_simulation_step_fraction=1.2), "outside_simulation_step_fraction"),
        (lambda: timing(simulation_step_time_s=stat(0.3)), "environment_step_time_s.mean"),
        (lambda: timing(outside_simulation_step_fraction=0.3), "outside_simulation_step_fraction"),
    ],
)
def test_a_wrong_value_is_refused_when_the_object_is_made(make: Any, path: str) -> None:
    with pytest.raises(BundleError, match=f"^{path}: [^\n]+$"):
        make()


def test_a_negative_duration_is_refused() -> None:
    bundle = build_bundle(RUNS["runtime"])
    assert bundle is not None
    with pytest.raises(BundleError, match="duration_s: expected at least 0, got -1"):
        dataclasses.replace(bundle.run, duration_s=-1.0)


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, float("nan"), b"x", 10**30])
def test_extra_takes_scalars_only_also_when_it_was_changed_later(value: Any) -> None:
    bundle = build_bundle(RUNS["runtime"])
    assert bundle is not None
    assert bundle.extra is not None
    with pytest.raises(BundleError, match=r"^extra\.odd: "):
        dataclasses.replace(bundle, extra={"odd": value})
    bundle.extra["odd"] = value
    with pytest.raises(BundleError, match=r"^extra\.odd: "):
        check_record(bundle)
