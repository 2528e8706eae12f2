"""Whether a task's steps are recorded is not inherited, and a class that loses it by that says so."""

import warnings

import pytest

from .doubles import GliderEnv


class Recorded(GliderEnv):
    recordable = True


class Heir(Recorded):
    pass


class DeclaredHeir(Recorded):
    recordable = True


class DecidedHeir(Recorded):
    recordable = False


def recorded(env):
    """Whether the environment has the engine record its bodies."""
    asked = []
    env.backend.record = lambda body: asked.append(body) or body
    env.init_state()
    return bool(asked)


def test_a_class_that_inherits_from_a_recorded_one_is_not_recorded_and_says_what_to_do():
    with pytest.warns(UserWarning, match="^Heir: its hooks run in Python .* set it in Heir too"):
        env = Heir(2)
    assert not recorded(env)


@pytest.mark.parametrize(
    ("kind", "is_recorded"), [(GliderEnv, False), (Recorded, True), (DeclaredHeir, True), (DecidedHeir, False)]
)
def test_whoever_decided_for_itself_is_not_warned(kind, is_recorded):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = kind(2)
    assert recorded(env) == is_recorded
