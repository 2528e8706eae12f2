"""Planning: what cannot work is found before anything starts, and each case is there once."""

from benchmark_app.settings import NotInstalledError, SettingError, UnsupportedError
from benchmark_app.sweep.plan import make_plan
from tests.sweep.made import RECORD, settings

ERRORS = {
    "typo": SettingError("num_envs=0: must be at least 1"),
    "engine": UnsupportedError("physics=x: cannot"),
    "package": NotInstalledError("physics=x: needs y"),
}


def composed(overrides):
    if (error := ERRORS.get(overrides[0])) is not None:
        raise error
    return settings(*overrides), RECORD


def plan(*combinations, suite=False):
    return make_plan([list(each) for each in combinations], composed, suite=suite)


def test_in_a_sweep_that_was_typed_all_that_cannot_work_is_refused():
    members = plan(("seed=1",), ("typo",), ("engine",), ("package",)).members
    assert [member.status for member in members] == ["planned", "refused", "refused", "refused"]
    assert members[2].reason == "physics=x: cannot"


def test_in_a_suite_what_is_not_supported_is_skipped_and_a_mistake_still_refused():
    members = plan(("seed=1",), ("typo",), ("engine",), ("package",), suite=True).members
    assert [member.status for member in members] == ["planned", "refused", "skipped", "skipped"]


def test_a_combination_that_was_asked_for_twice_is_there_once():
    made = plan(("seed=1",), ("seed=1",), ("seed=1", "agent.gamma=0.99"), ("seed=2",))
    assert [member.overrides for member in made.members] == [["seed=1"], ["seed=2"]]
    assert made.merged == 2


def test_two_that_differ_in_nothing_a_case_is_made_of_cannot_both_be_run():
    members = plan(("run.grace_s=1",), ("run.grace_s=2",)).members
    assert [member.status for member in members] == ["planned", "refused"]
    assert members[0].case.name in members[1].reason
    assert "run.*" in members[1].reason
