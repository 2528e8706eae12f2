"""Each rule catches the environment that breaks it, and blames no environment that breaks another."""

from __future__ import annotations

from unittest import SkipTest

import pytest

from benchmark_app.check.contract import RULES
from tests.doubles.broken_envs import BROKEN, DeclaresItsNoise, DeclaresItsSnapshotApproximate, Sound


def broken_rules(env_class):
    """Names of the rules an environment breaks."""
    found = []
    for rule in RULES:
        try:
            rule(env_class)
        except SkipTest:  # does not concern its engine
            pass
        except Exception:
            found.append(rule.__name__)
    return found


def test_every_rule_has_an_environment_that_breaks_it():
    assert list(BROKEN) == [rule.__name__ for rule in RULES]
    assert all(rule.__doc__ for rule in RULES)


def test_a_sound_environment_breaks_none():
    assert broken_rules(Sound) == []


@pytest.mark.parametrize("env_class", [DeclaresItsSnapshotApproximate, DeclaresItsNoise])
def test_an_engine_is_held_to_what_it_declares(env_class):
    assert broken_rules(env_class) == []


@pytest.mark.parametrize(("rule", "env_class"), BROKEN.items(), ids=BROKEN)
def test_a_broken_environment_is_caught_by_exactly_its_rule(rule, env_class):
    assert broken_rules(env_class) == [rule]
