"""What ant and humanoid share, against a plain NumPy model: what is seen, rewarded, measured, and how it begins."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from benchmark_app.tasks import ant, humanoid
from scipy.spatial.transform import Rotation

from .puppet import Puppet

DT = 1 / 60
TARGET = np.array([1000.0, 0.0])
TERMS = ("progress", "alive", "up", "heading", "action", "energy", "joint_limit", "death")
NUMBERS = {  # weights of alive, action, energy, joint limit and death; threshold of the joint limit
    "ant": (0.5, 0.005, 0.05, 0.1, 2.0, 0.99),
    "humanoid": (2.0, 0.01, 0.005, 0.25, 1.0, 0.98),
}


@pytest.fixture(params=[ant, humanoid], ids=["ant", "humanoid"])
def robot(request):
    return request.param


def make(robot, num_envs=4, **settings):
    cfg, env_class = robot.Cfg(**settings), robot.load_env()
    env = env_class(cfg, Puppet(env_class.scene(cfg, num_envs)), num_envs)
    env.set_reporting(True)
    env.init_state()
    return env


def pose(env, row, *, x=0.0, y=0.0, z=1.0, turn=(0.0, 0.0, 0.0, 1.0)):
    """Have the next step take a row's torso to a place; upright unless told otherwise."""
    env.backend.then["root_pose"][row] = torch.tensor([x, y, z, *turn])


def anything(env, seed=0):
    """A state nobody would choose, the same for a seed: within and beyond joint limits, turned any way."""
    draw = np.random.default_rng(seed)
    n, joints = env.num_envs, len(env.backend.joint_names)
    rows = env.cfg.declaration.joints
    lower, upper = (np.array([getattr(row, end) for row in rows]) for end in ("lower", "upper"))
    turns = Rotation.random(n, draw).as_quat()
    turns[0] = Rotation.from_euler("z", 0.2).as_quat()  # one row upright, facing the target
    state = {
        "joint_pos": (lower + upper) / 2 + (upper - lower) / 2 * draw.uniform(-1.02, 1.02, (n, joints)),
        "joint_vel": draw.normal(0.0, 5.0, (n, joints)),
        "root_pose": np.c_[draw.uniform(-30, 300, n), draw.uniform(-50, 50, n), draw.uniform(0.9, 1.5, n), turns],
        "root_vel": draw.normal(0.0, 3.0, (n, 6)),
    }
    state["joint_pos"][1, 0] = lower[0]  # at its limit, wherever the draw put the others
    for name, part in env.backend.then.items():
        part.copy_(torch.tensor(state[name], dtype=torch.float32))
    return {name: part.double().numpy() for name, part in env.backend.then.items()}


def angle(value):
    return (value + math.pi) % (2 * math.pi) - math.pi


def seen(cfg, state, actions):
    """The observation, from its description."""
    position, turn = state["root_pose"][:, :3], Rotation.from_quat(state["root_pose"][:, 3:])
    to_target = TARGET - position[:, :2]
    roll, _, yaw = turn.as_euler("xyz").T
    rows = cfg.declaration.joints
    lower, upper = (np.array([getattr(row, end) for row in rows]) for end in ("lower", "upper"))
    ahead = turn.apply([1.0, 0.0, 0.0])[:, :2]
    return np.c_[
        position[:, 2],
        turn.inv().apply(state["root_vel"][:, :3]),
        turn.inv().apply(state["root_vel"][:, 3:]) * {"ant": 1.0, "humanoid": 0.25}[cfg.name],
        yaw,
        roll,
        angle(np.arctan2(to_target[:, 1], to_target[:, 0]) - yaw),
        turn.apply([0.0, 0.0, 1.0])[:, 2],
        (ahead * to_target).sum(1) / np.linalg.norm(to_target, axis=1),
        2 * (state["joint_pos"] - lower) / (upper - lower) - 1,
        state["joint_vel"] * {"ant": 0.2, "humanoid": 0.1}[cfg.name],
        actions,
    ]


def test_the_observation_is_that_of_a_plain_model(robot):
    env = make(robot, 16)
    actions = torch.rand(16, env.num_actions) * 2 - 1
    state = anything(env)
    found = env.step(actions).obs["policy"].double().numpy()
    expected = seen(env.cfg, state, actions.numpy())
    assert found.shape == expected.shape == (16, {"ant": 36, "humanoid": 75}[env.cfg.name])
    difference = np.abs(found - expected)
    difference[:, 7:10] = np.abs(angle(difference[:, 7:10]))  # the same angle may be told a whole turn apart
    assert difference.max() < 2e-5


def test_every_term_of_the_reward_is_that_of_a_plain_model_and_they_sum_up(robot):
    env = make(robot, 16)
    cfg = env.cfg
    alive, action, energy, limit, _, threshold = NUMBERS[cfg.name]
    actions = torch.rand(16, env.num_actions) * 2 - 1
    before, state = env.backend.root_pose[:, :2].double().numpy().copy(), anything(env)
    step = env.step(actions)
    found = {name: term.double().numpy() for name, term in step.info["reward_terms"].items()}
    view, joints = seen(cfg, state, actions.numpy()), env.num_actions
    up, heading, scaled = view[:, 10], view[:, 11], view[:, 12 : 12 + joints]
    share = np.array(cfg.gears) / max(cfg.gears)
    distances = [np.linalg.norm(TARGET - place, axis=1) for place in (before, state["root_pose"][:, :2])]
    into = np.maximum(0.0, (np.abs(scaled) - threshold) / (1 - threshold))
    expected = {
        "progress": distances[0] - distances[1],
        "alive": np.full(16, DT * alive),
        "up": DT * 0.1 * (up > 0.93),
        "heading": DT * 0.5 * np.minimum(heading / 0.8, 1.0),
        "action": -DT * action * (actions.numpy() ** 2).sum(1),
        "energy": -DT * energy * np.abs(actions.numpy() * state["joint_vel"] * share).sum(1),
        "joint_limit": -DT * limit * (into * share).sum(1),
        "death": np.zeros(16),
    }
    assert tuple(found) == tuple(expected) == TERMS
    for name, term in expected.items():
        assert found[name] == pytest.approx(term, rel=2e-4, abs=2e-6), name
    assert expected["up"].any()
    assert (expected["up"] == 0).any()
    assert expected["joint_limit"].min() < -1e-4
    assert step.reward.double().numpy() == pytest.approx(sum(found.values()), rel=1e-6)


def test_a_torso_below_the_limit_has_fallen_and_pays_for_it_once_in_place_of_being_alive(robot):
    env = make(robot)
    lowest, death = env.cfg.min_height, NUMBERS[env.cfg.name][4]
    assert lowest == {"ant": 0.31, "humanoid": 0.8}[env.cfg.name]
    for row, height in enumerate((lowest - 0.001, lowest + 0.001, 5.0, -5.0)):
        pose(env, row, z=height)
    step = env.step(torch.zeros(4, env.num_actions))
    assert step.terminated.tolist() == [True, False, False, True]
    assert step.info["reward_terms"]["death"].tolist() == [-death, 0.0, 0.0, -death]
    assert (step.info["reward_terms"]["alive"] > 0).tolist() == [False, True, True, False]
    # What does not depend on having fallen is paid all the same: it is upright and faces the target.
    others = (step.reward - step.info["reward_terms"]["joint_limit"])[0]
    assert others == pytest.approx(DT * 0.6 - death, rel=1e-5)


def test_an_action_is_clamped_before_it_drives_is_seen_and_is_paid_for(robot):
    env = make(robot)
    actions = torch.tensor([0.5, 1.0, 3.0, -3.0]).unsqueeze(1).repeat(1, env.num_actions)
    step = env.step(actions)
    largest = torch.tensor(env.cfg.gears) * {"ant": 0.5, "humanoid": 1.0}[env.cfg.name]
    assert torch.equal(env.control, torch.stack((largest / 2, largest, largest, -largest)))
    assert torch.equal(step.obs["policy"][:, -env.num_actions :], actions.clamp(-1.0, 1.0))
    paid = step.info["reward_terms"]["action"]
    assert paid[1] == paid[2] == paid[3] == pytest.approx(4.0 * paid[0].item())
    with pytest.raises(ValueError, match="actions"):
        env.step(torch.full((4, env.num_actions), float("nan")))


def test_a_slow_step_far_away_keeps_its_digits(robot):
    env = make(robot)
    for x in (500.0, 500.0 + 2.0**-10):  # both are exact in float32
        for row in range(4):
            pose(env, row, x=x, y=0.0 if row % 2 else 20.0)
        step = env.step(torch.zeros(4, env.num_actions))
    exact = [2.0**-10, (math.hypot(500, 20) - math.hypot(500 - 2.0**-10, 20))]
    assert step.info["reward_terms"]["progress"][[1, 0]].tolist() == pytest.approx(exact, rel=1e-5)


def test_an_episode_begins_upright_at_rest_above_the_origin_with_joints_near_the_default_pose(robot):
    env = make(robot, 400)
    rows, backend = env.cfg.declaration.joints, env.backend
    height = env.cfg.initial_height
    assert torch.equal(backend.root_pose, torch.tensor([[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0]]).repeat(400, 1))
    assert not backend.root_vel.any()
    for joint, (row, default) in enumerate(zip(rows, env.default_pose, strict=True)):
        drawn = backend.joint_pos[:, joint].double()
        lower, upper = max(default - 0.2, row.lower), min(default + 0.2, row.upper)
        assert lower - 1e-6 <= drawn.min() < lower + 0.01
        assert upper - 0.01 < drawn.max() <= upper + 1e-6
        assert 0.09 < backend.joint_vel[:, joint].abs().max() <= 0.1
    assert torch.unique(backend.joint_pos[:, -1]).numel() > 300
    assert not env.state.obs["policy"][:, -env.num_actions :].any()


def test_a_reset_forgets_the_last_action_of_its_rows_alone(robot):
    env = make(robot)
    pose(env, 0, z=0.0)
    step = env.step(torch.ones(4, env.num_actions))
    assert torch.equal(step.obs["policy"][:, -1], torch.tensor([0.0, 1.0, 1.0, 1.0]))
    assert step.final_observation["policy"][0, -1] == 1.0


def test_the_last_actions_are_part_of_the_training_state(robot):
    env, other = make(robot), make(robot)
    env.step(torch.rand(4, env.num_actions))
    other.import_training_state(env.export_training_state())
    assert torch.equal(other.task_state()["last_actions"], env.task_state()["last_actions"])
    assert env.task_state()["last_actions"].any()


def test_success_is_a_distance_walked_by_the_time_limit_without_falling(robot):
    env = make(robot, episode_length_s=2 * DT)
    places = [
        (16.1, 0.0, 1.0),
        (15.9, 0.0, 1.0),
        (16.1, 0.0, 0.0),
        (16.1, 60.0, 1.0),
    ]  # the last strayed: 14.3 m nearer
    for row, (x, y, z) in enumerate(places):
        pose(env, row, x=x, y=y, z=max(z, 1.0))
    early = env.step(torch.zeros(4, env.num_actions))
    assert not early.info["is_success"].any()
    for row, (x, y, z) in enumerate(places):
        pose(env, row, x=x, y=y, z=z)
    last = env.step(torch.zeros(4, env.num_actions))
    assert last.truncated.tolist() == [True, True, False, True]
    assert last.info["is_success"].tolist() == [True, False, False, False]


def test_the_metrics_are_the_distance_gained_and_the_mean_velocity_and_absent_before_the_first_step(robot):
    env = make(robot)
    everywhere = torch.arange(4)
    assert env.metrics == ("forward_distance", "mean_velocity")
    distance, velocity = env.episode_metrics(env.state, everywhere)
    assert distance.tolist() == [0.0] * 4
    assert velocity.isnan().all()
    for _ in range(30):
        for row, (x, y) in enumerate([(0.0, 0.0), (3.0, 0.0), (-2.0, 0.0), (3.0, 40.0)]):
            pose(env, row, x=x, y=y)
        step = env.step(torch.zeros(4, env.num_actions))
    nearer = [0.0, 3.0, -2.0, 1000.0 - math.hypot(997.0, 40.0)]
    assert step.info["metrics"]["forward_distance"].tolist() == pytest.approx(nearer, rel=1e-5)
    assert step.info["metrics"]["mean_velocity"].tolist() == pytest.approx([d / 0.5 for d in nearer], rel=1e-5)
    progress = 0.0
    env.init_state()
    for x in (0.5, 1.5, 3.0):
        pose(env, 0, x=x, y=x)
        step = env.step(torch.zeros(4, env.num_actions))
        progress += step.info["reward_terms"]["progress"][0].item()
    assert progress == pytest.approx(step.info["metrics"]["forward_distance"][0].item(), rel=1e-5)


def test_the_names_are_those_of_the_declaration_and_there_is_one_for_every_number(robot):
    env, cfg = robot.load_env(), robot.Cfg()
    told, joints = cfg.conventions(), cfg.declaration.joints
    assert env.reward_terms == tuple(cfg.declaration.reward_terms) == TERMS
    assert env.metrics == tuple(cfg.declaration.metrics)
    names = [entry["name"] for entry in told["observations"]["policy"]]
    assert len(names) == len(set(names)) == env.obs_groups_spec["policy"]
    assert len(told["actions"]) == env.num_actions == len(joints)
    assert all(set(entry) == {"name", "unit", "meaning"} for entry in told["observations"]["policy"])
    assert names[12] == f"{joints[0].name}_position"
    assert names[-1] == f"{joints[-1].name}_last_action"
    assert told["actions"][0] == {
        "name": f"{joints[0].name}_effort",
        "unit": {"ant": "7.5 N·m", "humanoid": "67.5 N·m"}[cfg.name],
        "meaning": told["actions"][0]["meaning"],
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"action_scale": 0.0}, "action_scale=0.0"),
        ({"initial_height": 0.1}, "min_height="),
        ({"initial_height": 0.0}, "initial_height=0.0"),
        ({"target_distance": -1.0}, "target_distance=-1.0"),
        ({"heading_threshold": 0.0}, "heading_threshold=0.0"),
        ({"initial_joint_vel": -0.1}, "initial_joint_vel=-0.1"),
        ({"joint_limit_threshold": 1.0}, "joint_limit_threshold=1.0"),
        ({"success_distance": 0.0}, "success_distance=0.0"),
        ({"success_distance": 1000.5}, "success_distance=1000.5"),
    ],
)
def test_settings_that_cannot_work_are_named(robot, change, said):
    assert robot.Cfg().problems() == []
    (problem,) = dataclasses.replace(robot.Cfg(), **change).problems()
    assert problem.startswith(said)
    assert ": must" in problem
