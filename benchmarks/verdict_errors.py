"""How often the verdicts of `compare` are wrong, on simulated runs whose truth is known (docs/statistics.md).

    python benchmarks/verdict_errors.py [--comparisons 10000]

The noise models are those of the tests (tests/analysis/noise.py); every comparison has a seed of its own, and none is
left out. Exit status 1 if a model calls equal code a regression more than once in a hundred.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from benchmark_app.analysis.verdict import Question, judge
from tests.analysis.noise import MODELS

BAR = 0.01
WORDS = ("regressed", "improved", "unchanged", "underpowered", "not comparable")


def ask(base, new, design):
    (answer,) = judge([Question(np.exp(base).tolist(), np.exp(new).tolist(), "lower", design=design)])
    return answer.verdict


def row(name, found, comparisons):
    shares = [f"{100 * found[word] / comparisons:.2f}" for word in WORDS[:4]]
    return "| " + " | ".join([name, *shares]) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=10_000, help="of each kind (default 10000)")
    comparisons = parser.parse_args().comparisons

    worst = 0.0
    print("| equal code, 3 to 10 runs per side [%] | regressed | improved | unchanged | underpowered |")
    print("|---|---|---|---|---|")
    for model in MODELS:
        found = Counter()
        for seed in range(comparisons):
            rng = np.random.default_rng(seed)
            found[ask(*model(rng, *rng.integers(3, 11, 2)))] += 1
        worst = max(worst, found["regressed"] / comparisons)
        print(row(model.__name__.replace("_", " "), found, comparisons), flush=True)

    print("\n| 10 % slower [%] | regressed | improved | unchanged | underpowered |\n|---|---|---|---|---|")
    for noise in (0.02, 0.05, 0.15):
        for runs in (3, 5, 10):
            found = Counter()
            for seed in range(comparisons):
                rng = np.random.default_rng(seed)
                base, new = noise * rng.standard_normal((2, runs))
                found[ask(base, new + np.log(1.1), "apart")] += 1
            print(row(f"{runs} runs per side, {100 * noise:g} % noise", found, comparisons), flush=True)
    return int(worst > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
