"""What the profiled pass of a start-up keeps: whose time a row holds, whitelists, flame graph, import tree."""

import cProfile
import json
import pstats
import subprocess
import sys
import time

import pytest

from benchmark_app.journal import JournalWriter, read_journal
from benchmark_app.profiling.host.import_tree import read_tree, write_tree
from benchmark_app.profiling.worker.profile_rows import rows
from benchmark_app.profiling.worker.startup import Profiled, StartupPhases

OURS = """
import time
from foreign import helper, outer

def work():
    helper(0.02)
    outer()  # which calls helper, too: not our call
    spin(0.03)

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
"""
FOREIGN = """
import time

def outer():
    for _ in range(3):
        helper(0.02)

def helper(seconds):
    time.sleep(seconds)
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A module of ours that calls one of somebody else's."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "foreign.py").write_text(FOREIGN)
    (tmp_path / "our_task.py").write_text(OURS)
    for folder in (tmp_path, tmp_path / "lib"):
        monkeypatch.syspath_prepend(str(folder))
    yield __import__("our_task")
    for name in ("our_task", "foreign"):
        sys.modules.pop(name, None)


@pytest.fixture
def profile(modules):
    profile = cProfile.Profile()
    profile.enable()
    modules.work()
    profile.disable()
    return profile


def by_function(found):
    return {row["name"].rpartition(":")[2]: row for row in found}


def test_others_functions_hold_the_time_of_our_calls_alone(profile):
    found = by_function(rows(profile, count=30, patterns=None, own=["our_task"]))
    assert (found["helper"]["calls"], found["outer"]["calls"]) == (1, 1)
    whole = next(row for function, row in pstats.Stats(profile).stats.items() if function[2] == "helper")
    assert 0.02 <= found["helper"]["cum_time_s"] <= whole[3] - 0.06  # three calls of 0.02 s are not ours
    assert found["outer"]["cum_time_s"] >= 0.06
    assert found["spin"]["own_time_s"] >= 0.03 * 0.5  # the rest is in the clock it reads
    assert "<built-in method time.sleep>" not in found  # called by others only


def test_rows_are_ranked_by_the_time_our_code_is_to_blame_for(profile):
    names = [row["name"].rpartition(":")[2] for row in rows(profile, count=3, patterns=None, own=["our_task"])]
    assert names[0] == "outer"
    assert set(names[1:]) <= {"helper", "spin", "<built-in method time.perf_counter>"}
    assert len(names) == 3


def test_without_a_module_of_ours_nothing_in_it_is_called_by_us(profile):
    assert "helper" not in by_function(rows(profile, count=30, patterns=None, own=[]))


def test_a_whitelist_keeps_all_that_match_and_tells_what_matches_nothing(profile):
    found = rows(profile, count=1, patterns=["*:spin", "*foreign:*", "newton.*", "newton.*"], own=["our_task"])
    assert {row["name"].rpartition(":")[2] for row in found[:-1]} == {"outer", "helper", "spin"}
    assert found[-1] == {"name": "newton.*", "own_time_s": 0.0, "cum_time_s": 0.0, "calls": 0}


def test_the_flame_graph_shows_the_phase_and_its_time(modules, tmp_path):
    flame = tmp_path / "artefacts" / "flame.speedscope.json"
    wanted = Profiled(top_n=5, flame=flame, whitelist={"app_launch": ["*:spin"]}, own=["our_task"])
    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        phases = StartupPhases(journal, time.monotonic(), wanted)
        with phases.phase("app_launch"):
            modules.spin(0.2)
        with phases.phase("env_creation"):
            time.sleep(0.05)
        with pytest.raises(RuntimeError), phases.phase("first_step"):
            raise RuntimeError
    events, _ = read_journal(tmp_path / "journal.jsonl")
    assert [event.name for event in events] == ["app_launch", "env_creation"]  # what failed was not reached
    assert [row["name"].rpartition(":")[2] for row in events[0].top_functions] == ["spin"]

    graph = json.loads(flame.read_text())
    launch, creation, _ = graph["profiles"]
    assert (launch["name"], creation["name"]) == ("app_launch", "env_creation")
    assert len(launch["samples"]) == len(launch["weights"])
    spinning = next(index for index, frame in enumerate(graph["shared"]["frames"]) if frame["name"].startswith("spin "))
    spun = sum(w for stack, w in zip(launch["samples"], launch["weights"], strict=True) if spinning in stack)
    assert 0.1 < spun <= launch["endValue"] + 1e-9
    assert "endValue" in creation


def test_without_a_profiler_phases_follow_each_other_without_a_gap(tmp_path):
    begun = time.monotonic()
    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        phases = StartupPhases(journal, begun)
        for name in ("python_imports", "task_config"):
            with phases.phase(name):
                time.sleep(0.01)
            time.sleep(0.01)
    events, _ = read_journal(tmp_path / "journal.jsonl")
    assert sum(event.duration_s for event in events) == pytest.approx(events[-1].t - begun)
    assert all(event.top_functions is None for event in events)


IMPORTS = """\
import time: self [us] | cumulative | imported package
import time:       100 |        100 |     c
something an engine printed
import time:      2000 |       2100 |   b
import time:       300 |        300 |   d
warning: import time:      5000 |       7400 | a
import time:        10 |         10 | e
"""


def test_an_import_tree_is_what_python_printed():
    a, e = read_tree(IMPORTS.splitlines())
    assert (a.name, a.own_s, a.total_s, [module.name for module in a.imports]) == ("a", 0.005, 0.0074, ["b", "d"])
    assert [module.name for module in a.imports[0].imports] == ["c"]
    assert (e.name, e.imports) == ("e", [])


def test_imports_that_were_cut_off_are_kept():
    lines = IMPORTS.splitlines()[:4]
    assert [module.name for module in read_tree(lines)] == ["b"]


def test_the_tree_of_a_real_process_is_written_as_text_and_for_speedscope(tmp_path):
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-X", "importtime", "-c", "import json"], stderr=log, check=True)
    assert write_tree(tmp_path / "log", tmp_path / "imports.txt", tmp_path / "imports.json")
    graph = json.loads((tmp_path / "imports.json").read_text())
    names = [frame["name"] for frame in graph["shared"]["frames"]]
    decoder = next(stack for stack in graph["profiles"][0]["samples"] if names[stack[-1]] == "json.decoder")
    assert [names[frame] for frame in decoder] == ["json", "json.decoder"]
    assert "Imports, " in (tmp_path / "imports.txt").read_text()


def test_a_log_without_imports_leaves_nothing(tmp_path):
    (tmp_path / "log").write_text("import time: nonsense\n")
    assert not write_tree(tmp_path / "log", tmp_path / "imports.txt", tmp_path / "imports.json")
    assert not (tmp_path / "imports.txt").exists()
