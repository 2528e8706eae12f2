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


def training(app, execution, *arguments):
    """A training with the engine in the other interpreter: served to the worker, which need not have it, or local."""
    where = {"served": ("execution=served", f"execution.python={PYTHON}"), "local": (f"worker.python={PYTHON}",)}
    chosen = ("workflow=training", "physics=ovphysx", "device=cpu", *where[execution])
    code, out, err = app.run(*chosen, *arguments, timeout=280)
    assert code == 0, out + err
    return app.bundle("training")


def test_a_training_through_a_server_is_bitwise_the_one_without(app):
    short = ("num_envs=16", "agent.iterations=6", "agent.rollout=64")
    served = training(app, "served", *short)
    app.run_dir = app.folder / "local"
    local = training(app, "local", *short)
    assert served.extra["execution"] == "served"
    assert "ovphysx 0.7" in served.extra["served_engine"]
    assert served.learning.reward.series_per_iter == local.learning.reward.series_per_iter
    assert served.extra["episodes_finished"] == local.extra["episodes_finished"] > 0


@pytest.mark.slow
def test_cartpole_is_learned_through_a_server(app):
    curve = training(app, "served", "seed=2").learning.reward.series_per_iter
    assert len(curve) == 150
    assert curve[-1] >= 4.4
