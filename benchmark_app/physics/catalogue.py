"""Every engine in a table: where its code is, what it needs and what it can do. Nothing is imported for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from . import engine_warnings
from .capabilities import BackendCapabilities
from .cfg import EngineCfg
from .engine_warnings import EngineWarning
from .needs import Needs
from .newton.cfg import KaminoCfg, MjwarpCfg
from .physx.cfg import IsaacSimCfg, OvphysxCfg


@dataclass(frozen=True, kw_only=True)
class Engine(Needs):
    """One engine, and what it needs.

    Attributes:
        title: What it is, for a person.
        backend: Module (in this package) and class that implement `SimBackend`.
        runtime: Module (in this package) that starts it in a process.
        cfg: Class of its settings.
        capabilities: What its class declares before it is built; a built engine may claim less.
        needs_usd: It builds scenes from USD files only.
        stands_in_for: An engine of which this is another build: tasks made for that one are taken by this one, too.
        warnings: What it may say that means wrong physics, by name.
    """

    title: str
    backend: tuple[str, str]
    runtime: str
    cfg: type[EngineCfg]
    capabilities: BackendCapabilities
    needs_usd: bool = False
    stands_in_for: str = ""
    warnings: Mapping[str, EngineWarning] = field(default_factory=dict)


ENGINES: dict[str, Engine] = {
    "newton_mjwarp": Engine(
        title="Newton, MuJoCo Warp solver",
        backend=("newton.mjwarp", "NewtonMjwarpBackend"),
        runtime="newton.runtime",
        cfg=MjwarpCfg,
        capabilities=BackendCapabilities(
            devices=("cpu", "cuda"),
            row_reset=True,
            row_independent=True,
            deterministic=True,
            graph_replay=True,
            floating_base=True,
            contacts=True,
            exact_state=True,
        ),
        distributions=("newton", "warp-lang", "mujoco-warp"),
        install="pip install 'newton[sim]'",
        warnings=engine_warnings.NEWTON_MJWARP,
    ),
    "newton_kamino": Engine(
        title="Newton, Kamino solver (beta)",
        backend=("newton.kamino", "NewtonKaminoBackend"),
        runtime="newton.runtime",
        cfg=KaminoCfg,
        capabilities=BackendCapabilities(
            devices=("cpu", "cuda"),
            row_reset=True,
            row_independent=False,
            deterministic=True,
            graph_replay=True,
            floating_base=True,
            contacts=True,
        ),
        distributions=("newton", "warp-lang", "mujoco"),
        install="pip install 'newton[sim]'",
        warnings=engine_warnings.NEWTON_KAMINO,
    ),
    "ovphysx": Engine(
        title="PhysX from PyPI (ovphysx)",
        backend=("physx.ovphysx", "OvphysxBackend"),
        runtime="physx.ovphysx_runtime",
        cfg=OvphysxCfg,
        capabilities=BackendCapabilities(
            devices=("cpu", "cuda"),
            row_reset=True,
            row_independent=True,
            deterministic=True,
            graph_replay=False,
            floating_base=True,
            contacts=True,
            exact_state=True,
        ),
        distributions=("ovphysx>=0.7,<0.8", "ovstage", "physx-usd-schemas", "newton-usd-schemas", "warp-lang"),
        install="pip install '.[ovphysx]'",
        apart="in the checkout, type: make install-ovphysx; then use its .venv-ovphysx/bin/python (worker.python)",
        needs_usd=True,
        licence="By downloading or using ovphysx, you agree to the NVIDIA Omniverse terms",
        warnings=engine_warnings.PHYSX,
    ),
    "physx": Engine(
        title="PhysX inside Isaac Sim",
        backend=("physx.isaacsim", "IsaacSimBackend"),
        runtime="physx.isaacsim_runtime",
        cfg=IsaacSimCfg,
        capabilities=BackendCapabilities(
            devices=("cuda",),
            row_reset=True,
            row_independent=False,
            deterministic=False,
            graph_replay=False,
            floating_base=True,
            contacts=True,
        ),
        distributions=("isaacsim>=6.2,<6.3", "isaacsim-kernel", "isaacsim-extscache-kit", "warp-lang"),
        install="pip install 'isaacsim[all,extscache]==6.2.*' --extra-index-url https://pypi.nvidia.com",
        python=((3, 12),),
        needs_gpu=True,
        needs_usd=True,
        stands_in_for="ovphysx",
        licence="the NVIDIA Omniverse License Agreement",
        accepted_by="OMNI_KIT_ACCEPT_EULA",
        warnings=engine_warnings.PHYSX,
    ),
}
"""Engine name (`physics=NAME`) to what is known of it before it is imported."""


def made_for_others(engine: str, task: str, made_for: Collection[str]) -> str:
    """Why a task does not run on an engine: it is made for others; "" where it does."""
    if {engine, ENGINES[engine].stands_in_for} & set(made_for):
        return ""
    return f"physics={engine}: task={task} is made for {', '.join(made_for)}"
