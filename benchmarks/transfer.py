"""Train cartpole on every engine, play every policy on every engine: sim-to-sim transfer, as Markdown.

    make transfer
    python benchmarks/transfer.py --worker-python ovphysx=.venv-ovphysx/bin/python --seeds 1,2,3 > matrix.md

Engines that are not available are left out, and why is said. Each run is an ordinary one, in a folder of its own below
`--runs`; runs found completed there are not made again. Other settings of the runs follow as KEY=VALUE. Exit status 1
if a training's return or a play's success is below what is asked for.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import mean

from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.physics.availability import distributions, missing
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.profiling.host.interpreter import other_interpreter, this_interpreter


class Runs:
    """The runs of a matrix, made when they are asked for."""

    def __init__(self, folder: Path, pythons: dict[str, str], settings: list[str]) -> None:
        self.folder, self.pythons, self.settings = folder, pythons, settings

    def training(self, engine: str, seed: int):
        return self._run("training", f"{engine}-seed{seed}", engine, seed)

    def play(self, trained_on: str, engine: str, seed: int):
        checkpoint = self.training(trained_on, seed).checkpoint_path
        name = f"{trained_on}-on-{engine}-seed{seed}"
        return self._run("play", name, engine, seed, f"checkpoint='{checkpoint}'")

    def _run(self, workflow: str, name: str, engine: str, seed: int, *more: str):
        folder = (self.folder / f"{workflow}-{name}").resolve()
        result = folder / f"{workflow}.json"
        if not result.exists():
            arguments = [f"workflow={workflow}", f"physics={engine}", f"seed={seed}", *more, *self.settings]
            if engine in self.pythons:
                arguments.append(f"worker.python='{self.pythons[engine]}'")
            command = [sys.executable, "-m", "benchmark_app", *arguments, f"hydra.run.dir='{folder}'"]
            print(f"{workflow} {name}", file=sys.stderr, flush=True)
            subprocess.run(command, check=True, stdout=sys.stderr)
        bundle = read_bundle_file(result).bundle
        if bundle.run.status != "completed":
            raise SystemExit(f"{result}: the run is {bundle.run.status}; remove its folder to make it again")
        return bundle


def available(pythons: dict[str, str]) -> list[str]:
    """The engines that can run here, each in its own interpreter."""
    found = []
    for name in ENGINES:
        wanted = distributions(name)
        python = other_interpreter(pythons[name], wanted) if name in pythons else this_interpreter(wanted)
        if problem := missing(name, python):
            print(f"left out: {name} {problem}", file=sys.stderr)
        else:
            found.append(name)
    return found


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def matrix(runs: Runs, engines: list[str], seeds: list[int], least_return: float, least_success: float):
    """The page, and what on it is below what was asked for."""
    below = []
    head = ["trained on", "return in training", *(f"played on {engine}" for engine in engines)]
    lines = [row(*head), row(*["---"] * len(head))]
    for trained_on in engines:
        learned = [runs.training(trained_on, seed).learning.reward.final_raw for seed in seeds]
        cells = [f"{mean(learned):.2f}" + (f" ({min(learned):.2f} to {max(learned):.2f})" if len(seeds) > 1 else "")]
        if min(learned) < least_return:
            below.append(f"{trained_on}: return {min(learned):.2f} is below {least_return}")
        for engine in engines:
            played = [runs.play(trained_on, engine, seed) for seed in seeds]
            success = [bundle.success_rate for bundle in played]
            cells.append(f"{mean(success):.3f} (return {mean(bundle.reward.mean for bundle in played):.2f})")
            if min(success) < least_success:
                below.append(f"{trained_on} on {engine}: success {min(success):.3f} is below {least_success}")
        lines.append(row(f"**{trained_on}**", *cells))
    episodes = runs.play(engines[0], engines[0], seeds[0]).extra["n_episodes"]
    shown = ", ".join(map(str, seeds))
    about = f"Success (mean return) over {episodes:.0f} episodes; seed{'s' if len(seeds) > 1 else ''} {shown}."
    return [*lines, "", about], below


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings of all runs")
    parser.add_argument("--engines", help="separated by commas; all that are available if left out")
    parser.add_argument("--seeds", default="1", help="separated by commas")
    parser.add_argument("--runs", type=Path, default=Path("outputs/transfer"), help="folder of the runs")
    parser.add_argument(
        "--worker-python", action="append", default=[], metavar="ENGINE=PATH", help="interpreter an engine runs in"
    )
    parser.add_argument("--least-return", type=float, default=4.4, help="of each training")
    parser.add_argument("--least-success", type=float, default=0.9, help="of each policy on each engine")
    arguments = parser.parse_intermixed_args()
    # Absolute, but not resolved: the interpreter of a virtual environment is a link out of it.
    pythons = {
        engine: str(Path(path).absolute())
        for engine, _, path in (text.partition("=") for text in arguments.worker_python)
    }
    engines = arguments.engines.split(",") if arguments.engines else available(pythons)
    if unknown := sorted({*engines, *pythons} - set(ENGINES)):
        parser.error(f"{', '.join(unknown)}: no such engine; known: {', '.join(ENGINES)}")
    runs = Runs(arguments.runs, pythons, arguments.settings)
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    lines, below = matrix(runs, engines, seeds, arguments.least_return, arguments.least_success)
    command = shlex.join(["python", "benchmarks/transfer.py", *sys.argv[1:]])
    print("\n".join([*lines, f"Made by `{command}`."]))
    print("\n".join(below), file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
