"""A file of reference results, as `check` writes it."""


def reference(**changes):
    """One result with two seeds; changes replace keys of the result."""
    seeds = [
        {
            "seed": seed,
            "training_s": 31.5,
            "last_tenth_reward": 4.88,
            "n_episodes": 128,
            "n_success": 127,
            "pc_success": 99.21875,
            "pc_success_ci95": [95.7, 99.9],
            "avg_sum_reward": 4.93,
            "avg_max_reward": None,
            "metrics": {"final_pole_angle": 0.0123},
        }
        for seed in (1, 2)
    ]
    result = {
        "framework": "rsl_rl",
        "agent": "ppo",
        "physics": "newton_mjwarp",
        "device": "cpu",
        "command": "python -m benchmark_app -m task=cartpole seed=1,2",
        "measured_on": "2026-11-30",
        "revision": "066c0dc1234567",
        "dirty": False,
        "num_envs": 64,
        "iterations": 150,
        "frames": 153600,
        "versions": {"torch": "2.13.0"},
        "hardware": {"cpu_name": "Some CPU", "cpu_count": 2, "gpu": []},
        "random": {"n_episodes": 100, "avg_sum_reward": 0.31, "standard_error": 0.02},
        "seeds": seeds,
        "over_seeds": {
            "pc_success": {"mean": 99.21875, "ci95": [99, 99.5]},
            "avg_sum_reward": {"mean": 4.93, "ci95": None},
        },
        "expected": {"pc_success": [95, 100], "avg_sum_reward": [4.7, 5.1]},
        "basis": "the interval over seeds",
    }
    return {"format": 1, "results": [result | changes]}
