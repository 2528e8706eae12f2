"""What RTX is told in USD text: cameras, light, floor, and what of which camera's pictures it is to give."""

from __future__ import annotations

import math

from benchmark_app.physics.physx.stage import ENVS
from benchmark_app.physics.physx.usda import prim, schemas, vector
from benchmark_app.physics.scene import GROUND_COLOR, SceneSpec

from ..base import BACKGROUND, FAR, LIGHT_DIRECTION
from ..camera import CameraSpec, Vector
from .tiled import grid

HEAD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
"""
RENDER = "/Render"
COLOR, DEPTH = f"{RENDER}/Vars/LdrColor", f"{RENDER}/Vars/depth"
"""Paths by which a frame's colours and depths are asked for."""
APERTURE = 20.955  # width of the picture's plane, in the unit of the focal length; only their ratio matters
FLOOR_SIZE = 100.0  # half its edge [m]


def camera_name(camera: CameraSpec) -> str:
    """Name of a camera's prim."""
    return "camera_" + "".join(letter if letter.isalnum() else "_" for letter in camera.name)


def camera_paths(camera: CameraSpec, num_envs: int, mounted: str = "") -> list[str]:
    """Paths of a camera's prims.

    Args:
        camera: The camera.
        num_envs: Environments.
        mounted: Path of the prim below each environment that holds it, "" for the environment itself.
    """
    below = "/".join(filter(None, (mounted, camera_name(camera))))
    return [f"{ENVS}/env{index}/{below}" for index in range(num_envs)]


def camera_prim(camera: CameraSpec, partition: str) -> list[str]:
    """A camera that sees one partition of the scene only, and looks as `CameraSpec` says."""
    height = APERTURE * camera.height / camera.width
    body = [
        f"float focalLength = {height / (2.0 * math.tan(math.radians(camera.fov) / 2.0))!r}",
        f"float horizontalAperture = {APERTURE!r}",
        f"float verticalAperture = {height!r}",
        f"float2 clippingRange = (0.01, {FAR!r})",
        'uniform token projection = "perspective"',
        f'custom uniform token omni:scenePartition = "{partition}"',
        *placed(camera.axes, camera.position),
    ]
    return prim(f'def Camera "{camera_name(camera)}"', [], body)


def placed(axes: tuple[Vector, Vector, Vector], position: Vector) -> list[str]:
    """The transform of a prim with these axes at this place; USD multiplies rows from the left."""
    rows = [*(vector((*axis, 0.0)) for axis in axes), vector((*position, 1.0))]
    return [
        f"matrix4d xformOp:transform = ({', '.join(rows)})",
        'uniform token[] xformOpOrder = ["xformOp:transform"]',
    ]


def surroundings(scene: SceneSpec) -> list[str]:
    """The light, and the floor where there is one. They are of no partition: every camera sees them."""
    sun = CameraSpec(name="sun", width=1, height=1, position=(0.0, 0.0, 0.0), target=LIGHT_DIRECTION)
    light = ["float inputs:intensity = 2000", *placed(sun.axes, sun.position)]
    lines = prim('def DistantLight "sun"', [], light)
    lines += prim('def DomeLight "sky"', [], ["float inputs:intensity = 600"])
    height = 0.0 if scene.ground else scene.floor
    if height is None:
        return lines
    size = FLOOR_SIZE
    corners = [vector((x, y, height)) for x, y in ((-size, -size), (size, -size), (size, size), (-size, size))]
    floor = [
        f"point3f[] points = [{', '.join(corners)}]",
        "int[] faceVertexCounts = [4]",
        "int[] faceVertexIndices = [0, 1, 2, 3]",
        "normal3f[] normals = [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)]",
        'uniform token subdivisionScheme = "none"',
        f"color3f[] primvars:displayColor = [{vector(GROUND_COLOR)}]",
    ]
    return lines + prim('def Mesh "floor"', [], floor)


def products(cameras: tuple[CameraSpec, ...], paths: dict[str, list[str]], device: int) -> list[str]:
    """What is drawn: for each camera a picture tiled with those of all environments.

    RTX's minimal mode shades materials under lights without tracing paths: pictures have no noise and no memory of
    earlier ones, and shadows are a switch, as `CameraSpec` has it.

    Args:
        cameras: The cameras.
        paths: Camera name to its prims, by environment.
        device: Index of the CUDA device.
    """
    variables = prim('def RenderVar "LdrColor"', [], ['uniform string sourceName = "LdrColor"'])
    variables += prim('def RenderVar "depth"', [], ['uniform string sourceName = "DistanceToImagePlaneSD"'])
    lines = prim('def Scope "Vars"', [], variables)
    background = tuple(_linear(part) for part in BACKGROUND)
    for camera in cameras:
        columns, rows = grid(len(paths[camera.name]))
        targets = ", ".join(f"<{path}>" for path in paths[camera.name])
        wanted = ", ".join(f"<{path}>" for path in ((COLOR, DEPTH) if camera.gives_color else (DEPTH,)))
        body = [
            f"rel camera = [{targets}]",
            f"rel orderedVars = [{wanted}]",
            f"uniform int2 resolution = ({columns * camera.width}, {rows * camera.height})",
            f"uint[] deviceIds = [{device}]",
            'token omni:rtx:rendermode = "Minimal"',
            "int omni:rtx:minimal:mode = 3",
            f"bool omni:rtx:minimal:castShadows = {str(camera.shadows).lower()}",
            'token omni:rtx:background:source:type = "color"',
            f"color3f omni:rtx:background:source:color = {vector(background)}",
            'token[] omni:rtx:waitForEvents = ["AllLoadingFinished", "OnlyOnFirstRequest"]',
        ]
        settings = schemas(["OmniRtxSettingsCommonAdvancedAPI_1"])
        lines += prim(f'def RenderProduct "{camera_name(camera)}"', settings, body)
    return prim('def Scope "Render"', [], lines)


def product_path(camera: CameraSpec) -> str:
    """Path of what is drawn of a camera."""
    return f"{RENDER}/{camera_name(camera)}"


def _linear(part: int) -> float:
    """An sRGB part from 0 to 255 as linear light from 0 to 1."""
    value = part / 255.0
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
