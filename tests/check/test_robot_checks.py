"""The same robot in two files is told apart from another one, whatever the difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmark_app.check.findings import FAILED, OK, UNCHECKED, judge
from benchmark_app.check.read_mjcf import read_mjcf
from benchmark_app.check.robot import ROBOT, RobotFiles
from benchmark_app.envs.declaration import JointRow, looked_at
from tests.conformance.mjcf import to_mjcf
from tests.conformance.robots import ROBOTS, Shape
from tests.conformance.usda import to_usda

from .sliding.cfg import DECLARATION

pytest.importorskip("pxr", reason="usd-core reads USD files")
from benchmark_app.check.read_usd import read_usd


def rows(robot):
    table = []
    for joint in robot.joints:
        lower, upper = joint.limits or (None, None)
        table.append(
            JointRow(name=joint.name, lower=lower, upper=upper, damping=joint.damping, armature=joint.armature)
        )
    return tuple(table)


def files(folder, robot, in_usd=None, change_mjcf=lambda text: text):
    (folder / "robot.xml").write_text(change_mjcf(to_mjcf(robot)))
    (folder / "robot.usda").write_text(to_usda(in_usd or robot))
    declaration = replace(DECLARATION, joints=rows(robot))
    mjcf, usd = read_mjcf(folder / "robot.xml"), read_usd(folder / "robot.usda")
    return RobotFiles(declaration=declaration, mjcf=mjcf, usd=usd)


def failed(files):
    found = [judge("files", check, files) for check in ROBOT]
    return {finding.check.replace(" ", "_"): finding.text for finding in found if finding.verdict == FAILED}


@pytest.mark.parametrize("name", list(ROBOTS))
def test_both_files_of_every_robot_of_the_conformance_suite_are_read_alike(tmp_path, name):
    subject = files(tmp_path, ROBOTS[name])
    assert {check.__name__: judge("files", check, subject).verdict for check in ROBOT} == {
        check.__name__: OK for check in ROBOT
    }


GATE = replace(
    ROBOTS["gate"],
    links=(
        *ROBOTS["gate"].links[:-1],
        replace(ROBOTS["gate"].links[-1], shapes=(Shape(kind="box", size=(0.1, 0.2, 0.3), position=(0.0, 0.1, 0.0)),)),
    ),
)
"""A robot with limits, damping and armature, and a shape on its last link."""


def with_link(robot, **changes):
    (*links, last) = robot.links
    return replace(robot, links=(*links, replace(last, **changes)))


def with_joint(robot, **changes):
    (*joints, last) = robot.joints
    return replace(robot, joints=(*joints, replace(last, **changes)))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda robot: with_link(robot, mass=robot.links[-1].mass * 1.01), "mass of the link"),
        (lambda robot: with_link(robot, com=(0.01, 0.02, 0.03)), "com of the link"),
        (lambda robot: with_link(robot, inertia=tuple(1.02 * part for part in robot.links[-1].inertia)), "inertia of"),
        (lambda robot: with_link(robot, shapes=()), "only the first has a colliding"),
        (lambda robot: with_joint(robot, position=(0.3, 0.2, 0.1)), "of the"),
    ],
)
def test_another_robot_in_the_usd_is_caught(tmp_path, change, word):
    found = failed(files(tmp_path, GATE, in_usd=change(GATE)))
    assert list(found) == ["mjcf_and_usd_are_the_same_robot"]
    assert word in found["mjcf_and_usd_are_the_same_robot"]


@pytest.mark.parametrize("key", ["damping", "armature", "limits"])
def test_a_file_that_differs_from_the_table_is_caught_in_that_file(tmp_path, key):
    other = with_joint(GATE, **{key: (-0.123, 0.234) if key == "limits" else 0.345})
    assert list(failed(files(tmp_path, GATE, in_usd=other))) == ["the_usd_has_the_declared_joints"]
    subject = files(tmp_path, GATE)
    swapped = files(tmp_path, other, in_usd=GATE)
    assert list(failed(replace(swapped, declaration=subject.declaration))) == ["the_mjcf_has_the_declared_joints"]


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ('<worldbody><geom type="plane" size="1 1 1"/></worldbody>', "a plane"),
        ('<actuator><motor joint="JOINT"/></actuator>', "1 actuators"),
    ],
)
def test_ground_and_actuators_have_no_place_in_a_robots_file(tmp_path, extra, text):
    extra = extra.replace("JOINT", GATE.joints[0].name)
    subject = files(tmp_path, GATE, change_mjcf=lambda mjcf: mjcf.replace("</mujoco>", f"{extra}</mujoco>"))
    assert text in failed(subject)["the_files_hold_a_robot_and_nothing_else"]


def test_without_a_reader_the_files_are_not_checked_and_it_says_what_is_missing(tmp_path):
    subject = replace(files(tmp_path, GATE), usd="needs usd-core here")
    found = {finding.check: finding for finding in (judge("files", check, subject) for check in ROBOT)}
    for name in ("the usd has the declared joints", "mjcf and usd are the same robot"):
        assert (found[name].verdict, found[name].text) == (UNCHECKED, "needs usd-core here")


def test_a_body_that_is_fixed_to_the_world_is_no_link(tmp_path):
    table = '<worldbody><body name="table" pos="1 0 0"><geom type="box" size="1 1 1" pos="0 0 -1"/></body></worldbody>'
    robot = files(tmp_path, GATE, change_mjcf=lambda mjcf: mjcf.replace("</mujoco>", f"{table}</mujoco>")).mjcf
    assert "table" not in robot.links
    (shape,) = [shape for shape in robot.shapes if shape.link == ""]
    assert shape.centre.tolist() == [1.0, 0.0, -1.0]


def test_a_view_that_follows_no_link_of_the_robot_is_told(tmp_path):
    subject = files(tmp_path, ROBOTS["gate"])
    lost = replace(subject.declaration, view=looked_at((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), follow="elbow"))
    found = failed(replace(subject, declaration=lost))
    assert list(found) == ["the_view_goes_along_with_a_link_there_is"]
    assert "DECLARATION.view follows elbow, robot.xml has " in found["the_view_goes_along_with_a_link_there_is"]
