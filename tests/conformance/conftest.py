"""Every check runs on every engine of the catalogue; one that cannot run here is skipped with the reason.

An engine that also runs on CUDA is checked there too, with the marker `gpu`: in a process of its own, because an engine
may keep to the first device it was started on.
"""

from pathlib import Path

import pytest
import torch

from benchmark_app.physics.availability import missing
from benchmark_app.physics.catalogue import ENGINES

from .engine import Engine


def _case(name, device):
    marks = [pytest.mark.engine]
    if name == "ovphysx":
        marks.append(pytest.mark.ovphysx)
    if device == "cuda":
        marks.append(pytest.mark.gpu)
    return pytest.param((name, device), marks=marks, id=name if device == "cpu" else f"{name}-cuda")


HERE = Path(__file__).parent
ALWAYS = {"newton_kamino": ("test_capabilities", "test_facts", "test_motion")}
"""An engine that takes seconds to build is held to these in every run of the tests; `make test-tasks` to all."""


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by markers
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE and hasattr(item, "callspec"):
            name, _ = item.callspec.params.get("engine", ("", ""))
            if name in ALWAYS and item.path.stem not in ALWAYS[name]:
                item.add_marker(pytest.mark.tasks)


@pytest.fixture(
    scope="module",
    params=[_case(name, device) for name in ENGINES for device in ENGINES[name].capabilities.devices],
)
def engine(request, tmp_path_factory):
    name, device = request.param
    if reason := missing(name):
        pytest.skip(f"{name}: {reason}")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip(f"{name}: no CUDA device here")
    engine = Engine(name, tmp_path_factory.mktemp("robots"), device)
    yield engine
    engine.close()


@pytest.fixture
def floating_engine(engine):
    if not engine.declared.floating_base:
        pytest.skip(f"{engine.name} claims no floating base")
    return engine


@pytest.fixture
def touching_engine(engine):
    if not (engine.declared.contacts and engine.declared.floating_base):
        pytest.skip(f"{engine.name} claims no floating base in contact")
    return engine
