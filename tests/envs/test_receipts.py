"""An engine that promises completion receipts is held to it."""

import dataclasses

import pytest
import torch

from benchmark_app.envs.receipts import RECEIPT_VERSION, CompletionToken

from .doubles import Glider, GliderEnv, nan_in


def receipt(sequence, producer="glider", version=RECEIPT_VERSION):
    return CompletionToken(version, producer, sequence)


def promised(*receipts):
    backend = Glider(3)
    backend.capabilities = dataclasses.replace(Glider.capabilities, devices=("cpu", "cuda"), completion_receipts=True)
    backend.receipts = list(receipts)
    env = GliderEnv(3, backend=backend)
    env.init_state()
    return env


def step(env):
    return env.step(torch.zeros(3, 1))


def test_a_good_receipt_is_published_with_every_step_and_last():
    env = promised(receipt(0), receipt(5))
    assert env.produces_completion_receipts is True
    assert "completion" not in env.state.info
    first, second = step(env), step(env)
    assert first.info["completion"] == receipt(0)
    assert second.info["completion"] == receipt(5)
    assert list(second.info)[-1] == "completion"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "promised a completion receipt and gave None"),
        (["done"], "promised a completion receipt and gave 'done'"),
        ([receipt(4)], "stale completion receipt: sequence 4, the last was 4"),
        ([receipt(3)], "stale completion receipt: sequence 3, the last was 4"),
        ([receipt(5, producer="kite")], "completion receipt of 'kite', expected 'glider'"),
        ([receipt(5, version=RECEIPT_VERSION + 1)], "completion receipt of version 2, expected 1"),
    ],
)
def test_a_receipt_that_is_not_this_steps_fails_it_and_no_older_one_stays(given, said):
    env = promised(receipt(4), *given)
    first = step(env)
    with pytest.raises(RuntimeError, match=said):
        step(env)
    assert "completion" not in env.state.info
    assert first.info["completion"] == receipt(4), "the state the caller holds is the caller's"


def test_a_step_that_fails_otherwise_leaves_no_older_receipt_either():
    env = promised(receipt(0), receipt(1), receipt(2))
    step(env)
    env.spoil = {"reward": nan_in(0)}
    with pytest.raises(ValueError, match="reward not finite"):
        step(env)
    assert "completion" not in env.state.info


def test_the_first_receipt_may_be_of_another_version_no_more_than_any():
    with pytest.raises(RuntimeError, match="version 7"):
        step(promised(receipt(0, version=7)))


def test_an_engine_that_promises_none_is_not_asked():
    env = GliderEnv(3)
    env.init_state()
    env.backend.receipt = lambda: pytest.fail("asked for a receipt")
    assert env.produces_completion_receipts is False
    assert "completion" not in step(env).info


def test_a_plain_receipt_waits_for_nothing_and_refuses_another_version():
    assert receipt(0).wait_before_read() is None
    with pytest.raises(RuntimeError, match="version 2"):
        receipt(0, version=2).wait_before_read()


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ((1, "glider", -1), ValueError, "sequence=-1: must not be negative"),
        ((1, "glider", True), TypeError, "sequence: expected int, got True"),
        ((1, 7, 0), TypeError, "producer_id: expected str, got 7"),
        (("1", "glider", 0), TypeError, "version: expected int, got '1'"),
    ],
)
def test_a_receipt_that_says_nothing_is_not_made(fields, error, said):
    with pytest.raises(error, match=said):
        CompletionToken(*fields)


def test_a_receipt_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        receipt(0).sequence = 9
