"""What a start-up leaves beside its bundle, and the conditions its workers are given for it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from benchmark_app.profiling.host.import_tree import write_tree

from .passes import Pass
from .process import CACHE_VARIABLE

ARTEFACTS = "startup_profile"
"""Folder in the run directory: flame graph and import-time tree, of the profiled pass."""
PRIVATE_KERNELS = ".kernel_cache"
"""Beginning of the name of a folder that holds the kernels of one cold pass."""


def python_options(each: Pass) -> list[str]:
    """Options of the interpreter of a pass: only a profiled one may be slowed down."""
    return ["-X", "importtime"] if each.profiled else []


def variables_of(kernels: Path | None) -> dict[str, str]:
    """Variables that have a worker begin without compiled kernels: those of Warp, and those of CUDA's driver.

    Args:
        kernels: A folder of its own; None where it finds what there is.

    Raises:
        OSError: It cannot be made.
    """
    if kernels is None:
        return {}
    cuda = kernels / "cuda"
    cuda.mkdir(parents=True)
    return {CACHE_VARIABLE: str(kernels), "CUDA_CACHE_PATH": str(cuda)}


def write_import_tree(log: Path, run: Path) -> None:
    """Leave the import-time tree that a profiled pass printed, also one that failed; a full disk leaves none."""
    with contextlib.suppress(OSError):
        folder = run / ARTEFACTS
        folder.mkdir(exist_ok=True)
        write_tree(log, folder / "imports.txt", folder / "imports.speedscope.json")
