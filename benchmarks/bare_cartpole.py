"""The least a script can do for a first step: import the engine, build the cartpole model, step it once.

Prints the instant of the first step on the monotonic clock, for `first_result.py` to compare with.
"""

import sys
import time
from pathlib import Path

import newton
import warp as wp
from newton.solvers import SolverMuJoCo

num_envs = int(sys.argv[1])
mjcf = Path(__file__).resolve().parent.parent / "tasks" / "cartpole" / "assets" / "cartpole.xml"

robot = newton.ModelBuilder()
SolverMuJoCo.register_custom_attributes(robot)
robot.add_mjcf(str(mjcf))
scene = newton.ModelBuilder()
scene.replicate(robot, num_envs)
model = scene.finalize(device="cpu")
solver = SolverMuJoCo(model, integrator="implicitfast", njmax=2, nconmax=1, disable_contacts=True)
state, control = model.state(), model.control()
for _ in range(2):
    solver.step(state, state, control, None, 1 / 120)
wp.synchronize()
print(f"FIRST_STEP {time.monotonic()}")
