"""What the reach task claims to be."""

from __future__ import annotations

from benchmark_app.envs.declaration import JointRow, Source, TaskDeclaration, looked_at

DECLARATION = TaskDeclaration(
    suite="manipulation",
    title="Reach",
    summary="A six-axis arm brings the tip of its tool within 2 cm of a random point around it and holds it there. "
    "It is the first thing an arm must be able to do, and it needs precision: a policy that only comes near fails. "
    "There are no contacts, so engines can be compared closely. Nothing makes up for gravity: the joints' law gives "
    "way, and with actions of zero the tip sinks by 6 to 11 mm, half of what success allows. A policy must aim above.",
    robot_type="arm",
    control="joint_position",
    success="The tool's tip was within 2 cm of the target at 10 control steps in a row, once in the episode.",
    solved_at=0.9,
    reward_terms={
        "distance": "tip to target, times -1 per second and metre",
        "distance_fine": "1 - tanh(tip to target / 10 cm), times 1 per second",
        "action_rate": "squared change of the action since the last step, times -0.01 per second",
    },
    metrics={
        "final_distance": "tip to target at the last step [m]",
        "time_to_success": "from the start of the episode to the step that made it a success [s]; none: it was none",
    },
    joints=(
        JointRow(name="base_yaw", lower=-2.8, upper=2.8, damping=1.0, armature=0.5),
        JointRow(name="shoulder_pitch", lower=-1.8, upper=1.8, damping=1.0, armature=0.5),
        JointRow(name="elbow_pitch", lower=-2.5, upper=2.5, damping=0.5, armature=0.3),
        JointRow(name="wrist_roll", lower=-2.8, upper=2.8, damping=0.2, armature=0.1),
        JointRow(name="wrist_pitch", lower=-2.2, upper=2.2, damping=0.2, armature=0.1),
        JointRow(name="tool_roll", lower=-2.8, upper=2.8, damping=0.1, armature=0.05),
    ),
    engines=("newton_mjwarp", "newton_kamino", "ovphysx"),
    sources=(
        Source(what="assets", origin="this project", licence="Apache-2.0", licence_file="assets/LICENSE"),
        Source(
            what="a reward of the distance and of a fine-grained tanh of it",
            origin="https://github.com/isaac-sim/IsaacLab",
            revision="3.0.0",
            licence="BSD-3-Clause",
        ),
    ),
    differs=(
        "Isaac Lab's reach asks for a pose and draws it from a box; this one asks for a position in a cylindrical "
        "region in front of the arm.",
        "Isaac Lab's reach sets joint targets around a default pose; here an action moves the target of each joint, by "
        "at most 0.1 rad per control step.",
        "An episode has one target and goes on after success until its time is up, so that no policy can gain by "
        "putting success off, and returns are sums over equally many steps.",
        "Nothing collides: the arm passes through itself and the floor.",
    ),
    links={
        "Isaac Lab's environments": "https://isaac-sim.github.io/IsaacLab/main/source/overview/environments.html",
    },
    view=looked_at((1.4, -1.4, 1.0), (0.0, 0.0, 0.45)),
)
