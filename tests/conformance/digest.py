"""A digest of a motion, for comparing processes: `python -m tests.conformance.digest ENGINE DEVICE`."""

import hashlib
import sys
import tempfile
from pathlib import Path

from .engine import STATE, Engine, Motion
from .robots import DOUBLE_PENDULUM


def digest(engine: Engine) -> str:
    """Of every bit of a motion that any difference would change: a double pendulum swings far."""
    sim = engine.open(DOUBLE_PENDULUM, dt=0.005, num_envs=2, fresh=True)
    sim.place(joint_pos=(1.9, -0.7), joint_vel=(0.3, 2.0))
    motion: Motion = sim.run(0.25, (0.2, -0.1))
    return hashlib.sha256(b"".join(getattr(motion, name).tobytes() for name in STATE)).hexdigest()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(sys.argv[1], Path(folder), sys.argv[2])
        print("digest", digest(engine), flush=True)  # before closing: an engine may end the process
        engine.close()
