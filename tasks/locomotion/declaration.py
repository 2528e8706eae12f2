"""What the declarations of the tasks of walking towards a far target have in common."""

from __future__ import annotations

from benchmark_app.envs.declaration import Source

REWARD_TERMS = {
    "progress": "metres nearer to the target",
    "alive": "for every second not terminated",
    "up": "for every second with the torso upright",
    "heading": "for every second facing the target, proportional to the cosine below its threshold",
    "action": "actions squared, summed over the joints, per second",
    "energy": "action times joint velocity, absolute, each weighed by its gear over the largest; summed, per second",
    "joint_limit": "how far joints are into the last part of their range, from 0 to 1 at the limit, weighed likewise; "
    "summed, per second",
    "death": "once, for terminating",
}
"""Every term is told as it enters the reward, with its weight and, where it is per second, the control step."""

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
