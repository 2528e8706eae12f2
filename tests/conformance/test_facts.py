"""What an engine says that it simulates is what the table says."""

import numpy as np
import pytest

from .mechanics import link_inertia
from .robots import ROBOTS


@pytest.mark.parametrize("name", list(ROBOTS))
def test_an_engine_has_the_robot_of_the_table(engine, name):
    robot = ROBOTS[name]
    if robot.floating and not engine.declared.floating_base:
        pytest.skip(f"{engine.name} claims no floating base")
    limits = tuple(2.0 + index for index in range(len(robot.joints)))
    gravity = (0.5, -0.25, -3.0)
    facts = engine.open(robot, dt=0.0025, gravity=gravity, effort_limit=limits).backend.robot_facts()
    assert facts.physics_dt == pytest.approx(0.0025)
    assert facts.gravity == pytest.approx(gravity)
    assert [joint.name for joint in facts.joints] == [joint.name for joint in robot.joints]
    for found, joint, limit in zip(facts.joints, robot.joints, limits, strict=True):
        assert (found.lower, found.upper) == (pytest.approx(joint.limits) if joint.limits else (None, None))
        assert found.damping == pytest.approx(joint.damping)
        assert found.armature == pytest.approx(joint.armature)
        assert found.friction == 0
        assert found.effort_limit == pytest.approx(limit)
    assert sorted(link.name for link in facts.links) == sorted(link.name for link in robot.links)
    for found in facts.links:
        link = robot.link(found.name)
        assert found.mass == pytest.approx(link.mass)
        np.testing.assert_allclose(found.com, link.com, atol=1e-6)
        xx, yy, zz, xy, xz, yz = found.inertia
        np.testing.assert_allclose([(xx, xy, xz), (xy, yy, yz), (xz, yz, zz)], link_inertia(link), rtol=1e-5, atol=1e-6)
