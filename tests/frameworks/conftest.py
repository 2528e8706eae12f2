import pytest
import torch
from framework_cases import CASES, translation_of


@pytest.fixture(params=list(CASES))
def name(request: pytest.FixtureRequest) -> str:
    """Every adapter in turn."""
    return request.param


@pytest.fixture(params=[name for name in CASES if "sac" in translation_of(name).ALGORITHMS])
def sac_name(request: pytest.FixtureRequest) -> str:
    """Every adapter that has SAC."""
    return request.param


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
