"""The command line: a table of verbs, and without a verb the Hydra application that runs benchmarks."""

from __future__ import annotations

import dataclasses
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

REFUSED = 2


def conf_dir() -> Path:
    """Return the folder of the configuration: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def main(argv: list[str] | None = None) -> int:
    """Run a verb, or a benchmark.

    Args:
        argv: Arguments after the program's name; None takes them from the command line.

    Returns:
        Exit status: 0 completed, 1 crashed, 2 refused, 130 and 143 interrupted by SIGINT and SIGTERM.
    """
    arguments = sys.argv[1:] if argv is None else argv
    first = arguments[0] if arguments else ""
    if first in VERBS:
        return VERBS[first](arguments[1:])
    if first and "=" not in first and not first.startswith(("-", "~", "+")):
        return refuse(f"{first}: no such verb; known: {', '.join(VERBS)}; settings are written KEY=VALUE")
    return run_application(arguments)


def refuse(message: str) -> int:
    """Print the one line that says why nothing was run."""
    print(f"benchmark_app: error: {message}", file=sys.stderr)
    return REFUSED


def _validate(arguments: list[str]) -> int:
    from benchmark_app.bundle.validate import validate_paths

    if not arguments or arguments[0].startswith("-"):
        return _usage("validate PATH...", "Check result files, or every result file below a folder.", arguments)
    return validate_paths(arguments)


def _recover(arguments: list[str]) -> int:
    from benchmark_app.launch.recover import recover

    if not arguments or arguments[0].startswith("-"):
        return _usage("recover RUN_DIR...", "Rebuild the results of runs that were killed.", arguments)
    return max(recover(Path(argument)) for argument in arguments)


def _usage(form: str, what: str, arguments: list[str]) -> int:
    asked = arguments[:1] in (["-h"], ["--help"])
    print(f"usage: python -m benchmark_app {form}\n\n{what}", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else REFUSED


VERBS: dict[str, Callable[[list[str]], int]] = {"validate": _validate, "recover": _recover}


def run_application(arguments: list[str]) -> int:
    """Compose the configuration and run what it asks for, once or as a sweep."""
    from hydra import version
    from hydra._internal.utils import _run_hydra, get_args_parser
    from hydra.errors import HydraException
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from benchmark_app.config import SettingError

    statuses: list[int] = []

    def task(composed: DictConfig) -> None:
        from hydra.core.hydra_config import HydraConfig

        hydra = HydraConfig.get()
        try:
            statuses.append(_run_once(composed, hydra))
        except SettingError as error:
            statuses.append(refuse(str(error)))
        if statuses[-1] > 128 and str(hydra.mode).endswith("MULTIRUN"):
            raise KeyboardInterrupt  # the user stopped this run, and with it the sweep

    version.setbase("1.3")
    parser = get_args_parser()
    parser.error = _raise_usage_error  # type: ignore[method-assign]
    OmegaConf.register_new_resolver("token", lambda: secrets.token_hex(4), use_cache=True, replace=True)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors, for us to put into one line
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
    return _worst(statuses)


def _worst(statuses: list[int]) -> int:
    return max(statuses, default=0)


def _raise_usage_error(message: str) -> NoReturn:
    from benchmark_app.config import SettingError

    raise SettingError(f"{message}; see python -m benchmark_app --help")


def _run_once(composed: Any, hydra: Any) -> int:
    """Check one composed configuration and run it in its run directory."""
    from hydra.conf import HydraConf
    from omegaconf import OmegaConf

    from benchmark_app import config
    from benchmark_app.launch.application import run
    from benchmark_app.launch.run_directory import HydraRecord

    choices = hydra.runtime.choices
    for group in ("workflow", "framework", "task", "physics", "rendering", "profiling"):
        # The name decides what runs, the choice what is recorded: they never differ.
        if composed[group].name != choices[group]:
            raise config.SettingError(
                f"{group}.name={composed[group].name}: is set by the choice {group}={choices[group]}; choose another {group}"
            )
    for override in hydra.overrides.hydra:
        key = override.lstrip("+~").removeprefix("hydra.").split(".")[0].split("=")[0]
        if override.startswith("+") and key not in {known.name for known in dataclasses.fields(HydraConf)}:
            raise config.SettingError(f"{override}: no such setting; see python -m benchmark_app --hydra-help")
    presets = [str(choices[group]) for group in ("agent", "profiling", "experiment") if choices[group] != "none"]
    settings = config.check(composed, presets)
    record = HydraRecord(
        config=OmegaConf.to_yaml(composed, resolve=True),
        hydra=OmegaConf.to_yaml(hydra),
        overrides=list(hydra.overrides.task),
    )
    return run(settings, Path(hydra.runtime.output_dir), record)


def explain(error: Exception, arguments: list[str]) -> str:
    """Turn an error of Hydra into one line that names the setting, its value and what to type."""
    from benchmark_app.config import GROUPS, SettingError, unknown_key

    text = str(error)
    if isinstance(error, SettingError):
        return text
    typed = dict(argument.lstrip("+~").split("=", 1) for argument in arguments if "=" in argument)
    if found := re.search(r"Could not find '([^']+)/([^'/]*)'(?:.*?Available options in '[^']+':\n(.*?)\nConfig)?", text, re.S):
        group, value, options = found.groups()
        return f"{group}={value}: " + (f"not one of {', '.join(options.split())}" if options else "no such choice")
    if found := re.search(r"Could not override '([^']+)'|Could not append.*?'([^']+)'|Key '([^']+)' is not in", text, re.S):
        key = next(name for name in found.groups() if name)
        shown = f"{key}={typed[key]}" if key in typed else key
        return unknown_key(shown, _known_keys())
    if "Ambiguous value for argument" in text:
        argument = re.search(r"argument '([^']+)'", text)
        return f"{argument.group(1) if argument else ''}: several values are a sweep; add -m"
    if override := getattr(error, "override", None):
        return f"{override}: cannot be read; write KEY=VALUE, in quotes where the value has spaces, commas or brackets"
    for key, value in typed.items():
        if key in (*GROUPS, "task"):
            return f"{key}={value}: cannot be set so; it is a group: choose one of its files, or set {key}.SETTING=VALUE"
    return re.sub(r"\s+", " ", text).strip()


def _known_keys() -> list[str]:
    """Every setting there is, with the default choices: `num_envs`, `agent.gamma`, `framework`…"""
    from hydra import compose, initialize_config_dir
    from omegaconf import DictConfig

    def walk(node: DictConfig, prefix: str) -> list[str]:
        keys = []
        for key in node:
            keys.append(f"{prefix}{key}")
            child = node._get_node(key)
            if isinstance(child, DictConfig):
                keys += walk(child, f"{prefix}{key}.")
        return keys

    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return walk(compose("config"), "")
