"""A robot of the table as MJCF."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from .robots import FILE_ROOT, Joint, Link, Quaternion, Robot


def to_mjcf(robot: Robot) -> str:
    """The robot's file: no ground, no actuator, and masses given rather than drawn from the shapes."""
    root = ET.Element("mujoco", model=robot.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    world = ET.SubElement(root, "worldbody")
    if robot.floating:
        root_link = _body(world, robot, robot.link(robot.root), None)
        root_link.set("pos", _numbers(FILE_ROOT))
        ET.SubElement(root_link, "freejoint", name="root")
    for joint in robot.joints_below(None):
        _body(world, robot, robot.link(joint.child), joint)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def _body(parent: ET.Element, robot: Robot, link: Link, joint: Joint | None) -> ET.Element:
    body = ET.SubElement(parent, "body", name=link.name)
    ET.SubElement(
        body,
        "inertial",
        pos=_numbers(link.com),
        quat=_quaternion(link.principal),
        mass=_numbers((link.mass,)),
        diaginertia=_numbers(link.inertia),
    )
    if joint is not None:
        body.set("pos", _numbers(joint.position))
        body.set("quat", _quaternion(joint.orientation))
        given = {"damping": _numbers((joint.damping,)), "armature": _numbers((joint.armature,))}
        if joint.limits is not None:
            given["range"] = _numbers(joint.limits)
        ET.SubElement(body, "joint", name=joint.name, type=joint.kind, axis=_numbers(joint.axis), **given)
    for shape in link.shapes:
        ET.SubElement(body, "geom", type=shape.kind, size=_numbers(shape.size), pos=_numbers(shape.position), mass="0")
    for below in robot.joints_below(link.name):
        _body(body, robot, robot.link(below.child), below)
    return body


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _quaternion(xyzw: Quaternion) -> str:
    """MJCF wants the scalar first."""
    return _numbers((xyzw[3], *xyzw[:3]))
