"""Mechanics of a robot of the table, computed in float64 from the table alone: what engines are compared with.

Quaternions are xyzw, velocities are of the link frame's origin, in world axes, linear before angular. Poses and
velocities have any leading axes.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from .engine import UNIT_POSE
from .robots import Link, Robot


def forward(
    robot: Robot, joint_pos, joint_vel, root_pose=UNIT_POSE, root_vel=(0.0,) * 6
) -> tuple[np.ndarray, np.ndarray]:
    """Poses `[L, 7]` and velocities `[L, 6]` of the robot's links in one state."""
    column = {joint.name: index for index, joint in enumerate(robot.joints)}
    ground = (np.zeros(3), Rotation.identity(), np.zeros(3), np.zeros(3))
    known = {None: ground}
    if robot.floating:
        root_pose, root_vel = np.asarray(root_pose, float), np.asarray(root_vel, float)
        known = {robot.root: (root_pose[:3], Rotation.from_quat(root_pose[3:]), root_vel[:3], root_vel[3:])}
    waiting = list(known)
    while waiting:
        parent = waiting.pop()
        origin, turn, linear, angular = known[parent]
        for joint in robot.joints_below(parent):
            at, rate = joint_pos[column[joint.name]], joint_vel[column[joint.name]]
            child = turn * Rotation.from_quat(joint.orientation)
            axis = child.apply(joint.axis)
            place, spin, slip = origin + turn.apply(joint.position), angular, np.zeros(3)
            if joint.kind == "slide":
                place, slip = place + at * axis, rate * axis
            else:
                child, spin = child * Rotation.from_rotvec(at * np.asarray(joint.axis)), angular + rate * axis
            known[joint.child] = (place, child, linear + np.cross(angular, place - origin) + slip, spin)
            waiting.append(joint.child)
    states = [known[link.name] for link in robot.links]
    poses = np.stack([np.concatenate((place, turn.as_quat())) for place, turn, _, _ in states])
    return poses, np.stack([np.concatenate((linear, angular)) for _, _, linear, angular in states])


def mass_matrix(robot: Robot, joint_pos) -> np.ndarray:
    """Joint-space inertia `[D, D]` of a fixed robot, armature included."""
    size = len(robot.joints)
    poses, _ = forward(robot, joint_pos, np.zeros(size))
    jacobian = np.stack([forward(robot, joint_pos, rate)[1] for rate in np.eye(size)], -1)  # [L, 6, D]
    matrix = np.diag([joint.armature for joint in robot.joints])
    for link, pose, rates in zip(robot.links, poses, jacobian, strict=True):
        arm, inertia = _spread(link, pose)
        linear = rates[:3] + np.cross(rates[3:], arm, axis=0)
        matrix = matrix + link.mass * linear.T @ linear + rates[3:].T @ inertia @ rates[3:]
    return matrix


def centre_of_mass(robot: Robot, link_pose: np.ndarray, link_vel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity `[…, 3]` of the whole robot's centre of mass."""
    place, speed = _points(robot, link_pose, link_vel)
    masses = np.array([link.mass for link in robot.links])[:, None] / sum(link.mass for link in robot.links)
    return (masses * place).sum(-2), (masses * speed).sum(-2)


def momentum(robot: Robot, link_pose: np.ndarray, link_vel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear momentum and angular momentum about the world's origin `[…, 3]` [kg·m/s, kg·m²/s]."""
    place, speed = _points(robot, link_pose, link_vel)
    masses = np.array([link.mass for link in robot.links])[:, None]
    return (masses * speed).sum(-2), (masses * np.cross(place, speed) + _spins(robot, link_pose, link_vel)).sum(-2)


def energy(robot: Robot, link_pose: np.ndarray, link_vel: np.ndarray, gravity: float) -> np.ndarray:
    """Kinetic and potential energy `[…]` [J]; gravity points down."""
    place, speed = _points(robot, link_pose, link_vel)
    masses = np.array([link.mass for link in robot.links])
    spinning = (link_vel[..., 3:] * _spins(robot, link_pose, link_vel)).sum(-1)
    return (0.5 * masses * (speed**2).sum(-1) + 0.5 * spinning + masses * gravity * place[..., 2]).sum(-1)


def turn_between(one: np.ndarray, other: np.ndarray) -> float:
    """The largest angle between two arrays of quaternions [rad]."""
    pair = Rotation.from_quat(one.reshape(-1, 4)).inv() * Rotation.from_quat(other.reshape(-1, 4))
    return float(pair.magnitude().max())


def _points(robot: Robot, link_pose: np.ndarray, link_vel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each link's centre of mass is, and how it moves."""
    arms = np.zeros(link_pose[..., :3].shape) + [link.com for link in robot.links]
    arms = _turns(link_pose).apply(arms.reshape(-1, 3)).reshape(arms.shape)
    return link_pose[..., :3] + arms, link_vel[..., :3] + np.cross(link_vel[..., 3:], arms)


def _spins(robot: Robot, link_pose: np.ndarray, link_vel: np.ndarray) -> np.ndarray:
    """Each link's own angular momentum."""
    turns = _turns(link_pose).as_matrix().reshape(*link_pose.shape[:-1], 3, 3)
    inertia = turns @ np.stack([link_inertia(link) for link in robot.links]) @ np.swapaxes(turns, -1, -2)
    return (inertia @ link_vel[..., 3:, None])[..., 0]


def _spread(link: Link, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From a link's origin to its centre of mass, and its inertia about that, in world axes."""
    turn = Rotation.from_quat(pose[3:])
    return turn.apply(link.com)[:, None], turn.as_matrix() @ link_inertia(link) @ turn.as_matrix().T


def link_inertia(link: Link) -> np.ndarray:
    """Inertia about the centre of mass `[3, 3]`, in the link's axes."""
    principal = Rotation.from_quat(link.principal).as_matrix()
    return principal @ np.diag(link.inertia) @ principal.T


def _turns(link_pose: np.ndarray) -> Rotation:
    return Rotation.from_quat(link_pose[..., 3:].reshape(-1, 4))
