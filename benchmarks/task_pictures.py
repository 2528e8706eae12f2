"""Draw every task's robot in the first state of an episode, with MuJoCo's renderer, for the tasks' pages.

    python benchmarks/task_pictures.py docs/tasks [NAME…]

Without a display it needs OSMesa (Debian: libosmesa6); MUJOCO_GL chooses another.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "osmesa")

import mujoco
import numpy as np
from matplotlib.image import imsave

from benchmark_app.catalogue import find_tasks
from benchmark_app.envs.make import make_env

WIDTH, HEIGHT = 640, 400
SKY, FLOOR, FLOOR_EDGE = (0.82, 0.87, 0.92), (0.55, 0.58, 0.6), (0.62, 0.65, 0.67)


def dressed(scene):
    """The robot of a scene, with a sky, a lamp and, where it has one, the ground."""
    spec = mujoco.MjSpec.from_file(scene.mjcf)
    texture = mujoco.mjtTexture
    spec.add_texture(name="sky", type=texture.mjTEXTURE_SKYBOX, builtin=1, rgb1=SKY, rgb2=SKY, width=64, height=384)
    spec.worldbody.add_light(pos=[1, -2, 6], dir=[-0.2, 0.3, -1], diffuse=[0.7, 0.7, 0.7], castshadow=True)
    if scene.ground:
        squares = {"name": "squares", "type": texture.mjTEXTURE_2D, "builtin": 2, "width": 256, "height": 256}
        spec.add_texture(**squares, rgb1=FLOOR, rgb2=FLOOR_EDGE)
        floor = spec.add_material(name="floor", texrepeat=[1, 1], texuniform=True)
        floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "squares"
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20, 20, 0.1], material="floor", rgba=[1, 1, 1, 1]
        )
    return spec.compile()


def posed(model, env):
    """The model in the state the environment's first row is in."""
    data = mujoco.MjData(model)
    backend = env.backend
    for name, position in zip(backend.joint_names, backend.joint_pos[0].tolist(), strict=True):
        data.joint(name).qpos[0] = position
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    if len(free):
        x, y, z, qx, qy, qz, qw = backend.root_pose[0].tolist()
        start = model.jnt_qposadr[free[0]]
        data.qpos[start : start + 7] = (x, y, z, qw, qx, qy, qz)
    mujoco.mj_forward(model, data)
    return data


def camera_on(model, data):
    """A camera that has everything in view that is part of the robot, or of what it handles."""
    shown = np.flatnonzero(model.geom_bodyid > 0)
    turned = data.geom_xmat[shown].reshape(-1, 3, 3)
    middle = data.geom_xpos[shown] + np.einsum("gij,gj->gi", turned, model.geom_aabb[shown, :3])
    reach = np.einsum("gij,gj->gi", np.abs(turned), model.geom_aabb[shown, 3:])
    low, high = (middle - reach).min(0), (middle + reach).max(0)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = (low + high) / 2
    camera.distance = 1.3 * float(np.linalg.norm(high - low))
    camera.azimuth, camera.elevation = 125.0, -18.0
    return camera


def main(folder, *names):
    tasks = find_tasks()
    for name in names or tasks:
        cfg = tasks[name].cfg()
        env = make_env(cfg, "newton_mjwarp", 1)
        env.init_state()
        model = dressed(env.scene(cfg, 1))
        data = posed(model, env)
        env.close()
        with mujoco.Renderer(model, HEIGHT, WIDTH) as renderer:
            renderer.update_scene(data, camera_on(model, data))
            imsave(Path(folder) / f"{name}.png", renderer.render())
        print(f"{folder}/{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
