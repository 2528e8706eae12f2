"""The verb `parity`: what it plays, what it lets differ, and how it names what does."""

import dataclasses

import pytest
import torch

from benchmark_app.cli import main
from benchmark_app.execution.make import make_execution_env
from benchmark_app.parity.compare import compare, play
from tests.conftest import ROOT

from . import upright

CONF = str(ROOT / "tests" / "execution" / "conf")


@pytest.fixture(scope="module")
def played():
    env = make_execution_env(upright.Cfg(), "", 3)
    yield play(env)
    env.close()


def changed(played, number, name, change):
    moments = list(played.moments)
    found = {key: tensor.clone() for key, tensor in moments[number].outcome.items()}
    change(found[name])
    moments[number] = dataclasses.replace(moments[number], outcome=found)
    return dataclasses.replace(played, moments=moments)


def test_it_plays_through_ends_of_episodes_in_every_row_and_two_resets(played):
    assert {row for row, *_ in played.episodes} == {0, 1, 2}
    assert played.resets >= 2
    assert len(played.moments) > upright.Cfg().max_episode_steps


def test_the_same_is_bitwise_the_same(played):
    verdict = compare(played, played)
    assert (verdict.bitwise, verdict.difference, verdict.largest) == (True, "", 0.0)


def test_an_observation_may_differ_by_a_millionth_and_no_more(played):
    def nudge(by):
        return lambda tensor: tensor[1, 2].copy_(torch.tensor(0.25 + by))

    base = changed(played, 9, "obs.policy", nudge(0.0))
    close = compare(base, changed(played, 9, "obs.policy", nudge(5e-7)))
    assert (close.bitwise, close.difference) == (False, "")
    assert 4e-7 < close.largest < 6e-7
    far = compare(base, changed(played, 9, "obs.policy", nudge(1e-4)))
    assert far.difference.startswith("observation 'policy'[2] of row 1 at step 9: 0.25009")
    gone = compare(base, changed(played, 9, "obs.policy", nudge(float("nan"))))
    assert "row 1 at step 9: nan instead of 0.25" in gone.difference


@pytest.mark.parametrize("name", ["reward", "terminated", "steps"])
def test_rewards_flags_and_steps_may_not_differ_at_all(played, name):
    def change(tensor):
        tensor[2] = ~tensor[2] if tensor.dtype == torch.bool else tensor[2] + 1

    assert compare(played, changed(played, 30, name, change)).difference.startswith(f"{name} of row 2 at step 30: ")


def test_an_episode_that_ended_otherwise_is_told(played):
    row, number, length, total = played.episodes[1]
    others = [played.episodes[0], (row, number, length + 1, total), *played.episodes[2:]]
    assert "episode 2 in order of ending" in compare(played, dataclasses.replace(played, episodes=others)).difference
    fewer = dataclasses.replace(played, episodes=played.episodes[:-1])
    assert "episodes ended instead of" in compare(played, fewer).difference


def test_an_engine_that_promises_nothing_is_compared_in_its_first_states(played):
    loose = dataclasses.replace(played, exact=False)
    later = changed(loose, 3, "reward", lambda tensor: tensor.add_(1))
    assert compare(loose, later).difference == ""
    assert compare(loose, changed(loose, 0, "obs.policy", lambda tensor: tensor.add_(0.1))).difference != ""


def test_the_verb_prints_a_line_for_each_place(capsys):
    assert main(["parity", "upright", "--config-dir", CONF, "--executions", "local", "process"]) == 0
    head, _, local, process = capsys.readouterr().out.splitlines()
    assert head.startswith("upright (Upright-Test-v0) on Gymnasium, 4 rows")
    assert local.split()[:2] == ["local", "played"]
    assert process.split()[:2] == ["process:2", "bitwise"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cartpol"], "cartpol"),
        (["cartpole", "--executions", "local"], "--executions local: takes two or more to compare"),
        (
            ["cartpole", "--executions", "local", "remote"],
            "--executions remote: must be some of local, process, served",
        ),
        (["cartpole", "--workers", "9"], "--workers 9: must be from 1 to --num-envs 4"),
        (["cartpole", "--physics", "bullet"], "physics=bullet: unknown engine"),
        (["cartpole", "--python", "/nowhere"], "--python /nowhere: no such program"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(capsys, arguments, message):
    assert main(["parity", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 1
