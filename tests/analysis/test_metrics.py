"""The registry is complete, describes what is really in a bundle, and is the source of its page."""

from dataclasses import asdict
from pathlib import Path

import pytest

from benchmark_app.analysis.metrics import METRICS, metrics_of, page
from benchmark_app.analysis.table import row_of
from benchmark_app.bundle.check import field_hints
from benchmark_app.bundle.schema import BUNDLES, Learning, Resources, Runtime, StartupTime
from tests.analysis.made import PHASES, WORKFLOWS, made

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
# Numbers of a bundle that are settings, spreads or copies of others, so that nobody compares them.
NO_METRICS = {"schema_version", "ema_alpha", "simulation_step_calls", "warmup_steps"}


def paths_of(workflow):
    return {path for metric in metrics_of(workflow) for path in metric.sources[workflow]}


def exists(workflow, path):
    """True if the schema has a number at a path, or the path lies in `extra`."""
    hint = BUNDLES[workflow]
    parts = path.split(".")
    if parts[0] == "extra":
        return len(parts) > 1
    if parts[0] == "phases":
        return parts[1] in PHASES and parts[2:] == ["total_time_s"]
    for part in parts:
        hints = [h for h in (hint, *getattr(hint, "__args__", ())) if hasattr(h, "__dataclass_fields__")]
        if not hints or part not in field_hints(hints[0]):
            return False
        hint = field_hints(hints[0])[part]
    return hint in (int, float) or {int, float} & set(getattr(hint, "__args__", ()))


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_every_path_of_the_registry_is_a_number_of_the_schema(workflow):
    assert [path for path in paths_of(workflow) if not exists(workflow, path)] == []


def test_no_part_of_a_loop_bundle_is_forgotten():
    covered = {part for workflow in WORKFLOWS for path in paths_of(workflow) for part in path.split(".")}
    for cls in (Runtime, Resources, Learning, StartupTime):
        assert field_hints(cls).keys() - covered - NO_METRICS - {"devices"} == set()


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_an_entry_can_be_shown_and_judged(metric):
    assert metric.title
    assert metric.title[0].isupper()
    assert metric.description.endswith(".")
    assert metric.aggregation
    assert metric.direction in ("higher", "lower", None)
    assert 0 < metric.min_effect < 1
    assert set(metric.sources) <= set(WORKFLOWS)
    assert all(metric.sources.values())
    assert metric.name in METRICS


@pytest.mark.parametrize(
    ("name", "direction"),
    [("total_fps", "higher"), ("iteration_time_s", "lower"), ("startup_time_s", "lower"), ("ram_peak_gb", "lower"),
     ("gpu_mem_peak_gb", "lower"), ("return_ema", "higher"), ("success_rate", "higher"), ("cpu_util_pct", None)],
)  # fmt: skip
def test_better_is_what_a_user_expects(name, direction):
    assert METRICS[name].direction == direction


def test_rates_are_higher_and_durations_lower_or_neither():
    for metric in METRICS.values():
        if metric.unit in ("frames/s", "1/s"):
            assert metric.direction == "higher"
        if metric.unit == "s":
            assert metric.direction in ("lower", None)


def test_a_sum_is_the_sum_and_missing_with_one_of_its_parts():
    content = asdict(made("training"))
    row = row_of("x", "training", content)
    assert row["startup_time_s"] == pytest.approx(0.1 + 2.0 + 0.5 + 1.0 + 0.2)
    content["runtime"]["startup_time_s"]["task_config"] = None
    assert row_of("x", "training", content)["startup_time_s"] is None
    assert row_of("x", "startup", asdict(made("startup")))["startup_time_s"] == pytest.approx(2.5)


def test_the_page_is_what_the_registry_says():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m benchmark_app.analysis.metrics > docs/metrics.md"
