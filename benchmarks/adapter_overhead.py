"""What an adapter costs per environment step: everything between the library's call and `TorchEnv.step`.

    python benchmarks/adapter_overhead.py [--frameworks rsl_rl skrl sb3 rl_games] [--num-envs 64 1024] [--pairs 60]

Ours is the adapter as a training runs it, profiling hooks included. Minimal is written by hand for this file: the same
values and copies handed to the same library, no metrics. Both step recorded states of cartpole under random actions, so
that the environment itself costs nothing; that call's own cost is subtracted. Blocks alternate in random order; the
ratio is taken pair by pair and its interval is a bootstrap of the median. Bar: the median is at most 1.2.
"""

import argparse
import gc
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR = 1.2
STEPS = 400


class Recorded:
    """An environment that plays back what a real one returned."""

    def __init__(self, env, steps):
        import torch

        self.num_envs, self.device, self.cfg = env.num_envs, env.device, env.cfg
        self.obs_groups_spec, self.action_space = env.obs_groups_spec, env.action_space
        self.observation_space = env.observation_space
        self._first = env.reset()[0]
        self._states = [env.step(2 * torch.rand(env.num_envs, 1) - 1) for _ in range(steps)]
        self._index = 0

    def reset(self):
        return self._first, {}

    def step(self, actions):
        self._index = (self._index + 1) % len(self._states)
        return self._states[self._index]

    def drain_episodes(self):
        raise AssertionError("no iteration ends here")


def minimal_rsl_rl(env):
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict

    class Minimal(VecEnv):
        def __init__(self, env):
            self.env, self.num_envs, self.device = env, env.num_envs, env.device

        def get_observations(self):
            raise NotImplementedError

        def step(self, actions):
            state = self.env.step(actions)
            extras = {}
            if state.final_observation is not None:
                extras["final"] = self.tensors(state.final_observation), state.truncated
            return self.tensors(state.obs), state.reward, state.terminated | state.truncated, extras

        def tensors(self, obs):
            return TensorDict(obs, batch_size=[self.num_envs], device=self.device)

    return Minimal(env)


def minimal_skrl(env):
    from skrl.envs.wrappers.torch import Wrapper

    class Minimal(Wrapper):
        def step(self, actions):
            state = self._env.step(actions)
            infos = {}
            if state.final_observation is not None:
                infos["final"] = state.final_observation, state.final_mask.unsqueeze(1)
            flags = state.terminated.unsqueeze(1), state.truncated.unsqueeze(1)
            return state.obs["policy"], state.reward.unsqueeze(1), *flags, infos

        def reset(self):
            raise NotImplementedError

        state = render = close = reset

    return Minimal(env)


def minimal_sb3(env):
    import torch
    from stable_baselines3.common.vec_env import VecEnv

    class Minimal(VecEnv):
        def __init__(self, env):
            self.env = env
            super().__init__(env.num_envs, env.observation_space, env.action_space)
            self.empty = [{}] * env.num_envs

        def step_async(self, actions):
            self.actions = torch.from_numpy(actions).to(self.env.device)

        def step_wait(self):
            state = self.env.step(self.actions)
            done = (state.terminated | state.truncated).cpu().numpy()
            infos = self.empty
            if state.final_observation is not None:
                infos, final = list(infos), state.final_observation["policy"].cpu().numpy()
                truncated = state.truncated.cpu().numpy()
                for row in done.nonzero()[0]:
                    infos[row] = {"terminal_observation": final[row], "TimeLimit.truncated": bool(truncated[row])}
            return state.obs["policy"].cpu().numpy(), state.reward.cpu().numpy().copy(), done, infos

        def get_attr(self, attr_name, indices=None):
            return [None] * self.num_envs

        def reset(self):
            raise NotImplementedError

        close = set_attr = env_method = env_is_wrapped = reset

    return Minimal(env)


def minimal_rl_games(env):
    from rl_games.common.ivecenv import IVecEnv

    class Minimal(IVecEnv):
        def __init__(self, env):
            self.env = env

        def step(self, actions):
            state = self.env.step(actions)
            infos = {"time_outs": state.truncated}
            if state.final_observation is not None:
                infos["final"] = state.final_observation["policy"]
            return state.obs["policy"], state.reward, state.terminated | state.truncated, infos

        def reset(self):
            raise NotImplementedError

    return Minimal(env)


MINIMAL = {"rsl_rl": minimal_rsl_rl, "skrl": minimal_skrl, "sb3": minimal_sb3, "rl_games": minimal_rl_games}
# What the library calls, found from the learner it runs in.
OURS = {
    "rsl_rl": lambda learner: learner.runner.env.step,
    "skrl": lambda learner: learner._trainer.env.step,
    "sb3": lambda learner: learner.algorithm.env.step,
    "rl_games": lambda learner: learner.agent.vec_env.step,
}


class Silent:
    """Stands for the pipe to a supervisor that never asks for anything."""

    stop_requested = False


def seconds(step, actions, forget):
    """Seconds per call over one block."""
    begin = time.perf_counter()
    for _ in range(STEPS):
        step(actions)
    spent = time.perf_counter() - begin
    forget()
    return spent / STEPS


def measure(framework: str, num_envs: int, pairs: int) -> bool:
    import numpy as np
    import torch
    import warp as wp
    from benchmark_app.tasks.cartpole import Cfg

    from benchmark_app.envs.make import make_env
    from benchmark_app.frameworks.agent import PPOAgent
    from benchmark_app.frameworks.base import TrainingRun
    from benchmark_app.frameworks.registry import load_adapter, load_translation
    from benchmark_app.workflows.recorder import TrainingRecorder

    wp.config.quiet = True
    torch.set_num_threads(1)
    module = f"benchmark_app.frameworks.{framework}"
    env = Recorded(make_env(Cfg(), "newton_mjwarp", num_envs), STEPS)
    recorder = TrainingRecorder(env, [], Silent())
    agent = PPOAgent()
    with tempfile.TemporaryDirectory() as name:
        config = load_translation(module).translate(agent)
        run = TrainingRun(agent=agent, config=config, iterations=1, seed=1, log_dir=Path(name))
        learner = load_adapter(module).build(env, run, recorder)
        ours = OURS[framework](learner)
        minimal = MINIMAL[framework](env).step
        actions = torch.zeros(num_envs, 1)
        sent = actions.numpy() if framework == "sb3" else actions
        candidates = {"ours": (ours, sent), "minimal": (minimal, sent), "stub": (env.step, actions)}
        times = {key: [] for key in candidates}
        order = list(candidates)
        gc.freeze()
        shuffle = random.Random(0).shuffle
        with torch.inference_mode(framework == "rsl_rl"), torch.no_grad():
            for _ in range(pairs + 1):
                shuffle(order)
                for key in order:
                    times[key].append(seconds(*candidates[key], recorder._marks.clear))
        learner.close()
    stub = np.median(times["stub"])
    mine, least = (np.array(times[key][1:]) - stub for key in ("ours", "minimal"))
    ratios = mine / least
    draws = np.random.default_rng(0).choice(ratios, (4000, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    met = np.median(ratios) <= BAR
    print(
        f"{framework:<8} {num_envs:>5} environments  ours {1e6 * np.median(mine):6.1f} us  minimal "
        f"{1e6 * np.median(least):6.1f} us  ratio {np.median(ratios):.3f}  95 % interval {low:.3f} to {high:.3f}"
        f"  bar {BAR}: {'met' if met else 'MISSED'}"
    )
    return bool(met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frameworks", nargs="*", default=list(MINIMAL))
    parser.add_argument("--num-envs", nargs="*", type=int, default=[64, 1024])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        met = [measure(arguments.one, num_envs, arguments.pairs) for num_envs in arguments.num_envs]
        return 0 if all(met) else 1
    # One library per process: they change torch's global state under one another.
    size = ["--pairs", str(arguments.pairs), "--num-envs", *map(str, arguments.num_envs)]
    return max(
        subprocess.run([sys.executable, __file__, "--one", framework, *size], check=False).returncode
        for framework in arguments.frameworks
    )


if __name__ == "__main__":
    sys.exit(main())
