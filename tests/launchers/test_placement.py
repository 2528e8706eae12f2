"""Runs that go on side by side on one machine have cores and a GPU each, wait for them, and may not be too many."""

import os
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.launch import placement
from benchmark_app.launch.placement import Machine, StoppedWaitingError, placed, shared_machine, visible_gpus
from benchmark_app.settings import SettingError

UUIDS = [f"GPU-{letter * 8}" for letter in "abcd"]


def settings(device="cpu", threads=1, ranks=1, physics="newton_mjwarp", workers=0):
    return SimpleNamespace(
        device=device,
        threads=threads,
        distributed=SimpleNamespace(nproc=ranks),
        physics=SimpleNamespace(name=physics),
        execution=ExecutionCfg(name="process", num_workers=workers) if workers else ExecutionCfg(),
    )


def joblib(n_jobs):
    return {"_target_": "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher", "n_jobs": n_jobs}


LOCAL = {"_target_": "hydra_plugins.hydra_submitit_launcher.submitit_launcher.LocalLauncher"}
SLURM = {"_target_": "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher"}


def ray(num_cpus=None, address=None):
    init = {"num_cpus": num_cpus, "address": address}
    remote = {"num_cpus": 1}
    return {
        "_target_": "hydra_plugins.hydra_ray_launcher.ray_launcher.RayLauncher",
        "ray": {"init": init, "remote": remote},
    }


@pytest.fixture
def host(monkeypatch):
    """A machine of four cores and four GPUs."""
    monkeypatch.setattr(placement.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    monkeypatch.setattr(placement.gpu, "devices", lambda: [{"uuid": uuid} for uuid in UUIDS])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def affinity(monkeypatch):
    """Cores this process was told to keep to, in turn."""
    told = []
    monkeypatch.setattr(placement.os, "sched_setaffinity", lambda pid, cores: told.append(tuple(cores)))
    return told


def machine(tmp_path, cores=4, gpus=0, **more):
    return Machine(cores=tuple(range(cores)), gpus=tuple(UUIDS[:gpus]), folder=str(tmp_path), **more)


@pytest.mark.parametrize(
    ("launcher", "runs", "says"),
    [
        (joblib(5), [settings()] * 8, "hydra.launcher.n_jobs=5: a run takes 1 core, and there are 4 cores"),
        (joblib(3), [settings(threads=2)] * 3, "set it to 2, or sweep.oversubscribe=true"),
        (joblib(3), [settings(), settings(ranks=2), settings()], "a run takes 2 cores"),
        (joblib(3), [settings("cuda", ranks=2)] * 3, "4 cores and 4 GPUs, so more than 2"),
        (ray(num_cpus=5), [settings()] * 8, "hydra.launcher.ray.init.num_cpus=5"),
        (
            joblib(-1),
            [settings(threads=5)],
            "threads=5, distributed.nproc=1, device=cpu: a run takes 5 cores, and there are 4 cores",
        ),
        (LOCAL, [settings(threads=5)], "threads=5"),
    ],
)
def test_more_runs_at_once_than_there_is_room_for_are_refused_and_may_be_asked_for(
    host, tmp_path, launcher, runs, says
):
    with pytest.raises(SettingError) as refused:
        shared_machine(launcher, runs, tmp_path, oversubscribe=False)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert shared_machine(launcher, runs, tmp_path, oversubscribe=True).oversubscribed


@pytest.mark.parametrize(
    ("launcher", "runs"),
    [
        (joblib(4), [settings()] * 8),
        (joblib(8), [settings()] * 4),  # there are no more runs
        (joblib(-1), [settings(threads=3)] * 8),  # each waits until there is room
        (joblib(4), [settings("auto")] * 8),
        (LOCAL, [settings()] * 8),
        (ray(), [settings()] * 8),
    ],
)
def test_runs_there_is_room_for_or_that_wait_are_let_in(host, tmp_path, launcher, runs):
    found = shared_machine(launcher, runs, tmp_path, oversubscribe=False)
    assert (found.cores, found.gpus, found.oversubscribed) == ((0, 1, 2, 3), tuple(UUIDS), False)


def test_a_gpu_too_few_is_refused(host, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    with pytest.raises(SettingError, match=r"n_jobs=2: a run takes 1 core and 1 GPU.*4 cores and 1 GPU,"):
        shared_machine(joblib(2), [settings("cuda")] * 2, tmp_path, oversubscribe=False)
    shared_machine(joblib(2), [settings("cpu")] * 2, tmp_path, oversubscribe=False)


@pytest.mark.parametrize("launcher", [SLURM, ray(address="auto"), {"_target_": "hydra.BasicLauncher"}])
def test_where_something_else_places_the_runs_nothing_is_shared_here(host, tmp_path, launcher):
    assert shared_machine(launcher, [settings(threads=64)] * 99, tmp_path, oversubscribe=False) is None


@pytest.mark.parametrize(
    ("variable", "seen"),
    [
        (None, UUIDS),
        ("", []),
        ("2,0", [UUIDS[2], UUIDS[0]]),
        ("GPU-bb,3", [UUIDS[1], UUIDS[3]]),
        ("1,9,2", [UUIDS[1]]),
        ("MIG-7", ["MIG-7"]),
    ],
)
def test_gpus_are_those_that_cuda_would_see(host, monkeypatch, variable, seen):
    if variable is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert visible_gpus() == tuple(seen)


def test_each_run_has_cores_and_a_gpu_of_its_own_and_gives_them_back(tmp_path, affinity, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "before")
    whole, run = machine(tmp_path, gpus=2), settings("cuda", threads=2)
    with placed(whole, run, lambda: False) as first:
        assert os.environ["CUDA_VISIBLE_DEVICES"] == UUIDS[0]
        with placed(whole, run, lambda: False) as second:
            assert os.environ["CUDA_VISIBLE_DEVICES"] == UUIDS[1]
    assert first == {"oversubscribed": False, "cores": "0,1", "gpu_uuids": UUIDS[0]}
    assert second == {"oversubscribed": False, "cores": "2,3", "gpu_uuids": UUIDS[1]}
    assert affinity[:2] == [(0, 1), (2, 3)]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "before"
    with placed(whole, run, lambda: False) as again:
        assert again["cores"] == "0,1"


def test_a_gpu_named_by_number_is_that_gpu_and_keeps_its_number(tmp_path, affinity, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with placed(machine(tmp_path, gpus=3), settings("cuda:1"), lambda: False) as place:
        assert place["gpu_uuids"] == UUIDS[1]
        assert os.environ["CUDA_VISIBLE_DEVICES"] == ",".join(UUIDS[:3])
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_run_waits_until_there_is_room_and_its_turn_comes_first(tmp_path, affinity):
    whole, order = machine(tmp_path, cores=2), []
    release = threading.Event()

    def run(name, threads, hold):
        with placed(whole, settings(threads=threads), lambda: False):
            order.append(name)
            hold()

    threads = [threading.Thread(target=run, args=("holds one", 1, release.wait))]
    threads[0].start()
    until(lambda: order == ["holds one"])
    # The second needs both cores; the third needs the one that is free, and may not overtake for ever.
    for name, cores in (("wants two", 2), ("wants one", 1)):
        threads.append(threading.Thread(target=run, args=(name, cores, lambda: None)))
        threads[-1].start()
        time.sleep(0.3)
    assert order == ["holds one"]
    release.set()
    for thread in threads:
        thread.join(10)
    assert order == ["holds one", "wants two", "wants one"]


def test_waiting_ends_when_the_run_is_asked_to_stop(tmp_path, affinity):
    whole = machine(tmp_path, cores=1)
    with (
        placed(whole, settings(), lambda: False),
        pytest.raises(StoppedWaitingError),
        placed(whole, settings(), lambda: True),
    ):
        pass
    with placed(whole, settings(), lambda: True) as place:
        assert place["cores"] == "0"


def test_the_place_of_a_process_that_died_is_free_again(tmp_path, affinity):
    whole = machine(tmp_path, cores=1)
    child = os.fork()
    if child == 0:
        with placed(whole, settings(), lambda: False):
            os._exit(0)  # no lock is released by hand
    os.waitpid(child, 0)
    with placed(whole, settings(), lambda: True) as place:
        assert place["cores"] == "0"


def test_an_oversubscribed_run_says_so_and_keeps_to_nothing(tmp_path, affinity):
    whole = replace(machine(tmp_path, cores=1), oversubscribed=True)
    with placed(whole, settings(), lambda: False) as first, placed(whole, settings(), lambda: False):
        assert first == {"oversubscribed": True}
    assert affinity == []


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_run_takes_a_core_for_every_process_its_environments_are_in():
    machine = Machine(cores=(0, 1, 2, 3), gpus=(), folder="")
    assert placement.need(settings(workers=3), machine).cores == 3
    assert placement.need(settings(workers=2, ranks=2), machine).cores == 4
    assert placement.need(settings(threads=3, workers=2), machine).cores == 3
