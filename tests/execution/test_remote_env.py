"""A `RemoteEnv` offers what a `TorchEnv` does, in the same words."""

import inspect
from dataclasses import asdict

import pytest
import torch

from benchmark_app.envs.task import TaskHooks
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.execution import hosts
from benchmark_app.execution.description import Board, Description, split
from benchmark_app.execution.hosting import make_host
from benchmark_app.execution.link import DirectLink
from benchmark_app.execution.make import make_execution_env
from benchmark_app.execution.remote_env import RemoteEnv
from benchmark_app.physics.capabilities import BackendCapabilities

from . import upright

OF_THE_HOST = {"launch", "number_rows", "set_renderer", "renderer", "set_copy"}
"""What belongs to the process that steps the rows."""


def offered(kind):
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_everything_public_of_a_torch_env_is_there_with_the_same_arguments():
    ours, theirs = offered(RemoteEnv), offered(TorchEnv)
    wanted = theirs.keys() - offered(TaskHooks).keys() - OF_THE_HOST
    assert wanted - ours.keys() == set()
    for name in wanted:
        if inspect.isfunction(theirs[name]):
            assert [*inspect.signature(ours[name]).parameters] == [*inspect.signature(theirs[name]).parameters], name


def test_the_engine_elsewhere_says_that_it_is():
    env = make_execution_env(upright.Cfg(), "", 1)
    for call in (env.backend.robot_facts, env.backend.describe_fault, env.backend.export_state):
        with pytest.raises(NotImplementedError, match="set execution=local"):
            call()
    env.init_state()
    with pytest.raises(NotImplementedError, match="cannot be exported"):
        env.export_training_state()
    with pytest.raises(TypeError, match="expected a SimulationShare"):
        env.set_simulation_watch(lambda simulate: simulate())
    env.close()
    assert env.get_backend_runtime_diagnostics()["available"] is False


@pytest.mark.parametrize(("rows", "parts"), [(5, 2), (1024, 3), (7, 7), (3, 1)])
def test_rows_are_dealt_as_evenly_as_can_be_and_each_once(rows, parts):
    found = split(rows, parts)
    assert [row for part in found for row in part] == list(range(rows))
    sizes = [len(part) for part in found]
    assert max(sizes) - min(sizes) <= 1


class _Noted(DirectLink):
    """A link that notes when it is posted to and waited for."""

    def __init__(self, host, core, notes):
        super().__init__(host)
        self.core, self._notes = core, notes

    def post_step(self):
        self._notes.append(("post", self.core))

    def wait_step(self, *, soon=False):
        self._notes.append(("soon" if soon else "wait", self.core))
        super().wait_step()


@pytest.mark.parametrize("here", [0, 1, 9])
def test_the_host_on_the_callers_core_is_woken_last_and_waited_for_first(here, monkeypatch):
    notes = []
    each = [make_host(asdict(upright.Cfg()), 1, first_row=row, total_rows=2) for row in range(2)]
    links = [_Noted(host, core, notes) for core, host in enumerate(each)]
    memory = bytearray(Board.size(links[0].description, 2, 2))
    for number, link in enumerate(links):
        part = range(number, number + 1)
        link.board = link._host.board = Board(link.description, 2, memory, part=part, number=number, parts=2)
    monkeypatch.setattr(hosts, "current_core", lambda: here)
    env = RemoteEnv(upright.Cfg(), links)
    env.init_state()
    notes.clear()
    env.step(torch.zeros(2, env.num_actions))
    last = 0 if here == 0 else 1
    assert notes == [("post", 1 - last), ("post", last), ("wait", last), ("soon", 1 - last)]
    env.close()


def test_fewer_rows_than_processes_are_refused():
    with pytest.raises(ValueError, match="num_envs=2: fewer than the 3 processes"):
        split(2, 3)


def test_parts_of_a_board_are_its_rows_in_one_memory():
    description = Description.from_plain(make_description().to_plain())
    assert description == make_description()
    memory = bytearray(Board.size(description, 5, 2))
    parts = [
        Board(description, 5, memory, part=rows, number=number, parts=2) for number, rows in enumerate(split(5, 2))
    ]
    whole = Board(description, 5, memory, parts=2)
    for number, part in enumerate(parts):
        part["reward"][:] = number + 1
        part.tell(has_final=number)
    assert whole["reward"].tolist() == [1, 1, 2, 2, 2]
    assert [part.number("has_final") for part in parts] == [0, 1]
    assert not whole["steps"].any()


def make_description():
    env = make_execution_env(upright.Cfg(), "", 1)
    found = env._description
    env.close()
    assert isinstance(found.capabilities, BackendCapabilities)
    return found
