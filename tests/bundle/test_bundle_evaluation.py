"""What a play says of a policy: a row per episode, and aggregates over them."""

from __future__ import annotations

import dataclasses
import json

import pytest
from bundle_events import RUNS

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.evaluation import Average, episode_rows, evaluate, evaluation_extra
from benchmark_app.bundle.write import write_json_lines
from benchmark_app.journal.events import Episode


def row(index, **changes):
    values = {"index": index, "seed": 7, "return": 2.0, "max_reward": 1.0, "length": 10, "success": True}
    return values | {"metrics": {}, "reward_terms": {}} | changes


@pytest.mark.parametrize(
    ("n_success", "n_episodes", "low", "high"),
    [(0, 10, 0.0, 27.753), (9, 10, 59.585, 98.212), (14, 20, 48.103, 85.452), (70, 100, 60.415, 78.105)],
)
def test_the_interval_of_success_is_wilsons_in_percent(n_success, n_episodes, low, high):
    extra = evaluation_extra(evaluate([row(i, success=i < n_success) for i in range(n_episodes)]))
    assert (extra["n_success"], extra["n_episodes"]) == (n_success, n_episodes)
    assert extra["pc_success"] == pytest.approx(100 * n_success / n_episodes)
    assert extra["pc_success_ci95_low"] == pytest.approx(low, abs=5e-4)
    assert extra["pc_success_ci95_high"] == pytest.approx(high, abs=5e-4)


def test_means_are_over_episodes():
    extra = evaluation_extra(evaluate([row(0, max_reward=0.5), row(1, max_reward=1.5, **{"return": 5.0})]))
    assert extra["avg_sum_reward"] == 3.5
    assert extra["avg_max_reward"] == 1.0


def test_an_absent_metric_is_never_0_and_how_many_episodes_have_it_is_told():
    rows = [row(0, metrics={"time": 3.0, "way": None}), row(1, metrics={"time": None, "way": None})]
    found = evaluate(rows)
    assert found.metrics == {"time": Average(3.0, 1), "way": Average(None, 0)}
    extra = evaluation_extra(found)
    assert (extra["metrics.time"], extra["metrics.time.n_episodes"]) == (3.0, 1)
    assert "metrics.way" not in extra
    assert extra["metrics.way.n_episodes"] == 0


def test_terms_of_the_reward_are_averaged_by_name():
    extra = evaluation_extra(evaluate([row(i, reward_terms={"alive": 1.0 + i, "cost": -1.0}) for i in range(2)]))
    assert (extra["reward_terms.alive"], extra["reward_terms.cost"]) == (1.5, -1.0)


def test_without_success_or_without_episodes_nothing_is_made_up():
    without = evaluation_extra(evaluate([row(0, success=None, max_reward=None)]))
    assert without == {"n_episodes": 1, "avg_sum_reward": 2.0}
    assert evaluation_extra(evaluate([])) == {"n_episodes": 0}


def test_rows_are_ordered_by_index_whenever_episodes_ended_and_hold_all_that_was_recorded():
    episodes = [event for event in RUNS["play"] if isinstance(event, Episode)]
    full = dataclasses.replace(episodes[2], max_reward=9.0, metrics={"way": None}, reward_terms={"alive": 6.0})
    rows = episode_rows([RUNS["play"][0], full, episodes[1], episodes[0]])
    assert [one["index"] for one in rows] == [0, 1, 2]
    assert rows[2] == {
        "index": 2,
        "seed": 7,
        "return": 6.0,
        "max_reward": 9.0,
        "length": 102,
        "success": True,
        "metrics": {"way": None},
        "reward_terms": {"alive": 6.0},
    }


def test_a_bundle_holds_the_aggregates_of_its_rows_also_from_an_older_journal():
    extra = build_bundle(RUNS["play"]).extra
    expected = evaluation_extra(evaluate(episode_rows(RUNS["play"])))
    assert {name: extra[name] for name in expected} == expected
    assert "avg_max_reward" not in extra


def test_lines_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "episodes.jsonl"
    write_json_lines([row(0), row(1)], path)
    assert [json.loads(line)["index"] for line in path.read_text().splitlines()] == [0, 1]
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json_lines([row(0), row(1, max_reward=float("nan"))], path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["episodes.jsonl"]
    write_json_lines([], path)
    assert path.read_bytes() == b""
