"""Loading: every bundle once, whatever its name; what is broken is listed; what was not measured is missing."""

import json
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import benchmark_app.analysis
from benchmark_app.analysis import load
from benchmark_app.analysis.discover import find
from benchmark_app.analysis.loading import LoadError
from benchmark_app.analysis.metrics import METRICS
from benchmark_app.bundle.schema import GpuDeviceInfo, Hardware, Learning, LearningCurve, MeanStd, Resources
from tests.analysis.made import WORKFLOWS, made, write

SAMPLES = next(
    (p / "shared/samples/isaaclab" for p in Path(__file__).resolve().parents if (p / "shared").is_dir()), Path("absent")
)
_SYNCHRONIZED = "runtime_newton_mjwarp_cpu_64env_sync"


def one_row(folder, workflow="training", **changes):
    return load(write(folder, workflow, **changes)).runs.to_dicts()[0]


def test_every_workflow_becomes_a_row_with_its_identity_and_metrics(tmp_path):
    for number, workflow in enumerate(WORKFLOWS):
        write(tmp_path, workflow, number, fps=2000.0)
    results = load(tmp_path)
    assert results.broken == results.notes == []
    rows = {row["workflow"]: row for row in results.runs.to_dicts()}
    assert rows.keys() == set(WORKFLOWS)
    training = rows["training"]
    assert training["framework"] == "rsl_rl"
    assert training["framework_version"] == "5.5.0"
    assert training["budget"] == 6
    assert training["total_fps"] == 2000.0
    assert training["machine"] == "box (AMD EPYC, 2 cores)"
    assert training["start_time_utc"] == datetime(2026, 11, 1, tzinfo=UTC)
    assert rows["play"]["budget"] == 20
    assert rows["play"]["n_success"] == 15.0
    assert rows["runtime"]["framework"] is None
    assert rows["startup"]["startup_first_step_s"] == 0.5
    assert rows["startup"]["total_fps"] is None


def test_every_metric_is_a_column_of_floats(tmp_path):
    write(tmp_path, "runtime")
    schema = load(tmp_path).runs.schema
    assert all(schema[name] == pl.Float64 for name in METRICS)


def test_a_table_without_a_bundle_has_the_same_columns(tmp_path):
    empty = load(tmp_path).runs
    write(tmp_path, "runtime")
    assert empty.schema == load(tmp_path).runs.schema
    assert empty.is_empty()


@pytest.mark.parametrize("status", ["interrupted", "crashed"])
def test_a_run_that_ended_early_counts_with_its_status(tmp_path, status):
    row = one_row(tmp_path, "runtime", run={"status": status}, extra={"reason": "SIGTERM"})
    assert (row["status"], row["reason"], row["budget"]) == (status, "SIGTERM", None)


def test_what_was_not_reached_is_missing_and_not_zero(tmp_path):
    gaps = "runtime.total_fps,learning.reward,resources.ram_gb,runtime.startup_time_s.first_step"
    zero = LearningCurve(0.0, 0.0, None)
    row = one_row(tmp_path, extra={"not_reached": gaps}, learning=Learning(0.1, zero, zero))
    for name in ("total_fps", "return_final", "return_ema", "ram_gb", "ram_peak_gb", "startup_first_step_s"):
        assert row[name] is None
    assert row["startup_time_s"] is None  # a sum without one of its parts
    assert row["collection_fps"] == 1000.0
    assert row["ep_length_ema"] == 0.0


def test_gpu_numbers_are_missing_where_no_gpu_was_measured(tmp_path):
    gpu = Resources(MeanStd(50.0, 1.0), MeanStd(2.0, 0.1, 3.0), MeanStd(99.0, 1.0), MeanStd(1.0, 0.1, 1.2))
    assert one_row(tmp_path / "without", resources=gpu)["gpu_mem_peak_gb"] is None
    row = one_row(tmp_path / "with", resources=gpu, extra={"gpu_measured": True})
    assert (row["gpu_mem_peak_gb"], row["gpu_util_pct"]) == (3.0, 50.0)


def test_a_file_of_isaac_lab_without_a_gpu_has_no_gpu_numbers_and_with_one_it_has(tmp_path):
    for name, devices in (("cpu", []), ("gpu", [GpuDeviceInfo("NVIDIA H200", 139.0, "9.0")])):
        path = write(
            tmp_path, "runtime", name=f"benchmark_runtime_{name}.json", hardware=Hardware("h", devices, "C", 2, 1.0)
        )
        content = json.loads(path.read_text())
        content["extra"] = None
        path.write_text(json.dumps(content))
        row = load(path).runs.to_dicts()[0]
        assert row["producer"] == "isaaclab"
        assert (row["gpu_mem_gb"] is None) == (name == "cpu")
        assert row["device_kind"] == {"cpu": "cpu", "gpu": "cuda"}[name]
    assert row["hardware"] == "C, 2 cores, NVIDIA H200"


def test_a_curve_without_a_point_has_no_end(tmp_path):
    empty = LearningCurve(0.0, 0.0, [])
    row = one_row(tmp_path, learning=Learning(0.1, empty, empty))
    assert row["return_final"] is None
    assert row["return_ema"] is None


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="Isaac Lab's own files are not here")
def test_isaac_labs_own_files_load_under_their_names():
    results = load(SAMPLES)
    assert results.broken == []
    rows = {Path(row["path"]).name: row for row in results.runs.to_dicts()}
    assert len(rows) == 5
    training = rows["training_rsl_rl_cpu_16env_5it.json"]
    assert training["total_fps"] == 172.6
    assert training["gpu_mem_gb"] is None
    assert training["success_rate"] == 0.2
    assert rows["startup_newton_mjwarp_cpu_16env.json"]["startup_scene_creation_s"] == pytest.approx(0.476, abs=1e-3)
    assert rows["runtime_newton_mjwarp_cpu_64env_sync.json"]["simulation_step_time_s"] == pytest.approx(
        0.01453, abs=1e-5
    )


@pytest.mark.parametrize("minor", range(5))
def test_every_version_of_the_schema_loads(tmp_path, minor):
    path = write(tmp_path, "runtime")
    content = json.loads(path.read_text()) | {"schema_version": f"1.{minor}"}
    del content["resources"]["devices"], content["runtime"]["environment_step_timing"], content["extra"]
    path.write_text(json.dumps(content))
    row = load(path).runs.to_dicts()[0]
    assert row["total_fps"] == 1000.0
    assert row["mode"] is None


def test_a_newer_schema_loads_with_a_note(tmp_path):
    path = write(tmp_path, "runtime")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": "1.7", "novelty": 1}))
    results = load(path)
    assert results.runs.height == 1
    assert [str(note) for note in results.notes] == [f"{path}: novelty: unknown field, ignored"]


def test_numbers_written_as_integers_are_loaded(tmp_path):
    path = write(tmp_path, "runtime", fps=1000.0)
    path.write_text(path.read_text().replace("1000.0", "1000"))
    assert load(path).runs["total_fps"].to_list() == [1000.0]


def test_other_json_below_a_folder_is_passed_over_and_listed_when_named(tmp_path):
    write(tmp_path, "training")
    others = {
        "run.json": {"format": 1, "command": "x", "run": {}},
        "sweep.json": {"jobs": []},
        "agent_mapping.json": [1, 2],
        "other.json": {"schema_version": "3", "data": 1},
    }
    for name, content in others.items():
        (tmp_path / name).write_text(json.dumps(content))
    results = load(tmp_path)
    assert (results.runs.height, results.broken) == (1, [])
    named = load([tmp_path / name for name in others])
    assert named.runs.is_empty()
    assert [Path(entry.path).name for entry in named.broken] == list(others)


def test_what_should_be_a_bundle_is_listed_when_found(tmp_path):
    for name, text in {
        "a/training.json": "{}",
        "b/cut.json": '{"run": {',
        "c/odd.json": '{"run": 1, "schema_version": "1.4"}',
        "d/major.json": '{"run": {}, "schema_version": "2.0"}',
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    found = {Path(entry.path).name: entry.reason for entry in load(tmp_path).broken}
    assert found.keys() == {"training.json", "cut.json", "odd.json", "major.json"}
    assert "2.0 is not supported" in found["major.json"]


def test_the_inside_of_a_run_directory_holds_no_bundles(tmp_path):
    run = tmp_path / "run"
    write(tmp_path, "training", name="run/training.json")
    (run / "run.json").write_text("{}")
    for inside in ("journal", "checkpoints", "logs", "nan_dump", ".hidden"):
        write(run, "runtime", 1, name=f"{inside}/runtime.json")
    assert load(tmp_path).runs.height == 1
    (run / "run.json").unlink()
    assert load(tmp_path).runs.height == 2  # an ordinary folder may be called logs; copies of one run count once


def test_files_folders_and_globs_may_overlap(tmp_path):
    first, second = (write(tmp_path, "runtime", number) for number in range(2))
    assert load([tmp_path, first, str(tmp_path / "**" / "*.json"), second]).runs.height == 2
    assert load(tmp_path / "run-?").runs.height == 2
    assert load(str(tmp_path / "run-1" / "*.json")).runs["run_id"].to_list() == ["runtime-1"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    path = write(tmp_path, "runtime", name="[a].json")
    assert load(path).runs.height == 1


def test_a_copy_of_a_run_counts_once_and_is_noted(tmp_path):
    path = write(tmp_path, "runtime", name="a.json")
    shutil.copy(path, tmp_path / "b.json")
    results = load(tmp_path)
    assert results.runs["path"].to_list() == [str(path)]
    assert [str(note) for note in results.notes] == [f"{tmp_path / 'b.json'}: the same run as {path}, counted once"]


def test_links_are_followed_to_files_and_not_in_circles(tmp_path):
    path = write(tmp_path / "real", "runtime")
    (tmp_path / "real" / "loop").symlink_to(tmp_path)
    (tmp_path / "latest").symlink_to(path.parent)
    (tmp_path / "linked.json").symlink_to(path)
    (tmp_path / "dangling.json").symlink_to(tmp_path / "gone")
    results = load([tmp_path, tmp_path / "latest"])
    assert results.runs.height == 1
    assert [Path(entry.path).name for entry in results.broken] == ["dangling.json"]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([], "no path given"),
        ("absent", "absent: no such file or folder"),
        ("*.none", "matches no file"),
        ("", "give the path"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error_in_one_line(tmp_path, monkeypatch, paths, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoadError, match=said) as caught:
        load(paths)
    assert "\n" not in str(caught.value)


def test_candidates_come_in_a_fixed_order(tmp_path):
    for name in ("b/x.json", "a/y.json", "c.json"):
        write(tmp_path, "runtime", name=name)
    assert [Path(found.path).relative_to(tmp_path).as_posix() for found in find(tmp_path)] == [
        "c.json",
        "a/y.json",
        "b/x.json",
    ]


def test_curves_come_on_request(tmp_path):
    write(tmp_path, "training", 0)
    write(tmp_path, "runtime", 1)
    assert "reward_series" not in load(tmp_path).runs.columns
    runs = load(tmp_path, series=True).runs
    curve = made("training").learning.reward.series_per_iter
    assert runs["reward_series"].to_list() == [curve, None]
    assert runs.schema["success_series"] == pl.List(pl.Float64)


def test_a_whole_bundle_is_read_on_request_and_kept_while_held(tmp_path):
    path = write(tmp_path, "startup")
    results = load(tmp_path)
    bundle = results.bundle(str(path))
    assert bundle == json.loads(path.read_text())
    assert bundle.workflow == "startup"
    path.unlink()
    assert results.bundle(str(path)) is bundle


def test_a_hostile_text_is_kept_as_text(tmp_path):
    path = write(tmp_path, "runtime", run={"task": "TASK"})
    path.write_text(path.read_text().replace("TASK", "<b>\\ud800\\n"))
    assert load(path).runs["task"].to_list() == ["<b>\\ud800\n"]


def test_a_synthetic_run_says_so_whatever_the_value_is(tmp_path):
    assert one_row(tmp_path / "a", extra={"synthetic": True})["synthetic"]
    assert one_row(tmp_path / "b", extra={"synthetic": "yes"})["synthetic"]
    assert not one_row(tmp_path / "c")["synthetic"]


def test_a_run_is_perturbed_by_a_reason_and_not_by_its_absence(tmp_path):
    assert one_row(tmp_path / "a", extra={"perturbed": "worker.debug"})["perturbed"] == "worker.debug"
    assert one_row(tmp_path / "b", extra={"perturbed": False})["perturbed"] == ""
    assert one_row(tmp_path / "c")["perturbed"] == ""


def test_a_sum_beyond_the_range_of_floats_is_missing(tmp_path):
    path = write(tmp_path, "runtime")
    content = json.loads(path.read_text())
    content["runtime"]["startup_time_s"] |= {"env_creation": 1.7e308, "first_step": 1.7e308}
    path.write_text(json.dumps(content))
    row = load(path).runs.to_dicts()[0]
    assert (row["startup_time_s"], row["startup_first_step_s"]) == (None, 1.7e308)


def test_load_is_a_function_of_the_package_and_the_package_imports_nothing_heavy():
    assert benchmark_app.analysis.load is load
    code = (
        "import sys, benchmark_app.analysis, benchmark_app.analysis.verbs.export, benchmark_app.analysis.verbs.history;"
        "print([m for m in ('polars', 'numpy', 'scipy', 'ruptures', 'torch', 'warp') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_loading_trainings_with_their_curves_costs_little_more_than_parsing_them(tmp_path):
    """The bound of 10,000 bundles in 5 s is measured by benchmarks/analysis_scale.py on a quiet machine; here the same
    is asked as a ratio, which a busy machine does not change."""
    for number in range(200):
        write(tmp_path, "training", number, iterations=300)
    files = sorted(tmp_path.rglob("*.json"))
    load(files)
    ratios = []
    for _ in range(5):
        begin = time.process_time()
        for file in files:
            json.loads(file.read_bytes())
        parsed = time.process_time()
        assert load(files).runs.height == 200
        ratios.append((time.process_time() - parsed) / (parsed - begin))
    assert min(ratios) < 2.0
