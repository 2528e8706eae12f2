"""Time limits: the return of a cut-off episode counts the value of where it was cut off, and nothing leaks past it."""

from pathlib import Path

import pytest
import torch
from framework_cases import CASES, DecayEnv, Hooks, PointEnv, small_agent, train

from benchmark_app.frameworks.base import Learner

GAMMA, LAM = 0.97, 0.9


def reference_returns(env: PointEnv, learner: Learner, rows: range) -> tuple[torch.Tensor, torch.Tensor]:
    """GAE as in Schulman et al. 2016, row by row and step by step, from the environment's own notes."""
    returns, values = torch.zeros(len(rows), env.num_envs), torch.zeros(len(rows), env.num_envs)
    with torch.no_grad():
        observed = [learner.values(env.observed[t]) for t in range(rows.start, rows.stop + 1)]
        final = [learner.values(env.states[t].final_observation or env.observed[t]) for t in rows]
    for row in range(env.num_envs):
        advantage = 0.0
        for index in reversed(range(len(rows))):
            state = env.states[rows[index]]
            ended = bool(state.terminated[row] | state.truncated[row])
            if state.terminated[row]:
                following = 0.0
            elif state.truncated[row]:
                following = final[index][row].item()
            else:
                following = observed[index + 1][row].item()
            value = observed[index][row].item()
            delta = state.reward[row].item() + GAMMA * following - value
            advantage = delta + (0.0 if ended else GAMMA * LAM * advantage)
            returns[index, row], values[index, row] = advantage + value, value
    return returns, values


def collect(
    name: str, folder: Path, env: PointEnv, timeout_bootstrap: str, prepare=lambda learner: None
) -> list[tuple[dict[str, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]]:
    """Per iteration, what the library stored and what the reference expects with the critic of that moment."""
    found: list[dict[str, torch.Tensor]] = []
    expected: list[tuple[torch.Tensor, torch.Tensor]] = []
    learners: list[Learner] = []
    hooks = Hooks(env)

    def expect() -> None:
        start = 16 * len(expected)
        expected.append(reference_returns(env, learners[0], range(start, start + 16)))

    def prepare_and_keep(learner: Learner) -> None:
        learners.append(learner)
        prepare(learner)

    hooks.on_rollout = expect
    hooks.on_iteration = lambda: found.append(learners[0].rollout())
    agent = small_agent(
        iterations=3, rollout=16, gamma=GAMMA, lam=LAM, timeout_bootstrap=timeout_bootstrap, activation="relu"
    )
    train(name, folder, agent=agent, hooks=hooks, prepare=prepare_and_keep)
    return list(zip(found, expected, strict=True))


@pytest.mark.parametrize("critic", [False, True])
def test_exact_returns_and_advantages_equal_the_reference(name: str, tmp_path: Path, critic: bool) -> None:
    env = PointEnv(64, max_steps=5, critic=critic)
    for stored, (returns, values) in collect(name, tmp_path, env, "exact"):
        advantages = returns - values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        torch.testing.assert_close(stored["values"], values, atol=1e-5, rtol=0)
        torch.testing.assert_close(stored["returns"], returns, atol=1e-4, rtol=0)
        torch.testing.assert_close(stored["advantages"], advantages, atol=1e-4, rtol=0)
    assert any(state.terminated.any() for state in env.states)
    assert any(state.truncated.any() for state in env.states)


def know_the_value(learner: Learner) -> None:
    """Make the critic compute V(x) = 0.9 x / (1 - 0.9 gamma) for x > 0, through its rectified layers."""
    with torch.no_grad():
        layers = [value for value in learner.critic.parameters() if value.ndim == 2]
        for value in learner.critic.parameters():
            value.zero_()
        for layer in layers:
            layer[0, 0] = 1.0
        layers[-1][0, 0] = 0.9 / (1.0 - 0.9 * GAMMA)


def test_exact_reproduces_a_known_value_function_and_stock_does_what_the_library_does(
    name: str, tmp_path: Path
) -> None:
    errors = {}
    for choice in ("exact", "stock"):
        env = DecayEnv(16, max_steps=5)
        stored, _ = collect(name, tmp_path / choice, env, choice, prepare=know_the_value)[0]
        known = 0.9 / (1.0 - 0.9 * GAMMA) * torch.stack([obs["policy"][:, 0] for obs in env.observed[:16]])
        errors[choice] = (stored["returns"] - known).abs().max().item()
    assert errors["exact"] < 1e-4
    assert errors["stock"] < 1e-4 if CASES[name].stock_is_exact else errors["stock"] > 0.1
