"""What the humanoid task claims to be."""

from __future__ import annotations

import math

from benchmark_app.envs.declaration import JointRow, TaskDeclaration, looked_at

from ..locomotion.declaration import CODE, DIFFERS, METRICS, SOURCES, reward_terms

ARMATURE = 0.01


def _joint(name: str, lower: float, upper: float, damping: float) -> JointRow:
    """A joint, its range in degrees."""
    return JointRow(name=name, lower=math.radians(lower), upper=math.radians(upper), damping=damping, armature=ARMATURE)


def _leg(side: str) -> tuple[JointRow, ...]:
    return (
        _joint(f"{side}_hip_x", -25, 5, 5.0),
        _joint(f"{side}_hip_z", -60, 35, 5.0),
        _joint(f"{side}_hip_y", -80, 20, 5.0),
        _joint(f"{side}_knee", -160, 2, 0.1),
        _joint(f"{side}_ankle_y", -50, 50, 1.0),
        _joint(f"{side}_ankle_x", -50, 50, 1.0),
    )


def _arm(side: str) -> tuple[JointRow, ...]:
    return (
        _joint(f"{side}_shoulder1", -60, 60, 5.0),
        _joint(f"{side}_shoulder2", -60, 60, 5.0),
        _joint(f"{side}_elbow", -90, 50, 1.0),
    )


JOINTS = (
    _joint("abdomen_z", -45, 45, 5.0),
    _joint("abdomen_y", -75, 30, 5.0),
    _joint("abdomen_x", -35, 35, 5.0),
    *_leg("right"),
    *_leg("left"),
    *_arm("right"),
    *_arm("left"),
)

GEARS = {
    "abdomen_z": 67.5,
    "abdomen_y": 67.5,
    "abdomen_x": 67.5,
    "hip_x": 45.0,
    "hip_z": 45.0,
    "hip_y": 135.0,
    "knee": 90.0,
    "ankle_y": 22.5,
    "ankle_x": 22.5,
    "shoulder1": 67.5,
    "shoulder2": 67.5,
    "elbow": 45.0,
}
"""Torque of a joint's motor for an action of 1 [N·m], of both sides: those of Isaac Lab's humanoid."""

DECLARATION = TaskDeclaration(
    suite="locomotion",
    title="Humanoid",
    summary=(
        "A human figure of 41.6 kg with 21 driven joints is to walk as far towards a target 1000 m ahead as it can, "
        "without falling. Standing alone has to be learned first.\n\n"
        "It is the field's measure of how a library and an engine take many joints at once: 75 observations, 21 "
        "actions, a chain of heavy and light bodies, and two feet for the only support."
    ),
    robot_type="humanoid",
    control="effort",
    success="At least 16 m nearer to the target when the time limit is reached, which is 1 m/s, without falling.",
    solved_at=None,
    reward_terms=reward_terms(
        alive=2.0, action=-0.01, energy=-0.005, joint_limit=-0.25, joint_limit_threshold=0.98, death=-1.0
    ),
    metrics=METRICS,
    joints=JOINTS,
    # Not newton_kamino: within two seconds of random play its solver leaves a step unsolved, which fails a run.
    engines=("newton_mjwarp", "ovphysx"),
    differs=(
        *DIFFERS,
        "The joints have no springs; there, springs of 2 to 20 N·m/rad hold every joint at 0.",
        "The torso starts at 1.35 m instead of 1.34 m, so that no foot starts in the ground.",
    ),
    links={
        "Isaac Lab's direct humanoid": CODE,
        "The first humanoid (Tassa and others, 2012)": "https://doi.org/10.1109/IROS.2012.6386025",
    },
    sources=SOURCES,
    contacts=True,
    view=looked_at((2.4, -2.8, 0.6), (0.0, 0.0, -0.35), follow="torso"),
)
