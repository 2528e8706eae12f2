"""What goes into the report: which runs, which numbers, which warnings; and what the verb refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmark_app.analysis.history import add, read
from benchmark_app.analysis.loading import load
from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.report.groups import DIMENSIONS, group_runs, standings
from benchmark_app.analysis.report.payload import build_payload, select_runs
from benchmark_app.cli import main
from tests.analysis import report_cases as cases


def payload_of(folder: Path, *, last: int = 500, **given: Any) -> dict[str, Any]:
    return build_payload(select_runs(load(folder), last), folder=folder, title="T", command="C", **given)


def titles(payload: dict[str, Any]) -> list[str]:
    return [notice["title"] for notice in payload["notices"]]


def group_of(payload: dict[str, Any], **identity: Any) -> dict[str, Any]:
    found = [group for group in payload["groups"] if identity.items() <= group["identity"].items()]
    assert len(found) == 1, identity
    return found[0]


# ---------------------------------------------------------------- the verb


def test_report_writes_one_file_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases.write(tmp_path, "training", 1)
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "week.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'week.html'}: 1 run\n"
    page = (tmp_path / "week.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_an_older_report_is_replaced(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    output = tmp_path / "report.html"
    output.write_text("old", encoding="utf-8")
    assert main(["report", str(tmp_path), "-o", str(output)]) == 0
    assert "old" not in output.read_text(encoding="utf-8")[:50]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "required: PATH"),
        (["nowhere"], "nowhere"),
        (["empty"], "no bundle in empty"),
        (["runs", "-o", "training.json"], "ends in .html"),
        (["runs", "-o", "no/such/report.html"], "there is no folder"),
        (["runs", "--last", "0"], "--last 0: expected at least 1"),
        (["runs", "--last", "many"], "--last"),
        (["runs", "--markdown", "-o", "x.html"], "ends in .md"),
        (["runs", "--store", "nothing.jsonl"], "nothing.jsonl"),
        (["runs", "--markdown", "--store", "nothing.jsonl"], "--store"),
        (["runs", "--lst", "3"], "--lst"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    cases.write(tmp_path / "runs", "training", 1)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert says in error
    assert not (tmp_path / "report.html").exists()


def test_only_broken_bundles_are_refused_with_the_first_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "training.json").write_text("{", encoding="utf-8")
    assert main(["report", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "training.json: not JSON" in error


# ---------------------------------------------------------------- which runs


def test_the_newest_runs_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    for index in range(5):
        cases.write(tmp_path, "training", index, seed=index)
    payload = payload_of(tmp_path, last=2)
    assert [run["seed"] for run in payload["runs"]] == [3, 4]
    assert payload["facts"][-1] == "the newest of 5 (--last)"


def test_broken_files_and_copies_are_listed_in_the_report(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "training", 1)
    (tmp_path / "play.json").write_text("{", encoding="utf-8")
    (tmp_path / "copy.json").write_bytes(path.read_bytes())
    listed = {Path(entry["path"]).name: entry["reason"] for entry in payload_of(tmp_path)["broken"]}
    assert "not JSON" in listed["play.json"]
    assert len(listed) == 2


def test_stand_ins_are_never_shown_among_real_runs(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    cases.write(tmp_path, "training", 2, extra={"synthetic": True})
    payload = payload_of(tmp_path)
    assert [run["name"][-1] for run in payload["runs"]] == ["1"]
    assert "synthetic" in payload["broken"][0]["reason"]
    alone = payload_of(tmp_path / "run-00002")
    assert alone["notices"][0]["level"] == "stop"
    assert "stand-in" in alone["notices"][0]["title"]


# ---------------------------------------------------------------- numbers


def test_only_completed_and_unperturbed_runs_enter_statistics(tmp_path: Path) -> None:
    for index, given in enumerate([{}, {}, {"status": "crashed"}, {"extra": {"perturbed": "py-spy"}}]):
        cases.write(tmp_path, "training", index, seed=index, **given)
    payload = payload_of(tmp_path)
    counted = group_of(payload, perturbed="")
    assert (counted["total"], counted["completed"], counted["stats"]["total_fps"][3]) == (3, 2, 2)
    assert group_of(payload, perturbed="py-spy")["stats"] == {}
    assert len(payload["runs"]) == 4


def test_a_group_is_the_geometric_mean_of_its_rates_with_students_interval(tmp_path: Path) -> None:
    from scipy import stats

    for seed in (1, 2, 3, 4):
        cases.write(tmp_path, "training", seed, seed=seed)
    payload = payload_of(tmp_path)
    logs = [float(stats.gmean([run["values"]["total_fps"]])) for run in payload["runs"]]
    value, low, high, n, mark = payload["groups"][0]["stats"]["total_fps"]
    assert n == 4
    assert mark is None, "nobody to be compared with"
    assert value == pytest.approx(stats.gmean(logs), rel=1e-4)
    import numpy as np

    interval = stats.t.interval(0.95, 3, loc=np.mean(np.log(logs)), scale=stats.sem(np.log(logs)))
    assert (low, high) == pytest.approx(tuple(np.exp(interval)), rel=1e-4)


def test_two_runs_have_a_mean_and_no_interval(tmp_path: Path) -> None:
    for seed in (1, 2):
        cases.write(tmp_path, "training", seed, seed=seed)
    assert payload_of(tmp_path)["groups"][0]["stats"]["total_fps"][1:4] == [None, None, 2]


def test_the_best_is_marked_and_whoever_cannot_be_told_from_it(tmp_path: Path) -> None:
    index = 0
    for framework in ("rsl_rl", "rl_games", "sb3"):  # sb3 is far slower; what they learned overlaps
        for seed in (1, 2, 3, 4, 5):
            index += 1
            cases.write(tmp_path, "training", index, framework=framework, seed=seed)
    payload = payload_of(tmp_path)
    marks = {g["identity"]["framework"]: g["stats"]["total_fps"][4] for g in payload["groups"]}
    assert marks == {"rsl_rl": "best", "rl_games": "behind", "sb3": "behind"}
    steps = {g["identity"]["framework"]: g["stats"]["environment_step_fps"][4] for g in payload["groups"]}
    assert sorted(steps.values()) == ["best", "tie", "tie"], "the same environment under all"


def test_fewer_than_three_runs_never_lead(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1, framework="rsl_rl")
    cases.write(tmp_path, "training", 2, framework="sb3")
    marks = {group["stats"]["total_fps"][4] for group in payload_of(tmp_path)["groups"]}
    assert marks == {"tie"}


def test_a_tie_has_no_leader_and_equal_leaders_lead_together() -> None:
    def marks(**success: float) -> dict[str, str]:
        rows = []
        for framework, value in success.items():
            for seed in (1, 2, 3):
                row = dict.fromkeys(DIMENSIONS) | dict.fromkeys(METRICS)
                rows.append(row | {"workflow": "play", "framework": framework, "task": "T", "status": "completed"})
                rows[-1] |= {"perturbed": "", "seed": seed, "success_rate": value}
        groups = group_runs(rows)
        found = standings(groups)
        return {group.identity["framework"]: found[i, "success_rate"] for i, group in enumerate(groups)}

    assert marks(rsl_rl=0.0, skrl=0.0) == {"rsl_rl": "tie", "skrl": "tie"}
    assert marks(rsl_rl=1.0, skrl=1.0, sb3=0.1) == {"rsl_rl": "best", "skrl": "best", "sb3": "behind"}


def test_runs_of_other_workloads_are_no_rivals(tmp_path: Path) -> None:
    for index, num_envs in enumerate((64, 512)):
        cases.write(tmp_path, "training", index, num_envs=num_envs, framework=("rsl_rl", "sb3")[index])
    assert {group["stats"]["total_fps"][4] for group in payload_of(tmp_path)["groups"]} == {None}


def test_the_parts_of_an_iteration_add_up_to_it(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    cases.write(tmp_path, "training", 2, serialized=True)
    cases.write(tmp_path, "runtime", 3)
    payload = payload_of(tmp_path)
    plain = dict(group_of(payload, workflow="training", mode="host_return")["breakdown"])
    assert set(plain) == {"environment", "policy", "learning", "rest"}
    stats = group_of(payload, workflow="training", mode="host_return")["stats"]
    assert sum(plain.values()) == pytest.approx(stats["iteration_time_s"][0], rel=1e-4)
    apart = dict(group_of(payload, mode="serialized_synchronized")["breakdown"])
    assert apart["simulation"] == pytest.approx(3 * apart["outside"], rel=1e-4)
    assert "environment" not in apart
    assert set(dict(group_of(payload, workflow="runtime")["breakdown"])) == {"environment", "rest"}


def test_what_was_not_reached_is_no_part_of_anything(tmp_path: Path) -> None:
    gaps = "runtime.iteration_time_s,runtime.startup_time_s.first_step"
    cases.write(tmp_path, "training", 1, extra={"not_reached": gaps})
    group = payload_of(tmp_path)["groups"][0]
    assert group["breakdown"] is None
    assert [name for name, _ in group["startup"]["phases"]][-1] == "env_creation"


def test_a_start_up_has_its_phases_and_its_profile(tmp_path: Path) -> None:
    cases.write(tmp_path, "startup", 1)
    cases.write(tmp_path, "training", 2)
    payload = payload_of(tmp_path)
    startup = group_of(payload, workflow="startup")["startup"]
    assert [name for name, _ in startup["phases"]] == list(cases.startup(1).phases)
    assert len(startup["functions"]) == 6
    assert group_of(payload, workflow="training")["startup"] is None, "a start-up of its own was run"


# ---------------------------------------------------------------- curves and series


def test_a_curve_begins_with_the_first_episode_and_covers_what_all_seeds_reached(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1, seed=1, extra={"learning_first_iteration": 7})
    cases.write(tmp_path, "training", 2, seed=2)
    curve = payload_of(tmp_path)["groups"][0]["curves"]["returns"]
    assert curve["seeds"] == 2
    points = curve["steps"]["points"]
    assert points[0][0] == 8 * 64 * 16
    assert points[-1][0] == 150 * 64 * 16
    assert len(points) <= 80
    assert all(low <= centre <= high for _, centre, low, high, _ in points)
    assert [len(line) for line in curve["steps"]["lines"]] == [60, 60]


def test_a_single_seed_has_a_curve_without_an_interval(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1)
    curve = payload_of(tmp_path)["groups"][0]["curves"]["returns"]["steps"]
    assert {(low, high) for _, _, low, high, _ in curve["points"]} == {(None, None)}
    assert curve["lines"] == []


def test_seconds_of_a_curve_come_from_the_journal(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "training", 1, journal=True)
    journal = path.parent / "journal" / "training.worker.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    lines[0]["iteration_s"] += 100.0  # compiling
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    seconds = payload_of(tmp_path)["groups"][0]["curves"]["returns"]["seconds"]["points"]
    assert seconds[0][0] > 100.0
    journal.unlink()
    even = payload_of(tmp_path)["groups"][0]["curves"]["returns"]["seconds"]["points"]
    assert even[0][0] < 1.0


def test_a_spike_of_memory_survives_the_thinning(tmp_path: Path) -> None:
    cases.write(tmp_path, "training", 1, journal=True)
    load_over_time = payload_of(tmp_path)["runs"][0]["load"]
    assert set(load_over_time) == {"ram_gb", "cpu_pct"}
    assert len(load_over_time["ram_gb"]) == 60
    assert max(value for _, value in load_over_time["ram_gb"]) == pytest.approx(2.3)


def test_a_damaged_journal_costs_its_chart_only(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "training", 1, journal=True)
    for name in ("supervisor", "worker"):
        journal = path.parent / "journal" / f"training.{name}.jsonl"
        text = journal.read_text(encoding="utf-8")
        journal.write_text(re.sub(r'"(ram_gb|iteration_s)":[^,]*', r'"\1":"many"', text), encoding="utf-8")
    run = payload_of(tmp_path)["runs"][0]
    assert set(run["load"]) == {"cpu_pct"}


def test_history_marks_steps_for_the_worse_only(tmp_path: Path) -> None:
    folder, store = tmp_path / "runs", tmp_path / "store.jsonl"
    for index in range(36):  # fast, slow, and fast again
        path = cases.write(folder, "runtime", index, seed=1)
        bundle = json.loads(path.read_text(encoding="utf-8"))
        fps = bundle["runtime"]["environment_step_timing"]["environment_step_fps"]
        fps["mean"] = 1e5 * (1 + 0.002 * (index % 5)) * (0.7 if 12 <= index < 24 else 1.0)
        path.write_text(json.dumps(bundle), encoding="utf-8")
        add([str(path)], store, commit=f"{index:07x}")
    lines = payload_of(folder, history=read(store))["history"]
    assert [(line["metric"], len(line["points"])) for line in lines] == [("environment_step_fps", 36)]
    ((index, change),) = lines[0]["worse"]
    assert index == 12
    assert float(change.rstrip("%")) == pytest.approx(-30.0, abs=0.5)
    assert lines[0]["groups"] == [0]


# ---------------------------------------------------------------- warnings


def test_a_good_set_of_runs_has_no_warning(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        cases.write(tmp_path, "training", seed, seed=seed)
    assert titles(payload_of(tmp_path)) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"status": "crashed"}, "1 of 4 runs did not complete"),
        ({"extra": {"perturbed": "cprofile"}}, "1 of 4 runs was slowed down by what watched them"),
        ({"extra": {"smoke": True}}, "1 of 4 runs was made to see that things work"),
        ({"extra": {"kernel_cache": "cold"}}, "1 of 4 runs compiled their kernels first"),
        ({"extra": {"equal_terms": False}}, "1 of 4 runs was not on equal terms with the other libraries"),
        ({"extra": {"resumed_iterations": 10}}, "1 of 4 runs continued from a checkpoint"),
        ({"extra": {"conditions.warnings": 2}}, "1 of 4 runs met bad conditions"),
        ({"extra": {"steady_state": False}}, "1 of 4 runs was not steady"),
    ],
)
def test_what_a_bundle_says_against_itself_is_a_warning(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    for seed in (1, 2, 3):
        cases.write(tmp_path, "training", seed, seed=seed)
    cases.write(tmp_path, "training", 4, seed=4, **given)
    payload = payload_of(tmp_path)
    assert says in titles(payload)
    notice = next(notice for notice in payload["notices"] if notice["title"] == says)
    assert [payload["runs"][index]["seed"] for index in notice["runs"]] == [4]


def test_a_worker_that_did_not_get_its_core_is_a_warning(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "runtime", 1)
    bundle = json.loads(path.read_text(encoding="utf-8"))
    bundle["resources"]["cpu_util_pct"]["mean"] = 55.0
    path.write_text(json.dumps(bundle), encoding="utf-8")
    assert "1 of 1 run got less than 85 % of a core" in titles(payload_of(tmp_path))


def test_isaac_labs_processor_load_is_no_sign_of_a_busy_machine(tmp_path: Path) -> None:
    path = cases.write(tmp_path, "runtime", 1)
    bundle = json.loads(path.read_text(encoding="utf-8"))
    bundle["resources"]["cpu_util_pct"]["mean"] = 55.0
    bundle["extra"] = {}
    path.write_text(json.dumps(bundle), encoding="utf-8")
    assert not [title for title in titles(payload_of(tmp_path)) if "of a core" in title]
