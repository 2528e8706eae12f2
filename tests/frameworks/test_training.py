"""The library's real loop under our hooks: what is called, what is stored, what is written, what is repeatable."""

from pathlib import Path

import pytest
import torch
from framework_cases import CASES, Hooks, PointEnv, build, parameters, policy_of, small_agent, train
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmark_app.frameworks.base import Learner, StopTraining
from benchmark_app.settings import NumericsCfg
from benchmark_app.workflows.device import apply_numerics


def equal(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_learns_to_stand_where_the_reward_is(name: str, tmp_path: Path) -> None:
    env = PointEnv(64, max_steps=10)
    agent = small_agent(iterations=30, rollout=10, epochs=4, minibatches=4, hidden_layers=[16, 16], entropy_coef=0.0)
    saved, _ = train(name, tmp_path, env=env, agent=agent)
    first, last = (torch.stack(part).mean() for part in (env.rewarded[:50], env.rewarded[-50:]))
    assert last > first + 0.2
    act = policy_of(name, env, agent, saved)
    positions = torch.tensor([[-1.0, 1.0], [1.0, 1.0]])
    assert act({"policy": positions})[:, 0].sign().tolist() == [1.0, -1.0]


def test_calls_the_hooks_in_order_for_exactly_the_budget(name: str, tmp_path: Path) -> None:
    hooks = Hooks(PointEnv())
    train(name, tmp_path, hooks=hooks, agent=small_agent(iterations=3))
    assert hooks.calls == ([*["step"] * 8, "rollout", "iteration"]) * 3
    assert len(hooks.env.received) == 24


def test_learns_only_between_rollout_ended_and_iteration_ended(name: str, tmp_path: Path) -> None:
    """Every gradient step, and the returns before them, fall into what is timed as learning."""
    hooks = Hooks(PointEnv())
    learners: list[Learner] = []
    steps: list[str] = []
    stored: list[torch.Tensor] = []

    def prepare(learner: Learner) -> None:
        learners.append(learner)
        learner.optimizers[0].register_step_post_hook(lambda *_: steps.append(hooks.calls[-1]))

    hooks.on_rollout = lambda: stored.append(learners[0].rollout()["returns"])
    hooks.on_iteration = lambda: stored.append(learners[0].rollout()["returns"])
    train(name, tmp_path, hooks=hooks, prepare=prepare, agent=small_agent(epochs=3, minibatches=4))
    assert steps == ["rollout"] * 3 * 4 * 2
    assert not torch.equal(stored[0], stored[1])
    untouched = torch.equal(stored[1], stored[2]) or not stored[2].any()  # sb3 clears its buffer for a new rollout
    assert untouched, "returns were computed before the hook"


def test_stores_and_sends_what_was_seen_and_done(name: str, tmp_path: Path) -> None:
    """No clipping on the way to the environment, no aliasing, no edit that reaches back into it."""
    env = PointEnv()
    hooks = Hooks(env)
    rollouts: list[dict[str, torch.Tensor]] = []
    learners: list[Learner] = []
    hooks.on_iteration = lambda: rollouts.append(learners[0].rollout())
    train(name, tmp_path, hooks=hooks, agent=small_agent(init_noise_std=3.0), prepare=learners.append)
    assert torch.stack(env.received).abs().max() > 1.0
    for index, rollout in enumerate(rollouts):
        rows = slice(8 * index, 8 * index + 8)
        assert torch.equal(rollout["actions"], torch.stack(env.received[rows]))
        assert torch.equal(rollout["obs"], torch.stack([obs["policy"] for obs in env.observed[rows]]))
        truncated = torch.stack([state.truncated for state in env.states[rows]])
        assert torch.equal(rollout["rewards"][~truncated], torch.stack(env.rewarded[rows])[~truncated])


def test_environment_stays_usable_after_training(name: str, tmp_path: Path) -> None:
    """A library that steps under inference mode must not leave the environment unable to go on outside it."""
    env = PointEnv()
    train(name, tmp_path, env=env)
    env.step(torch.zeros(8, 1))


def test_stopping_inside_a_rollout_saves_a_policy_that_plays(name: str, tmp_path: Path) -> None:
    hooks = Hooks(PointEnv(), stop_after=12)
    saved, _ = train(name, tmp_path, hooks=hooks)
    assert hooks.calls.count("step") == 12
    assert hooks.calls.count("iteration") == 1
    assert saved.stem == "policy"
    act = policy_of(name, hooks.env, small_agent(), saved)
    assert torch.isfinite(act(hooks.env.observed[-1])).all()


def test_stopping_before_the_first_step_saves_the_untrained_policy(name: str, tmp_path: Path) -> None:
    saved, _ = train(name, tmp_path, hooks=Hooks(PointEnv(), stop_after=0))
    assert saved.is_file()


def test_an_early_stop_at_an_iteration_boundary_ends_the_loop(name: str, tmp_path: Path) -> None:
    hooks = Hooks(PointEnv())

    def enough() -> None:
        if hooks.calls.count("iteration") == 2:
            raise StopTraining

    hooks.on_iteration = enough
    saved, _ = train(name, tmp_path, hooks=hooks, agent=small_agent(iterations=5))
    assert hooks.calls.count("iteration") == 2
    assert hooks.calls[-1] == "iteration"
    assert torch.isfinite(policy_of(name, hooks.env, small_agent(), saved)(hooks.env.observed[-1])).all()


def test_an_error_of_the_environment_passes_through(name: str, tmp_path: Path) -> None:
    class Broken(PointEnv):
        def step(self, actions: torch.Tensor) -> None:
            raise ArithmeticError("the pole fell off")

    with pytest.raises(ArithmeticError, match="the pole fell off"):
        train(name, tmp_path, env=Broken())


def test_one_environment_is_enough(name: str, tmp_path: Path) -> None:
    env = PointEnv(1, max_steps=3)
    train(name, tmp_path, env=env)
    assert len(env.received) == 16


def test_the_same_seed_repeats_bitwise_and_another_does_not(name: str, tmp_path: Path) -> None:
    runs = [parameters(train(name, tmp_path / str(i), seed=seed)[1]) for i, seed in enumerate((0, 0, 3, 4))]
    assert equal(runs[0], runs[1])
    assert not equal(runs[0], runs[2])
    assert not equal(runs[2], runs[3])


def test_writes_only_tensorboard_rows_one_per_iteration(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved, _ = train(name, tmp_path, agent=small_agent(iterations=3))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    events = [path for path in files if path.name.startswith("events.out.tfevents")]
    assert len(events) == 1
    assert events[0].is_relative_to(tmp_path / "logs")
    assert {path for path in files if path not in events} == {saved}
    log = EventAccumulator(str(events[0].parent)).Reload()
    losses = [tag for tag in log.Tags()["scalars"] if "loss" in tag.lower()]
    assert losses
    assert all(len(log.Scalars(tag)) == 3 for tag in losses)


def test_how_torch_computes_is_ours_to_say(name: str, tmp_path: Path) -> None:
    """A library may set threads, TF32 and precision when it is built; what we set then stays through training."""
    ours = NumericsCfg(matmul_precision="highest", cudnn_tf32=False, cudnn_benchmark=False)
    hooks = Hooks(PointEnv())
    learner = build(name, tmp_path, hooks=hooks)
    expected = apply_numerics(1, ours)
    seen: list[tuple[int, str, bool, bool, bool]] = []

    def look() -> None:
        seen.append((torch.get_num_threads(), torch.get_float32_matmul_precision(), *flags()))

    def flags() -> tuple[bool, bool, bool]:
        cudnn = torch.backends.cudnn
        return torch.backends.cuda.matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark

    hooks.on_rollout = hooks.on_iteration = look
    learner.learn()
    learner.close()
    look()
    assert set(seen) == {tuple(expected.values())}


def test_a_launchers_world_size_is_ignored(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    train(name, tmp_path)


def test_gradients_of_each_network_are_clipped(name: str, tmp_path: Path) -> None:
    norms: list[float] = []

    def prepare(learner: Learner) -> None:
        def measure(*_: object) -> None:
            for network in (learner.actor, learner.critic):
                norms.append(torch.cat([value.grad.flatten() for value in network.parameters()]).norm().item())

        learner.optimizers[0].register_step_post_hook(measure)

    train(name, tmp_path, agent=small_agent(max_grad_norm=0.01), prepare=prepare)
    assert max(norms[0::2]) == pytest.approx(0.01, rel=1e-3)
    assert max(norms[1::2]) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("critic", [False, True])
def test_all_libraries_start_from_the_same_networks_and_take_the_same_steps(tmp_path: Path, critic: bool) -> None:
    found = {}
    for case in CASES:
        start: list[torch.Tensor] = []
        steps: list[int] = []

        def prepare(learner: Learner, start: list[torch.Tensor] = start, steps: list[int] = steps) -> None:
            start.extend(sorted(parameters(learner), key=lambda tensor: (tensor.shape, tensor.flatten().tolist())))
            learner.optimizers[0].register_step_post_hook(lambda *_: steps.append(1))

        env = PointEnv(critic=critic, actions=2)
        _, learner = train(case, tmp_path / case, env=env, agent=small_agent(init_noise_std=0.7), prepare=prepare)
        counts = [sum(value.numel() for value in net.parameters()) for net in (learner.actor, learner.critic)]
        found[case] = (counts, len(steps), start)
    first = found.pop(next(iter(found)))
    for counts, steps_taken, start in found.values():
        assert (counts, steps_taken) == first[:2]
        assert equal(start, first[2])


@pytest.mark.parametrize("critic", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learning_rate": 1e-2},
        {"desired_kl": 1e-4},
        {"clip_value_loss": True, "clip": 0.05, "learning_rate": 1e-2},
        {"clip_value_loss": True, "clip": 0.01, "schedule": "fixed"},
        {"max_grad_norm": 0.05, "value_loss_coef": 0.3, "entropy_coef": 0.1},
        {"activation": "tanh", "gamma": 0.9, "lam": 0.5, "init_noise_std": 0.3},
    ],
)
def test_all_libraries_arrive_at_the_same_networks(tmp_path: Path, settings: dict[str, object], critic: bool) -> None:
    """One description, one algorithm: from one seed they do the same arithmetic, as long as shuffling cannot matter.

    With one minibatch it does not, and after one iteration the libraries have drawn the same random numbers.
    """
    agent = small_agent(iterations=1, rollout=16, epochs=10, minibatches=1, **settings)
    found = []
    for case in CASES:
        _, learner = train(case, tmp_path / case, env=PointEnv(16, critic=critic, actions=2), agent=agent)
        found.append(sorted(parameters(learner), key=lambda tensor: (tensor.shape, tensor.flatten().tolist())))
    for other in found[1:]:
        for expected, parameter in zip(found[0], other, strict=True):
            torch.testing.assert_close(parameter, expected, atol=1e-4, rtol=0)


def test_the_librarys_own_reward_curve_holds_no_bootstrap_values(name: str, tmp_path: Path) -> None:
    """Whatever is added to a reward at a time limit is for learning only; returns in TensorBoard stay the task's."""

    def value_everything_highly(learner: Learner) -> None:
        with torch.no_grad():
            list(learner.critic.parameters())[-1].fill_(1000.0)

    train(name, tmp_path, prepare=value_everything_highly)
    folder = next(tmp_path.rglob("events.out.tfevents*")).parent
    log = EventAccumulator(str(folder)).Reload()
    tags = [tag for tag in log.Tags()["scalars"] if "reward" in tag.lower() and "shaped" not in tag.lower()]
    rewards = [row.value for tag in tags for row in log.Scalars(tag)]
    assert rewards or name == "sb3"  # which logs episodes only where a monitor wraps the environment
    assert max(rewards, default=0.0) <= 5.0
