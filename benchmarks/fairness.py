"""Write docs/fairness.md from real runs: the four libraries side by side, and what still differs.

    make fairness          # makes the runs (ten minutes on two cores), then the page
    python benchmarks/fairness.py SWEEP_DIR > docs/fairness.md

Reads every training.json, play.json and agent_mapping.json below the sweep's folder; the runs are expected to vary
`framework`, `agent.timeout_bootstrap` and `seed`, and nothing else.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.frameworks.registry import load_translation

COUNTED = {
    "gradient_steps_per_iteration": "gradient steps per iteration",
    "samples_per_minibatch": "samples per minibatch",
    "actor_parameters": "parameters of the actor",
    "critic_parameters": "parameters of the critic",
    "threads": "torch threads",
    "matmul_precision": "matmul precision",
    "matmul_tf32": "TF32 in matrix products",
    "cudnn_tf32": "TF32 in cuDNN",
    "cudnn_benchmark": "cuDNN benchmark",
}


class Run:
    """One run directory."""

    def __init__(self, folder: Path) -> None:
        self.training = read_bundle_file(folder / "training.json").bundle
        play = folder / "play.json"
        self.play = read_bundle_file(play).bundle if play.exists() else None
        self.mapping = json.loads((folder / "agent_mapping.json").read_text())
        self.framework = self.mapping["framework"]
        self.bootstrap = self.training.extra["timeout_bootstrap"]


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def header(*cells: str) -> list[str]:
    return [row(*cells), row(*["---"] * len(cells))]


def code(text: object) -> str:
    return f"`{str(text).replace('|', chr(92) + '|')}`"


def mapping_table(runs: dict[str, list[Run]]) -> list[str]:
    tables = {name: {entry["parameter"]: entry for entry in of[0].mapping["parameters"]} for name, of in runs.items()}
    lines = header("parameter", *tables)
    for parameter in next(iter(tables.values())):
        entries = [table[parameter] for table in tables.values()]
        lines.append(row(code(parameter), *(f"{entry['quality']}: {code(entry['native'])}" for entry in entries)))
    return lines


def counted_table(runs: dict[str, list[Run]]) -> list[str]:
    lines = header("counted or read back in the worker", *runs)
    for key, words in COUNTED.items():
        values = [{str(run.training.extra[key]) for run in of} for of in runs.values()]
        lines.append(row(words, *(" / ".join(sorted(value)) for value in values)))
    samples = [{run.training.runtime.steps_per_iteration for run in of} for of in runs.values()]
    return [*lines, row("samples per iteration", *(" / ".join(map(str, sorted(value))) for value in samples))]


def spread(values: list[float], form: str = ",.0f") -> str:
    return f"{mean(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def result_table(runs: dict[str, list[Run]]) -> list[str]:
    lines = header("", *runs)
    for words, value, form in (
        ("environment steps/s, whole iterations", lambda run: run.training.runtime.total_fps.mean, ",.0f"),
        ("environment steps/s, rollouts alone", lambda run: run.training.runtime.collection_fps.mean, ",.0f"),
        ("learning, ms an iteration", lambda run: 1e3 * per_iteration(run, "learning_time_s"), ".1f"),
        ("our hooks' share of the time", lambda run: 100 * run.training.extra["hook_time_fraction"], ".2f"),
        ("mean return at the end", lambda run: run.training.learning.reward.final_raw, ".2f"),
        ("success in play", lambda run: run.play.success_rate, ".3f"),
    ):
        unit = " %" if "share" in words else ""
        lines.append(row(words, *(spread([value(run) for run in of], form) + unit for of in runs.values())))
    return lines


def per_iteration(run: Run, key: str) -> float:
    measured = run.training.runtime.iterations_completed - run.training.extra["warmup_iterations"]
    return run.training.extra[key] / measured


def differences(names: list[str]) -> list[str]:
    lines = []
    for name in names:
        lines += [f"**{name}**", ""]
        lines += [f"- {text}" for text in load_translation(f"benchmark_app.frameworks.{name}").DIFFERENCES["ppo"]]
        lines.append("")
    return lines


def page(folder: Path) -> str:
    runs: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.rglob("training.json")):
        run = Run(path.parent)
        if run.training.run.status != "completed":
            raise SystemExit(f"{path}: the run is {run.training.run.status}; only completed runs can be compared")
        runs[run.bootstrap][run.framework].append(run)
    if not runs:
        raise SystemExit(f"{folder}: holds no training.json")
    exact = runs["exact"]
    example = next(iter(exact.values()))[0].training
    versions = [f"{name} {getattr(example.versions, name)}" for name in exact]
    seeds = sorted({run.training.run.seed for run in next(iter(exact.values()))})
    lines = [
        "# Four libraries on equal terms",
        "",
        "Generated by `make fairness` from real runs; do not edit. The words about what differs stand in each",
        "library's `translation.py`.",
        "",
        f"{example.run.task}, {example.run.num_envs} environments, seeds {', '.join(map(str, seeds))}, "
        f"{example.run.max_iterations} iterations; {', '.join(versions)}, torch {example.versions.torch}; "
        f"{example.hardware.cpu_name}. Numbers are means over seeds, with the smallest and largest in brackets.",
        "",
        "## The shared description in each library",
        "",
        *mapping_table(exact),
        "",
        "## What was counted from the live objects",
        "",
        *counted_table(exact),
    ]
    for bootstrap, words in (("exact", "time limits bootstrapped exactly"), ("stock", "what each library does itself")):
        if bootstrap in runs:
            lines += [
                "",
                f"## Results, `agent.timeout_bootstrap={bootstrap}`: {words}",
                "",
                *result_table(runs[bootstrap]),
            ]
    lines += ["", "## What no configuration removes", "", *differences(list(exact))]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print(page(parser.parse_args().folder), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
