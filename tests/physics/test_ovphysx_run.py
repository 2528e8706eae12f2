"""A run on ovphysx from start to end, its engine in another interpreter than the application's where one is named.

`OVPHYSX_PYTHON` names an interpreter that has this package's dependencies and ovphysx; by default it is this one.
"""

import os
import sys

import pytest

from benchmark_app.physics.availability import distributions, missing
from benchmark_app.profiling.host.interpreter import other_interpreter

PYTHON = os.environ.get("OVPHYSX_PYTHON", sys.executable)
FOUND = other_interpreter(PYTHON, distributions("ovphysx"))

pytestmark = [
    pytest.mark.ovphysx,
    pytest.mark.skipif(bool(missing("ovphysx", FOUND)), reason=f"physics=ovphysx {missing('ovphysx', FOUND)}"),
]


def test_every_workflow_completes_with_the_engine_in_the_workers_interpreter(app):
    status, out, err = app.run(
        "physics=ovphysx",
        f"worker.python={PYTHON}",
        "num_envs=16",
        "agent.iterations=4",
        "play.episodes=8",
        "runtime.steps=50",
    )
    assert status == 0, out + err
    for workflow in ("startup", "runtime", "training", "play"):
        bundle = app.bundle(workflow)
        assert bundle.run.status == "completed"
        assert bundle.run.config.physics_backend == "ovphysx"
        assert bundle.extra["kernel_cache"] in ("cold", "warm")
