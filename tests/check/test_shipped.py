"""What `check` says of the tasks of this repository without a long run, so that no change goes unseen."""

from __future__ import annotations

import re

import pytest

from benchmark_app.catalogue import find_tasks
from benchmark_app.check.child import main
from benchmark_app.check.claims import read_claims
from benchmark_app.check.findings import FAILED
from benchmark_app.check.golden import the_golden_file_is_reproduced
from benchmark_app.check.job import FILES, Job
from benchmark_app.check.walk import Live
from benchmark_app.envs.make import make_env

SHIPPED = [entry.name for entry in find_tasks().values() if entry.origin == "shipped"]


@pytest.mark.engine
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_tasks_declaration_files_robot_and_settings_pass(name):
    found = []
    job = Job(task=name, config_dir=None, place=FILES, device="cpu", what="check")
    main(job, found.append)
    failed = [entry["finding"] for entry in found if entry["finding"]["verdict"] == FAILED]
    assert [f"{finding['check']}: {finding['text']}" for finding in failed] == []
    assert len(found) > 12


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_tasks_declared_terms_tell_their_weights(name):
    cfg = find_tasks()[name].cfg()
    for term, meaning in cfg.declaration.reward_terms.items():
        told = {float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", meaning)}
        assert getattr(cfg, f"reward_{term}") in told, f"{term}: {meaning}"


ENGINES = {"newton_mjwarp": [], "ovphysx": [pytest.mark.ovphysx], "newton_kamino": [pytest.mark.tasks]}
CASES = [
    pytest.param(name, engine, marks=ENGINES[engine], id=f"{name}-{engine}")
    for name in SHIPPED
    for engine in find_tasks()[name].cfg().declaration.engines
]


@pytest.mark.engine
@pytest.mark.parametrize(("name", "engine"), CASES)
def test_a_shipped_tasks_first_steps_are_those_of_its_golden_file(name, engine):
    claims = read_claims(find_tasks()[name])
    live = Live(
        cfg=claims.cfg,
        declaration=claims.declaration,
        engine=engine,
        build=lambda cfg, num_envs: make_env(cfg, engine, num_envs),
    )
    the_golden_file_is_reproduced(live, claims.entry.golden, {})
