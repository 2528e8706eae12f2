"""The contract on the real task: a real engine, real episodes, every library in turn."""

from pathlib import Path

import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg
from framework_cases import Hooks, parameters, policy_of, small_agent, small_sac, train, translation_of

from benchmark_app.envs.make import make_env
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.frameworks.agent import SACAgent

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def cartpole() -> TorchEnv:
    env = make_env(Cfg(episode_length_s=0.2), "newton_mjwarp", 8)
    yield env
    env.close()


def run(name: str, folder: Path, env: TorchEnv, seed: int, **settings: object) -> tuple[Path, object, Hooks]:
    env.seed(seed)
    hooks = Hooks(env)
    agent = small_agent(iterations=3, rollout=16, **settings)
    saved, learner = train(name, folder, hooks=hooks, agent=agent, seed=seed)
    return saved, learner, hooks


def test_trains_and_plays(name: str, tmp_path: Path, cartpole: TorchEnv) -> None:
    saved, learner, hooks = run(name, tmp_path, cartpole, 1)
    assert hooks.calls == [*["step"] * 16, "rollout", "iteration"] * 3
    episodes = cartpole.drain_episodes()
    assert len(episodes) > 8
    assert episodes.lengths.max() == Cfg(episode_length_s=0.2).max_episode_steps
    obs = cartpole.state.obs
    actions = policy_of(name, cartpole, small_agent(), saved)(obs)
    torch.testing.assert_close(actions, learner.mean_actions(obs).detach())
    cartpole.step(actions)


def test_repeats_bitwise(name: str, tmp_path: Path, cartpole: TorchEnv) -> None:
    first, second, other = (
        parameters(run(name, tmp_path / str(index), cartpole, seed)[1]) for index, seed in enumerate((0, 0, 1))
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_all_libraries_see_the_same_first_rollout(tmp_path: Path, cartpole: TorchEnv) -> None:
    """One seed: the same networks, the same action noise, the same episodes."""
    from framework_cases import CASES

    found = {}
    for case in CASES:
        cartpole.seed(4)
        hooks, seen = Hooks(cartpole), []
        step = hooks.env_step

        def note(actions: torch.Tensor, step=step, seen=seen) -> object:
            seen.append(actions.clone())
            return step(actions)

        hooks.env_step = note
        train(case, tmp_path / case, hooks=hooks, agent=small_agent(iterations=1, rollout=16), seed=4)
        found[case] = torch.stack(seen)
    first = found.pop(next(iter(found)))
    for actions in found.values():
        torch.testing.assert_close(actions, first, atol=1e-5, rtol=0)


def test_sac_trains_and_plays(sac_name: str, tmp_path: Path, cartpole: TorchEnv) -> None:
    rows = {row.parameter: row for row in translation_of(sac_name).mapping(SACAgent())}
    agent = small_sac(timeout_bootstrap="exact" if rows["timeout_bootstrap"].quality == "exact" else "stock")
    cartpole.seed(2)
    saved, learner = train(sac_name, tmp_path, hooks=Hooks(cartpole), agent=agent)
    obs = cartpole.state.obs
    actions = policy_of(sac_name, cartpole, agent, saved)(obs)
    torch.testing.assert_close(actions, learner.mean_actions(obs).detach())
    assert actions.abs().max() <= 1.0
