"""Facts about the machine and the user's project, in the shape of the bundle's `Hardware` and `Versions`."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from . import gpu, versions


def hardware() -> dict[str, Any]:
    """Describe this host; `cpu_count` counts physical cores, `ram_gb` is in GiB."""
    return {
        "hostname": socket.gethostname(),
        "gpu_devices": [{key: device[key] for key in ("name", "mem_gb", "compute_cap")} for device in gpu.devices()],
        "cpu_name": _cpu_name(),
        # Containers may hide the topology; then the logical count is all there is to know.
        "cpu_count": psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        "ram_gb": round(psutil.virtual_memory().total / 2**30, 2),
    }


def software(python: str, project: Path) -> dict[str, Any]:
    """Versions installed for `python`, and git facts of the project in `project`.

    Raises:
        subprocess.SubprocessError: The other interpreter cannot tell its versions.
    """
    if python == sys.executable:
        installed = versions.installed_versions()
    else:
        done = subprocess.run([python, versions.__file__], capture_output=True, text=True, check=True, timeout=60)
        try:
            installed = json.loads(done.stdout)
        except ValueError:
            raise subprocess.SubprocessError(f"{python} ran, but is no Python that tells its packages") from None
    return {**installed, **git_facts(project)}


def git_facts(project: Path) -> dict[str, Any]:
    """Commit, branch and dirtiness of the repository `project` lies in: the user's, not this package's."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(project), *arguments], capture_output=True, text=True, check=False, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    return {
        "git_commit": git("rev-parse", "--verify", "HEAD"),
        # A detached head has a commit and no branch.
        "git_branch": git("symbolic-ref", "--short", "HEAD"),
        "git_dirty": bool(git("status", "--porcelain")),
    }


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
