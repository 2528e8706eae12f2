"""The pendulum task: its numbers, and its physics against equations solved without the engine."""

import math

import mujoco
import numpy as np
import pytest
import torch
from benchmark_app.tasks.pendulum import Cfg
from scipy.integrate import solve_ivp

from benchmark_app.envs.make import make_env
from tests.conftest import ROOT

DT = 0.05
ASSETS = ROOT / "tasks" / "pendulum" / "assets"


def make(num_envs=1, **settings):
    env = make_env(Cfg(**settings), "newton_mjwarp", num_envs)
    env.set_reporting(True)
    return env


def put(env, angles, velocities):
    """Start the rows in states of our choice."""
    env.init_state()
    everywhere = torch.ones(env.num_envs, dtype=torch.bool)
    env.backend.reset_rows(everywhere, torch.tensor(angles).unsqueeze(1), torch.tensor(velocities).unsqueeze(1))
    return env


def act(env, *values):
    return env.step(torch.tensor(values).unsqueeze(1))


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert (cfg.physics_dt, cfg.decimation, cfg.max_episode_steps) == (0.01, 5, 200)
    assert cfg.control_dt == pytest.approx(DT)
    assert cfg.max_torque == 2.0
    assert cfg.problems() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_torque": 0.0}, "max_torque=0.0"),
        ({"upright_angle": 0.0}, "upright_angle=0.0"),
        ({"upright_angle": 3.2}, "upright_angle=3.2"),
        ({"initial_angle": -0.1}, "initial_angle=-0.1"),
        ({"initial_velocity": -0.1}, "initial_velocity=-0.1"),
        ({"upright_time": -1.0}, "upright_time=-1.0"),
        ({"upright_time": 10.5}, "upright_time=10.5"),
        ({"episode_length_s": 1.0}, "upright_time=2.0"),
        ({"episode_length_s": 0.02, "upright_time": 0.0}, "episode_length_s=0.02"),
        ({"decimation": 0}, "decimation=0"),
    ],
)
def test_settings_that_cannot_work_are_named(change, said):
    problems = Cfg(**change).problems()
    assert len(problems) == 1
    assert problems[0].startswith(said + ": must")


def test_shortened_episodes_ask_for_no_longer_a_time_upright_than_they_last():
    short = Cfg().shortened(12)
    assert (short.max_episode_steps, short.problems()) == (12, [])


def test_conventions_name_what_is_seen_and_done():
    ours = Cfg().conventions()
    assert (ours["control_rate_hz"], ours["controller"], ours["robot_type"]) == (20.0, "effort", "pendulum")
    assert [entry["name"] for entry in ours["observations"]["policy"]] == ["angle_cos", "angle_sin", "velocity"]
    assert [(entry["name"], entry["unit"]) for entry in ours["actions"]] == [("torque", "2.0 N·m")]
    assert ours["terminates"].startswith("never")


def test_the_rod_is_a_thin_uniform_one_of_a_metre_and_a_kilogram():
    model = mujoco.MjModel.from_xml_path(str(ASSETS / "pendulum.xml"))
    rod = model.body("rod").id
    assert model.body_mass[rod] == 1.0
    assert model.body_ipos[rod].tolist() == [0.0, 0.0, 0.5]
    assert model.body_inertia[rod, :2] == pytest.approx(1 / 12, rel=1e-4)
    assert (model.nv, model.ngeom, model.jnt_limited.any(), model.dof_damping.any()) == (1, 2, False, False)


def test_the_motor_cannot_hold_half_of_what_gravity_pulls_with():
    assert Cfg().max_torque < 9.81 * 0.5 / 2


@pytest.mark.engine
def test_the_physics_agrees_with_the_textbook_equation():
    actions = np.sin(np.arange(20) / 3.0)

    def rate(_, state, torque):
        return [state[1], (9.81 * 0.5 * math.sin(state[0]) + torque) * 3.0]

    state, expected = [2.5, -0.5], []
    for action in actions:
        state = solve_ivp(rate, (0.0, DT), state, args=(2.0 * action,), rtol=1e-9, atol=1e-9).y[:, -1]
        expected.append([math.cos(state[0]), math.sin(state[0]), state[1]])
    env = put(make(physics_dt=DT / 200, decimation=200), [2.5], [-0.5])
    seen = [act(env, float(action)).obs["policy"][0].tolist() for action in actions]
    assert np.abs(np.array(seen) - expected).max() < 0.01
    coarse = put(make(), [2.5], [-0.5])
    seen = [act(coarse, float(action)).obs["policy"][0].tolist() for action in actions]
    assert np.abs(np.array(seen) - expected).max() < 0.2  # first order in time


@pytest.mark.engine
def test_the_torque_is_the_clamped_action_times_two():
    env = put(make(5), [0.0] * 5, [0.0] * 5)
    velocity = act(env, 0.5, 1.0, 7.0, -1.0, -7.0).obs["policy"][:, 2]
    assert env.control[:, 0].tolist() == [1.0, 2.0, 2.0, -2.0, -2.0]
    assert velocity[1] == velocity[2] == -velocity[3] == -velocity[4]
    assert velocity[1] == pytest.approx(2.0 * DT * 3.0, rel=0.05)


@pytest.mark.engine
def test_the_reward_is_the_sum_of_its_terms_computed_by_hand():
    env = put(make(3), [0.4, 3.0, -2.0 + 4 * math.pi], [1.5, -2.0, 0.3])
    state = act(env, 0.1, -1.0, 0.5)
    cos, sin, velocity = state.obs["policy"].double().numpy().T
    angle, torque = np.arctan2(sin, cos), 2.0 * np.array([0.1, -1.0, 0.5])
    assert np.abs(angle).max() < math.pi
    terms = {"angle": -DT * angle**2, "velocity": -0.1 * DT * velocity**2, "torque": -0.001 * DT * torque**2}
    assert list(state.info["reward_terms"]) == list(terms)
    for name, expected in terms.items():
        assert state.info["reward_terms"][name].tolist() == pytest.approx(expected, rel=1e-4)
    assert state.reward.tolist() == pytest.approx(sum(terms.values()), rel=1e-4)


@pytest.mark.engine
def test_episodes_start_anywhere_and_run_to_the_time_limit():
    env = make(256, episode_length_s=3 * DT, upright_time=DT)
    start = env.init_state().obs["policy"]
    angles, velocities = torch.atan2(start[:, 1], start[:, 0]), start[:, 2]
    for values, highest in ((angles, math.pi), (velocities, 1.0)):
        assert values.abs().max() <= highest + 1e-6
        assert values.max() > 0.95 * highest
        assert values.min() < -0.95 * highest
    for last in (False, False, True):
        state = env.step(torch.zeros(256, 1))
        assert state.truncated.tolist() == [last] * 256
        assert not state.terminated.any()


@pytest.mark.engine
def test_success_is_to_have_been_upright_for_the_stated_time_up_to_now():
    """Row 0 stays up; row 1 comes up too late; row 2 falls at the end; row 3 never is."""
    env = make(4, upright_time=5 * DT, episode_length_s=8 * DT)
    upright, fallen = 0.19, 0.21
    paths = [[upright] * 8, [fallen] * 4 + [upright] * 4, [upright] * 7 + [fallen], [fallen] * 8]
    seen = []
    env.init_state()
    for step in range(8):
        # So slow that nothing moves within a step.
        angles = torch.tensor([[path[step]] for path in paths])
        env.backend.reset_rows(torch.ones(4, dtype=torch.bool), angles, torch.zeros(4, 1))
        hold = -9.81 * 0.5 * torch.sin(angles) / 2.0
        state = env.step(hold)
        seen.append(state.info["is_success"].tolist())
    assert [row[0] for row in seen] == [False] * 4 + [True] * 4
    assert [row[2] for row in seen] == [False] * 4 + [True] * 3 + [False]
    assert not any(row[1] or row[3] for row in seen)
    episodes = env.drain_episodes()
    assert episodes.success.tolist() == [True, False, False, False]
    came_up = episodes.metrics["swing_up_time_s"]
    assert came_up[:2].tolist() == pytest.approx([0.0, 4 * DT])
    assert came_up[2:].isnan().all()
    assert episodes.metrics["angle_error_rad"].tolist() == pytest.approx([0.19, 0.19, 0.21, 0.21], abs=1e-3)


@pytest.mark.engine
def test_a_rod_that_lies_frozen_upright_does_not_become_a_success_by_waiting():
    env = make(1, upright_time=3 * DT, episode_length_s=3 * DT)
    env.set_autoreset(False)
    put(env, [0.3], [0.0])
    seen = [bool(act(env, 0.0).info["is_success"][0])]
    env.backend.reset_rows(torch.ones(1, dtype=torch.bool), torch.zeros(1, 1), torch.zeros(1, 1))
    seen += [bool(act(env, 0.0).info["is_success"][0]) for _ in range(9)]
    assert seen == [False] * 10


def swing(obs):
    """A controller by hand: pump energy until there is enough, then balance."""
    cos, sin, velocity = obs["policy"].unbind(1)
    missing = 9.81 * 0.5 * (1.0 - cos) - velocity**2 / 6.0
    balance = -(10.0 * sin + 3.0 * velocity) / 2.0
    return torch.where(cos > 0.9, balance, torch.sign(velocity) * missing).clamp(-1, 1).unsqueeze(1)


@pytest.mark.engine
def test_a_controller_by_hand_swings_it_up_in_the_same_episodes_for_any_number_of_rows():
    found = []
    for num_envs in (1, 4):
        env = make(num_envs)
        env.seed_episodes(11)
        obs, _ = env.reset()
        for _ in range(4 // num_envs * env.cfg.max_episode_steps):
            obs = env.step(swing(obs)).obs
        done = env.drain_episodes()
        assert done.success.all()
        order = done.index.argsort()
        found.append((done.index[order].tolist(), done.returns[order].tolist()))
    assert found[0] == found[1]
    assert found[0][0] == [0, 1, 2, 3]
