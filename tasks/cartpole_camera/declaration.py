"""What the cartpole task seen through a camera claims to be."""

from dataclasses import replace

from benchmark_app.envs.declaration import Source

from ..cartpole.declaration import DECLARATION as CARTPOLE

DECLARATION = replace(
    CARTPOLE,
    title="Cartpole seen through a camera",
    summary="The cartpole task, except that the policy sees two small pictures of distances (or of colours) in place "
    "of four numbers: where cart and pole are must be read from the newer one, how fast they move from the difference "
    "of the two. It is the smallest task that needs a renderer and a convolutional encoder, so that it shows first "
    "what rendering costs, and what each library makes of pixels. The critic sees the same pictures as the actor.",
    solved_at=0.8,
    assets_of="benchmark_app.tasks.cartpole",
    sources=(
        Source(what="robot, rates and rewards of the task cartpole", origin="this project", licence="Apache-2.0"),
        Source(
            what="learning cartpole from a camera in front of it",
            origin="https://github.com/isaac-sim/IsaacLab",
            revision="3.0.0",
            licence="BSD-3-Clause",
        ),
    ),
    differs=(
        "Isaac Lab's gives one picture of 100x100 pixels; this one gives two of 64x24, so that velocities can be seen, "
        "and every pixel shows a tenth of a metre.",
        "Isaac Lab's acts at 60 Hz; this one at 30 Hz, as a camera of pictures does.",
        "Like cartpole, and unlike Isaac Lab's, it also terminates beyond a pole angle of pi/2.",
    ),
)
