"""Contacts: where bodies come to rest, when they slide, and what happens where there is no room for contacts."""

import math

import numpy as np
import pytest
import torch

from benchmark_app.physics.catalogue import ENGINES
from tests.contracts.contact_task import FloatingCfg, RockEnv

from .engine import GRAVITY, same
from .robots import BALL, BOX, UPRIGHT, Joint, Link, Robot, X, turned

FRICTION = 0.5
ROCK = Robot(  # a box that the task in `tests.contracts` can rock
    name="rock",
    links=(*BOX.links, Link(name="weight", mass=0.3, inertia=(0.01, 0.01, 0.01))),
    joints=(Joint(name="rail", child="weight", parent="box", kind="slide", axis=X),),
)
SLOPE = math.atan(FRICTION)
DIRECTIONS = [pytest.param((1.0, 0.0), id="along_x"), pytest.param((0.6, 0.8), id="aslant")]


@pytest.mark.parametrize(
    ("robot", "turn", "height"),
    [
        pytest.param(BALL, UPRIGHT, 0.1, id="ball"),
        pytest.param(BOX, UPRIGHT, 0.05, id="box"),
        pytest.param(BOX, turned(X, math.pi / 2), 0.1, id="box_on_its_side"),
    ],
)
def test_a_body_comes_to_rest_at_its_own_height(touching_engine, robot, turn, height):
    dt = 0.005
    sim = touching_engine.open(robot, dt=dt, ground=True, max_contacts=8)
    sim.place(root_pose=(0.0, 0.0, height + 0.02, *turn))
    motion = sim.run(1.0)
    # Contacts give a little under load: MuJoCo's and Kamino's are not rigid. Nobody would see a millimetre.
    assert np.abs(motion.root_pose[-20:, 0, 2] - height).max() < 1e-3
    assert np.abs(motion.root_pose[-1, 0, :2]).max() < 1e-3
    assert np.abs(np.ptp(motion.root_pose[-20:, 0], axis=0)).max() < 1e-4
    # A contact solver that ends its iterations early leaves some of what gravity adds in a step: a tenth, at a corner.
    corner, linear, angular = 0.19, motion.root_vel[-20:, 0, :3], motion.root_vel[-20:, 0, 3:]
    assert np.linalg.norm(linear, axis=1).max() + corner * np.linalg.norm(angular, axis=1).max() < 0.1 * GRAVITY * dt


def slide(engine, slope, direction, seconds):
    """The box's speed down a slope, after every step: the ground is level and gravity leans."""
    across = np.array(direction)
    gravity = (*(GRAVITY * math.sin(slope) * across), -GRAVITY * math.cos(slope))
    sim = engine.open(BOX, dt=0.005, gravity=gravity, ground=True, friction=FRICTION, max_contacts=8)
    sim.place(root_pose=(0.0, 0.0, 0.05, *UPRIGHT))
    motion = sim.run(seconds)
    return motion.time, motion.root_vel[:, 0, :2] @ across


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_box_stays_on_a_slope_below_the_angle_of_friction(touching_engine, direction):
    _, speed = slide(touching_engine, 0.9 * SLOPE, direction, 0.6)
    # Without friction it would have 2.4 m/s. Soft contacts let it creep.
    assert np.abs(speed[60:]).max() < 0.01


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_box_slides_down_a_steeper_slope_with_what_friction_leaves_of_gravity(touching_engine, direction):
    slope = 1.2 * SLOPE
    time, speed = slide(touching_engine, slope, direction, 0.6)
    exact = GRAVITY * (math.sin(slope) - FRICTION * math.cos(slope))
    found = np.polyfit(time[20:], speed[20:], 1)[0]
    # A friction wrong by 1 % would change this by 4 %.
    assert abs(found - exact) < 0.04 * exact


ROOM = {"max_contacts": 8, "max_constraints": 48}
TIGHT = {
    "contact_overflow": ROOM | {"max_contacts": 1},
    "constraint_overflow": ROOM | {"max_constraints": 2},
}


def crowded(engine, room, allow=()):
    """Boxes, one of them in the air, in a scene with so much room for each; and how they moved."""
    settings = {"allow": list(allow)}
    sim = engine.open(BOX, fresh=True, settings=settings, dt=0.005, num_envs=4, ground=True, **room)
    # Several on the ground, because an engine may let rows use each other's room.
    sim.place(root_pose=np.array([(0.0, 0.0, height, *UPRIGHT) for height in (2.0, 0.049, 0.049, 0.049)]))
    return sim, sim.run(0.05).row(slice(None))


def require_overflow(engine, warning):
    """Skip for an engine that needs no room, or makes it: it must show the same motion."""
    _, roomy = crowded(engine, ROOM)
    sim, tight = crowded(engine, TIGHT[warning])
    if warning not in ENGINES[engine.name].warnings or not sim.backend.fault.item():
        assert same(roomy, tight), "something was dropped in silence"
        pytest.skip(f"{engine.name} needs no room for this: no {warning}")


@pytest.fixture(params=list(TIGHT))
def overflow(request, touching_engine):
    require_overflow(touching_engine, request.param)
    return request.param


def test_want_of_room_is_a_fault_that_is_named_and_cleared(touching_engine, overflow):
    sim, _ = crowded(touching_engine, TIGHT[overflow])
    assert sim.backend.fault.item() != 0
    assert "overflow" in sim.backend.describe_fault()
    for name in ROOM:
        assert f"{name}={TIGHT[overflow][name]}" in sim.backend.describe_fault()
    assert sim.backend.warning_counts()[overflow] > 0
    sim.backend.clear_fault()
    sim.place(root_pose=(0.0, 0.0, 2.0, *UPRIGHT))
    sim.run(0.02)
    assert sim.backend.fault.item() == 0


def test_want_of_room_that_is_allowed_is_counted_and_no_fault(touching_engine, overflow):
    sim, _ = crowded(touching_engine, TIGHT[overflow], allow=[overflow])
    assert sim.backend.fault.item() == 0
    assert sim.backend.warning_counts()[overflow] > 0


def test_want_of_room_fails_the_step_of_an_environment_and_so_the_run(touching_engine):
    require_overflow(touching_engine, "contact_overflow")
    cfg, num_envs = FloatingCfg(), 4
    scene = {"num_envs": num_envs, "decimation": cfg.decimation, "ground": True} | TIGHT["contact_overflow"]
    backend = touching_engine.open(ROCK, dt=cfg.physics_dt, fresh=True, **scene).backend
    env = RockEnv(cfg, backend, num_envs, device=touching_engine.device)
    env.init_state()

    def fall():
        for _ in range(20):
            env.step(torch.zeros(num_envs, 1, device=touching_engine.device))

    with pytest.raises(RuntimeError, match=r"overflow.* in row.*max_contacts=1"):
        fall()


def test_a_scene_with_room_for_its_contacts_counts_no_warning(touching_engine):
    sim = touching_engine.open(BOX, dt=0.005, ground=True, max_contacts=8)
    sim.place(root_pose=(0.0, 0.0, 0.05, *UPRIGHT))
    sim.run(0.1)
    assert sim.backend.fault.item() == 0
    assert not any(sim.backend.warning_counts().values())
