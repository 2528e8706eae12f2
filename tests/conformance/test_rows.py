"""Rows: none feels another, and a reset one is as if freshly started."""

import numpy as np
import pytest

from .engine import same
from .robots import BOX, DOUBLE_PENDULUM, turned

N = 3
SCENES = ("swinging", "in contact")


@pytest.fixture(params=SCENES)
def scene(request, engine):
    """Opens a scene with `num_envs` rows; starts them, row r as row `first + r` of a longer list."""
    if request.param == "swinging":
        return Swinging(engine)
    if not (engine.declared.contacts and engine.declared.floating_base):
        pytest.skip(f"{engine.name} claims no floating base in contact")
    return Landing(engine)


class Swinging:
    def __init__(self, engine):
        self.engine = engine

    def open(self, num_envs=N, **options):
        return self.engine.open(DOUBLE_PENDULUM, dt=0.005, num_envs=num_envs, **options)

    def start(self, sim, first=0, rows=None):
        index = first + np.arange(sim.spec.num_envs)[:, None]
        sim.place(rows=rows, joint_pos=np.hstack((0.4 + 0.3 * index, -0.2 * index)), joint_vel=0.1 * index)

    def run(self, sim, seconds=0.2):
        return sim.run(seconds, (0.3, -0.2))


class Landing:
    """Boxes that drop on an edge, each at its own angle, and slide."""

    def __init__(self, engine):
        self.engine = engine

    def open(self, num_envs=N, **options):
        return self.engine.open(BOX, dt=0.005, num_envs=num_envs, ground=True, friction=0.6, max_contacts=8, **options)

    def start(self, sim, first=0, rows=None):
        index = first + np.arange(sim.spec.num_envs)
        tilts = [turned((0.0, 1.0, 0.0), 0.1 + 0.05 * each) for each in index]
        poses = np.hstack((np.full((len(index), 3), (0.0, 0.0, 0.075)), tilts))
        speeds = np.zeros((len(index), 6))
        speeds[:, 0], speeds[:, 2] = 0.2 * index, -0.3
        sim.place(rows=rows, root_pose=poses, root_vel=speeds)

    def run(self, sim, seconds=0.2):
        return sim.run(seconds)


def unclaimed(sim, claim, held):
    """What an engine does not claim is no failure; the summary shows whether it could have."""
    if not getattr(sim.backend.capabilities, claim):
        pytest.skip(
            f"{type(sim.backend).__name__} does not claim {claim}; here it {'held' if held else 'did not hold'}"
        )


def test_a_row_depends_neither_on_the_others_nor_on_how_many_there_are(scene):
    many = scene.open()
    scene.start(many)
    beside = scene.run(many)
    alone = scene.open(num_envs=1)
    scene.start(alone, first=2)
    held = same(scene.run(alone).row(0), beside.row(2))
    unclaimed(alone, "row_independent", held)
    assert held


def test_the_same_start_gives_the_same_motion_bitwise(scene):
    sim = scene.open()
    scene.start(sim)
    first = scene.run(sim)
    sim = scene.open(fresh=True)
    scene.start(sim)
    held = same(scene.run(sim).row(slice(None)), first.row(slice(None)))
    unclaimed(sim, "deterministic", held)
    assert held


def test_a_reset_row_is_bitwise_a_fresh_start_and_the_others_do_not_notice(scene):
    sim = scene.open(fresh=True)
    scene.start(sim)
    scene.run(sim)
    undisturbed = scene.run(sim)
    sim = scene.open(fresh=True)
    scene.start(sim, first=4)
    fresh = scene.run(sim)
    sim = scene.open(fresh=True)
    scene.start(sim)
    scene.run(sim)
    scene.start(sim, first=4, rows=[1])
    motion = scene.run(sim)
    others = same(motion.row([0, 2]), undisturbed.row([0, 2]))
    unclaimed(sim, "row_reset", others)
    assert others, "rows that were not reset changed"
    unclaimed(sim, "row_independent", same(motion.row(1), fresh.row(1)))  # its neighbours are others than in `fresh`
    assert same(motion.row(1), fresh.row(1)), "the row that was reset does not start afresh"


def test_resetting_all_rows_is_bitwise_a_fresh_start(scene):
    sim = scene.open(fresh=True)
    scene.start(sim)
    fresh = scene.run(sim)
    scene.start(sim, first=4)
    scene.run(sim)
    scene.start(sim)
    held = same(scene.run(sim).row(slice(None)), fresh.row(slice(None)))
    unclaimed(sim, "row_reset", held)
    assert held


def test_robots_at_the_same_local_pose_do_not_touch(touching_engine):
    """All rows lie in one place of their own environments; each must lie there as if alone."""
    pose = (0.1, -0.2, 0.06, 0.0, 0.0, 0.0, 1.0)
    paths = {}
    for num_envs in (1, 4):
        sim = touching_engine.open(BOX, dt=0.005, num_envs=num_envs, ground=True, max_contacts=8)
        sim.place(root_pose=pose)
        paths[num_envs] = sim.run(0.5).root_pose
    # Positions in the world are rounded by where an environment lies; a push by another box would be centimetres.
    assert np.abs(paths[4] - paths[1]).max() < 1e-3
