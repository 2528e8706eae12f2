"""What the declarations of the tasks of walking towards a far target have in common."""

from __future__ import annotations

from benchmark_app.envs.declaration import Source

REWARD_TERMS = {
    "progress": "1 per metre nearer to the target",
    "alive": "{alive:g} per second not terminated",
    "up": "0.1 per second upright: the cosine of the torso's tilt is more than 0.93",
    "heading": "0.5 per second facing the target; below a cosine of 0.8 in proportion to it: facing away costs",
    "action": "{action:g} per second: actions squared, summed over the joints",
    "energy": "{energy:g} per second and rad/s: action times joint velocity, absolute, weighed by the joint's gear "
    "over the largest; summed over the joints",
    "joint_limit": "{joint_limit:g} per second: how far joints are into the last part of their range, from 0 at "
    "{joint_limit_threshold:g} of the way from its middle to 1 at the limit, weighed likewise; summed",
    "death": "{death:g} once, for terminating",
}
"""Every term as it enters the reward. All but progress and death are per second: multiplied by the control step."""


def reward_terms(**weights: float) -> dict[str, str]:
    """The terms' meanings, with the weights that are a robot's own: as its settings name them, without `reward_`."""
    return {name: meaning.format(**weights) for name, meaning in REWARD_TERMS.items()}


METRICS = {
    "forward_distance": "how much nearer to the target the robot is than at the start [m]",
    "mean_velocity": "that distance by the time taken [m/s]; absent before the first step",
}

DIFFERS = (
    "No wrenches at the feet are observed, because not every engine measures them.",
    "The robot's parts do not touch one another, so that engines need not agree on which pairs may.",
    "The torso's velocity is that of its frame's origin, as everywhere in this product; Isaac Lab's is that of its "
    "centre of mass.",
    "Progress is computed without the rounding of two distances near 1000 m subtracted from each other in float32.",
    "Success is defined as walking a distance by the time limit; Isaac Lab logs survival alone.",
    "Actions are clamped before anything is made of them; Isaac Lab observes and charges them as they are given.",
    "The robot's model is our own.",
)

ISAAC_LAB = "https://github.com/isaac-sim/IsaacLab"
REVISION = "06d532f53c27d6bdbbac3816f5557da863faebb0"
CODE = f"{ISAAC_LAB}/tree/{REVISION}/source/isaaclab_tasks/isaaclab_tasks/core/locomotion"

SOURCES = (
    Source(what="assets", origin="this project", licence="Apache-2.0", licence_file="assets/LICENSE"),
    Source(
        what="the observation, the reward and all numbers of the direct task",
        origin=ISAAC_LAB,
        revision=REVISION,
        licence="BSD-3-Clause",
    ),
)
