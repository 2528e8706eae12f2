"""What the pendulum task claims to be."""

from __future__ import annotations

from benchmark_app.envs.declaration import JointRow, Source, TaskDeclaration, looked_at

DECLARATION = TaskDeclaration(
    suite="classic",
    title="Pendulum swing-up",
    summary=(
        "A rod hangs on a driven hinge. The motor holds less than half of the rod's weight, so the rod has to be swung "
        "back and forth until it carries itself over the top, and then be balanced there.\n\n"
        "It is the smallest task that cannot be solved greedily: the way to the goal leads away from it first. A "
        "library that discounts, bootstraps or explores wrongly fails here within seconds, where cartpole forgives it."
    ),
    robot_type="pendulum",
    control="effort",
    success="Upright within 0.2 rad for the last 2 s of the episode.",
    solved_at=0.95,
    reward_terms={
        "angle": "angle from upright squared, -1 per second and rad²",
        "velocity": "angular velocity squared, -0.1 per second and (rad/s)²",
        "torque": "torque of the motor squared, -0.001 per second and (N·m)²",
    },
    metrics={
        "angle_error_rad": "angle from upright [rad]",
        "swing_up_time_s": "time into the episode from which on the rod has been upright [s]; absent while it is not",
    },
    joints=(JointRow(name="hinge"),),
    engines=("newton_mjwarp", "newton_kamino", "ovphysx"),
    differs=(
        "The reward is per second: Gymnasium's, times the control step of 0.05 s, so that a return does not depend on "
        "the control rate.",
        "The reward is that of the state a step leads to; Gymnasium's is that of the state it starts from.",
        "The angular velocity is not cut off at 8 rad/s.",
        "Gravity is 9.81 m/s² and the physics step 0.01 s; Gymnasium has 10 m/s² and 0.05 s.",
        "An action of 1 is the whole torque of 2 N·m; Gymnasium's actions are in N·m.",
        "Success is defined; Gymnasium knows none.",
    ),
    links={"Gymnasium's Pendulum": "https://gymnasium.farama.org/environments/classic_control/pendulum/"},
    sources=(
        Source(what="assets", origin="this project", licence="Apache-2.0", licence_file="assets/LICENSE"),
        Source(
            what="the sizes, the torque and the reward's weights",
            origin="https://github.com/Farama-Foundation/Gymnasium",
            revision="v1.4.0",
            licence="MIT",
        ),
    ),
    view=looked_at((0.0, -3.2, 0.6), (0.0, 0.0, 0.0)),
)
