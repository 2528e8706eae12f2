"""Going on from a checkpoint: what is restored, what is not, and what is refused."""

from pathlib import Path

import pytest
import torch
from framework_cases import Hooks, PointEnv, build, parameters, small_agent, train

from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.base import CheckpointRefused


def state_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """The moments of Adam, in the order of its parameters."""
    values = [optimizer.state[p] for group in optimizer.param_groups for p in group["params"]]
    return [state[key] for state in values for key in ("exp_avg", "exp_avg_sq")]


@pytest.mark.parametrize("settings", [{}, {"normalize_observations": True}])
def test_networks_optimizer_and_learning_rate_are_restored(name: str, tmp_path: Path, settings: dict) -> None:
    agent = small_agent(iterations=3, learning_rate=2e-3, **settings)
    saved, first = train(name, tmp_path / "first", env=PointEnv(critic=True), agent=agent)
    second = build(name, tmp_path / "second", hooks=Hooks(PointEnv(critic=True)), agent=agent, seed=9, resume=saved)
    assert all(torch.equal(a, b) for a, b in zip(parameters(first), parameters(second), strict=True))
    for one, other in zip(first.optimizers, second.optimizers, strict=True):
        assert one.param_groups[0]["lr"] == other.param_groups[0]["lr"]
        assert all(torch.equal(a, b) for a, b in zip(state_of(one), state_of(other), strict=True))
    obs = {"policy": torch.randn(5, 2), "critic": torch.randn(5, 3)}
    with torch.no_grad():
        assert torch.equal(first.mean_actions(obs), second.mean_actions(obs))
        assert torch.equal(first.values(obs), second.values(obs))


def test_the_learning_rate_goes_on_from_where_it_was(name: str, tmp_path: Path) -> None:
    """A library that keeps its own copy of the rate would start again from the configured one."""
    agent = small_agent(iterations=4, desired_kl=1e-6, learning_rate=5e-3)
    saved, first = train(name, tmp_path / "first", agent=agent)
    rate = first.optimizers[0].param_groups[0]["lr"]
    assert rate < 5e-3 / 2
    resumed = build(name, tmp_path / "second", hooks=Hooks(PointEnv()), agent=agent, resume=saved)
    seen: list[float] = []
    resumed.optimizers[0].register_step_post_hook(lambda optimizer, *_: seen.append(optimizer.param_groups[0]["lr"]))
    resumed.learn()
    resumed.close()
    assert seen[0] <= rate * 1.5 + 1e-12


def test_training_goes_on_for_the_iterations_asked_for(name: str, tmp_path: Path) -> None:
    saved, first = train(name, tmp_path / "first", agent=small_agent(iterations=3))
    hooks = Hooks(PointEnv())
    again, second = train(name, tmp_path / "second", hooks=hooks, agent=small_agent(iterations=2), resume=saved)
    assert hooks.calls.count("iteration") == 2
    assert hooks.calls.count("step") == 16
    assert not all(torch.equal(a, b) for a, b in zip(parameters(first), parameters(second), strict=True))
    third = build(name, tmp_path / "third", hooks=Hooks(PointEnv()), resume=again)
    assert all(torch.equal(a, b) for a, b in zip(parameters(second), parameters(third), strict=True))


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.95])
def test_a_damaged_checkpoint_is_refused(name: str, tmp_path: Path, kept: float) -> None:
    saved, _ = train(name, tmp_path)
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(CheckpointRefused) as refused:
        build(name, tmp_path / "second", hooks=Hooks(PointEnv()), resume=saved)
    assert str(saved) in str(refused.value)


@pytest.mark.parametrize(
    ("agent", "sizes"),
    [
        (small_agent(hidden_layers=[8, 4]), {}),
        (small_agent(normalize_observations=True), {}),
        (small_agent(), {"obs_dim": 4}),
        (small_agent(), {"actions": 3}),
        (small_agent(), {"critic": True}),
    ],
)
def test_another_network_is_refused(name: str, tmp_path: Path, agent: Agent, sizes: dict) -> None:
    saved, _ = train(name, tmp_path)
    with pytest.raises(CheckpointRefused) as refused:
        build(name, tmp_path / "second", hooks=Hooks(PointEnv(**sizes)), agent=agent, resume=saved)
    assert str(saved) in str(refused.value)
    assert "\n" not in str(refused.value)
