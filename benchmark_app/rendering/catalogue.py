"""Every renderer in a table: where its code is, what it needs and what it can draw. Nothing is imported for it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark_app.physics.needs import Needs

NONE = "none"


@dataclass(frozen=True, kw_only=True)
class RendererEntry(Needs):
    """One renderer, and what it needs.

    Attributes:
        title: What it is, for a person.
        renderer: Module (in this package) and class that implement `base.Renderer`.
        devices: Torch devices it draws on.
        engines: Physics engines whose state it draws; empty: every one.
        needs_usd: It builds scenes from USD files only.
    """

    title: str
    renderer: tuple[str, str]
    devices: tuple[str, ...]
    engines: tuple[str, ...] = ()
    needs_usd: bool = False


RENDERERS: dict[str, RendererEntry] = {
    "newton": RendererEntry(
        title="Newton's Warp renderer",
        renderer=("newton.renderer", "NewtonRenderer"),
        devices=("cpu", "cuda"),
        distributions=("newton", "warp-lang", "mujoco"),
        install="pip install 'newton[sim]'",
    ),
    "ovrtx": RendererEntry(
        title="NVIDIA's RTX renderer as a library",
        renderer=("rtx.ovrtx", "OvrtxRenderer"),
        devices=("cuda",),
        needs_usd=True,
        distributions=("ovrtx>=0.5,<0.7",),
        install="pip install 'ovrtx>=0.5,<0.7' --extra-index-url https://pypi.nvidia.com",
        needs_gpu=True,
        licence="NVIDIA's own: see the package",
    ),
    "isaacsim_rtx": RendererEntry(
        title="The RTX renderer inside Isaac Sim",
        renderer=("rtx.isaacsim", "IsaacSimRtxRenderer"),
        devices=("cuda",),
        engines=("physx",),
        needs_usd=True,
        distributions=("isaacsim>=6.2,<6.3", "isaacsim-kernel", "isaacsim-extscache-kit", "warp-lang"),
        install="pip install 'isaacsim[all,extscache]==6.2.*' --extra-index-url https://pypi.nvidia.com",
        python=((3, 12),),
        needs_gpu=True,
        licence="the NVIDIA Omniverse License Agreement",
        accepted_by="OMNI_KIT_ACCEPT_EULA",
    ),
}
"""Renderer name (`rendering=NAME`), in the words of the result files, to what is known of it before it is imported.

`none` is no renderer: it draws nothing and needs nothing.
"""

TURNS_ALONG = ("isaacsim_rtx",)
"""Renderers whose cameras hang on a link's prim, so that they turn with it (`CameraSpec.turns`)."""
NO_COMPANION = "rendering=isaacsim_rtx turns a camera that goes along with a link; let it stand still"

NO_RENDERER = "No camera, no video"
"""What `none` is, for a person."""


def undrawable(name: str, physics: str, device: str) -> str:
    """Why a renderer does not draw what an engine simulates on a device; "" where it does, or where it is `none`.

    Args:
        name: Renderer.
        physics: Engine.
        device: auto, cpu, cuda or cuda:N.
    """
    if name == NONE:
        return ""
    entry = RENDERERS[name]
    if entry.engines and physics not in entry.engines:
        return f"rendering={name}: draws physics={' or physics='.join(entry.engines)} only; choose that, or another"
    if device != "auto" and device.partition(":")[0] not in entry.devices:
        devices = " and ".join(entry.devices)
        return f"device={device}: rendering={name} draws on {devices} only; set device={entry.devices[0]}"
    return ""
