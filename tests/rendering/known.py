"""A scene whose pictures are known, and what every renderer must draw of it."""

from __future__ import annotations

from pathlib import Path

import torch

from benchmark_app.physics.scene import SceneSpec
from benchmark_app.rendering import CameraSpec

HERE = Path(__file__).parent
FRONT = CameraSpec(
    name="front", width=48, height=32, position=(0.0, -4.0, 1.0), target=(0.0, 0.0, 1.0), fov=60.0,
    data_types=("rgb", "depth"),
)  # fmt: skip
MOUNTED = CameraSpec(
    name="mounted", width=32, height=32, position=(0.3, -2.0, 0.4), target=(0.0, 0.0, 0.0), link="box",
    data_types=("rgb", "depth"),
)  # fmt: skip
BOX, BALL = 0.25, 0.2  # half an edge, radius [m]


def scene(num_envs: int) -> SceneSpec:
    """The box and the ball over a floor, without gravity."""
    return SceneSpec(
        mjcf=str(HERE / "known.xml"),
        usd=str(HERE / "known.usda"),
        joints=("x", "z"),
        num_envs=num_envs,
        physics_dt=0.01,
        decimation=1,
        gravity=(0.0, 0.0, 0.0),
        floor=0.0,
        max_contacts=0,
        max_constraints=1,
    )


def place(backend, positions) -> None:
    """Put every row into a state of its own: x and z of each [m]."""
    rows = torch.ones(backend.num_envs, dtype=torch.bool, device=backend.device)
    joint_pos = torch.tensor(positions, dtype=torch.float32, device=backend.device)
    backend.reset_rows(rows, joint_pos, torch.zeros_like(joint_pos))


def red(color: torch.Tensor) -> torch.Tensor:
    """Where a picture shows the box, bool `[..., H, W]`."""
    r, g, b = color.cpu().int().unbind(-1)
    return (r > 2 * g) & (r > 2 * b)


def green(color: torch.Tensor) -> torch.Tensor:
    """Where it shows the ball."""
    r, g, b = color.cpu().int().unbind(-1)
    return (g > 2 * r) & (g > 2 * b)


def middle(mask: torch.Tensor) -> tuple[float, float]:
    """Column and row of the middle of what is set in `[H, W]` [px]."""
    row, column = mask.nonzero().float().add(0.5).mean(0).tolist()
    return column, row
