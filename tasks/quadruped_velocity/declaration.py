"""What the quadruped's velocity task claims to be."""

from __future__ import annotations

from benchmark_app.envs.declaration import JointRow, Source, TaskDeclaration, looked_at

LEGS = ("front_left", "front_right", "rear_left", "rear_right")

DECLARATION = TaskDeclaration(
    suite="locomotion",
    title="Quadruped velocity tracking",
    summary=(
        "A four-legged robot walks on flat ground at the velocity it is told: forward, sideways and turning, with "
        "another command half-way through the episode. Twelve joints follow position targets by a PD law.\n\n"
        "It has the shape of the benchmark that legged locomotion is compared on: contacts that come and go, a "
        "controller below the policy, a reward of many terms, and a critic that sees more than the policy. Actions of "
        "zero do not stand still: the law is soft (40 N·m/rad), so that legs sag, calves by up to 0.3 rad, and feet "
        "creep on their contacts. On newton_mjwarp the trunk tilts by 4 degrees in the first second and by 13 in 20 s; "
        "standing has to be learned too."
    ),
    robot_type="quadruped",
    control="joint_position",
    success=(
        "No fall, and over the whole episode a mean error of less than 0.25 m/s in velocity and 0.35 rad/s in turning."
    ),
    solved_at=None,
    reward_terms={
        "track_lin_vel_xy_exp": "exp(-error²/0.25) of the horizontal velocity [m/s], 1.5 per second",
        "track_ang_vel_z_exp": "exp(-error²/0.25) of the yaw rate [rad/s], 0.75 per second",
        "lin_vel_z_l2": "vertical velocity squared, -1 per second and (m/s)²",
        "ang_vel_xy_l2": "roll and pitch rates squared, -0.02 per second and (rad/s)²",
        "dof_torques_l2": "joint torques squared, -2e-4 per second and (N·m)²",
        "dof_acc_l2": "joint accelerations squared, -1e-7 per second and (rad/s²)²",
        "action_rate_l2": "change of the actions since the step before squared, -0.01 per second",
        "feet_air_time": "at each foot's landing its time in the air less 0.25 s, while told to move at over 0.1 m/s, "
        "0.5 times the control step, as every term: 0.01 per landing and second",
        "flat_orientation_l2": "horizontal part of gravity's direction in the trunk squared, -1 per second",
    },
    metrics={
        "lin_vel_error_mps": "error of the horizontal velocity, mean over the episode so far [m/s]",
        "ang_vel_error_radps": "error of the yaw rate, likewise [rad/s]",
    },
    joints=tuple(
        JointRow(name=f"{leg}_{part}_joint", lower=lower, upper=upper, damping=0.1, armature=0.01)
        for leg in LEGS
        for part, lower, upper in (("hip", -0.8, 0.8), ("thigh", -0.9, 2.5), ("calf", -2.7, -0.7))
    ),
    # newton_kamino lets it stand, but does not converge when random actions throw it about.
    engines=("newton_mjwarp", "ovphysx"),
    differs=(
        "The robot is our own, of the size of the field's small ones.",
        "Yaw rates are commanded, not headings; sideways velocities reach 0.5 m/s rather than 1 m/s; a tenth of the "
        "commands is to stand, and each episode has two commands.",
        "An action is clamped to [-1, 1] and worth 0.5 rad; Isaac Lab's are not clamped and worth 0.25 rad.",
        "What costs weighs about half as much as in Isaac Lab's flat task of the Go1, so that a robot learns to walk "
        "from a few million steps; tracking weighs the same.",
        "The trunk's turning and the joint velocities are observed times 0.25 and 0.05, as in legged_gym.",
        "No noise, no pushes and nothing randomised but commands, heading and initial joint positions.",
        "A foot is in contact while its ball is less than 5 mm from the ground: engines report no contact forces.",
        "Joint accelerations are differences over a control step, and torques those of the PD law in the state it "
        "leads to.",
        "An episode also ends at a tilt of more than 1 rad; the trunk's contact is that of its box with the plane.",
        "A foot's time in the air is measured against 0.25 s with weight 0.5 rather than 0.5 s with 0.25.",
    ),
    links={
        "Isaac Lab's velocity tasks": "https://isaac-sim.github.io/IsaacLab/main/source/overview/environments.html",
        "legged_gym": "https://github.com/leggedrobotics/legged_gym",
        "Learning to Walk in Minutes": "https://arxiv.org/abs/2109.11978",
    },
    sources=(
        Source(what="assets", origin="this project", licence="Apache-2.0", licence_file="assets/LICENSE"),
        Source(
            what="observations, the reward's terms and most of its weights",
            origin="https://github.com/isaac-sim/IsaacLab",
            revision="v3.0.0",
            licence="BSD-3-Clause",
        ),
    ),
    contacts=True,
    view=looked_at((1.0, -1.2, 0.5), (0.0, 0.0, -0.1), follow="trunk"),
)
