"""Settings tuned for a task, an agent and a library are chosen with the three."""

import pytest

from benchmark_app.launch.workload import settings_of
from tests.test_cli import settings


@pytest.fixture
def conf(tmp_path):
    """A folder of configuration with settings of cartpole for skrl alone; the overrides that make Hydra look there."""
    (tmp_path / "tuned_library").mkdir()
    file = tmp_path / "tuned_library" / "cartpole_ppo_skrl.yaml"
    file.write_text("# @package _global_\nnum_envs: 32\nagent:\n  learning_rate: 3.0e-4\n")
    return f"hydra.searchpath=[file://{tmp_path}]"


def test_they_win_over_those_shared_by_all_libraries_and_leave_the_others_alone(conf):
    skrl, rsl_rl = settings(conf, "framework=skrl"), settings(conf, "framework=rsl_rl")
    assert (skrl.agent.learning_rate, skrl.num_envs, skrl.agent.iterations) == (3e-4, 32, 150)
    assert (rsl_rl.agent.learning_rate, rsl_rl.num_envs) == (1e-3, 64)
    assert settings(conf, "framework=skrl", "agent=sac").num_envs == 64


def test_the_command_line_wins_over_them(conf):
    assert settings(conf, "framework=skrl", "agent.learning_rate=0.01").agent.learning_rate == 0.01


def test_they_count_as_shipped_where_they_are_shipped(conf, tmp_path, monkeypatch):
    chosen = settings(conf, "framework=skrl")
    assert settings_of(chosen, "training") == "agent.learning_rate=0.0003"
    read = "benchmark_app.launch.workload._read"
    from benchmark_app.launch import workload

    ours = workload._read
    shipped = {"tuned_library/cartpole_ppo_skrl.yaml": {"agent": {"learning_rate": 3e-4}, "num_envs": 32}}
    monkeypatch.setattr(read, lambda path: shipped.get(path) or ours(path))
    assert settings_of(chosen, "training") == ""
