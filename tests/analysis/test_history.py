"""The store: nothing is lost, nothing counts twice, and a step is found where it is and not in noise."""

import dataclasses
import errno
import json
import os
import random
import re
import subprocess
import sys
import threading

import filelock
import pytest

from benchmark_app.analysis import history, load
from benchmark_app.analysis.history import HistoryError, add, read
from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.trend import step_changes, trends
from benchmark_app.analysis.verbs.history import run
from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Finished
from tests.analysis.made import WORKFLOWS, write

FPS = METRICS["total_fps"]
SUCCESS = METRICS["success_rate"]


def heavy(rng, sigma):
    """Student's t with 3 degrees of freedom: outliers as real machines have them."""
    return sigma * rng.gauss(0, 1) / (sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3) ** 0.5


def noise(rng, n, level=1000.0, sigma=0.03):
    return [level * (1 + max(heavy(rng, sigma), -0.9)) for _ in range(n)]


def test_the_store_gives_back_what_the_table_says(tmp_path):
    for number, workflow in enumerate(WORKFLOWS):
        write(tmp_path / "runs", workflow, number)
    store = tmp_path / "store.jsonl"
    assert add([str(tmp_path / "runs")], store).new == 4
    stored = read(store)
    assert stored.dropped == []
    assert stored.runs.select(load(tmp_path / "runs").runs.columns).equals(load(tmp_path / "runs").runs)
    assert stored.runs["added_utc"].null_count() == 0
    assert len(store.read_text().splitlines()) == 4


def test_adding_a_run_twice_changes_nothing_and_says_so(tmp_path, capsys):
    write(tmp_path / "runs", "training")
    arguments = ["add", str(tmp_path / "runs"), "--store", str(tmp_path / "s.jsonl")]
    assert run(arguments) == 0
    before = (tmp_path / "s.jsonl").read_bytes()
    assert run(arguments) == 0
    assert (tmp_path / "s.jsonl").read_bytes() == before
    assert capsys.readouterr().out.splitlines()[1].endswith("s.jsonl: 1 already there")


def test_a_run_with_new_content_is_added_again_and_its_last_line_counts(tmp_path):
    store = tmp_path / "s.jsonl"
    write(tmp_path / "runs", "training", run={"status": "crashed"})
    add([str(tmp_path / "runs")], store)
    write(tmp_path / "runs", "training")  # recovered
    added = add([str(tmp_path / "runs")], store)
    assert (added.new, added.replaced, added.known) == (0, 1, 0)
    assert read(store).runs["status"].to_list() == ["completed"]
    assert len(store.read_text().splitlines()) == 2


def test_a_commit_can_be_given(tmp_path):
    write(tmp_path / "runs", "training")
    add([str(tmp_path / "runs")], tmp_path / "s.jsonl", commit="abc1234")
    assert read(tmp_path / "s.jsonl").runs["commit"].to_list() == ["abc1234"]


@pytest.mark.parametrize("commit", ["HEAD", "--output=x", "", "abc", "g" * 40])
def test_a_commit_that_is_none_is_refused(tmp_path, commit):
    write(tmp_path, "training")
    with pytest.raises(HistoryError, match="hexadecimal"):
        add([str(tmp_path)], tmp_path / "s.jsonl", commit=commit)


def test_a_torn_last_line_costs_only_itself(tmp_path):
    store = tmp_path / "s.jsonl"
    for number in range(3):
        write(tmp_path / "runs", "training", number)
    add([str(tmp_path / "runs")], store)
    whole = store.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in range(ends[1] + 1, len(whole), 97):
        store.write_bytes(whole[:cut])
        torn = read(store)
        assert torn.runs.height >= 2
        assert len(torn.dropped) == 3 - torn.runs.height
        assert add([str(tmp_path / "runs")], store).new == 3 - torn.runs.height
        assert read(store).runs["run_id"].to_list() == ["training-0", "training-1", "training-2"]


def test_the_next_writer_removes_a_line_that_was_cut_off(tmp_path):
    store = tmp_path / "s.jsonl"
    for number in range(2):
        write(tmp_path / "runs", "training", number)
    add([str(tmp_path / "runs" / "run-0")], store)
    first = store.read_bytes()
    add([str(tmp_path / "runs")], store)
    for cut in (1, 10, 300):
        store.write_bytes(store.read_bytes()[: len(first) + cut])
        assert len(read(store).dropped) == 1
        add([str(tmp_path / "runs" / "run-0")], store)
        assert store.read_bytes() == first
        add([str(tmp_path / "runs")], store)
        assert read(store).dropped == []
        assert read(store).runs.height == 2


@pytest.mark.parametrize("made", [True, False])
def test_a_full_disk_leaves_the_store_as_it_was(tmp_path, monkeypatch, made):
    store = tmp_path / "s.jsonl"
    for number in range(2):
        write(tmp_path / "runs", "training", number)
    if made:
        add([str(tmp_path / "runs" / "run-0")], store)
        before = store.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HistoryError, match="cannot be written"):
        add([str(tmp_path / "runs")], store)
    assert store.read_bytes() == before if made else not store.exists()


def test_runs_without_a_commit_are_told_and_are_no_point(tmp_path, capsys):
    store = str(tmp_path / "s.jsonl")
    for number in range(3):
        write(tmp_path / "runs", "runtime", number, commit=None)
    write(tmp_path / "runs", "runtime", 3)
    assert run(["add", str(tmp_path / "runs"), "--store", store]) == 0
    assert "3 runs name no commit" in capsys.readouterr().err
    (trend,) = trends(read(store), ["total_fps"])
    assert [point.n for point in trend.points] == [1]
    assert run(["add", str(tmp_path / "runs"), "--store", store, "--commit", "abc1234"]) == 0
    assert capsys.readouterr().err == ""
    assert [point.n for point in trends(read(store), ["total_fps"])[0].points] == [4]


def test_a_store_is_never_a_result(tmp_path, capsys):
    path = write(tmp_path / "runs", "training")
    journal = path.parent / "training.worker.jsonl"
    writer = JournalWriter(journal)
    writer.append(Finished(t=1.0, outcome="budget"))
    writer.close()
    for store, says in ((path, "ends in .jsonl"), (journal, "is a result of a run")):
        before = store.read_bytes()
        assert run(["add", str(path), "--store", str(store)]) == 2
        assert says in capsys.readouterr().err
        assert store.read_bytes() == before


def test_a_line_that_lacks_only_its_end_of_line_is_whole(tmp_path):
    store = tmp_path / "s.jsonl"
    write(tmp_path / "a", "training", 0)
    add([str(tmp_path / "a")], store)
    store.write_bytes(store.read_bytes().rstrip(b"\n"))
    write(tmp_path / "b", "training", 1)
    add([str(tmp_path / "b")], store)
    assert read(store).runs.height == 2
    assert read(store).dropped == []


BAD_LINES = [
    b"garbage", b"[]", b"{}", b'{"format": 2}', b"\xff\xfe", b"[" * 100_000, b'{"format": 1, "key": [], "run": 5}',
    b'{"format": 1, "key": ["a"], "run": {"seed": "x"}, "metrics": {}}',
    b'{"format": 1, "key": ["a"], "run": {"seed": 99999999999999999999}, "metrics": {}}',
    b'{"format": 1, "key": ["a"], "run": {"task": "\\ud800"}, "metrics": {}}',
    b'{"format": 1, "key": ["a"], "run": {"start_time_utc": "soon"}, "metrics": {}}',
    b'{"format": 1, "key": ["a"], "run": {}, "metrics": {"total_fps": NaN}}',
    b'{"format": 1, "key": ["a"], "run": {}, "metrics": {"total_fps": true}}',
    b'{"format": 1, "key": ["a"], "run": {}, "metrics": {"total_fps": 1' + b"0" * 400 + b"}}",
]  # fmt: skip


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_passed_over_with_its_number(tmp_path, line):
    store = tmp_path / "s.jsonl"
    write(tmp_path / "runs", "training")
    store.write_bytes(line + b"\n")
    add([str(tmp_path / "runs")], store)
    stored = read(store)
    assert stored.runs.height == 1
    (dropped,) = stored.dropped
    assert f"{store}, line 1: " in dropped
    assert dropped.isprintable()


def test_writers_at_the_same_time_lose_and_repeat_nothing(tmp_path):
    store = tmp_path / "s.jsonl"
    for number in range(24):
        write(tmp_path / "runs", "runtime", number)
    # Each writer adds all runs, so that every run is wanted by all of them at once, as soon as all are ready.
    code = (
        "import os, sys; from benchmark_app.analysis.history import add\n"
        "print('ready', flush=True); sys.stdin.readline(); print(add(sys.argv[1:2], sys.argv[2]).new)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "runs"), str(store)]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(4)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
    counts = [int(writer.communicate()[0]) for writer in writers]
    assert sum(counts) == 24
    lines = store.read_text().splitlines()
    assert len(lines) == len({tuple(json.loads(line)["key"]) for line in lines}) == 24


def test_a_writer_waits_for_another_and_says_so_if_it_takes_too_long(tmp_path, monkeypatch):
    store = tmp_path / "s.jsonl"
    path = str(write(tmp_path, "runtime"))
    with filelock.FileLock(f"{store}.lock"):
        waiting = threading.Thread(target=add, args=([path], store))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        assert not store.exists()
    waiting.join()
    assert read(store).runs.height == 1
    monkeypatch.setattr(history, "_LOCK_SECONDS", 0.1)
    with filelock.FileLock(f"{store}.lock"), pytest.raises(HistoryError, match="another process has held"):
        add([path], store)


def test_threads_of_one_process_take_turns_too(tmp_path):
    paths = [str(write(tmp_path / "runs", "runtime", number)) for number in range(8)]
    threads = [threading.Thread(target=add, args=([path], tmp_path / "s.jsonl")) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(tmp_path / "s.jsonl").runs.height == 8


def test_the_commits_time_orders_runs_that_were_made_later(tmp_path, monkeypatch):
    def git(*arguments, date):
        env = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q", date="")
    commits = []
    for month in range(1, 4):
        date = f"2026-{month:02d}-01T00:00:00+00:00"
        git("commit", "-q", "--allow-empty", "-m", "x", date=date)
        commits.append(git("rev-parse", "HEAD", date=date))
    monkeypatch.chdir(tmp_path)
    for number, commit in enumerate(reversed(commits)):  # the oldest commit is measured last
        write(tmp_path / "runs", "runtime", number, commit=commit)
    add([str(tmp_path / "runs")], "s.jsonl")
    (trend,) = trends(read("s.jsonl"), ["total_fps"])
    assert [point.commit for point in trend.points] == commits


def test_runs_of_a_commit_are_one_point_and_machines_are_apart(tmp_path):
    for number in range(6):
        write(tmp_path / "runs", "runtime", number, fps=1000.0 + number, commit="ab"[number // 3] * 40)
    write(tmp_path / "runs", "runtime", 7, run={"status": "crashed"})
    write(tmp_path / "runs", "runtime", 8, extra={"threads": 2})
    add([str(tmp_path / "runs")], tmp_path / "s.jsonl")
    one, other = trends(read(tmp_path / "s.jsonl"), ["total_fps"])
    assert [(point.commit[0], point.n, point.value) for point in one.points] == [("a", 3, 1001.0), ("b", 3, 1004.0)]
    assert (one.identity["threads"], other.identity["threads"]) == (1, 2)


@pytest.mark.parametrize(("before", "after", "worse"), [(1000.0, 850.0, True), (1000.0, 1200.0, False)])
def test_a_step_is_found_where_it_is_and_judged_by_the_metrics_direction(before, after, worse):
    found = 0
    for seed in range(100):
        rng = random.Random(seed)
        steps = step_changes(noise(rng, 25, before) + noise(rng, 15, after), FPS)
        found += len(steps) == 1 and abs(steps[0].index - 25) <= 1 and steps[0].worse is worse
    assert found >= 90


def test_a_slow_spell_is_two_steps():
    rng = random.Random(0)
    values = noise(rng, 20) + noise(rng, 20, 700.0) + noise(rng, 20)
    steps = step_changes(values, FPS)
    assert [step.worse for step in steps] == [True, False]
    assert [abs(step.index - at) <= 1 for step, at in zip(steps, (20, 40), strict=True)] == [True, True]
    assert steps[0].change == pytest.approx(-0.3, abs=0.05)


@pytest.mark.parametrize("length", [6, 12, 30, 60, 120])
def test_noise_without_a_step_has_none_in_99_of_100_series(length):
    # The minimum effect would hide most false alarms of so quiet a series: here it is not asked for.
    strict = dataclasses.replace(FPS, min_effect=1e-9)
    rng = random.Random(length)
    assert sum(bool(step_changes(noise(rng, length, sigma=0.1), strict)) for _ in range(300)) <= 6


def test_a_single_outlier_is_no_step():
    rng = random.Random(1)
    for position in (0, 10, 29):
        values = noise(rng, 30, sigma=0.01)
        values[position] = 200.0
        assert step_changes(values, FPS) == []


def test_a_step_smaller_than_the_minimum_effect_is_none():
    rng = random.Random(2)
    values = noise(rng, 40, 1000.0, 0.002) + noise(rng, 40, 1030.0, 0.002)
    assert step_changes(values, FPS) == []


def test_short_and_constant_series_have_no_step():
    assert step_changes([], FPS) == []
    assert step_changes([1.0, 500.0], FPS) == []
    assert step_changes([5.0] * 100, FPS) == []


def test_a_success_rate_steps_in_points():
    rng = random.Random(3)
    values = [rng.uniform(0.0, 0.02) for _ in range(15)] + [rng.uniform(0.88, 0.9) for _ in range(15)]
    (step,) = step_changes(values, SUCCESS)
    assert step.change == pytest.approx(0.88, abs=0.02)
    assert step.worse is False


def filled(folder):
    rng = random.Random(0)
    for number in range(24):
        fps = noise(rng, 1, 1000.0 if number < 12 else 600.0, 0.01)[0]
        write(folder / "runs", "runtime", number, fps=fps, commit=f"{number:02x}" * 20)
    store = str(folder / "s.jsonl")
    assert run(["add", str(folder / "runs"), "--store", store]) == 0
    return store


def test_show_names_the_commit_of_a_step(tmp_path, capsys):
    store = filled(tmp_path)
    assert run(["show", "--store", store]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["total_fps"]]
    assert "24 points" in line
    assert re.search(r"worse by -(39|40)\.\d%", line)
    assert "at 0c0c0c0c0c0c" in line


def test_show_of_one_metric_lists_every_point(tmp_path, capsys):
    store = filled(tmp_path)
    capsys.readouterr()
    assert run(["show", "--store", store, "--metric", "total_fps"]) == 0
    title, *points = capsys.readouterr().out.splitlines()
    assert "task=Benchmark-Cartpole-v0" in title
    assert len(points) == 24
    assert [index for index, line in enumerate(points) if "<- worse" in line] == [12]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "add|show"),
        (["drop"], "drop"),
        (["add"], "PATH"),
        (["add", "none", "--store", "STORE"], "no such file or folder"),
        (["add", "RUNS", "--store", "RUNS"], "RUNS"),
        (["add", "RUNS", "--store", "STORE", "--commit", "HEAD"], "--commit HEAD"),
        (["show", "--store", "STORE"], "cannot be read"),
        (["show", "--store", "STORE", "--metric", "fps"], "--metric fps: no such metric; known: total_fps"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(tmp_path, capsys, arguments, said):
    write(tmp_path / "runs", "training")
    places = {"RUNS": str(tmp_path / "runs"), "STORE": str(tmp_path / "s.jsonl")}
    assert run([places.get(argument, argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert places.get(said, said) in captured.err
    assert captured.err.count("\n") == 1
