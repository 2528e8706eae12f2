"""Composing a run's configuration with Hydra, once or as a sweep, and saying in one line what is wrong with it."""

from __future__ import annotations

import dataclasses
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from hydra import compose, initialize_config_dir, version
from hydra._internal.hydra import Hydra
from hydra._internal.utils import _run_hydra, create_automatic_config_search_path, get_args_parser
from hydra.conf import HydraConf
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from benchmark_app import config
from benchmark_app.launch import report
from benchmark_app.launch.application import run
from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.places import conf_dir
from benchmark_app.refusal import refuse, unknown_key
from benchmark_app.settings import GROUPS, SettingError, Settings

HYDRA_VERSION = "1.3"
# What composing raises for what a person typed or wrote in a file; `explain` puts each into one line.
HYDRA_ERRORS = (HydraException, OmegaConfBaseException, SettingError, OSError, ValueError, TypeError, YAMLError)
# Settings that hold whatever keys are put into them; Hydra would want a `+` before each.
OPEN = ("framework.native.", "framework.native=", "admission.rename")
REFERENCE = "reference_physics"
NAMED_GROUPS = ("workflow", "framework", "task", "physics", "rendering", "profiling")


def run_application(arguments: list[str]) -> int:
    """Compose the configuration and run what it asks for, once or as a sweep.

    Returns:
        Exit status; of a sweep the worst one.
    """
    version.setbase(HYDRA_VERSION)
    OmegaConf.register_new_resolver("token", lambda: secrets.token_hex(4), use_cache=True, replace=True)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors, for us to put into one line
    parser = get_args_parser()
    parser.error = _usage_error  # type: ignore[method-assign]
    try:
        args = parser.parse_intermixed_args(arguments)  # options and settings in any order
        if args.experimental_rerun is not None or (args.package is not None and args.cfg is None):
            _usage_error("--experimental-rerun and --package do nothing here")
        args.overrides = [f"++{text}" if text.startswith(OPEN) else text for text in args.overrides]
        asked = (args.multirun, args.cfg, args.help, args.hydra_help, args.info, args.shell_completion)
        ready = None if any(asked) else _compose_once(args)
    except HYDRA_ERRORS as error:
        return refuse(explain(error, arguments))
    if ready is None:
        return _run_hydra_itself(parser, args, arguments)
    try:
        return run(*ready)
    except SettingError as error:
        return refuse(str(error))


def _compose_once(args: Any) -> tuple[Settings, Path, HydraRecord]:
    """Compose and check one run, without making anything: a run that is refused leaves no trace.

    Hydra's own way would make the run directory first.
    """
    path = create_automatic_config_search_path(None, None, args.config_path or str(conf_dir()))
    if args.config_dir is not None:
        folder = Path(args.config_dir).absolute()
        if not folder.is_dir():
            raise SettingError(f"--config-dir {args.config_dir}: no such folder")
        path.prepend("command-line", f"file://{folder}", anchor=SearchPathQuery(provider="schema"))
    hydra = Hydra.create_main_hydra2(task_name="benchmark_app", config_search_path=path)
    try:
        composed = hydra.compose_config(
            args.config_name or "config", args.overrides, run_mode=RunMode.RUN, with_log_configuration=False
        )
        HydraConfig.instance().set_config(composed)
        if not str(composed.hydra.run.dir).strip():
            raise SettingError("hydra.run.dir=: must name a folder, or be left out")
        directory = Path(str(composed.hydra.run.dir)).absolute()
        with open_dict(composed):
            hydra_part = composed.pop("hydra")
        return _checked(composed, hydra_part, directory, args)
    finally:
        GlobalHydra.instance().clear()


def _run_hydra_itself(parser: Any, args: Any, arguments: list[str]) -> int:
    """Leave sweeps, `--help` and its like to Hydra."""
    statuses: list[int] = []
    sweep: dict[str, Path] = {}

    def task(composed: DictConfig) -> None:
        hydra = HydraConfig.get()
        directory = Path(hydra.runtime.output_dir)
        try:
            settings, directory, record = _checked(composed, hydra, directory, args)
            if settings.run.report:  # one for all of them, at the end
                settings.run.report = False
                sweep["folder"] = Path(hydra.sweep.dir).absolute()
            statuses.append(run(settings, directory, record))
        except SettingError as error:
            statuses.append(refuse(str(error)))
            with suppress(OSError):
                directory.rmdir()  # Hydra made it; it is empty
        if statuses[-1] > 128:
            raise KeyboardInterrupt  # the user stopped this run, and with it the sweep

    try:
        _run_hydra(args=args, args_parser=parser, task_function=task, config_path=str(conf_dir()), config_name="config")
    except BrokenPipeError:  # the reader of `--help` has seen enough
        return 0
    except KeyboardInterrupt:
        return statuses[-1] if statuses else 130
    except SystemExit as done:  # `--help` and its like
        return int(done.code or 0)
    except Exception as error:
        if statuses:
            raise  # a run began: this is no mistake in what was typed
        return refuse(explain(error, arguments))
    if sweep:
        report.tell(sweep["folder"])
    return max(statuses, default=0)


def _usage_error(message: str) -> NoReturn:
    raise SettingError(f"{message}; see python -m benchmark_app --help")


def _checked(composed: DictConfig, hydra: Any, directory: Path, args: Any) -> tuple[Settings, Path, HydraRecord]:
    """Check one composed configuration; return what `run` needs.

    Raises:
        SettingError: Something in it cannot work.
    """
    choices = hydra.runtime.choices
    second = ["reference_physics"] if choices.get("reference_physics") else []
    for group in (*NAMED_GROUPS, *second):
        name = OmegaConf.select(composed, f"{group}.name")
        if name is None:
            raise SettingError(f"{group}: has no value; set {group}=CHOICE")
        # The name decides what runs, the choice what is recorded: they never differ.
        if name != choices[group]:
            raise SettingError(
                f"{group}.name={name}: is set by the choice {group}={choices[group]}; choose another {group}"
            )
    for override in hydra.overrides.task:
        if override.lstrip("+").startswith("agent.algorithm="):
            raise SettingError(f"{override}: follows from the choice of an agent; set agent=CHOICE")
    tuned = f"{choices['task']}_{choices['agent']}"
    if choices.get("tuned") not in (None, tuned):
        raise SettingError(f"tuned={choices['tuned']}: follows from task and agent ({tuned}); leave it out")
    hydra_keys = {field.name for field in dataclasses.fields(HydraConf)}
    for override in hydra.overrides.hydra:
        key = re.split(r"[.=]", override.lstrip("+~").removeprefix("hydra."))[0]
        if override.startswith("+") and key not in hydra_keys:
            raise SettingError(f"{override}: no such setting; see python -m benchmark_app --hydra-help")
    presets = [str(choices[group]) for group in ("agent", "profiling", "experiment") if choices.get(group) != "none"]
    settings = config.check(composed, presets)
    # The repeat command must still mean the same file when `latest` has moved on.
    overrides = [
        f"checkpoint={_quoted(str(settings.checkpoint))}" if override.startswith("checkpoint=") else override
        for override in hydra.overrides.task
    ]
    options = [("--config-dir", args.config_dir), ("--config-path", args.config_path)]
    record = HydraRecord(
        config=OmegaConf.to_yaml(composed, resolve=True),
        hydra=OmegaConf.to_yaml(hydra),
        options=[word for name, folder in options if folder for word in (name, str(Path(folder).absolute()))]
        + (["--config-name", args.config_name] if args.config_name else []),
        overrides=overrides,
    )
    return settings, directory, record


def _quoted(text: str) -> str:
    """A text as Hydra's grammar takes it back: quoted, its quotes escaped, and the backslashes before any of them."""
    escaped = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"


# How Hydra words what a person most often gets wrong.
NO_SUCH_CHOICE = re.compile(
    r"Could not find '([^']+)/([^'/]*)'(?:.*?Available options in '[^']+':\n(.*?)\nConfig)?", re.DOTALL
)
NO_SUCH_KEY = re.compile(
    r"Could not override '([^']+)'|Could not append.*?'([^']+)'|Key '([^']+)' is not in", re.DOTALL
)
NOT_A_VALUE = re.compile(r"is not a container")
# What Hydra takes for no text; it would take a list of several files of a group, too.
NO_NAME = re.compile(r"null|true|false|[\d.+-]+|\[.*\]", re.IGNORECASE)
SEVERAL_VALUES = re.compile(r"Ambiguous value for argument '([^']+)'")


def explain(error: Exception, arguments: list[str]) -> str:
    """Turn an error of Hydra into one line that names the setting, its value and what to type."""
    text = str(error)
    if isinstance(error, SettingError):
        return text
    typed = dict(argument.lstrip("+~").split("=", 1) for argument in arguments if "=" in argument)
    if no_name := _no_name(typed):
        return no_name
    if found := NO_SUCH_CHOICE.search(text):
        group, value, options = found.groups()
        return f"{group}={value}: " + (f"not one of {', '.join(options.split())}" if options else "no such choice")
    if found := NO_SUCH_KEY.search(text):
        key = next(name for name in found.groups() if name)
        return _not_set(key, typed)
    if found := SEVERAL_VALUES.search(text):
        return f"{found.group(1)}: several values are a sweep; add -m"
    if (override := getattr(error, "override", None)) is not None:
        return f"{override}: cannot be read; write KEY=VALUE, in quotes where the value has spaces, commas or brackets"
    if isinstance(error, YAMLError | UnicodeDecodeError):
        where = getattr(error, "problem_mark", None)
        at = f"{where.name}, line {where.line + 1}" if where is not None else "a configuration file"
        return f"{at}: is not valid YAML in UTF-8 ({getattr(error, 'problem', None) or error})"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if NOT_A_VALUE.search(text):
        for key, value in typed.items():
            if key in GROUPS and not _choices(key):
                return f"{key}={value}: is a group; set one of its settings: {key}.SETTING=VALUE"
    return re.sub(r"\s+", " ", text).strip()


def _no_name(typed: dict[str, str]) -> str:
    """The line for a choice that is given no name of a file, "" if there is none such."""
    for group, value in typed.items():
        several_presets = group == "experiment" and value.startswith("[")
        if (choices := _choices(group)) and NO_NAME.fullmatch(value) and not several_presets:
            allowed = f"choose one of {', '.join(choices)}"
            return f"{group}={value}: is a group; {allowed}" + (", or leave it out" if group == REFERENCE else "")
    return ""


def _not_set(key: str, typed: dict[str, str]) -> str:
    """The line for a setting that is not there to be set, with the choices that were typed."""
    shown = f"{key}={typed[key]}" if key in typed else key
    group = key.partition(".")[0]
    if group == REFERENCE and group not in typed:
        return f"{shown}: no reference engine is chosen; set {REFERENCE}=ENGINE, one of {', '.join(ENGINES)}"
    for own in typed.get(group, "").split(","):  # of a sweep, each
        choices = [f"{name}={value}" for name, value in {**typed, group: own}.items() if value in _choices(name)]
        with initialize_config_dir(str(conf_dir()), version_base=HYDRA_VERSION):
            composed = compose("config", choices)
        known = _keys(composed)
        if key in known:
            continue
        if group in ("physics", REFERENCE):  # another engine's setting of the same name would mislead
            known = [other for other in known if other.startswith(f"{group}.")]
            return unknown_key(shown, known, of=composed[group].name)
        return unknown_key(shown, known)
    return f"{key}: cannot be set: a preset gives its group {key.rpartition('.')[0]} a single value"


def _choices(group: str) -> list[str]:
    """The files of a group, none where it has but settings."""
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml")) if group.isidentifier() else []


def _keys(node: DictConfig, prefix: str = "") -> list[str]:
    """Every setting and group there is: `num_envs`, `agent.gamma`, `framework`…"""
    keys = []
    for key in node:
        keys.append(f"{prefix}{key!s}")
        child = node._get_node(key)
        if isinstance(child, DictConfig):
            keys += _keys(child, f"{prefix}{key!s}.")
    return keys
