"""Reference results: made of finished runs, consistent with their seeds, and held to what a rerun gives."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from benchmark_app.bundle.aggregate import wilson_interval
from benchmark_app.catalogue import ReferenceResult, load_task, read_reference
from benchmark_app.check.claims import read_claims
from benchmark_app.check.findings import FAILED, OK, UNCHECKED, judge
from benchmark_app.check.reference import RECORDED, expected, over_seeds, the_reference_result_is_got_again
from benchmark_app.check.runs import RunError, find_runs, seed_results, write_reference
from tests.conftest import App

CHANCE = {"n_episodes": 100, "avg_sum_reward": 0.3, "standard_error": 0.01}
SMALL = ("workflow.steps=[training,play]", "agent.iterations=20", "play.episodes=4", "device=cpu", "run.report=false")


@pytest.fixture
def claims(tmp_path):
    """Cartpole's claims, with a folder of the test's for its files."""
    claims = read_claims(load_task("cartpole"))
    entry = Entry(claims.entry, tmp_path / "task")
    entry.folder.mkdir()
    return replace(claims, entry=entry)


class Entry:
    """A task's entry whose files lie elsewhere."""

    def __init__(self, entry, folder):
        self.name, self.conf, self.origin, self.module = entry.name, entry.conf, entry.origin, entry.module
        self.folder, self.reference, self.golden = folder, folder / "reference.json", folder / "golden.json"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs with seeds 1, 2 and 3 of the tests' own worker; from the first two its mark is taken off."""
    app = App(tmp_path_factory.mktemp("runs"))
    folders = [app.folder / f"run{seed}" for seed in (1, 2, 3)]
    for seed, folder in enumerate(folders, start=1):
        assert app.status(*SMALL, f"seed={seed}", f"hydra.run.dir={folder}", run_dir=False) == 0
    for folder in folders[:2]:
        for name in ("training", "play"):
            bundle = json.loads((folder / f"{name}.json").read_text())
            del bundle["extra"]["synthetic"]
            (folder / f"{name}.json").write_text(json.dumps(bundle))
    app.close()
    return folders


def judged(claims):
    return {check.__name__: judge("files", check, claims) for check in RECORDED}


def test_finished_runs_become_a_reference_that_passes_its_own_checks(claims, runs):
    found = find_runs(runs[:2], "cartpole")
    told = write_reference(claims, found, lambda physics, device: CHANCE)
    (result,) = read_reference(claims.entry.reference)
    assert told == [told[0]]
    assert "seeds 1, 2" in told[0]
    assert [seed.seed for seed in result.seeds] == [1, 2]
    assert result.command.startswith("python -m benchmark_app -m task=cartpole framework=rsl_rl agent=ppo physics=")
    assert result.command.endswith("seed=1,2")
    assert "agent.iterations=20" in result.command
    assert result.command.count("workflow.steps=") == 1
    assert "hydra" not in result.command
    assert "run." not in result.command
    assert result.iterations == 20
    assert result.random.avg_sum_reward == 0.3
    assert judged(claims)["reference_results_are_recorded"].verdict == OK
    # A second time the same: other results stay, this one is replaced.
    write_reference(claims, found, lambda physics, device: CHANCE)
    assert len(read_reference(claims.entry.reference)) == 1


def test_runs_that_are_no_reference_are_refused_by_name(claims, runs, tmp_path):
    with pytest.raises(RunError, match="of cartpole, not of ant"):
        find_runs(runs[:1], "ant")
    with pytest.raises(RunError, match="holds no run"):
        find_runs([tmp_path / "nothing"], "cartpole")
    with pytest.raises(RunError, match="each may be there once"):
        write_reference(claims, find_runs([runs[0], runs[0]], "cartpole"), lambda physics, device: CHANCE)
    with pytest.raises(RunError, match="is marked synthetic"):
        find_runs(runs[2:], "cartpole")
    shutil.copytree(runs[0], tmp_path / "half")
    (tmp_path / "half" / "play.json").unlink()
    with pytest.raises(RunError, match=r"has no play\.json"):
        find_runs([tmp_path / "half"], "cartpole")


def made_up(success=(97.0, 98.0), returns=(4.8, 4.9), **changes):
    """A result as the file has it."""
    seeds = [
        {
            "seed": number,
            "training_s": 30.0,
            "last_tenth_reward": value,
            "n_episodes": 100,
            "n_success": int(rate),
            "pc_success": rate,
            "pc_success_ci95": [100 * bound for bound in wilson_interval(int(rate), 100)],
            "avg_sum_reward": value,
            "avg_max_reward": None,
            "metrics": {},
        }
        for number, (rate, value) in enumerate(zip(success, returns, strict=True), start=1)
    ]
    entry = {
        "framework": "rsl_rl",
        "agent": "ppo",
        "physics": "newton_mjwarp",
        "device": "cpu",
        "command": "python -m benchmark_app -m task=cartpole framework=rsl_rl seed=1,2",
        "measured_on": "2026-11-30",
        "revision": "",
        "dirty": False,
        "num_envs": 64,
        "iterations": 150,
        "frames": 153600,
        "versions": {"torch": "2.13.0"},
        "hardware": {"cpu_name": "a CPU"},
        "random": CHANCE,
        "seeds": seeds,
        "basis": "made up",
    }
    results = result_of(entry).seeds
    entry |= {"over_seeds": over_seeds(results), "expected": expected(results)}
    return {**entry, **changes}


def result_of(entry):
    from benchmark_app.catalogue import reference

    filled = {"over_seeds": {}, "expected": {}, **entry}
    return reference._record(ReferenceResult, filled, "result")


def recorded(claims, *entries):
    claims.entry.reference.write_text(json.dumps({"format": 1, "results": list(entries)}))
    return judged(claims)


def test_a_reference_that_follows_from_its_seeds_passes(claims):
    found = recorded(claims, made_up())
    assert {name: finding.verdict for name, finding in found.items()} == dict.fromkeys(found, OK)


def test_the_interval_of_a_share_ends_at_0_and_100_per_cent():
    entry = made_up(success=(99.0, 100.0))
    low, high = entry["over_seeds"]["pc_success"]["ci95"]
    assert (round(low, 2), high) == (93.15, 100.0)
    assert made_up(success=(0.0, 1.0))["over_seeds"]["pc_success"]["ci95"][0] == 0.0
    assert made_up(returns=(99.0, 103.0))["over_seeds"]["avg_sum_reward"]["ci95"][1] > 100.0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"command": "python -m benchmark_app -m task=cartpole seed=1,2,3"}, "no seed=1,2"),
        ({"command": "python -m benchmark_app -m task=ant seed=1,2"}, "no task=cartpole"),
        ({"versions": {}}, "versions or hardware are missing"),
        ({"over_seeds": {"avg_sum_reward": {"mean": 4.85, "ci95": None}}}, "does not follow from its seeds"),
        ({"expected": {"pc_success": [0.0, 100.0], "avg_sum_reward": [0.0, 9.0]}}, "expected does not follow"),
    ],
)
def test_a_reference_that_says_more_than_its_seeds_is_caught(claims, changes, text):
    found = recorded(claims, made_up(**changes))["reference_results_are_recorded"]
    assert found.verdict == FAILED
    assert text in found.text


def test_a_success_rate_that_was_edited_is_caught(claims):
    entry = made_up()
    entry["seeds"][0]["n_success"] = 90
    assert "90 of 100" in recorded(claims, entry)["reference_results_are_recorded"].text


def test_a_task_that_is_not_solved_and_one_without_a_reference_are_told_apart(claims):
    assert judged(claims)["reference_results_are_recorded"].verdict == FAILED
    assert judged(claims)["reference_results_show_learning"].verdict == UNCHECKED
    found = recorded(claims, made_up(success=(20.0, 30.0)))["reference_results_show_learning"]
    assert found.verdict == FAILED
    assert "25.0 % of episodes succeed, solved_at is 95 %" in found.text


def test_a_task_judged_by_its_return_must_beat_chance_by_five_standard_errors_with_every_seed(claims):
    by_return = replace(claims, declaration=replace(claims.declaration, solved_at=None))
    assert recorded(by_return, made_up(returns=(0.36, 0.4)))["reference_results_show_learning"].verdict == OK
    found = recorded(by_return, made_up(returns=(0.34, 0.9)))["reference_results_show_learning"]
    assert found.verdict == FAILED
    assert "seed 1" in found.text
    assert recorded(by_return, made_up(random=None))["reference_results_show_learning"].verdict == FAILED


def test_a_rerun_is_held_to_the_spread_of_the_seeds_and_to_no_less_than_the_least_difference():
    result = result_of(made_up())
    seeds = result.seeds
    # Two seeds one point apart: t is 12.706 with one degree of freedom, and the mean of two new ones has the same
    # error as the mean of these two: 12.706 × 0.7071 × 1 = 8.98.
    low, high = expected(seeds)["pc_success"]
    assert low == pytest.approx(97.5 - 8.985, abs=0.001)
    assert high == 100.0
    assert expected(seeds[:1])["pc_success"] == [92.0, 100.0]
    assert expected(seeds[:1])["avg_sum_reward"] == pytest.approx([0.95 * 4.8, 1.05 * 4.8])
    assert "within" in the_reference_result_is_got_again(result, seeds)
    worse = [replace(seed, pc_success=80.0) for seed in seeds]
    with pytest.raises(AssertionError, match=r"pc_success 80 \(seeds: 80, 80\), OUTSIDE"):
        the_reference_result_is_got_again(result, worse)
    with pytest.raises(AssertionError, match="seeds \\[1\\] finished"):
        the_reference_result_is_got_again(result, seeds[:1])


def test_results_of_seeds_are_ordered_and_come_from_play(runs):
    found = seed_results(find_runs([runs[1], runs[0]], "cartpole"))
    assert [result.seed for result in found] == [1, 2]
    assert all(result.n_episodes == 4 for result in found)
    assert all(result.last_tenth_reward is not None for result in found)
