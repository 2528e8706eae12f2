"""A worker that simulates nothing and speaks the same journal: starts in a fraction of a second, without torch.

It stands in for the real one in process, sweep and kill tests through `worker.program`, which marks its bundles
synthetic. `SYNTHETIC` in the environment says what goes wrong, as comma-separated `what@iteration`:
raise, os_exit, kill (itself), hang (ignore stop requests), spawn (leave a child process behind), bulk (write more than
a small disk holds), hog (hold 400 MiB of memory from then on), spike (hold them for a moment), leak (25 MiB at every
iteration from then on), burn (three children that use 0.2 s of CPU time each), fill (memory without end), say (print
`SYNTHETIC_SAYS`, as an engine's native code would), env (write down its environment), kill_supervisor (and with it the
launcher's process). Iteration -1 is before the first. `what@iteration:seed=3` does so only in that setting's run,
`what@iteration:repeat=2` only in that repeat.
`SYNTHETIC_PART` is the one part of a workflow in which it does, where there are several;
`SYNTHETIC_STEP_S` is the pretended seconds per iteration; `SYNTHETIC_CUDA`, JSON, the CUDA devices it pretends to see,
the first of which it uses.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import (
    CheckpointSaved,
    Comparison,
    Diagnostics,
    EngineFacts,
    Episode,
    Failed,
    Finished,
    Iteration,
    LoopStarted,
    Phase,
    Refused,
    Steps,
    VideoSaved,
    WorkerFacts,
)
from benchmark_app.parent_link import ParentLink

HELD = []


def setting_of(spec, name):
    if name == "repeat":
        return spec["directory"].rpartition("-repeat")[2].partition("/")[0]
    return str(spec["settings"][name])


def misbehave(iteration, spec):
    if os.environ.get("SYNTHETIC_PART", spec["part"]) != spec["part"]:
        return
    for fault in filter(None, os.environ.get("SYNTHETIC", "").split(",")):
        fault, _, whose = fault.partition(":")
        what, _, when = fault.partition("@")
        setting, _, value = whose.partition("=")
        if what == "leak" and iteration >= int(when):
            HELD.append(b"\1" * (25 * 2**20))
        if int(when or 0) != iteration or (whose and setting_of(spec, setting) != value):
            continue
        if what == "raise":
            raise RuntimeError("the synthetic task failed")
        if what == "os_exit":
            os._exit(0)
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "env":
            (Path(spec["logs"]) / "environment.json").write_text(json.dumps(dict(os.environ)))
        if what == "kill_supervisor":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(3600)  # until the link notices
        if what == "hang":
            time.sleep(3600)
        if what == "spawn":
            child = subprocess.Popen(["sleep", "3600"])
            Path(spec["journal"]).with_suffix(".child").write_text(str(child.pid))
        if what == "say":
            ctypes.CDLL(None).printf(b"%s", os.environ["SYNTHETIC_SAYS"].encode())
        if what == "hog":
            HELD.append(b"\1" * (400 * 2**20))
        if what == "spike":
            b"\1" * (400 * 2**20)
        if what == "burn":
            burning = "import time\nwhile time.process_time() < 0.2: pass"
            for _ in range(3):
                subprocess.run([sys.executable, "-S", "-c", burning], check=True)
        if what == "fill":
            while True:
                HELD.append(b"\1" * (10 * 2**20))
        if what == "bulk":
            with open(Path(spec["logs"]) / "bulk", "wb") as file:
                while True:
                    file.write(b"x" * 65536)


def iterations_done(spec):
    """Iterations behind the checkpoint a training continues."""
    card = Path(f"{spec['checkpoint']}.json")
    return json.loads(card.read_text())["iteration"] if spec["workflow"] == "training" and card.is_file() else 0


def save(spec, journal, iteration, stem=None):
    settings, path = spec["settings"], Path(spec["checkpoints"]) / f"{stem or f'iteration_{iteration}'}.txt"
    path.write_text("synthetic")
    card = {"framework": settings["framework"]["name"], "task": settings["task"]["name"], "iteration": iteration}
    path.with_name(path.name + ".json").write_text(json.dumps(card))
    journal.append(CheckpointSaved(t=time.monotonic(), path=str(path), iteration=iteration))


def record(spec, journal, link):
    """Pretended videos: under another name until they are complete."""
    for index, take in enumerate(spec["takes"]):
        path = Path(spec["directory"]) / "videos" / f"{take['name']}.mp4"
        partial = path.with_name(f".{path.name}.partial")
        path.parent.mkdir(exist_ok=True)
        partial.write_bytes(b"half of it")
        for _ in range(20):
            time.sleep(float(os.environ.get("SYNTHETIC_STEP_S", "0.01")))
            if link.stop_requested:
                raise RuntimeError("the run was asked to stop while the video was recorded")
        misbehave(index, spec)
        partial.rename(path)
        told = {"path": f"videos/{path.name}", "frames": 30, "seconds": 1.0, "cut": False}
        episodes, iteration = spec["settings"]["num_envs"], take["iteration"]
        journal.append(VideoSaved(t=time.monotonic(), episodes=episodes, iteration=iteration, **told))
    return 0


def work(spec, journal, link, spawned_at):
    settings, workflow = spec["settings"], spec["workflow"]
    if os.environ.get("SYNTHETIC") == "refuse":
        journal.append(Refused(t=time.monotonic(), message="device=cuda: there is none; set device=cpu"))
        return 2
    for name in ("python_imports", "task_config", "app_launch", "env_creation", "first_step"):
        now = time.monotonic()
        journal.append(Phase(t=now, name=name, duration_s=now - spawned_at))
        spawned_at = now
    devices = json.loads(os.environ.get("SYNTHETIC_CUDA", "[]"))
    device = "cuda:0" if devices else "cpu"
    facts = {"device": device, "threads": settings["threads"]}
    journal.append(WorkerFacts(t=time.monotonic(), device=device, cuda_devices=devices, extra=facts))
    if workflow == "equivalence" and spec["part"] != "compare":
        journal.append(Diagnostics(t=time.monotonic(), values={"physics_dt": settings["task"]["physics_dt"]}))
    misbehave(-1, spec)
    if workflow == "video":
        return record(spec, journal, link)
    envs, pause = settings["num_envs"], float(os.environ.get("SYNTHETIC_STEP_S", "0.01"))
    rollout = settings["agent"]["rollout"] if workflow == "training" else 1
    done, interval = iterations_done(spec), settings["training"]["checkpoint_interval"]
    filmed = settings["training"]["video_interval"]
    total = {
        "training": settings["agent"]["iterations"] - done,
        "runtime": 20,
        "play": settings["play"]["episodes"],
        "startup": 0,
        "equivalence": settings["equivalence"]["steps"] or 20,
    }[workflow]
    if total:
        journal.append(LoopStarted(t=time.monotonic(), steps_per_iteration=envs * rollout, warmup_iterations=1))
    if spec["part"] in ("reference", "physics"):
        facts = {"joints": [], "links": [], "gravity": [0.0, 0.0, -9.81], "physics_dt": settings["task"]["physics_dt"]}
        told = {"engine": settings["physics"]["name"], "version": "0", "settings": {}, "facts": facts}
        journal.append(EngineFacts(t=time.monotonic(), part=spec["part"], **told))
    outcome, reached = "budget", 0
    for index in range(total):
        if link.stop_requested:
            outcome = "stopped"
            break
        misbehave(index, spec)
        time.sleep(pause)
        reached = index + 1
        now = time.monotonic()
        if workflow == "training":
            journal.append(
                Iteration(
                    t=now,
                    index=index,
                    frames=envs * rollout,
                    iteration_s=pause,
                    collection_s=pause / 2,
                    learning_s=pause / 2,
                    hook_s=0.0,
                    env_step_s=[pause / 2 / rollout] * rollout,
                    episodes=1,
                    reward=float(index),
                    ep_length=10.0,
                    success_rate=0.5,
                )
            )
        else:
            frames = [envs] if workflow == "play" else None
            journal.append(Steps(t=now, first_index=index, step_s=[pause], env_step_s=[pause / 2], frames=frames))
        if workflow == "play":
            journal.append(Episode(t=now, index=index, reward=1.0, length=3, success=index % 2 == 0))
        iteration = done + index + 1
        if workflow == "training" and any(each and iteration % each == 0 for each in (interval, filmed)):
            save(spec, journal, iteration)
    if workflow == "training":
        save(spec, journal, done + reached, "policy")
    if spec["part"] == "compare" and outcome == "budget":
        values = {
            "control_dt_s": 0.02,
            "steps": total,
            "perturbation": 1e-6,
            "initial_difference": 0.0,
            "amplitude": 0.1,
        }
        journal.append(Comparison(t=time.monotonic(), values={"verdict": "identical", "joints": [], **values}))
    journal.append(Finished(t=time.monotonic(), outcome=outcome))
    return 0


def main():
    spec = json.loads(Path(sys.argv[1]).read_text())
    link = ParentLink(int(sys.argv[2]))
    with JournalWriter(Path(spec["journal"])) as journal:
        try:
            return work(spec, journal, link, float(sys.argv[3]))
        except Exception as error:
            try:
                journal.append(Failed(t=time.monotonic(), error=f"{type(error).__name__}: {error}"))
            except OSError:
                link.last_words(f"{type(error).__name__}: {error}")
            raise


if __name__ == "__main__":
    sys.exit(main())
