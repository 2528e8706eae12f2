"""Whether a busy machine is reported as busy, and an idle one is not, over and over again.

    python benchmarks/conditions_check.py             ten runs with two busy loops beside them, and ten without
    python benchmarks/conditions_check.py --idle 0    the first half only, on a machine that is not idle

The worker is the tests' synthetic one, which sleeps; the machine is busy or idle as the loops and everything else on it
make it. The runs without loops mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYNTHETIC = ROOT / "tests" / "doubles" / "synthetic_worker.py"
LOOP = [sys.executable, "-S", "-c", "while True: pass"]
BUSY = "busy with other processes"


def one_run(folder):
    """Warnings about other processes, before and during a run of two seconds, and what was measured of them [%]."""
    command = [
        *(sys.executable, "-m", "benchmark_app", f"worker.program={SYNTHETIC}", "workflow=training"),
        *("agent.iterations=200", "run.report=false", f"hydra.run.dir={folder}"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found = json.loads((folder / "conditions.json").read_text())
    told, met = found["warnings"]["training"], found["workflows"]["training"]
    said = [any(BUSY in text and when in text for text in told) for when in ("before the run", "during the run")]
    return said, met["start"]["others"]["percent"], met["during"]["others"]["percent"], told


def series(name, count, loops, wanted):
    """Make runs one after the other; return how many were not reported as they should be."""
    wrong = 0
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            started = [subprocess.Popen(LOOP) for _ in range(loops)]
            try:
                time.sleep(0.3)
                said, before, during, told = one_run(Path(folder) / "run")
            finally:
                for loop in started:
                    loop.kill()
                    loop.wait()
        right = said == [wanted, wanted]
        wrong += not right
        others = [text for text in told if BUSY not in text]
        print(
            f"{name} {number + 1:2d}: others used {before:5.1f} % of a core before and {during:5.1f} % during the run; "
            f"{'as it should be' if right else 'WRONG'}{'; also: ' + '; '.join(others) if others else ''}",
            flush=True,
        )
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loaded", type=int, default=10, help="runs with busy loops beside them")
    parser.add_argument("--idle", type=int, default=10, help="runs without")
    parser.add_argument("--loops", type=int, default=2, help="busy loops")
    asked = parser.parse_args()
    missed = series("busy", asked.loaded, asked.loops, True)
    false = series("idle", asked.idle, 0, False)
    print(f"{asked.loaded - missed} of {asked.loaded} busy runs reported, {false} of {asked.idle} idle ones")
    return 1 if missed or false else 0


if __name__ == "__main__":
    sys.exit(main())
