"""Keep going: what fails in a sweep is told, and stops nothing else, whatever starts the runs.

`tests/slurm/` does the same on SLURM.
"""

import pytest

from tests.launchers.matrix import (
    Sweep,
    check_that_resuming_runs_the_failed_ones_alone,
    check_that_the_others_complete,
)

NEEDS = {"basic": "hydra", "joblib": "joblib", "slurm_local": "submitit", "ray": "ray"}


@pytest.mark.parametrize("launcher", NEEDS)
def test_a_run_that_fails_stops_no_other_and_resuming_runs_the_failed_ones_alone(app, launcher):
    pytest.importorskip(NEEDS[launcher])
    sweep = Sweep(app, launcher)
    check_that_the_others_complete(sweep, kill="kill" if launcher == "basic" else "kill_supervisor")
    check_that_resuming_runs_the_failed_ones_alone(sweep)
