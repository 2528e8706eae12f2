"""What is checked: a task's place, settings and declaration. Light."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path

import yaml

from benchmark_app.catalogue.entries import TaskEntry, TaskError, load_task
from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration
from benchmark_app.execution.cfg import is_gymnasium


@dataclass(frozen=True, kw_only=True)
class Claims:
    """A task and what it says of itself.

    Attributes:
        entry: Where it is.
        cfg: Its settings, as its file has them.
        declaration: What it claims to be.
        folder: The folder its module lies in.
        files: Everything in that folder that is no code, relative to it, sorted.
    """

    entry: TaskEntry
    cfg: EnvCfg
    declaration: TaskDeclaration
    folder: Path
    files: tuple[str, ...]


def find_task(name: str, config_dir: Path | None = None) -> TaskEntry:
    """The task of a name, or of a module that can be imported.

    Args:
        name: A task's name, or a module with `conf/task/*.yaml` beside it, one file.
        config_dir: A folder of the user's, with the Hydra group `task`.

    Raises:
        TaskError: There is none.
    """
    try:
        return load_task(name, config_dir)
    except TaskError:
        if "." not in name and not _importable(name):
            raise
    found = TaskEntry(name=name, module=name, origin="a module", conf=Path())
    conf = found.folder / "conf"
    files = sorted((conf / "task").glob("*.yaml"))
    if len(files) != 1:
        raise TaskError(
            f"{name}: {conf}/task holds {len(files)} files, expected one NAME.yaml with the task's settings; or give "
            "the task's name and --config-dir FOLDER"
        )
    return TaskEntry(name=files[0].stem, module=name, origin="a module", conf=conf)


def read_claims(entry: TaskEntry) -> Claims:
    """What a task says of itself.

    Raises:
        TaskError: Its settings cannot be used, or it declares nothing.
    """
    cfg = entry.cfg()
    if is_gymnasium(cfg.module):
        raise TaskError(
            f"{entry.name}: gives plain Gymnasium environments, and check verifies tasks of engines; type: "
            f"python -m benchmark_app parity {entry.name}"
        )
    if cfg.declaration is None:
        raise TaskError(
            f"{entry.name}: {cfg.module} declares nothing; give its Cfg `declaration: ClassVar[TaskDeclaration] = …` "
            "(benchmark_app/envs/declaration.py)"
        )
    folder = entry.folder
    return Claims(entry=entry, cfg=cfg, declaration=cfg.declaration, folder=folder, files=_files(folder))


def settings_in_file(claims: Claims) -> dict[str, object]:
    """The task's settings as its file has them."""
    settings: dict[str, object] = yaml.safe_load(claims.entry.config.read_text(encoding="utf-8"))
    return settings


def setting_names(claims: Claims) -> list[str]:
    """Names of all settings the task has."""
    return [field.name for field in fields(claims.cfg)]


def _files(folder: Path) -> tuple[str, ...]:
    """What a task brings along: neither code nor caches nor its Hydra files."""
    found = []
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if path.is_file() and not hidden and path.suffix not in (".py", ".pyi", ".pyc") and parts[0] != "conf":
            found.append("/".join(parts))
    return tuple(sorted(found))


def _importable(name: str) -> bool:
    return name.isidentifier() and find_spec(name) is not None
