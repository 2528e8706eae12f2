"""The verb `agents`: what a person reads, what a program reads, and that nothing heavy is imported for it."""

import json
import os
import subprocess
import sys

import pytest

from benchmark_app.cli import main
from tests.conftest import FRAMEWORKS, ROOT


def agents(capsys, *arguments):
    code = main(["agents", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_matrix_has_every_library_and_parameter(capsys):
    code, out, _ = agents(capsys)
    assert code == 0
    header, *rows = [line.split() for line in out.splitlines() if line][1:]
    assert header == ["parameter", "value", *FRAMEWORKS]
    table = {row[0]: row[-4:] for row in rows}
    assert table["gamma"] == table["timeout_bootstrap"] == table["seed"] == ["exact"] * 4
    assert not any(line != line.rstrip() for line in out.splitlines())


def test_what_is_not_exact_is_explained(capsys):
    _, out, _ = agents(capsys, "agent.normalize_values=true")
    row = next(line.split() for line in out.splitlines() if line.startswith("normalize_values"))
    assert row == ["normalize_values", "true", "approx.", "no", "no", "approx."]
    assert "sb3 normalize_values, unsupported: SB3 has no value normalisation" in out
    _, out, _ = agents(capsys, "agent=sac")
    assert "rsl_rl has no sac." in out


def test_one_library_shows_its_settings_and_what_none_changes(capsys):
    _, out, _ = agents(capsys, "framework=rl_games", "agent.gamma=0.9", "framework.native.config.tau=0.5")
    assert "config.gamma=0.9" in out
    assert "overridden by framework.native.config.tau" in " ".join(out.split())
    assert "What no setting of rl_games changes:" in out
    assert "nothing is shuffled" in " ".join(out.split())


def test_words_tell_what_is_done_now(capsys):
    _, out, _ = agents(capsys, "framework=skrl")
    assert "kl_threshold=0.01" in out
    assert "fixed schedule" not in out
    _, out, _ = agents(capsys, "framework=skrl", "agent.schedule=fixed")
    assert "unused by a fixed schedule" in out


def test_native_lists_what_can_be_overridden(capsys):
    _, out, _ = agents(capsys, "--native", "framework=rsl_rl")
    assert "rsl_rl (rsl-rl-lib)" in out
    assert "  algorithm.desired_kl=0.01" in out
    assert "num_steps_per_env=16   (decided by agent.rollout)" in out


def test_json_is_for_programs(capsys):
    _, out, _ = agents(capsys, "--json", "agent=sac")
    found = {entry["framework"]: entry for entry in json.loads(out)}
    assert set(found) == set(FRAMEWORKS)
    assert not found["rsl_rl"]["supported"]
    tau = next(row for row in found["skrl"]["parameters"] if row["parameter"] == "tau")
    assert (tau["value"], tau["quality"], tau["native"]) == (0.02, "exact", "agent.polyak=0.02")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["framework=foo"], "framework=foo: not one of rl_games, rsl_rl, sb3, skrl"),
        (["agent=dqn"], "agent=dqn: not one of ppo, sac"),
        (["agent.gamma=2"], "agent.gamma=2.0: must be in (0, 1]"),
        (["agent.gama=0.9"], "agent.gama=0.9: no such setting; did you mean agent.gamma"),
        (["framework=skrl", "framework.native.foo=1"], "framework.native.foo=1: skrl has no such setting"),
        (["--config-dir", "/no/such"], "--config-dir /no/such: no such folder"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(capsys, arguments, message):
    code, out, err = agents(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err


def test_nothing_heavy_is_imported(tmp_path):
    heavy = ["torch", "numpy", "warp", "newton", "rsl_rl", "skrl", "stable_baselines3", "rl_games", "gymnasium"]
    code = f"import sys; sys.modules.update(dict.fromkeys({heavy!r}))\n"
    code += "from benchmark_app.cli import main; main(['agents'])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "exact" in done.stdout
