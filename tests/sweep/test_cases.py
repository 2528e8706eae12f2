"""Cases: what is run decides where; where and how it is supervised does not."""

import re

import pytest

from benchmark_app.sweep.cases import Case, attempts, name_of
from tests.sweep.made import RECORD, case, settings


@pytest.mark.parametrize(
    "override",
    ["run.root=elsewhere", "run.time_limit=60", "sweep.resume=true", "sweep.allow_failures=3", "worker.debug=true"],
)
def test_how_a_run_is_supervised_makes_no_other_case(override):
    assert case(override).name == case().name


def test_presets_make_no_other_case():
    assert case(presets=("nightly",)).name == case().name


@pytest.mark.parametrize("override", ["seed=2", "num_envs=32", "agent.gamma=0.5", "task.max_effort=50", "threads=2"])
def test_every_setting_that_decides_what_is_run_makes_another_case(override):
    assert case(override).name != case().name


def test_a_name_is_readable_and_safe_whatever_the_choices_are_called():
    made = settings()
    assert re.fullmatch(r"cartpole-rsl_rl-newton_mjwarp-seed1-[0-9a-f]{10}", name_of(made))
    made.task.name = "../ü $(x)/'" * 40
    assert re.fullmatch(r"[\w][\w.-]{0,90}", name_of(made), re.ASCII)


def test_a_case_reads_back_what_was_written_with_paths_that_mean_the_same_from_anywhere(tmp_path, monkeypatch):
    written = case("num_envs=4")
    written.write(tmp_path)
    monkeypatch.chdir("/")
    read = Case.read(tmp_path / written.name)
    assert read == written
    assert read.record == RECORD
    assert read.settings.run.root.startswith("/")
    assert read.settings.worker.program.startswith("/")


def test_only_attempts_count_as_attempts_in_their_order(tmp_path):
    for name in ("attempt-2", "attempt-10", "attempt-1", "attempt-0", "attempt-x", "attempt-3.log", "notes"):
        (tmp_path / name).mkdir()
    assert list(attempts(tmp_path)) == [1, 2, 10]
    assert attempts(tmp_path / "none") == {}
