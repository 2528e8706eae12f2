"""Draw every task's robot in the first state of an episode, as people look at it, for the tasks' pages.

python benchmarks/task_pictures.py docs/tasks [NAME…]
"""

import sys
from pathlib import Path

from PIL import Image

from benchmark_app.catalogue import find_tasks
from benchmark_app.envs.make import make_env

WIDTH, HEIGHT = 640, 400


def main(folder, *names):
    tasks = find_tasks()
    for name in names or tasks:
        env = make_env(tasks[name].cfg(), "newton_mjwarp", 1)
        env.init_state()
        env.init_play_renderer(headless=True, capture=True, width=WIDTH, height=HEIGHT)
        # 64 colours are enough for a robot on a floor, and a quarter of the bytes.
        picture = Image.fromarray(env.capture_play_video_frame()).quantize(64, method=Image.Quantize.MEDIANCUT)
        picture.save(Path(folder) / f"{name}.png", optimize=True)
        env.close()
        print(f"{folder}/{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
