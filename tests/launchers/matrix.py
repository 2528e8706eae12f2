"""One sweep in which everything goes wrong that can, for every launcher: acceptance, in one place."""

import json
from pathlib import Path

from benchmark_app.bundle.read import read_bundle_file

GOOD = [20, 24, 28, 32, 36, 40, 44]
RAISES, KILLED, EXITS, LATE = 4, 8, 12, 16
IMPOSSIBLE = 5  # environments: 10 samples cannot be cut into 4 minibatches
FAULTS = ",".join(
    [
        f"raise@2:num_envs={RAISES}",
        # The run's supervisor, and with it the process of the launcher; in a sweep without one, the worker.
        f"{{kill}}@2:num_envs={KILLED}",
        f"os_exit@2:num_envs={EXITS}",
        f"hang@2:num_envs={LATE}",
    ]
)
REASONS = {
    RAISES: ("crashed", "the synthetic task failed"),
    KILLED: ("crashed", "killed"),
    EXITS: ("crashed", "status 0 before"),
    LATE: ("interrupted", "time limit"),
    IMPOSSIBLE: ("refused", "agent.minibatches=4: must divide"),
}
RUNS = [RAISES, KILLED, EXITS, LATE, IMPOSSIBLE, *GOOD]
SETTINGS = (
    f"num_envs={','.join(map(str, RUNS))}",
    *("workflow=training", "agent.iterations=4", "agent.rollout=2", "agent.minibatches=4", "device=cpu"),
    *("training.warmup_iterations=1", "run.time_limit=10", "run.grace_s=0.5"),
)


class Sweep:
    """A sweep of synthetic runs in a folder."""

    def __init__(self, app, launcher, *settings, env=None):
        self.app, self.env = app, env or {}
        self.folder = app.folder / "sweep"
        self.settings = ["-m", f"launcher={launcher}", f"hydra.sweep.dir='{self.folder}'", *settings]

    def start(self, *more, fault="", **options):
        options = {"run_dir": False, "step_s": 0.01, **options}
        return self.app.synthetic(*self.settings, *more, fault=fault, env=self.env, **options)

    def run(self, *more, fault="", timeout=400, **options):
        """Exit status, and what was printed."""
        process = self.start(*more, fault=fault, **options)
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out + err

    @property
    def record(self):
        return json.loads((self.folder / "sweep.json").read_text())

    def entry(self, **settings):
        """What the record says about the one run with these settings."""
        wanted = {f"{name}={value}" for name, value in settings.items()}
        (found,) = [entry for entry in self.record["cases"] if wanted <= set(entry["overrides"])]
        return found

    def attempts(self, **settings):
        """The folders of a run's attempts, the oldest first."""
        case = self.folder / self.entry(**settings)["case"]
        return sorted((path for path in case.glob("attempt-*") if path.is_dir()), key=lambda path: path.stat().st_ctime)

    def bundle(self, attempt):
        return read_bundle_file(Path(attempt) / "training.json").bundle


def check_that_the_others_complete(sweep, *, kill="kill_supervisor"):
    """Five fail for five reasons, seven complete, and the sweep says so."""
    code, printed = sweep.run(*SETTINGS, fault=FAULTS.format(kill=kill))
    assert code == 1, printed
    entries = {number: sweep.entry(num_envs=number) for number in RUNS}
    told = {number: (entry["status"], entry["reason"]) for number, entry in entries.items()}
    assert {number for number, (status, _) in told.items() if status == "completed"} == set(GOOD), told
    for number, (status, reason) in REASONS.items():
        assert told[number][0] == status, told[number]
        assert reason in told[number][1], told[number]
        assert reason in " ".join(printed.split()), printed
    for number in set(RUNS) - {IMPOSSIBLE}:
        assert sweep.bundle(sweep.attempts(num_envs=number)[-1]).run.status == told[number][0]
    assert entries[IMPOSSIBLE]["case"] == ""
    assert sweep.record["status"] == "failed"
    assert not list(sweep.folder.glob("*/*/.reserve"))


def check_that_resuming_runs_the_failed_ones_alone(sweep):
    """Without their faults four of the five complete in one more attempt; nothing else is run."""
    before = {number: len(sweep.attempts(num_envs=number)) for number in RUNS if number != IMPOSSIBLE}
    code, printed = sweep.run(*SETTINGS, "sweep.resume=true")
    assert code == 1, printed  # the impossible one is still impossible
    for number, attempts in before.items():
        assert len(sweep.attempts(num_envs=number)) == attempts + (number not in GOOD)
    statuses = {number: sweep.entry(num_envs=number)["status"] for number in RUNS}
    assert statuses == {**dict.fromkeys(RUNS, "completed"), IMPOSSIBLE: "refused"}
