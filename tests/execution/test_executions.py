"""The rules of the environment contract hold wherever environments run."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmark_app.check.contract import (
    RULES,
    episodes_are_counted_exactly,
    finished_rows_freeze,
    resetting_rows_leaves_the_others_alone,
)
from benchmark_app.execution.cfg import EXECUTIONS, LOCAL, PROCESS, SERVED, ExecutionCfg
from benchmark_app.execution.make import make_execution_env
from tests.contracts.test_contracts import TASKS, unsuitable

from . import upright

QUICK = {
    LOCAL: RULES,
    PROCESS: (episodes_are_counted_exactly, finished_rows_freeze),
    SERVED: (resetting_rows_leaves_the_others_alone,),
}
"""What a task that costs nothing keeps in every run of the tests; `make test-tasks` does all, with real engines too."""


def made(cfg: Any, name: str, physics: str = "") -> Any:
    """A factory of environments that run somewhere, in two processes where there are rows for them."""

    def make(rows: int) -> Any:
        workers = min(2, rows) if name == PROCESS else None
        return make_execution_env(cfg, physics, rows, execution=ExecutionCfg(name=name, num_workers=workers))

    return make


def cases() -> Iterator[Any]:
    for name in EXECUTIONS:
        for rule in RULES:
            marks = [] if rule in QUICK[name] else [pytest.mark.tasks]
            yield pytest.param(rule, name, id=f"{name}-{rule.__name__}", marks=marks)


@pytest.mark.parametrize(("rule", "name"), list(cases()))
def test_environments_of_gymnasium_keep_every_rule_wherever_they_run(rule, name):
    rule(made(upright.Cfg(), name))


@pytest.mark.engine
@pytest.mark.tasks
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("task", ["cartpole", "in_contact", "floating"])
@pytest.mark.parametrize("name", [PROCESS, SERVED])
def test_engines_keep_every_rule_in_other_processes(rule, task, name):
    if reason := unsuitable(task, "newton_mjwarp", "cpu"):
        pytest.skip(reason)
    rule(made(TASKS[task], name, "newton_mjwarp"))


@pytest.mark.engine
@pytest.mark.ovphysx
@pytest.mark.tasks
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", [PROCESS, SERVED])
def test_ovphysx_keeps_every_rule_in_other_processes(rule, name):
    if reason := unsuitable("cartpole", "ovphysx", "cpu"):
        pytest.skip(reason)
    rule(made(TASKS["cartpole"], name, "ovphysx"))
