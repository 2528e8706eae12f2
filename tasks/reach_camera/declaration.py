"""What the reach task with the arm seen through a camera claims to be."""

from dataclasses import replace

from benchmark_app.envs.declaration import Source

from ..reach.declaration import DECLARATION as REACH

DECLARATION = replace(
    REACH,
    title="Reach, the arm seen through a camera",
    summary="The reach task, except that no sensor tells where the arm is: the policy is given the target, the joints' "
    "velocities and its last action in numbers, and sees the arm in a picture. It is a task for a policy that takes "
    "numbers and images together, and asks more of its eyes than cartpole does: two centimetres are half a pixel.",
    solved_at=None,
    assets_of="benchmark_app.tasks.reach",
    sources=(Source(what="robot, targets and rewards of the task reach", origin="this project", licence="Apache-2.0"),),
    differs=(
        "The policy does not know the joints' positions, where the tip is and how far the target is from it.",
        *REACH.differs,
    ),
)
