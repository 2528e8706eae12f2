"""Finding tasks: those shipped, those that installed packages offer, and those of a folder of the user's."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.places import conf_dir
from benchmark_app.refusal import unknown_key
from benchmark_app.settings import SettingError, task_cfg_class

GROUP = "benchmark_app.tasks"
"""Entry point group by which an installed package offers tasks: name of the task = its module."""
SHIPPED = "shipped"


class TaskError(ValueError):
    """A task is not there or cannot be used; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class TaskEntry:
    """Where one task is. Everything else is asked of it when it is wanted.

    Attributes:
        name: The one typed as `task=NAME`.
        module: Module that offers `Cfg` and `load_env`.
        origin: `shipped`, the name of the package that offers it, or the folder it was found in.
        conf: Folder with the Hydra groups its settings are in: `task/NAME.yaml`, `tuned/NAME_AGENT.yaml`.
    """

    name: str
    module: str
    origin: str
    conf: Path

    @property
    def config(self) -> Path:
        """The file with its settings."""
        return self.conf / "task" / f"{self.name}.yaml"

    @property
    def folder(self) -> Path:
        """The folder its module lies in, with its assets.

        Raises:
            TaskError: The module cannot be found.
        """
        return _folder_of(self.module)

    @property
    def golden(self) -> Path:
        """The file with what its first steps must give; `check` writes it."""
        return self.folder / "golden.json"

    @property
    def reference(self) -> Path:
        """The file with its reference results; `check` writes it."""
        return self.folder / "reference.json"

    def cfg(self, **changes: Any) -> EnvCfg:
        """Its settings as an object of its own class.

        Args:
            **changes: Settings that are to be other than in its file.

        Raises:
            TaskError: A setting is unknown, missing or of the wrong type, or the module is no task.
        """
        try:
            return task_cfg({**read_settings(self.config), **changes})
        except ValueError as error:
            raise TaskError(f"{self.config}: {error}") from error


def find_tasks(config_dir: Path | None = None) -> dict[str, TaskEntry]:
    """Every task that can be used, by name.

    Args:
        config_dir: A folder of the user's, with the Hydra group `task`; its tasks go before others of the same name.

    Raises:
        TaskError: A file of `task/` is no task's.
    """
    found = {entry.name: entry for entry in _of_folder(conf_dir(), SHIPPED)}
    offered, _ = _offered(found)
    found |= offered
    if config_dir is not None:
        found |= {entry.name: entry for entry in _of_folder(config_dir, str(config_dir))}
    return dict(sorted(found.items()))


def unusable_tasks() -> dict[str, str]:
    """Tasks that installed packages offer and that cannot be used, by name, and why."""
    _, problems = _offered({entry.name: entry for entry in _of_folder(conf_dir(), SHIPPED)})
    return problems


def load_task(name: str, config_dir: Path | None = None) -> TaskEntry:
    """The task of a name.

    Raises:
        TaskError: There is none, or it cannot be used.
    """
    tasks = find_tasks(config_dir)
    if name in tasks:
        return tasks[name]
    if why := unusable_tasks().get(name):
        raise TaskError(f"task {name}: {why}")
    near = difflib.get_close_matches(name, tasks, n=3)
    raise TaskError(
        f"{name}: no such task; " + (f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(tasks)}")
    )


def offered_folders() -> list[tuple[str, Path]]:
    """Configuration folders of installed packages that offer tasks, each with the package's name, each once."""
    found: dict[Path, str] = {}
    for point in entry_points(group=GROUP):
        try:
            found.setdefault(_folder_of(point.module) / "conf", _package(point))
        except TaskError:
            continue  # `unusable_tasks` says why; who does not choose the task need not know
    return [(package, folder) for folder, package in found.items()]


def task_cfg(settings: dict[str, Any]) -> EnvCfg:
    """A task's settings as an object of its own class, each checked by name and type.

    Args:
        settings: By name; `module` among them.

    Raises:
        ValueError: A setting is unknown, missing, of the wrong type or not finite; the message says which.
    """
    try:
        schema = OmegaConf.structured(task_cfg_class(settings["module"]))
    except SettingError as error:
        raise ValueError(str(error)) from error
    known = list(schema)
    for key, value in settings.items():
        if key not in known:
            raise ValueError(unknown_key(f"{key}={value}", known))
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{key}={value}: must be a finite number")
        try:
            schema[key] = value
        except OmegaConfBaseException as error:
            raise ValueError(f"{key}={value}: {str(error).splitlines()[0]}") from error
    if missing := [key for key in known if OmegaConf.is_missing(schema, key)]:
        raise ValueError(f"{missing[0]}: has no value")
    return OmegaConf.to_object(schema)  # type: ignore[return-value]


def _of_folder(conf: Path, origin: str) -> list[TaskEntry]:
    found = []
    for path in sorted((conf / "task").glob("*.yaml")):
        settings = read_settings(path)
        found.append(TaskEntry(name=path.stem, module=settings["module"], origin=origin, conf=conf))
    return found


def _offered(shipped: dict[str, TaskEntry]) -> tuple[dict[str, TaskEntry], dict[str, str]]:
    """What installed packages offer: the tasks that can be used, and why the others cannot."""
    found: dict[str, TaskEntry] = {}
    problems: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        name, package = point.name, _package(point)
        if name in shipped:
            problems[name] = f"the package {package} offers one of the name of a shipped task; it must choose another"
        elif name in found:
            problems[name] = f"the packages {found.pop(name).origin} and {package} both offer it; uninstall one"
        elif name not in problems:
            try:
                found[name] = _entry(point, package)
            except TaskError as error:
                problems[name] = f"the package {package} offers it, and {error}"
    return found, problems


def _entry(point: EntryPoint, package: str) -> TaskEntry:
    entry = TaskEntry(name=point.name, module=point.module, origin=package, conf=_folder_of(point.module) / "conf")
    settings = read_settings(entry.config)
    for key, expected in (("name", entry.name), ("module", entry.module)):
        if settings[key] != expected:
            raise TaskError(f"{entry.config} says {key}={settings[key]}; its entry point says {expected}")
    entry.cfg()
    return entry


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "(unknown)"


def _folder_of(module: str) -> Path:
    try:
        spec = find_spec(module)
    except Exception as error:  # a package on the way is a user's code and may fail in any way
        raise TaskError(f"its module {module} cannot be imported ({type(error).__name__}: {error})") from error
    if spec is None or spec.origin is None:
        raise TaskError(f"its module {module} is not there; install it, or put its folder on PYTHONPATH")
    return Path(spec.origin).parent


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a task's file, by name; `name`, `module` and `gym_id` are among them.

    Raises:
        TaskError: The file cannot be read, or is no task's.
    """
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"its settings are not in {path} ({error.strerror})") from error
    except (ValueError, yaml.YAMLError) as error:
        raise TaskError(f"{path}: is not valid YAML in UTF-8 ({' '.join(str(error).split())})") from error
    if not isinstance(settings, dict) or not {"name", "module", "gym_id"} <= settings.keys():
        raise TaskError(f"{path}: no task; expected its settings, with name, module and gym_id among them")
    return settings
