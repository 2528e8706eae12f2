"""SAC in every library that has it: the same meaning of an iteration, exact transitions, one description."""

from dataclasses import fields
from pathlib import Path

import pytest
import torch
from framework_cases import Hooks, PointEnv, build, parameters, policy_of, small_sac, train, translation_of

from benchmark_app.frameworks.agent import SACAgent
from benchmark_app.frameworks.base import CheckpointRefused, Learner


def supports_exact(name: str) -> bool:
    rows = {row.parameter: row for row in translation_of(name).mapping(SACAgent())}
    return rows["timeout_bootstrap"].quality == "exact"


def sac_of(name: str, **settings: object) -> SACAgent:
    """A small agent, as exact as the library can be."""
    return small_sac(**{"timeout_bootstrap": "exact" if supports_exact(name) else "stock", **settings})


def test_iterations_steps_and_updates_mean_the_same(sac_name: str, tmp_path: Path) -> None:
    """Random actions for `learning_starts` control steps; from then on each is followed by its gradient steps."""
    hooks = Hooks(PointEnv())
    counts: dict[int, int] = {}

    def count(learner: Learner) -> None:
        for index, optimizer in enumerate(learner.optimizers):

            def seen(*_: object, index: int = index) -> None:
                assert hooks.calls[-1] == "rollout"
                counts[index] = counts.get(index, 0) + 1

            optimizer.register_step_post_hook(seen)

    agent = sac_of(sac_name, iterations=4, rollout=4, learning_starts=8, gradient_steps=3)
    train(sac_name, tmp_path, hooks=hooks, agent=agent, prepare=count)
    collecting = [*["step"] * 4, "iteration"]
    learning = [*["step", "rollout", "resumed"] * 3, "step", "rollout", "iteration"]
    assert hooks.calls == [*collecting * 2, *learning * 2]
    assert max(counts.values()) == 3 * 8


def test_actions_are_random_first_and_bounded_always(sac_name: str, tmp_path: Path) -> None:
    env = PointEnv(64, actions=2)
    train(sac_name, tmp_path, env=env, agent=sac_of(sac_name))
    actions = torch.stack(env.received)
    assert actions.abs().max() <= 1.0
    assert actions[:8].std() == pytest.approx(3**-0.5, rel=0.1)


def test_transitions_are_stored_as_they_were(sac_name: str, tmp_path: Path) -> None:
    """Where an episode ended, the next observation is the one it ended at; a time limit does not end the value."""
    env = PointEnv(64, max_steps=5)
    _, learner = train(sac_name, tmp_path, env=env, agent=sac_of(sac_name))
    stored = learner.rollout()
    steps = len(env.received)
    assert torch.equal(stored["actions"], torch.stack(env.received))
    assert torch.equal(stored["rewards"], torch.stack(env.rewarded))
    assert torch.equal(stored["obs"], torch.stack([obs["policy"] for obs in env.observed[:steps]]))
    for t, state in enumerate(env.states):
        done = state.terminated | state.truncated
        following = env.observed[t + 1]["policy"]
        assert torch.equal(stored["next_obs"][t][~done], following[~done])
        assert torch.equal(stored["terminated"][t].bool(), state.terminated)
        if supports_exact(sac_name) and bool(done.any()):
            assert torch.equal(stored["next_obs"][t][done], state.final_observation["policy"][done])
    assert any(state.terminated.any() for state in env.states)
    assert any(state.truncated.any() for state in env.states)


def test_learns_to_stand_where_the_reward_is(sac_name: str, tmp_path: Path) -> None:
    env = PointEnv(32, max_steps=10)
    agent = sac_of(sac_name, iterations=40, rollout=8, batch_size=64, hidden_layers=[16, 16], learning_rate=3e-3)
    saved, _ = train(sac_name, tmp_path, env=env, agent=agent)
    first, last = (torch.stack(part).mean() for part in (env.rewarded[:40], env.rewarded[-40:]))
    assert last > first + 0.2
    act = policy_of(sac_name, env, agent, saved)
    assert act({"policy": torch.tensor([[-1.0, 1.0], [1.0, 1.0]])})[:, 0].sign().tolist() == [1.0, -1.0]


def test_the_policy_is_the_squashed_mean_of_the_trained_actor(sac_name: str, tmp_path: Path) -> None:
    env = PointEnv(actions=2)
    saved, learner = train(sac_name, tmp_path, env=env, agent=sac_of(sac_name))
    act = policy_of(sac_name, env, sac_of(sac_name), saved)
    for batch in (1, 3, 200):
        obs = {"policy": torch.randn(batch, 2)}
        actions = act(obs)
        assert actions.shape == (batch, 2)
        assert actions.abs().max() <= 1.0
        assert not actions.requires_grad
        torch.testing.assert_close(actions, learner.mean_actions(obs).detach())


def test_the_same_seed_repeats_bitwise_and_another_does_not(sac_name: str, tmp_path: Path) -> None:
    runs = [
        parameters(train(sac_name, tmp_path / str(i), agent=sac_of(sac_name), seed=seed)[1])
        for i, seed in enumerate((0, 0, 3))
    ]
    assert all(torch.equal(a, b) for a, b in zip(runs[0], runs[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(runs[0], runs[2], strict=True))


def test_resuming_restores_networks_and_optimizers(sac_name: str, tmp_path: Path) -> None:
    agent = sac_of(sac_name)
    saved, first = train(sac_name, tmp_path / "first", agent=agent)
    hooks = Hooks(PointEnv())
    second = build(sac_name, tmp_path / "second", hooks=hooks, agent=agent, resume=saved)
    assert all(torch.equal(a, b) for a, b in zip(parameters(first), parameters(second), strict=True))
    for one, other in zip(first.optimizers, second.optimizers, strict=True):
        for left, right in zip(one.state.values(), other.state.values(), strict=True):
            assert torch.equal(left["exp_avg"], right["exp_avg"])
    second.learn()
    second.close()
    assert hooks.calls.count("iteration") == agent.iterations


def test_a_ppo_checkpoint_is_refused(sac_name: str, tmp_path: Path) -> None:
    saved, _ = train(sac_name, tmp_path)
    with pytest.raises(CheckpointRefused):
        policy_of(sac_name, PointEnv(), sac_of(sac_name), saved)
    with pytest.raises(CheckpointRefused):
        build(sac_name, tmp_path / "second", hooks=Hooks(PointEnv()), agent=sac_of(sac_name), resume=saved)


def test_all_libraries_have_the_same_networks(tmp_path: Path) -> None:
    """Counted from the live objects: actor, and both critics."""
    from framework_cases import CASES

    counts = {}
    for name in CASES:
        if "sac" in translation_of(name).ALGORITHMS:
            hooks = Hooks(PointEnv(actions=2))
            learner = build(name, tmp_path / name, hooks=hooks, agent=sac_of(name))
            learner.close()
            counts[name] = [sum(p.numel() for p in net.parameters()) for net in (learner.actor, learner.critic)]
    assert len({tuple(value) for value in counts.values()}) <= 1, counts


def test_the_description_is_exact_but_for_what_is_named(sac_name: str) -> None:
    rows = translation_of(sac_name).mapping(SACAgent())
    assert [row.parameter for row in rows] == [*(field.name for field in fields(SACAgent)), "seed"]
    assert {row.parameter for row in rows if row.quality == "unsupported"} <= {"timeout_bootstrap"}
