"""What the profiling hooks cost: switched on and off for alternate iterations of one training run.

    python benchmarks/hook_overhead.py [--frameworks rsl_rl skrl sb3 rl_games] [--pairs 900] [--num-envs 64] [--cpu]

On: everything a real run does (step timing, episode accounting read out, journal line). Off: the library's loop steps
the environment directly. Each pair's order is drawn at random; the ratio is taken pair by pair and its interval is a
bootstrap of the median. Bar: the upper end of the 95 % interval is at most 1.01. `--cpu` counts this thread's CPU time
instead of wall time: what a busy machine allows to be measured.
"""

import argparse
import gc
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR = 1.01


class SwitchedHooks:
    """The real hooks in half of the iterations, nothing in the other half, and a clock around both."""

    def __init__(self, recorder, env, pairs, clock):
        self._clock = clock
        self._recorder = recorder
        self._env = env
        self._bare_step = env.step
        order = random.Random(0)
        self._plan = [on for _ in range(pairs + 1) for on in order.choice([(True, False), (False, True)])]
        self.seconds = []
        self._begun = self._clock()
        self._switch()

    def _switch(self):
        self._on = len(self.seconds) < len(self._plan) and self._plan[len(self.seconds)]
        self._step = self._recorder.env_step if self._on else self._bare_step

    def env_step(self, actions):
        return self._step(actions)

    def rollout_ended(self):
        if self._on:
            self._recorder.rollout_ended()

    def rollout_resumed(self):
        if self._on:
            self._recorder.rollout_resumed()

    def iteration_ended(self):
        if self._on:
            self._recorder.iteration_ended()
        else:
            # Thrown away: the next iteration with hooks would otherwise read out the episodes of this one too.
            self._env._log = self._env._new_log()
        now = self._clock()
        self.seconds.append(now - self._begun)
        self._begun = now
        self._switch()

    def pairs(self):
        """Seconds with hooks and seconds without, pair by pair; the first pair is warm-up."""
        for first in range(2, len(self._plan), 2):
            on, off = self.seconds[first : first + 2]
            yield (on, off) if self._plan[first] else (off, on)


class Silent:
    """Stands for the pipe to a supervisor that never asks for anything."""

    stop_requested = False


def measure(framework: str, pairs: int, num_envs: int, clock) -> bool:
    """Train once with switched hooks; print and judge the ratio."""
    import numpy as np
    import warp as wp
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.kernel_cache import KernelCache
    from benchmark_app.envs.make import make_env
    from benchmark_app.frameworks.agent import PPOAgent
    from benchmark_app.frameworks.base import TrainingRun
    from benchmark_app.frameworks.registry import load_adapter, load_translation
    from benchmark_app.journal import JournalWriter
    from benchmark_app.settings import NumericsCfg
    from benchmark_app.workflows.device import apply_numerics
    from benchmark_app.workflows.recorder import TrainingRecorder

    wp.config.quiet = True
    module = f"benchmark_app.frameworks.{framework}"
    adapter = load_adapter(module)
    env = make_env(Cfg(), "newton_mjwarp", num_envs, "cpu")
    env.seed(1)
    env.reset()
    gc.freeze()  # as a worker does once its environment is ready
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with JournalWriter(folder / "journal.jsonl") as journal:
            cache = KernelCache()
            recorder = TrainingRecorder(env, journal, Silent(), kernel_loads=lambda: cache.loads)
            hooks = SwitchedHooks(recorder, env, pairs, clock)
            agent = PPOAgent(iterations=2 * (pairs + 1))
            config = load_translation(module).translate(agent)
            run = TrainingRun(agent=agent, config=config, iterations=agent.iterations, seed=1, log_dir=folder)
            learner = adapter.build(env, run, hooks)
            apply_numerics(1, NumericsCfg(matmul_precision="highest", cudnn_tf32=False, cudnn_benchmark=False))
            learner.learn()
            learner.close()
    on, off = np.array(list(hooks.pairs())).T
    ratios = on / off
    draws = np.random.default_rng(0).choice(ratios, (4000, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    met = high <= BAR
    print(
        f"{framework:<8} {len(ratios)} pairs of iterations, {1e3 * np.median(off):.1f} ms without hooks, "
        f"{1e6 * np.median(on - off):+.0f} us with  "
        f"ratio {np.median(ratios):.4f}  95 % interval {low:.4f} to {high:.4f}"
        f"  bar {BAR}: {'met' if met else 'MISSED'}"
    )
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frameworks", nargs="*", default=["rsl_rl", "skrl", "sb3", "rl_games"])
    parser.add_argument("--pairs", type=int, default=900)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--cpu", action="store_true", help="count CPU time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        clock = time.thread_time if arguments.cpu else time.perf_counter
        return 0 if measure(arguments.one, arguments.pairs, arguments.num_envs, clock) else 1
    # One library per process: they change torch's global state under one another.
    size = ["--pairs", str(arguments.pairs), "--num-envs", str(arguments.num_envs), *(["--cpu"] * arguments.cpu)]
    statuses = [
        subprocess.run([sys.executable, __file__, "--one", framework, *size], check=False).returncode
        for framework in arguments.frameworks
    ]
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
