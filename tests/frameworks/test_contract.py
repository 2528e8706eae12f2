"""What holds of an adapter before anything is trained: its mapping table, and what importing it imports."""

import os
import subprocess
import sys
from dataclasses import fields

import pytest

from benchmark_app.frameworks.agent import PPOAgent
from benchmark_app.frameworks.registry import FRAMEWORKS, installed_version, load_adapter

LIBRARIES = {"rsl_rl": "rsl_rl", "skrl": "skrl", "sb3": "stable_baselines3", "rl_games": "rl_games"}

BLOCK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Blocker())
"""


def run_blocked(code: str, blocked: set[str]) -> None:
    """Run code in a fresh interpreter where some packages cannot be imported, as if a launcher had started it."""
    environment = {**os.environ, "WORLD_SIZE": "2", "RANK": "0"}
    command = [sys.executable, "-c", BLOCK.format(blocked=blocked) + code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_imports_with_the_other_libraries_blocked(name: str) -> None:
    others = set(LIBRARIES.values()) - {LIBRARIES[name]}
    run_blocked(
        "from benchmark_app.frameworks.registry import load_adapter\n"
        f"assert load_adapter({name!r}).name == {name!r}\n"
        "import os; assert os.environ['WORLD_SIZE'] == '2'",
        others,
    )


def test_the_package_and_its_registry_import_neither_torch_nor_a_library() -> None:
    run_blocked(
        "import benchmark_app.frameworks, benchmark_app.frameworks.agent\n"
        "from benchmark_app.frameworks.registry import FRAMEWORKS, installed_version\n"
        "assert all(installed_version(name) for name in FRAMEWORKS)",
        {"torch", "numpy", *LIBRARIES.values()},
    )


def test_a_library_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRAMEWORKS, "none", type(FRAMEWORKS["skrl"])("no.module", "no-such-distribution"))
    assert installed_version("none") is None


def test_registry_names_are_the_adapters_names() -> None:
    for name in FRAMEWORKS:
        assert load_adapter(name).name == name


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"schedule": "fixed", "clip_value_loss": True},
        {"normalize_observations": True, "timeout_bootstrap": "stock", "activation": "tanh"},
    ],
)
def test_mapping_names_every_parameter_once_with_a_reason_where_not_exact(name: str, settings: dict) -> None:
    agent = PPOAgent(**settings)
    table = load_adapter(name).mapping(agent)
    assert [row.parameter for row in table] == [field.name for field in fields(PPOAgent)]
    for row in table:
        assert (row.quality == "exact") == (row.reason == ""), row
        assert row.native or row.quality == "unsupported", row


def test_the_default_description_is_exact(name: str) -> None:
    assert {row.quality for row in load_adapter(name).mapping(PPOAgent())} == {"exact"}
