"""What cannot be compared is named; synthetic and perturbed runs never mix with real ones."""

import pytest

from benchmark_app.analysis import load
from benchmark_app.analysis.identity import AXES, IDENTITY, Difference, IdentityError, differences, identity_of
from benchmark_app.bundle.schema import Hardware, RunConfig
from tests.analysis.made import write


def rows(folder, *variants):
    """Rows of trainings that differ from the usual one in what is given."""
    for number, changes in enumerate(variants):
        write(folder, "training", number, **changes)
    return load(folder).runs.to_dicts()


VARIANTS = {
    "task": {"run": {"task": "Other-v0"}},
    "framework": {"run": {"framework": "skrl"}},
    "physics": {"run": {"config": RunConfig("physx", "none", ["agent=ppo"])}},
    "rendering": {"run": {"config": RunConfig("newton_mjwarp", "newton", ["agent=ppo"])}},
    "presets": {"run": {"config": RunConfig("newton_mjwarp", "none", ["agent=sac"])}},
    "num_envs": {"run": {"num_envs": 128}},
    "budget": {"run": {"max_iterations": 7}},
    "resumed": {"extra": {"resumed_iterations": 3}},
    "ranks": {"extra": {"world_size": 2}},
    "device_kind": {"extra": {"device": "cuda:0"}},
    "threads": {"extra": {"threads": 2}},
    "numerics": {"extra": {"cudnn_tf32": True}},
    "overrides": {"extra": {"native_overrides": "n_epochs=1"}},
    "kernel_cache": {"extra": {"kernel_cache": "cold"}},
    "hardware": {"hardware": Hardware("box", [], "Another CPU", 2, 24.0)},
    "host": {"hardware": Hardware("other", [], "AMD EPYC", 2, 24.0)},
    "synthetic": {"extra": {"synthetic": True}},
    "perturbed": {"extra": {"perturbed": "worker.debug"}},
    "oversubscribed": {"extra": {"oversubscribed": True}},
}


@pytest.mark.parametrize(("name", "change"), VARIANTS.items(), ids=VARIANTS)
def test_a_difference_in_one_field_is_found_and_named(tmp_path, name, change):
    usual, other = rows(tmp_path, {}, change)
    (difference,) = differences(usual, other)
    assert difference.field == name
    assert str(difference).startswith(f"{name}: ")
    assert " against " in str(difference)


def test_runs_that_differ_in_seed_speed_and_time_are_comparable(tmp_path):
    usual, other = rows(tmp_path, {}, {"fps": 500.0, "commit": "b" * 40, "minute": 5})
    assert differences(usual, other) == []
    assert identity_of(usual) == identity_of(other)


def test_the_order_of_presets_is_no_difference(tmp_path):
    usual, other = rows(
        tmp_path,
        {"run": {"config": RunConfig("physx", "none", ["a", "b"])}},
        {"run": {"config": RunConfig("physx", "none", ["b", "a"])}},
    )
    assert differences(usual, other) == []


def test_all_differences_are_told_in_the_order_of_the_registry():
    a = dict.fromkeys(IDENTITY, 1)
    found = [difference.field for difference in differences(a, dict.fromkeys(IDENTITY, 2))]
    assert found == list(IDENTITY)


@pytest.mark.parametrize("name", AXES)
def test_the_axis_and_what_is_allowed_may_differ(name):
    a = dict.fromkeys(IDENTITY, 1)
    b = a | {name: 2}
    assert differences(a, b) == [Difference(name, 1, 2)]
    assert differences(a, b, axis=name) == []
    assert differences(a, b, allowed=[name]) == []
    assert identity_of(a, without=[name]) == identity_of(b, without=[name])


@pytest.mark.parametrize("name", ["workflow", "synthetic", "perturbed", "schema_major"])
def test_some_fields_may_never_differ(name):
    for given in ({"axis": name}, {"allowed": [name]}):
        with pytest.raises(IdentityError, match=f"^{name}: runs that differ in it are never compared"):
            differences({}, {}, **given)


def test_a_field_that_is_none_is_refused_with_those_that_are():
    with pytest.raises(IdentityError, match=r"^framwork: no such field; known: task, framework"):
        differences({}, {}, allowed=["framwork"])


def test_a_value_that_is_not_known_differs_from_one_that_is():
    assert str(*differences({"threads": None}, {"threads": 1})) == "threads: unknown against 1"


def test_isaac_labs_rates_are_not_taken_for_ours(tmp_path):
    (usual,) = rows(tmp_path, {})
    path = write(tmp_path, "training", 9)
    path.write_text(path.read_text().replace('"benchmark_app": "0.1.0",', ""))
    (other,) = load(path).runs.to_dicts()
    assert differences(usual, other) == [Difference("producer", "benchmark_app", "isaaclab")]
