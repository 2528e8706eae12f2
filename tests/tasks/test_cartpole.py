"""The cartpole task: its numbers, and its physics against equations solved without the engine."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg, load_env

from benchmark_app.envs.make import make_env

DT = 1 / 60
CART, POLE, HALF, INERTIA, DAMPING = 1.0, 0.2, 0.5, 0.0167, 10.0


def make(num_envs=2, **settings):
    return make_env(Cfg(**settings), "newton_mjwarp", num_envs)


def put(env, pole_angle=0.0, pole_velocity=0.0, cart_position=0.0, cart_velocity=0.0):
    """Start every row in a state of our choice."""
    env.init_state()
    n = env.num_envs
    env.backend.reset_rows(
        torch.ones(n, dtype=torch.bool),
        torch.tensor([[cart_position, pole_angle]]).repeat(n, 1),
        torch.tensor([[cart_velocity, pole_velocity]]).repeat(n, 1),
    )
    return env


def act(env, *values):
    return env.step(torch.tensor(values).unsqueeze(1))


def integrate(state, forces, substeps=400):
    """Cart and pole by their textbook equations, fourth order Runge-Kutta in double precision.

    Angle from upright, positive towards +x; `state` is cart position, angle and their velocities.
    """
    about_hinge = INERTIA + POLE * HALF**2

    def rate(s, force):
        _, angle, speed, spin = s
        mass = np.array([[CART + POLE, POLE * HALF * math.cos(angle)], [POLE * HALF * math.cos(angle), about_hinge]])
        load = np.array(
            [
                force - DAMPING * speed + POLE * HALF * math.sin(angle) * spin**2,
                POLE * 9.81 * HALF * math.sin(angle),
            ]
        )
        return np.array([speed, spin, *np.linalg.solve(mass, load)])

    h = DT / substeps
    found = []
    for force in forces:
        for _ in range(substeps):
            k1 = rate(state, force)
            k2 = rate(state + h / 2 * k1, force)
            k3 = rate(state + h / 2 * k2, force)
            k4 = rate(state + h * k3, force)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(state)
    return np.array(found)


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert cfg.physics_dt == 1 / 120
    assert cfg.decimation == 2
    assert cfg.max_episode_steps == 300
    assert cfg.max_effort == 100.0
    assert cfg.max_cart_position == 3.0
    assert cfg.max_pole_angle == math.pi / 2
    assert cfg.problems() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_effort": 0.0}, "max_effort=0.0"),
        ({"max_cart_position": 5.0}, "max_cart_position=5.0"),
        ({"max_pole_angle": -1.0}, "max_pole_angle=-1.0"),
        ({"initial_cart_position": 3.5}, "initial_cart_position=3.5"),
        ({"initial_pole_angle": 2.0}, "initial_pole_angle=2.0"),
        ({"initial_pole_velocity": -0.1}, "initial_pole_velocity=-0.1"),
        ({"decimation": 0}, "decimation=0"),
    ],
)
def test_settings_that_cannot_work_are_named(change, said):
    problems = dataclasses.replace(Cfg(), **change).problems()
    assert len(problems) == 1
    assert problems[0].startswith(said + ": must")
    with pytest.raises(ValueError, match=f"task.{said}"):
        make_env(Cfg(**change), "newton_mjwarp", 2)


def test_conventions_say_what_the_task_does_and_where_it_differs():
    ours, theirs = Cfg().conventions(), Cfg(max_pole_angle=None).conventions()
    assert ours["control_rate_hz"] == 60.0
    names = [entry["name"] for entry in ours["observations"]["policy"]]
    assert names == ["pole_angle", "pole_velocity", "cart_position", "cart_velocity"]
    assert [entry["unit"] for entry in ours["observations"]["policy"]] == ["rad", "rad/s", "m", "m/s"]
    assert [entry["name"] for entry in ours["actions"]] == ["cart_force"]
    assert (ours["robot_type"], ours["controller"], ours["semantics"]) == ("cartpole", "effort", "cartpole-effort-v1")
    assert "pole angle" in ours["terminates"]
    assert "pole angle" not in theirs["terminates"]
    assert "cart's position only" in str(ours["differs_from"])


@pytest.mark.engine
def test_the_physics_agrees_with_the_textbook_equations():
    actions = np.sin(np.arange(30) / 3.0) * 0.4
    env = put(make(), pole_angle=0.3, pole_velocity=-0.5, cart_position=-0.4, cart_velocity=0.2)
    seen = [act(env, float(action), float(action)).obs["policy"][0].tolist() for action in actions]
    expected = integrate(np.array([-0.4, 0.3, 0.2, -0.5]), 100.0 * actions)[:, [1, 3, 0, 2]]
    # First order in time: a step of 1/120 s leaves a few per cent of what happens in half a second.
    assert np.abs(np.array(seen) - expected).max(0) == pytest.approx([0, 0, 0, 0], abs=0.25)
    fine = put(
        make(physics_dt=1 / 4800, decimation=80),
        pole_angle=0.3,
        pole_velocity=-0.5,
        cart_position=-0.4,
        cart_velocity=0.2,
    )
    seen = [act(fine, float(action), float(action)).obs["policy"][0].tolist() for action in actions]
    assert np.abs(np.array(seen) - expected).max(0) == pytest.approx([0, 0, 0, 0], abs=0.01)


@pytest.mark.engine
def test_the_force_is_the_clamped_action_times_a_hundred_newtons_on_the_cart_alone():
    env = put(make(5))
    velocity = act(env, 0.5, 1.0, 7.0, -1.0, -7.0).obs["policy"][:, 3]
    assert velocity[1] == velocity[2] == -velocity[3] == -velocity[4]
    assert env.control.tolist() == [[50.0, 0.0], [100.0, 0.0], [100.0, 0.0], [-100.0, 0.0], [-100.0, 0.0]]
    # m·dv/dt = F - 10·v for a cart whose pole hardly moved: the pole's mass counts in part.
    assert velocity[1] == pytest.approx(100.0 * DT / (CART + POLE / 4), rel=0.15)


@pytest.mark.engine
def test_the_reward_of_a_state_computed_by_hand():
    env = put(make(), pole_angle=0.2, pole_velocity=1.5, cart_position=0.5, cart_velocity=-2.0)
    state = act(env, 0.1, 0.1)
    angle, spin, _, speed = state.obs["policy"][0].tolist()
    expected = [DT * term for term in (1.0, 0.0, -(angle**2), -0.01 * abs(speed), -0.005 * abs(spin))]
    assert env.terms[0].tolist() == pytest.approx(expected, rel=1e-5)
    assert state.reward[0] == pytest.approx(sum(expected), rel=1e-5)


@pytest.mark.engine
def test_terminating_costs_two_per_second_in_place_of_earning_one():
    env = put(make(), cart_position=3.2)
    state = act(env, 0.0, 0.0)
    assert state.terminated.all()
    assert env.terms[0, :2].tolist() == pytest.approx([0.0, -2.0 * DT])
    assert state.reward[0] == pytest.approx(-2.0 * DT, rel=1e-3)


@pytest.mark.engine
def test_the_metrics_are_the_distances_of_the_last_state():
    env = put(make(1, episode_length_s=2 * DT), pole_angle=-0.2, cart_position=-0.5)
    env.set_reporting(True)
    for _ in range(2):
        state = act(env, 0.0)
    angle, _, position, _ = state.final_observation["policy"][0].tolist()
    found = {name: float(values[0]) for name, values in env.drain_episodes().metrics.items()}
    assert found == pytest.approx({"final_pole_angle": -angle, "final_cart_distance": -position})
    assert {name: float(values[0]) for name, values in state.info["metrics"].items()} == found


@pytest.mark.engine
@pytest.mark.parametrize(
    ("start", "limit", "ends"),
    [
        ({"cart_position": 2.99}, math.pi / 2, False),
        ({"cart_position": 3.01}, math.pi / 2, True),
        ({"cart_position": -3.01}, math.pi / 2, True),
        ({"pole_angle": 1.5}, math.pi / 2, False),
        ({"pole_angle": 1.58}, math.pi / 2, True),
        ({"pole_angle": -1.58}, math.pi / 2, True),
        ({"pole_angle": 3.0}, None, False),
        ({"cart_position": 3.01}, None, True),
    ],
)
def test_where_an_episode_ends(start, limit, ends):
    env = put(make(1, max_pole_angle=limit), **start)
    assert bool(act(env, 0.0).terminated[0]) is ends


@pytest.mark.engine
@pytest.mark.parametrize(
    ("turned", "same"), [(3.0 + 2 * math.pi, 3.0), (-9.0, -9.0 + 2 * math.pi), (3.2, 3.2 - 2 * math.pi)]
)
def test_without_an_angle_limit_the_angle_is_wrapped_in_observation_and_reward(turned, same):
    one = act(put(make(1, max_pole_angle=None), pole_angle=turned), 0.0)
    two = act(put(make(1, max_pole_angle=None), pole_angle=same), 0.0)
    assert -math.pi <= one.obs["policy"][0, 0] < math.pi
    assert one.obs["policy"][0].tolist() == pytest.approx(two.obs["policy"][0].tolist(), abs=1e-4)
    assert one.reward[0] == pytest.approx(float(two.reward[0]), abs=1e-4)


@pytest.mark.engine
def test_episodes_start_inside_the_ranges_and_fill_them():
    env = make(512)
    start = env.init_state().obs["policy"]
    highest = torch.tensor([math.pi / 4, math.pi / 4, 1.0, 0.5])
    assert (start.abs() <= highest).all()
    assert (start.max(0).values > 0.95 * highest).all()
    assert (start.min(0).values < -0.95 * highest).all()
    assert start.mean(0).abs().max() < 0.1
    assert torch.corrcoef(start.T).fill_diagonal_(0).abs().max() < 0.2


@pytest.mark.engine
def test_success_is_reaching_the_time_limit():
    env = make(2, episode_length_s=DT * 3)
    put(env)
    env.backend.reset_rows(
        torch.tensor([False, True]), torch.tensor([[0.0, 0.0], [2.9, 0.0]]), torch.tensor([[0.0, 0.0], [9.0, 0.0]])
    )
    while len(episodes := env.drain_episodes()) < 1:
        act(env, 0.0, 0.0)
    assert (episodes.rows.tolist(), episodes.success.tolist(), episodes.lengths.tolist()) == ([1], [False], [1])
    for _ in range(2):
        act(env, 0.0, 0.0)
    episodes = env.drain_episodes()
    by_row = dict(
        zip(episodes.rows.tolist(), zip(episodes.success.tolist(), episodes.lengths.tolist(), strict=True), strict=True)
    )
    assert by_row[0] == (True, 3)


@pytest.mark.engine
def test_the_whole_recorded_step_equals_its_hooks_run_one_by_one():
    class Unrecorded(load_env()):
        """Inherits the hooks, not the promise that they can be recorded."""

    recorded = make(6)
    backend = make(6).backend
    unrecorded = Unrecorded(Cfg(), backend, 6)
    actions = torch.rand(120, 6, 1) * 2 - 1
    assert torch.equal(recorded.init_state().obs["policy"], unrecorded.init_state().obs["policy"])
    finished = 0
    for action in actions:
        one, two = recorded.step(action), unrecorded.step(action)
        assert torch.equal(one.obs["policy"], two.obs["policy"])
        assert torch.equal(one.reward, two.reward)
        assert torch.equal(one.terminated, two.terminated)
        assert torch.equal(one.info["steps"], two.info["steps"])
        finished += int(one.terminated.sum())
    assert finished > 10


def rollout(seed):
    env = make(16)
    env.seed(seed)
    states = [env.init_state()]
    generator = torch.Generator().manual_seed(0)
    states += [env.step(torch.rand(16, 1, generator=generator) * 2 - 1) for _ in range(150)]
    return torch.stack([state.obs["policy"] for state in states]), torch.stack([state.reward for state in states])


@pytest.mark.engine
def test_the_same_seed_is_bitwise_the_same_run_and_another_is_not():
    one, two, other = rollout(1), rollout(1), rollout(2)
    assert torch.equal(one[0], two[0])
    assert torch.equal(one[1], two[1])
    assert not torch.equal(one[0], other[0])


def balance(obs):
    """A controller by hand, rough enough to fail at times."""
    return (obs["policy"] @ torch.tensor([[1.2], [0.2], [0.02], [0.05]])).clamp(-1, 1)


@pytest.mark.engine
def test_evaluation_episodes_are_bitwise_the_same_for_any_number_of_rows():
    found = []
    for num_envs in (1, 3, 8):
        env = make(num_envs, episode_length_s=1.0)
        env.seed_episodes(11)
        obs, _ = env.reset()
        episodes = {}
        while not episodes.keys() >= set(range(9)):
            obs = env.step(balance(obs)).obs
            done = env.drain_episodes()
            episodes |= dict(
                zip(done.index.tolist(), zip(done.returns.tolist(), done.lengths.tolist(), strict=True), strict=True)
            )
        found.append([episodes[index] for index in range(9)])
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 9


@pytest.mark.engine
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_nonfinite_action_is_blamed_on_the_actions_on_the_real_engine(bad):
    env = put(make(3))
    with pytest.raises(ValueError, match="actions not finite in row 1"):
        act(env, 0.0, bad, 0.0)
