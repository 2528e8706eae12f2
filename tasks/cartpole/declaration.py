"""What the cartpole task claims to be."""

from benchmark_app.envs.declaration import JointRow, Source, TaskDeclaration, looked_at

DECLARATION = TaskDeclaration(
    suite="classic",
    title="Cartpole",
    summary="A cart on a rail is pushed left and right so that the pole hinged on it stays upright. It is the smallest "
    "task that needs feedback: every library learns it within a minute on a CPU, so that it shows first whether "
    "library, engine and machine work, and what the loop around them costs.",
    robot_type="cartpole",
    control="effort",
    success="The time limit was reached: neither did the pole tip over nor did the cart leave its range.",
    solved_at=0.95,
    reward_terms={
        "alive": "1 per second of an episode that goes on",
        "terminated": "-2 per second, in place of alive, in the step that ends it early",
        "pole_angle": "-1 per second and rad² of the pole's angle squared",
        "cart_velocity": "-0.01 per metre the cart moves",
        "pole_velocity": "-0.005 per rad the pole turns",
    },
    metrics={
        "final_pole_angle": "how far the pole is from upright when the episode ends [rad]",
        "final_cart_distance": "how far the cart is from the middle of the rail when the episode ends [m]",
    },
    joints=(
        JointRow(name="slider", lower=-4.0, upper=4.0, damping=10.0),
        JointRow(name="hinge"),
    ),
    engines=("newton_mjwarp", "newton_kamino", "ovphysx"),
    sources=(
        Source(what="assets", origin="this project", licence="Apache-2.0", licence_file="assets/LICENSE"),
        Source(
            what="rates, ranges and reward weights",
            origin="https://github.com/isaac-sim/IsaacLab",
            revision="3.0.0",
            licence="BSD-3-Clause",
        ),
    ),
    differs=(
        "Isaac Lab's terminates on the cart's position only; this task also beyond a pole angle of pi/2, so that "
        "success means balancing.",
        "task.max_pole_angle=null restores the other rule, with the angle wrapped to [-pi, pi) in observation and "
        "reward.",
        "The model is our own.",
    ),
    links={
        "Barto, Sutton and Anderson 1983": "https://doi.org/10.1109/TSMC.1983.6313077",
        "Isaac Lab's environments": "https://isaac-sim.github.io/IsaacLab/main/source/overview/environments.html",
    },
    view=looked_at((0.0, -6.2, 0.7), (0.0, 0.0, 0.1)),
)
