"""Versions of the software a run used, in the shape of the bundle's `Versions`.

Standard library only and free of imports from this package: for a worker in another interpreter the parent runs this
file there and reads what it prints.
"""

from __future__ import annotations

import importlib.metadata
import json

# Field of `Versions` → distribution that carries it.
DISTRIBUTIONS = {
    "isaaclab": "isaaclab",
    "isaacsim": "isaacsim",
    "newton": "newton",
    "warp": "warp-lang",
    "mjwarp": "mujoco-warp",
    "torch": "torch",
    "rsl_rl": "rsl-rl-lib",
    "rl_games": "rl-games",
    "skrl": "skrl",
    "sb3": "stable-baselines3",
    "numpy": "numpy",
    "isaaclab_newton": "isaaclab-newton",
    "isaaclab_physx": "isaaclab-physx",
    "isaaclab_ov": "isaaclab-ov",
    "isaaclab_tasks": "isaaclab-tasks",
    "isaaclab_rl": "isaaclab-rl",
    "ovrtx": "ovrtx",
    "ovphysx": "ovphysx",
    "mujoco": "mujoco",
    "cuda_bindings": "cuda-bindings",
    "usd_core": "usd-core",
    "usd_exchange": "usd-exchange",
}


def installed_versions() -> dict[str, str | None]:
    """Look every distribution up in this interpreter.

    Returns:
        Version by field of `Versions`; None where the distribution is absent, except for the two fields the schema
        requires to be text, which are "" then.
    """
    found: dict[str, str | None] = {}
    for field, distribution in DISTRIBUTIONS.items():
        try:
            found[field] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            found[field] = "" if field in ("isaaclab", "torch") else None
    # Kit has no distribution of its own, and Isaac Lab's release file exists only in its repository.
    return {**found, "kit": None, "isaaclab_release": None}


if __name__ == "__main__":
    print(json.dumps(installed_versions()))
