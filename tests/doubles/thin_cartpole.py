"""Cartpole with a pole that no engine takes as it is: without thickness for Newton, without any mass for PhysX."""

from dataclasses import replace
from pathlib import Path

from benchmark_app.tasks.cartpole import Cfg
from benchmark_app.tasks.cartpole import load_env as load_cartpole

__all__ = ["Cfg", "load_env"]


def thinned(file, *changes):
    """A changed copy of a robot's file, in the current folder."""
    text = Path(file).read_text(encoding="utf-8")
    for thick, thin in changes:
        assert thick in text
        text = text.replace(thick, thin)
    copy = Path(f"thin{Path(file).suffix}").resolve()
    copy.write_text(text, encoding="utf-8")
    return str(copy)


def load_env():
    class ThinCartpole(load_cartpole()):
        @staticmethod
        def scene(cfg, num_envs):
            thick = load_cartpole().scene(cfg, num_envs)
            mjcf = thinned(thick.mjcf, ('diaginertia="0.0167 0.0167 0.0001"', 'diaginertia="0.0167 0.0167 1e-13"'))
            inertia = "float3 physics:diagonalInertia = (0.0167, 0.0167, 0.0001)"
            usd = thinned(thick.usd, (inertia, ""), ("float physics:mass = 0.2", ""))
            return replace(thick, mjcf=mjcf, usd=usd)

    return ThinCartpole
