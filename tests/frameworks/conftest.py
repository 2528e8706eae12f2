import pytest
import torch
from framework_cases import CASES


@pytest.fixture(params=list(CASES))
def name(request: pytest.FixtureRequest) -> str:
    """Every adapter in turn."""
    return request.param


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
