"""Which runs are compared with which, what is refused, and what the exit status says."""

from dataclasses import replace

import pytest

from benchmark_app.analysis.compare import Options, compare, compare_by, compare_history
from benchmark_app.analysis.pairing import pair_up
from tests.analysis.compare_cases import FAST, SLOW, play, rows, runtime, thresholds, training

WOBBLE = [1.0, 1.004, 0.997, 1.002, 0.999, 1.003, 0.998]


def runs(rate, count=5, minute=0, make=runtime, **given):
    return [make(rate * WOBBLE[i], minute + i, **given) for i in range(count)]


def options(**given):
    return Options(thresholds(), **given)


def verdict_of(comparison, metric, group=0):
    (found,) = [one for one in comparison.groups[group].metrics if one.metric.name == metric]
    return found.judgement.verdict


def test_a_slower_version_regresses_in_every_rate_and_time_and_in_nothing_else():
    comparison = compare(rows(runs(1000)), rows(runs(800, minute=60)), options())
    assert verdict_of(comparison, "total_fps") == "regressed"
    assert verdict_of(comparison, "environment_step_time_s") == "regressed"
    assert verdict_of(comparison, "ram_gb") == "unchanged"
    assert verdict_of(comparison, "startup_time_s") == "unchanged"
    assert comparison.status == 1


def test_a_faster_version_is_improved_and_the_status_is_fine():
    comparison = compare(rows(runs(800)), rows(runs(1000, minute=60)), options())
    assert verdict_of(comparison, "total_fps") == "improved"
    assert comparison.status == 0


def test_one_run_against_one_is_underpowered_and_the_status_is_fine():
    comparison = compare(rows(runs(1000, 1)), rows(runs(500, 1, minute=60)), options())
    assert set(comparison.verdicts) == {"underpowered"}
    assert comparison.status == 0


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"num_envs": 128}, "num_envs", "num_envs: 64 against 128"),
        ({"physics": "physx"}, "physics", "physics: newton_mjwarp against physx"),
        ({"task": "Other-v0"}, "task", "task: Cartpole-Direct-v0 against Other-v0"),
        ({"steps": 50}, "budget", "budget: 1000 against 50"),
        ({"presets": ["host_return", "camera"]}, "presets", "presets: host_return against camera,host_return"),
        ({"extra": {"threads": 2}}, "threads", "threads: 1 against 2"),
        ({"host": "other"}, "host", "host: box against other"),
        ({"extra": {"synthetic": True}}, "synthetic", "synthetic: no against yes"),
    ],
)
def test_what_differs_is_refused_by_name(given, field, text):
    comparison = compare(rows(runs(1000)), rows(runs(1000, minute=60, **given)), options())
    (refusal,) = comparison.refusals
    assert refusal.reason == text
    assert refusal.fields == (field,)
    assert comparison.status == 2


def test_an_allowed_field_may_differ_and_the_comparison_says_so():
    there = runs(1000, minute=60, host="other")
    comparison = compare(rows(runs(1000)), rows(there), options(allowed=("host", "threads")))
    assert comparison.status == 0
    assert comparison.allowed == ("host", "threads")
    assert comparison.groups[0].allowed == ("host: box, other",)


def test_each_workload_is_compared_with_its_like():
    base = runs(1000, num_envs=64) + runs(4000, minute=20, num_envs=256)
    new = runs(1000, minute=40, num_envs=64) + runs(3000, minute=60, num_envs=256)
    comparison = compare(rows(base), rows(new), options())
    assert [group.workload["num_envs"] for group in comparison.groups] == [64, 256]
    assert verdict_of(comparison, "total_fps", 0) == "unchanged"
    assert verdict_of(comparison, "total_fps", 1) == "regressed"


def test_a_workload_that_new_lost_is_refused_and_one_that_it_gained_is_noted():
    small, large = runs(1000, num_envs=64), runs(1000, num_envs=256, minute=20)
    lost = compare(rows(small + large), rows(runs(1000, minute=60, num_envs=64)), options())
    assert [refusal.workload["num_envs"] for refusal in lost.refusals] == [256]
    assert lost.status == 2
    gained = compare(rows(small), rows(runs(1000, minute=60, num_envs=64) + large), options())
    assert gained.status == 0
    assert any("only in NEW" in note and "num_envs=256" in note for note in gained.notes)


def test_a_regression_outweighs_what_could_not_be_compared():
    base = runs(1000, num_envs=64) + runs(1000, num_envs=256, minute=20)
    assert compare(rows(base), rows(runs(700, minute=60, num_envs=64)), options()).status == 1


def test_runs_that_did_not_complete_are_left_out_and_counted():
    crashed = [runtime(1.0, 90 + i, status="crashed", extra={"not_reached": "runtime.total_fps"}) for i in range(2)]
    comparison = compare(rows(runs(1000)), rows(runs(1000, minute=60) + crashed), options())
    assert comparison.groups[0].new.left_out == ("2 crashed",)
    assert verdict_of(comparison, "total_fps") == "unchanged"


def test_what_a_crashed_run_measured_does_not_count():
    crashed = [training(1.0, 90 + i, status="crashed") for i in range(2)]
    comparison = compare(
        rows(runs(1000, make=training)), rows(runs(1000, make=training, minute=60) + crashed), options()
    )
    assert comparison.groups[0].new.runs == 5
    assert verdict_of(comparison, "total_fps") == "unchanged"


def test_a_version_that_lost_a_larger_share_of_its_runs_does_not_pass():
    crashed = [runtime(1000.0, 90 + i, status="crashed") for i in range(3)]
    comparison = compare(rows(runs(1000, 6)), rows(runs(1000, 3, minute=60) + crashed), options())
    assert verdict_of(comparison, "total_fps") == "unchanged"
    (refusal,) = comparison.refusals
    assert refusal.reason == "3 of 6 runs of NEW did not complete (3 crashed), 0 of 6 of BASE"
    assert comparison.status == 2
    same = compare(rows(runs(1000, 3, minute=60) + crashed), rows(runs(1000, 3, minute=120) + crashed), options())
    assert same.status == 0
    better = compare(rows(runs(1000, 3, minute=60) + crashed), rows(runs(1000, 6)), options())
    assert better.status == 0


def test_a_metric_that_new_lost_does_not_pass_and_one_that_it_gained_does():
    base = rows(runs(1000))
    for nothing in (None, 0.0):
        lost = [row | {"total_fps": nothing} for row in rows(runs(1000, minute=60))]
        comparison = compare(base, lost, options())
        assert verdict_of(comparison, "total_fps") == "not comparable"
        assert verdict_of(comparison, "ram_gb") == "unchanged"
        assert comparison.status == 2
    gained = compare([row | {"total_fps": None} for row in base], rows(runs(1000, minute=60)), options())
    assert gained.status == 0


def test_a_return_that_leaves_0_cannot_be_compared_and_one_that_stays_there_is_unchanged():
    def trained(reward, minute):
        return rows([training(1000.0 * WOBBLE[i], minute + i, reward=reward, seed=i) for i in range(5)])

    left = compare(trained(0.0, 0), trained(5.0, 60), options())
    assert verdict_of(left, "return_final") == "not comparable"
    assert left.status == 2
    stayed = compare(trained(0.0, 0), trained(0.0, 60), options())
    assert verdict_of(stayed, "return_final") == "unchanged"
    assert stayed.status == 0


def test_a_metric_that_only_one_library_measures_is_no_reason_against_the_others():
    every = runs(1000, make=training, framework="rsl_rl") + runs(1000, make=training, framework="sb3", minute=20)
    table = [row | {"total_fps": None} if row["framework"] == "sb3" else row for row in rows(every)]
    comparison = compare_by(table, "framework", options())
    assert verdict_of(comparison, "total_fps") == "not comparable"
    assert comparison.status == 0


def test_a_reference_that_does_not_occur_is_named():
    every = runs(1000, make=training, framework="skrl") + runs(900, make=training, framework="sb3", minute=20)
    comparison = compare_by(rows(every), "framework", options(), reference="zzz")
    (refusal,) = comparison.refusals
    assert refusal.reason == "framework zzz does not occur in it, only sb3, skrl"
    assert comparison.status == 2


def test_a_version_that_only_crashes_cannot_be_compared():
    crashed = [runtime(1000.0, 60 + i, status="crashed") for i in range(5)]
    comparison = compare(rows(runs(1000)), rows(crashed), options())
    assert comparison.refusals[0].reason == "NEW has no completed run of it: 5 crashed"
    assert comparison.status == 2


def test_nothing_at_all_cannot_be_compared():
    assert compare([], rows(runs(1000)), options()).status == 2
    assert compare(rows(runs(1000)), [], options()).status == 2
    assert compare_by([], "framework", options()).status == 2
    assert compare_history([], [], 20, options()).status == 2


def test_only_the_metrics_asked_for_are_judged():
    comparison = compare(
        rows(runs(1000)), rows(runs(800, minute=60)), options(metrics=frozenset(["total_fps", "ram_gb"]))
    )
    assert [one.metric.name for one in comparison.groups[0].metrics] == ["total_fps", "ram_gb"]


def test_ignored_metrics_are_not_judged():
    rules = replace(thresholds(), ignored=frozenset(["total_fps"]))
    comparison = compare(rows(runs(1000)), rows(runs(800, minute=60)), Options(rules))
    assert "total_fps" not in [one.metric.name for one in comparison.groups[0].metrics]


def test_libraries_are_compared_with_the_first_or_with_the_one_named():
    every = [
        one
        for index, (name, rate) in enumerate({"skrl": 800, "rsl_rl": 1000, "sb3": 1001}.items())
        for one in runs(rate, make=training, framework=name, minute=20 * index)
    ]
    comparison = compare_by(rows(every), "framework", options())
    assert [(group.base.label, group.new.label) for group in comparison.groups] == [
        ("rsl_rl", "sb3"),
        ("rsl_rl", "skrl"),
    ]
    assert verdict_of(comparison, "total_fps", 0) == "unchanged"
    assert verdict_of(comparison, "total_fps", 1) == "regressed"
    other = compare_by(rows(every), "framework", options(), reference="skrl")
    assert {verdict_of(other, "total_fps", index) for index in (0, 1)} == {"improved"}


def test_numbers_of_environments_are_ordered_as_numbers():
    every = runs(1000, num_envs=1024) + runs(1000, minute=20, num_envs=64) + runs(1000, minute=40, num_envs=256)
    groups = compare_by(rows(every), "num_envs", options()).groups
    assert [(group.base.label, group.new.label) for group in groups] == [("64", "256"), ("64", "1024")]


def test_an_axis_with_one_value_is_refused_with_the_field_that_keeps_runs_apart():
    every = runs(1000, make=training, framework="skrl", num_envs=64)
    every += runs(1000, make=training, framework="sb3", num_envs=128, minute=20)
    comparison = compare_by(rows(every), "framework", options())
    assert comparison.status == 2
    assert {refusal.fields for refusal in comparison.refusals} == {("num_envs",)}


def test_returns_of_different_tasks_are_not_compared_but_speeds_are():
    every = runs(1000, make=training, task="A-v0") + runs(800, make=training, task="B-v0", minute=20)
    (group,) = compare_by(rows(every), "task", options()).groups
    names = {one.metric.name for one in group.metrics}
    assert "total_fps" in names
    assert not any(one.metric.noise == "seed" for one in group.metrics)


def test_a_seed_that_was_run_five_times_is_one_sample_of_what_is_learned():
    same = [runs(1000, make=training, reward=reward, minute=minute) for reward, minute in ((10.0, 0), (5.0, 60))]
    assert verdict_of(compare(*map(rows, same), options()), "return_final") == "underpowered"
    seeds = [
        [
            training(1000.0, minute + seed, reward=reward + 0.1 * WOBBLE[seed], seed=seed, run_id=f"{minute}_{seed}")
            for seed in range(5)
        ]
        for reward, minute in ((10.0, 0), (5.0, 60))
    ]
    assert verdict_of(compare(*map(rows, seeds), options()), "return_final") == "regressed"


def test_success_at_play_needs_the_episodes_to_agree():
    few = [[play(n, 4, minute + seed, seed=seed) for seed in range(3)] for n, minute in ((4, 0), (3, 60))]
    many = [[play(n, 400, minute + seed, seed=seed) for seed in range(3)] for n, minute in ((400, 0), (300, 60))]
    assert verdict_of(compare(*map(rows, few), options()), "success_rate") == "underpowered"
    assert verdict_of(compare(*map(rows, many), options()), "success_rate") == "regressed"


def design(base_minutes, new_minutes, noise="machine", base_seeds=None, new_seeds=None):
    sides = [
        rows([runtime(1000.0, minute, seed=(seeds or minutes)[i]) for i, minute in enumerate(minutes)])
        for minutes, seeds in ((base_minutes, base_seeds), (new_minutes, new_seeds))
    ]
    return pair_up(*sides, "total_fps", noise).design


def test_runs_made_in_turn_are_paired_by_time_and_others_are_not():
    assert design([0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]) == "paired"
    assert design([0, 3, 4, 7, 8, 11], [1, 2, 5, 6, 9, 10]) == "paired"
    assert design([0, 2, 4], [1, 3, 5]) == "in turn"
    assert design([0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9]) == "in turn"
    assert design([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]) == "apart"
    assert design([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]) == "apart"


def test_what_is_learned_is_paired_by_seed():
    seeds = list(range(6))
    assert design(list(range(6)), list(range(6, 12)), "seed", seeds, seeds[::-1]) == "paired"
    assert design(list(range(6)), list(range(6, 12)), "seed", seeds, [s + 1 for s in seeds]) == "in turn"


def test_pairs_keep_their_partners():
    base = rows([runtime(1000.0 + i, 2 * i, seed=i) for i in range(6)])
    new = rows([runtime(2000.0 + i, 2 * i + 1, seed=5 - i) for i in range(6)])
    by_time = pair_up(base, new, "total_fps", "machine")
    assert [n - b for b, n in zip(by_time.base, by_time.new, strict=True)] == [1000.0] * 6
    by_seed = pair_up(base, new, "total_fps", "seed")
    assert [n - b for b, n in zip(by_seed.base, by_seed.new, strict=True)] == [1005.0 - 2 * i for i in range(6)]


def history(rates, each=3, minute=0):
    return [
        runtime(rate * WOBBLE[i], minute + 10 * index + i, commit=f"{index:040d}")
        for index, rate in enumerate(rates)
        for i in range(each)
    ]


def test_new_runs_are_compared_with_the_last_commits_of_the_history():
    stored = history([500.0] * 10 + [1000.0, 1005.0, 995.0, 1002.0, 998.0] * 2)
    same = compare_history(rows(stored), rows(runs(1000, 3, 900, commit=FAST)), 10, options())
    assert verdict_of(same, "total_fps") == "unchanged"
    (rate,) = [one for one in same.groups[0].metrics if one.metric.name == "total_fps"]
    assert rate.judgement.n_base == 10
    worse = compare_history(rows(stored), rows(runs(800, 3, 900, commit=SLOW)), 10, options())
    assert worse.status == 1


def test_the_commit_that_is_judged_is_no_part_of_its_own_baseline():
    stored = history([1000.0] * 6) + runs(500, 3, 700, commit=SLOW)
    new = rows(runs(500, 3, 800, commit=SLOW))
    comparison = compare_history(rows(stored), new, 20, options())
    assert SLOW not in comparison.groups[0].base.commits
    assert comparison.status == 1


def test_a_workload_without_history_is_refused():
    comparison = compare_history(rows(history([1000.0] * 6)), rows(runs(1000, num_envs=256)), 20, options())
    assert comparison.refusals[0].fields == ("num_envs",)
    assert comparison.status == 2
