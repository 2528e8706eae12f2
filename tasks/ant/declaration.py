"""What the ant task claims to be."""

from __future__ import annotations

import math

from benchmark_app.envs.declaration import JointRow, TaskDeclaration, looked_at

from ..locomotion.declaration import CODE, DIFFERS, METRICS, SOURCES, reward_terms

HIP, ANKLE = (math.radians(-40), math.radians(40)), (math.radians(30), math.radians(100))

JOINTS = tuple(
    JointRow(name=f"{leg}_{joint}", lower=lower, upper=upper, damping=0.1, armature=0.01)
    for leg in ("front_left", "front_right", "back_left", "back_right")
    for joint, (lower, upper) in (("hip", HIP), ("ankle", ANKLE))
)

DECLARATION = TaskDeclaration(
    suite="locomotion",
    title="Ant",
    summary=(
        "A round torso on four legs of two joints each is to walk as far towards a target 1000 m ahead as it can, "
        "without letting its torso sink to the ground. Its motors are strong and nothing steers them but torques.\n\n"
        "It is the field's usual first step from toys to contacts: feet that stick, slip and strike, eight actions, "
        "and a reward that can be had cheaply by standing still. It tells within minutes whether a library explores."
    ),
    robot_type="ant",
    control="effort",
    success="At least 16 m nearer to the target when the time limit is reached, which is 1 m/s, without falling.",
    solved_at=None,
    reward_terms=reward_terms(
        alive=0.5, action=-0.005, energy=-0.05, joint_limit=-0.1, joint_limit_threshold=0.99, death=-2.0
    ),
    metrics=METRICS,
    joints=JOINTS,
    # Not newton_kamino: within two seconds of random play its solver leaves a step unsolved, which fails a run.
    engines=("newton_mjwarp", "ovphysx"),
    differs=(
        *DIFFERS,
        "The torso starts at 0.56 m instead of 0.5 m, so that no foot starts in the ground.",
        "Every ankle bends its foot down when positive; there, two of the four do.",
    ),
    links={
        "Isaac Lab's direct ant": CODE,
        "The first ant (Schulman and others, 2015)": "https://arxiv.org/abs/1506.02438",
    },
    sources=SOURCES,
    contacts=True,
    view=looked_at((2.3, -2.6, 1.4), (0.0, 0.0, -0.2), follow="torso"),
)
