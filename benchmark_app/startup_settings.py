"""The settings of start-up: how its kernels are found, and which functions its profile keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from benchmark_app.journal.events import PHASES
from benchmark_app.settings import Settings

AS_FOUND, WARM, COLD = "as_found", "warm", "cold"


def startup_problems(s: Settings) -> list[str]:
    """What is wrong with `startup.*`.

    A whitelist is replaced by what its file holds: it is that which counts, wherever and whenever the run is made.
    """
    found = []
    if s.startup.kernel_cache not in (AS_FOUND, WARM, COLD):
        found.append(f"startup.kernel_cache={s.startup.kernel_cache}: must be one of {AS_FOUND}, {WARM}, {COLD}")
    if s.startup.whitelist is not None:
        shown = f"startup.whitelist={s.startup.whitelist}"
        if not s.startup.top_n:
            return [*found, f"{shown}: startup.top_n=0 makes no profiled pass; set startup.top_n=30"]
        try:
            content = _read(Path(s.startup.whitelist).expanduser())
        except ValueError as error:
            return [*found, f"{shown}: {error}"]
        s.startup.whitelist = json.dumps(content)
    return found


def whitelist_of(s: Settings) -> dict[str, list[str]]:
    """Phase → patterns, of checked settings; empty where there is no whitelist."""
    content: dict[str, list[str]] = json.loads(s.startup.whitelist) if s.startup.whitelist is not None else {}
    return content


def _read(path: Path) -> dict[str, list[str]]:
    """Read a whitelist.

    Raises:
        ValueError: It cannot be read or is none; the message says what to do.
    """
    try:
        content: Any = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except OSError as error:
        if path.exists() and error.strerror is None:  # OmegaConf's word for a single value
            raise ValueError("must hold phase: [patterns]") from None
        raise ValueError(f"cannot be read ({error.strerror or error}); name a YAML file") from error
    except (YAMLError, OmegaConfBaseException, UnicodeDecodeError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"is no YAML ({text}); put patterns in quotes, as in env_creation: ['*:finalize']") from error
    if not isinstance(content, dict) or not content:
        raise ValueError("must hold phase: [patterns]")
    for phase, patterns in content.items():
        if phase not in PHASES:
            raise ValueError(f"{phase}: no such phase; known: {', '.join(PHASES)}")
        if not (isinstance(patterns, list) and patterns and all(isinstance(one, str) and one for one in patterns)):
            raise ValueError(f"{phase}: must be a list of patterns, such as ['newton.*:*']")
    return {phase: content[phase] for phase in PHASES if phase in content}
