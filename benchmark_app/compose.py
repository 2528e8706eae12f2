"""Composing a run's configuration with Hydra, once or as a sweep, and saying in one line what is wrong with it."""

from __future__ import annotations

import dataclasses
import os
import re
import secrets
from pathlib import Path
from typing import Any, NoReturn

from hydra import compose, initialize_config_dir, version
from hydra._internal.utils import _run_hydra, get_args_parser
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark_app import config
from benchmark_app.config import unknown_key
from benchmark_app.launch.application import run
from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.refusal import refuse
from benchmark_app.settings import GROUPS, SettingError

HYDRA_VERSION = "1.3"
NAMED_GROUPS = ("workflow", "framework", "task", "physics", "rendering", "profiling")


def conf_dir() -> Path:
    """Return the folder of the configuration: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def run_application(arguments: list[str]) -> int:
    """Compose the configuration and run what it asks for, once or as a sweep.

    Returns:
        Exit status; of a sweep the worst one.
    """
    statuses: list[int] = []

    def task(composed: DictConfig) -> None:
        hydra = HydraConfig.get()
        try:
            statuses.append(_run_once(composed, hydra))
        except SettingError as error:
            statuses.append(refuse(str(error)))
        if statuses[-1] > 128 and hydra.mode.name == "MULTIRUN":
            raise KeyboardInterrupt  # the user stopped this run, and with it the sweep

    version.setbase(HYDRA_VERSION)
    OmegaConf.register_new_resolver("token", lambda: secrets.token_hex(4), use_cache=True, replace=True)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors, for us to put into one line
    parser = get_args_parser()
    parser.error = _usage_error  # type: ignore[method-assign]
    try:
        args = parser.parse_intermixed_args(arguments)  # options and settings in any order
        _run_hydra(args=args, args_parser=parser, task_function=task, config_path=str(conf_dir()), config_name="config")
    except (HydraException, OmegaConfBaseException, SettingError) as error:
        return refuse(explain(error, arguments))
    except BrokenPipeError:  # the reader of `--help` has seen enough
        return 0
    except OSError as error:  # Hydra makes the run directory before it calls us
        if statuses:
            raise
        return refuse(f"hydra.run.dir={error.filename}: cannot be made ({error.strerror}); set run.root=FOLDER")
    except (ValueError, TypeError) as error:  # Hydra's own, for options and choices of the wrong kind
        if statuses:
            raise
        return refuse(explain(error, arguments))
    except KeyboardInterrupt:
        return statuses[-1] if statuses else 130
    except SystemExit as done:  # `--help` and its like
        return int(done.code or 0)
    return max(statuses, default=0)


def _usage_error(message: str) -> NoReturn:
    raise SettingError(f"{message}; see python -m benchmark_app --help")


def _run_once(composed: DictConfig, hydra: Any) -> int:
    """Check one composed configuration and run it in its run directory."""
    choices = hydra.runtime.choices
    for group in NAMED_GROUPS:
        # The name decides what runs, the choice what is recorded: they never differ.
        name, choice = composed[group].name, choices[group]
        if name != choice:
            raise SettingError(f"{group}.name={name}: is set by the choice {group}={choice}; choose another {group}")
    hydra_keys = {field.name for field in dataclasses.fields(HydraConf)}
    for override in hydra.overrides.hydra:
        key = re.split(r"[.=]", override.lstrip("+~").removeprefix("hydra."))[0]
        if override.startswith("+") and key not in hydra_keys:
            raise SettingError(f"{override}: no such setting; see python -m benchmark_app --hydra-help")
    presets = [str(choices[group]) for group in ("agent", "profiling", "experiment") if choices[group] != "none"]
    settings = config.check(composed, presets)
    record = HydraRecord(
        config=OmegaConf.to_yaml(composed, resolve=True),
        hydra=OmegaConf.to_yaml(hydra),
        overrides=list(hydra.overrides.task),
    )
    return run(settings, Path(hydra.runtime.output_dir), record)


# How Hydra words what a person most often gets wrong.
NO_SUCH_CHOICE = re.compile(
    r"Could not find '([^']+)/([^'/]*)'(?:.*?Available options in '[^']+':\n(.*?)\nConfig)?", re.DOTALL
)
NO_SUCH_KEY = re.compile(
    r"Could not override '([^']+)'|Could not append.*?'([^']+)'|Key '([^']+)' is not in", re.DOTALL
)
SEVERAL_VALUES = re.compile(r"Ambiguous value for argument '([^']+)'")


def explain(error: Exception, arguments: list[str]) -> str:
    """Turn an error of Hydra into one line that names the setting, its value and what to type."""
    text = str(error)
    if isinstance(error, SettingError):
        return text
    typed = dict(argument.lstrip("+~").split("=", 1) for argument in arguments if "=" in argument)
    if found := NO_SUCH_CHOICE.search(text):
        group, value, options = found.groups()
        return f"{group}={value}: " + (f"not one of {', '.join(options.split())}" if options else "no such choice")
    if found := NO_SUCH_KEY.search(text):
        key = next(name for name in found.groups() if name)
        return unknown_key(f"{key}={typed[key]}" if key in typed else key, _known_keys())
    if found := SEVERAL_VALUES.search(text):
        return f"{found.group(1)}: several values are a sweep; add -m"
    if override := getattr(error, "override", None):
        return f"{override}: cannot be read; write KEY=VALUE, in quotes where the value has spaces, commas or brackets"
    for key, value in typed.items():
        if key in (*GROUPS, "task"):
            return f"{key}={value}: is a group; choose one of its files, or set {key}.SETTING=VALUE"
    return re.sub(r"\s+", " ", text).strip()


def _known_keys() -> list[str]:
    """Every setting there is, with the default choices: `num_envs`, `agent.gamma`, `framework`…"""

    def walk(node: DictConfig, prefix: str) -> list[str]:
        keys = []
        for key in node:
            keys.append(f"{prefix}{key!s}")
            child = node._get_node(key)
            if isinstance(child, DictConfig):
                keys += walk(child, f"{prefix}{key!s}.")
        return keys

    with initialize_config_dir(str(conf_dir()), version_base=HYDRA_VERSION):
        return walk(compose("config"), "")
