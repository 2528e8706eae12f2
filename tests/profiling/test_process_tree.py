"""CPU time and memory of a process and its descendants: nothing lost between two looks, nothing of another process."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from benchmark_app.profiling.host import process_tree
from benchmark_app.profiling.host.process_tree import ProcessTree, children_of, look_at

MIB = 2**20
BURN = "import time\nwhile time.process_time() < {}: pass"


@pytest.fixture
def start():
    """Start a Python program; it is ended and collected afterwards."""
    started = []

    def begin(program):
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def told(process):
    return process.stdout.readline().strip()


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def test_a_spike_between_two_looks_is_the_peak(start):
    process = start("print(1, flush=True); input(); x = b'1' * (300 * 2**20); del x; print(2, flush=True); input()")
    told(process)
    tree = ProcessTree([process.pid])
    before = tree.look()
    go_on(process)
    told(process)
    after = tree.look()
    assert after.rss < before.rss + 30 * MIB
    assert after.peak == pytest.approx(before.rss + 300 * MIB, rel=0.05)
    assert after.exact
    assert tree.look().peak < before.rss + 30 * MIB  # it was told once


def test_cpu_time_of_children_that_came_and_went_between_two_looks_is_counted(start):
    program = f"""
        import subprocess, sys
        print(1, flush=True); input()
        for _ in range(3):
            subprocess.run([sys.executable, '-S', '-c', {BURN.format(0.2)!r}])
        print(2, flush=True); input()
    """
    process = start(program)
    told(process)
    tree = ProcessTree([process.pid])
    before = tree.look()
    go_on(process)
    told(process)
    assert tree.look().cpu_s - before.cpu_s == pytest.approx(0.66, abs=0.12)  # with the interpreters' own start


def test_a_child_whose_end_nobody_collects_keeps_its_cpu_time(start):
    """Its parent ignores SIGCHLD: the kernel adds its time to no account."""
    burn = BURN.format(0.3) + "\nprint(1, flush=True)\ninput()"
    program = f"""
        import signal, subprocess, sys
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, '-S', '-c', {burn!r}])
        child.wait()
        print(2, flush=True); input()
    """
    process = start(program)
    told(process)
    tree = ProcessTree([process.pid])
    before = tree.look()
    assert len(before.pids) == 2
    go_on(process)
    told(process)
    after = tree.look()
    assert len(after.pids) == 1
    assert after.cpu_s >= before.cpu_s >= 0.28  # the kernel counts in hundredths


def test_a_grandchild_whose_parent_died_stays_in_the_tree_until_its_end(start):
    program = """
        import subprocess, sys
        middle = "import subprocess; p = subprocess.Popen(['sleep', '60']);"
        middle += "print(p.pid, flush=True); input()"
        child = subprocess.Popen([sys.executable, '-S', '-c', middle])
        child.wait()
        print(0, flush=True); input()
    """
    process = start(program)
    grandchild = int(told(process))
    tree = ProcessTree([process.pid])
    assert grandchild in tree.look().pids
    go_on(process)
    assert told(process) == "0"
    assert grandchild not in children_of(process.pid)
    assert grandchild in tree.look().pids
    os.kill(grandchild, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while grandchild in tree.look().pids and time.monotonic() < deadline:
        time.sleep(0.01)
    assert grandchild not in tree.look().pids


def test_threads_that_start_children_have_theirs_counted(start):
    program = """
        import subprocess, sys, threading
        def work():
            global p
            p = subprocess.Popen(['sleep', '60'])
            print(p.pid, flush=True)
            threading.Event().wait()
        threading.Thread(target=work, daemon=True).start()
        input()
    """
    process = start(program)
    child = int(told(process))
    assert child in ProcessTree([process.pid]).look().pids


def test_a_tree_that_is_gone_has_nothing_to_tell():
    process = subprocess.Popen(["true"])
    process.wait()
    assert ProcessTree([process.pid]).look() is None


def test_an_ended_process_that_was_not_collected_still_tells_its_cpu_time():
    process = subprocess.Popen([sys.executable, "-S", "-c", BURN.format(0.2)])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seen = ProcessTree([process.pid]).look()
    assert seen.cpu_s >= 0.18  # the kernel counts in hundredths
    assert seen.rss == 0
    process.wait()


def make(folder, pid, *, parent=1, born=100, cpu=0, collected=0, rss=1000, children=()):
    """A process in a made /proc. Times in hundredths of a second, memory in KiB."""
    fields = ["S", parent, *[0] * 9, cpu, 0, collected, 0, 0, 0, 0, 0, born, 0, 0]
    (folder / str(pid) / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
    (folder / str(pid) / "stat").write_text(f"{pid} (a) b) " + " ".join(map(str, fields)))
    (folder / str(pid) / "status").write_text(f"Name:\ta\nVmHWM:\t{rss} kB\nVmRSS:\t{rss} kB\n")
    (folder / str(pid) / "task" / str(pid) / "children").write_text(" ".join(map(str, children)))


def unmake(folder, pid):
    for name in ("stat", "status"):
        (folder / str(pid) / name).unlink()


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "_TICKS", 100)
    return tmp_path


def test_a_number_that_another_process_got_is_not_taken_for_the_old_one(made):
    make(made, 10, children=[11])
    make(made, 11, parent=10, cpu=500)
    tree = ProcessTree([10], made)
    assert tree.look().cpu_s == 5.0
    make(made, 10, collected=500)
    make(made, 11, parent=1, born=900, cpu=9999, rss=10**6)  # somebody else's
    seen = tree.look()
    assert seen.pids == {10}
    assert seen.cpu_s == 5.0
    assert seen.peak < 10**6 * 1024


def test_a_child_that_got_the_number_of_its_dead_brother_is_a_child_of_its_own(made):
    make(made, 10, children=[11])
    make(made, 11, parent=10, cpu=500)
    tree = ProcessTree([10], made)
    tree.look()
    make(made, 10, collected=500, children=[11])
    make(made, 11, parent=10, born=900, cpu=100)
    assert tree.look().cpu_s == 6.0


def test_a_dead_branch_is_told_once_by_the_ancestor_that_collected_it(made):
    make(made, 10, children=[11])
    make(made, 11, parent=10, cpu=100, children=[12])
    make(made, 12, parent=11, cpu=300)
    tree = ProcessTree([10], made)
    assert tree.look().cpu_s == 4.0
    make(made, 10, collected=450)
    unmake(made, 11)
    unmake(made, 12)
    assert tree.look().cpu_s == 4.5
    assert tree.look().cpu_s == 4.5


def test_a_kernel_that_lists_no_children_costs_a_look_at_every_process_and_loses_none(made):
    make(made, 10)
    make(made, 11, parent=10, cpu=500)
    make(made, 12, parent=11, cpu=100)
    make(made, 13, parent=1, cpu=9999)
    for listed in made.glob("*/task/*/children"):
        listed.unlink()
    seen = ProcessTree([10], made).look()
    assert seen.pids == {10, 11, 12}
    assert seen.cpu_s == 6.0


def test_the_highest_points_of_several_processes_count_together_only_within_one_look(made):
    make(made, 10, children=[11], rss=1000)
    make(made, 11, parent=10, rss=1000)
    tree = ProcessTree([10], made)
    assert tree.look().peak == 2000 * 1024
    (made / "10" / "status").write_text("Name:\ta\nVmHWM:\t5000 kB\nVmRSS:\t1000 kB\n")
    assert tree.look().peak == 6000 * 1024
    (made / "11" / "status").write_text("Name:\ta\nVmHWM:\t3000 kB\nVmRSS:\t1000 kB\n")
    assert tree.look().peak == 4000 * 1024


def test_a_look_at_oneself_agrees_with_what_the_process_knows():
    seen = look_at(os.getpid())
    spent = os.times()
    assert seen.cpu_s == pytest.approx(spent.user + spent.system, abs=0.05)
    assert seen.collected_s == pytest.approx(spent.children_user + spent.children_system, abs=0.05)
    assert seen.parent == os.getppid()
    assert seen.high_water >= seen.rss > 10 * MIB
