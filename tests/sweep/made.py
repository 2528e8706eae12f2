"""Settings and cases for the tests of sweeps, composed as the command line would."""

import copy
import functools
import json
from pathlib import Path

from hydra import compose, initialize_config_dir

from benchmark_app import config
from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.places import conf_dir
from benchmark_app.sweep.cases import Case
from tests.conftest import SYNTHETIC

RECORD = HydraRecord(config="", hydra="", options=[], overrides=[])
QUICK = (f"worker.program={SYNTHETIC}", "workflow=training", "agent.iterations=3")


def settings(*overrides, presets=()):
    return copy.deepcopy(_composed(overrides, presets))


@functools.cache
def _composed(overrides, presets):
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        composed = compose("config", overrides=[*QUICK, *overrides])
    return config.check(composed, list(presets))


def case(*overrides, **options):
    return Case.of(settings(*overrides, **options), RECORD)


def record(folder):
    return json.loads((Path(folder) / "sweep.json").read_text())


def statuses(folder):
    return [entry["status"] for entry in record(folder)["cases"]]


def run_folders(folder):
    """Case → the names of its attempts."""
    found = {}
    for path in sorted(Path(folder).glob("*/attempt-*")):
        if path.is_dir():
            found.setdefault(path.parent.name, []).append(path.name)
    return found
