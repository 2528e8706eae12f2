"""Are the repeats that `selftest` predicts enough on this machine, and not too ready to see differences?

    python benchmarks/selftest_power.py FOLDER [--pairs 40] [--effect 0.05] [--resamples 1000] [--steps 1000]

First the self-test, then 40 pairs of real cartpole `runtime` workflows in turn, A B B A A B …, each a process of its
own; B's task sleeps in every step, for 5 % of the step time the self-test measured. Then as many pairs as it predicts
are drawn from them with replacement, again and again, and given to `compare`: A against B, and A against A (neighbours,
either of which may be the baseline: what the runs at hand happen to differ by is no difference of the code). Bars: at
least 80 % of A/B and at most 5 % of A/A are called different. It goes on where it was interrupted, from what lies in
FOLDER.

It takes about 15 minutes of an idle machine. On a busy one the bars may be missed: the self-test saw another machine.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT)]

METRIC = "environment_step_time_s"
STARTED = "start_time_utc"
POWER, FALSE_ALARMS = 0.8, 0.05


def call(arguments, sleep_s=0.0):
    """The application with the sleepy task, in a process of its own."""
    search = os.pathsep.join([str(HERE), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": search, "SLEEPY_CARTPOLE_S": repr(sleep_s)}
    done = subprocess.run([sys.executable, "-m", "benchmark_app", *arguments], env=variables, check=False)
    if done.returncode != 0:
        raise SystemExit(f"it ended with status {done.returncode}; the same command goes on from here")


def predicted(folder, settings, effect):
    """What the self-test says: repeats, the minimum effect that goes with them, and the time of a step [s]."""
    file = folder / "selftest.json"
    if not file.exists():
        call(["selftest", *settings, f"run.root={folder / 'selftest'}", "--json", str(file)])
    found = json.loads(file.read_text())
    need = next(need for need in found["needed"][METRIC] if need["effect"] == effect)
    return need["runs"], need["min_effect"], statistics.median(found["noise"][METRIC]["values"])


def completed(path):
    manifest = path / "run.json"
    return manifest.exists() and json.loads(manifest.read_text())["status"] == "completed"


def make_runs(folder, settings, pairs, sleep_s):
    """Whatever is missing of the pairs, in turn; the one that begins changes from pair to pair."""
    for pair in range(pairs):
        for side in "AB" if pair % 2 == 0 else "BA":
            path = folder / side / f"{pair:03d}"
            if completed(path):
                continue
            if path.exists():  # it was interrupted; a folder that holds a run is never used again
                path.rename(path.with_name(f".broken-{pair:03d}-{os.getpid()}"))
            print(f"pair {pair + 1} of {pairs}, {side}", flush=True)
            call([*settings, "workflow=runtime", f"hydra.run.dir={path}"], sleep_s if side == "B" else 0.0)


def rows_of(folder, pairs):
    from benchmark_app.analysis.loading import load

    return [load(folder / f"{pair:03d}" / "runtime.json").runs.to_dicts()[0] for pair in range(pairs)]


def in_turn(couple, place):
    """The two runs as if made at a place of the sequence, in their order: one drawn twice was not made at one time."""
    first = min(row[STARTED] for row in couple)
    later = [row[STARTED] != first for row in couple]
    return [row | {STARTED: f"{2 * place + second:06d}"} for row, second in zip(couple, later, strict=True)]


def called(couples, runs, options, resamples, *, alike):
    """Share of comparisons of so many couples in which the metric, and in which any metric, is called different."""
    from benchmark_app.analysis.compare import compare

    rng = random.Random(0)
    metric = anything = 0
    for _ in range(resamples):
        chosen = [couples[k] for k in sorted(rng.choices(range(len(couples)), k=runs))]
        if alike:
            chosen = [couple if rng.random() < 0.5 else couple[::-1] for couple in chosen]
        chosen = [in_turn(couple, place) for place, couple in enumerate(chosen)]
        comparison = compare([one for one, _ in chosen], [other for _, other in chosen], options)
        (group,) = comparison.groups
        different = {one.metric.name for one in group.metrics if one.judgement.verdict in ("improved", "regressed")}
        metric += METRIC in different
        anything += bool(different)
    return metric / resamples, anything / resamples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the runs are and go")
    parser.add_argument("--pairs", type=int, default=40, help="real runs of each side (default 40)")
    parser.add_argument("--effect", type=float, default=0.05, choices=(0.05, 0.1), help="slowdown (default 0.05)")
    parser.add_argument("--resamples", type=int, default=1000, help="comparisons of each kind (default 1000)")
    parser.add_argument("--steps", type=int, default=1000, help="environment steps of a run (default 1000)")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)

    settings = ["device=cpu", f"runtime.steps={arguments.steps}", "task.module=sleepy_cartpole"]
    runs, min_effect, step_s = predicted(folder, settings, arguments.effect)
    if runs is None:
        print("the self-test says that no sensible number of repeats suffices: this machine is too noisy")
        return 1
    sleep_s = arguments.effect * step_s
    print(
        f"predicted: {runs} repeats; B sleeps {1e6 * sleep_s:.1f} us in each step of {1e3 * step_s:.3f} ms", flush=True
    )
    make_runs(folder, settings, arguments.pairs, sleep_s)

    from benchmark_app.analysis.cases import Options
    from benchmark_app.analysis.metrics import METRICS
    from benchmark_app.analysis.thresholds import load_thresholds

    defaults = {name: metric.min_effect for name, metric in METRICS.items()}
    thresholds = folder / "thresholds.toml"
    thresholds.write_text(f'[min_effect]\n"*" = {min_effect}\n')
    options = Options(load_thresholds(defaults, thresholds))
    a, b = (rows_of(folder / side, arguments.pairs) for side in "AB")
    ratio = statistics.median(row[METRIC] for row in b) / statistics.median(row[METRIC] for row in a)
    print(f"median of B over median of A: {ratio:.4f}")
    met = True
    for name, couples, bar in (
        ("A/B", list(zip(a, b, strict=True)), POWER),
        ("A/A", list(zip(a[::2], a[1::2], strict=False)), FALSE_ALARMS),
    ):
        metric, anything = called(couples, runs, options, arguments.resamples, alike=name == "A/A")
        fine = metric >= bar if name == "A/B" else anything <= bar
        met = met and fine
        print(f"{name}: {runs} against {runs}, of {len(couples)} couples: ", end="")
        print(f"{METRIC} called different in {metric:.1%}, any in {anything:.1%}; ", end="")
        print(f"bar {'at least' if name == 'A/B' else 'at most'} {bar:.0%}: {'met' if fine else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
