"""Reading reference results."""

import json

import pytest

from benchmark_app.catalogue import ReferenceFileError, find_tasks, read_reference

from .reference_cases import reference


@pytest.fixture
def read(tmp_path):
    def read(data):
        path = tmp_path / "reference.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return read_reference(path)

    return read


def test_a_result_is_read_with_all_it_has(read):
    (result,) = read(reference())
    assert (result.framework, result.frames, result.random.n_episodes) == ("rsl_rl", 153600, 100)
    assert [seed.seed for seed in result.seeds] == [1, 2]
    assert result.seeds[0].metrics == {"final_pole_angle": 0.0123}
    assert result.over_seeds["pc_success"].ci95 == [99.0, 99.5]
    assert result.over_seeds["avg_sum_reward"].ci95 is None
    assert result.expected["avg_sum_reward"] == [4.7, 5.1]
    assert read(reference(random=None))[0].random is None


def test_a_task_without_the_file_has_no_results(tmp_path):
    assert read_reference(tmp_path / "reference.json") == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "cannot be read"),
        ([], "expected an object with format 1"),
        ({"format": 2, "results": []}, "expected an object with format 1"),
        (reference(seeds=None), r"results\[0\].seeds: expected a list, got None"),
        (reference(frames="many"), r"results\[0\].frames: expected int, got 'many'"),
        (reference(frames=True), r"results\[0\].frames: expected int, got True"),
        (reference(random={"n_episodes": 3}), r"results\[0\].random.avg_sum_reward: is missing"),
        (reference(expected={"pc_success": [1.0]}), r"expected.pc_success: expected the lower and the upper bound"),
        (reference(over_seeds={"pc_success": {"mean": float("nan"), "ci95": None}}), "mean: expected float, got nan"),
        (reference(surprise=1), r"results\[0\].surprise: is unknown"),
    ],
)
def test_a_file_that_holds_something_else_is_refused_by_name(read, data, said):
    with pytest.raises(ReferenceFileError, match=said):
        read(data)


def test_the_results_of_every_shipped_task_can_be_read():
    for entry in find_tasks().values():
        read_reference(entry.reference)
