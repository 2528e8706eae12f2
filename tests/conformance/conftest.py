"""Every check runs on every engine of the catalogue; one that cannot run here is skipped with the reason.

An engine that also runs on CUDA is checked there too, with the marker `gpu`: in a process of its own, because an engine
may keep to the first device it was started on.
"""

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
