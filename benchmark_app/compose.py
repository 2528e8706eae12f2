"""Composing configurations with Hydra: of one run, or of every run of a sweep."""

from __future__ import annotations

import copy
import dataclasses
import os
import re
import secrets
from pathlib import Path
from typing import Any, NoReturn

from hydra import version
from hydra._internal.config_repository import CachingConfigRepository
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import _run_hydra, create_automatic_config_search_path, get_args_parser
from hydra.conf import HydraConf
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from benchmark_app import config
from benchmark_app.catalogue import search_path
from benchmark_app.explain import HYDRA_ERRORS, HYDRA_VERSION, explain
from benchmark_app.image_settings import camera_problem
from benchmark_app.launch.application import run_until_it_works
from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.places import conf_dir
from benchmark_app.refusal import refuse
from benchmark_app.settings import RunCfg, SettingError, Settings, SweepCfg
from benchmark_app.sweep.plan import Plan, make_plan, repeated
from benchmark_app.sweep.record import FILE, Record
from benchmark_app.sweep.run import Asked, check_folder, run_sweep

# Settings that hold whatever keys are put into them; Hydra would want a `+` before each.
OPEN = ("framework.native.", "framework.native=", "admission.rename")
NAMED_GROUPS = ("workflow", "framework", "task", "physics", "rendering", "profiling")
PRESET_GROUPS = ("agent", "camera", "encoder", "profiling", "experiment")
# What a sweep decides for its runs; the rest of its settings is theirs, too.
OF_THE_SWEEP = ("suite", "launcher", "sweep.resume", "sweep.allow_failures")


def run_application(arguments: list[str]) -> int:
    """Compose the configuration and run what it asks for, once or as a sweep.

    Returns:
        Exit status.
    """
    try:
        args = _parsed(arguments)
        if any((args.cfg, args.help, args.hydra_help, args.info, args.shell_completion)):
            return _ask_hydra(args)
        composer = Composer(args)
        ready = composer.sweep() if composer.several else composer.once()
        if not isinstance(ready, Asked) and ready[0].repeats > 1:
            ready = composer.sweep()  # which has a folder for every run, and goes on when one fails
        if isinstance(ready, Asked):
            ready = dataclasses.replace(ready, plan=repeated(ready.plan))
    except BrokenPipeError:  # the reader of `--help` has seen enough
        return 0
    except HYDRA_ERRORS as error:
        return refuse(explain(error, arguments))
    try:
        return run_sweep(ready) if isinstance(ready, Asked) else run_until_it_works(*ready)
    except SettingError as error:
        return refuse(str(error))


def plan_of(arguments: list[str]) -> tuple[Plan, Record]:
    """Compose and check every run of a sweep, for whoever will start them himself.

    Returns:
        The plan, and what was typed.

    Raises:
        HYDRA_ERRORS: Something in it cannot be composed.
    """
    asked = Composer(_parsed(arguments)).sweep()
    return asked.plan, Record(options=asked.options, overrides=asked.overrides, suite=asked.suite, launcher="")


def settings_of(arguments: list[str]) -> Settings:
    """Compose and check one run, without starting it.

    Raises:
        HYDRA_ERRORS: Something in it cannot work.
    """
    settings, _ = run_of(arguments)
    return settings


def run_of(arguments: list[str]) -> tuple[Settings, HydraRecord]:
    """Compose and check one run, for whoever will start it himself.

    Returns:
        Its settings, and how it was composed.

    Raises:
        HYDRA_ERRORS: Something in it cannot work.
    """
    settings, _, record = Composer(_parsed(arguments)).once()
    return settings, record


def _parsed(arguments: list[str]) -> Any:
    """Read the command line, options and settings in any order."""
    version.setbase(HYDRA_VERSION)
    search_path.register()
    OmegaConf.register_new_resolver("token", lambda: secrets.token_hex(4), use_cache=True, replace=True)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors, for us to put into one line
    parser = get_args_parser()
    parser.error = _usage_error  # type: ignore[method-assign]
    args = parser.parse_intermixed_args(arguments)
    if args.experimental_rerun is not None or (args.package is not None and args.cfg is None):
        _usage_error("--experimental-rerun and --package do nothing here")
    if args.config_dir is not None and not Path(args.config_dir).is_dir():
        raise SettingError(f"--config-dir {args.config_dir}: no such folder")
    args.parser = parser
    args.overrides = [f"++{text}" if text.startswith(OPEN) else text for text in args.overrides]
    if _value(_parse(args.overrides), "sweep.resume") is True:
        _resume(args)
    return args


def _resume(args: Any) -> None:
    """Put what was typed for the sweep that is to go on before what is typed now.

    Raises:
        SettingError: It is not said which one, or there is none.
    """
    now = _parse(args.overrides)
    args.multirun = True
    if (folder := _value(now, "hydra.sweep.dir")) is None:
        raise SettingError("sweep.resume=true: which sweep? name its folder: hydra.sweep.dir=FOLDER")
    if not (Path(str(folder)) / FILE).exists():
        if all(override.is_hydra_override() or override.key_or_group == "sweep.resume" for override in now):
            raise SettingError(f"hydra.sweep.dir={folder}: holds no sweep to go on with")
        return  # a job script that is started again and again begins like this
    before = Record.read(Path(str(folder)))
    options = dict(zip(before.options[::2], before.options[1::2], strict=True))
    for name in ("config_dir", "config_path", "config_name"):
        if getattr(args, name) is None:
            setattr(args, name, options.get(f"--{name.replace('_', '-')}"))
    replaced = {override.get_key_element() for override in now}
    kept = [override for override in _parse(before.overrides) if override.get_key_element() not in replaced]
    args.overrides = [*(str(override.input_line) for override in kept), *args.overrides]


def _parse(overrides: list[str], hydra: Hydra | None = None) -> list[Override]:
    loader = None if hydra is None else hydra.config_loader  # knows the choices that `glob(*)` stands for
    parsed: list[Override] = OverridesParser.create(config_loader=loader).parse_overrides(overrides)
    return parsed


def _value(overrides: list[Override], key: str) -> Any:
    """What was typed for a setting, the last time; None where it was not."""
    found = [override.value() for override in overrides if override.key_or_group == key and not override.is_delete()]
    return found[-1] if found else None


def _usage_error(message: str) -> NoReturn:
    raise SettingError(f"{message}; see python -m benchmark_app --help")


def _ask_hydra(args: Any) -> int:
    """Leave `--help` and its like to Hydra."""

    def nothing(_: DictConfig) -> None:
        raise AssertionError("--help and its like run nothing")

    # For each group it lists Hydra copies its store, large with plugins; nobody writes into it here.
    store: Any = ConfigStore.instance()
    store.__deepcopy__ = lambda memo: store
    try:
        _run_hydra(args, args.parser, nothing, config_path=str(conf_dir()), config_name="config")
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def _finder(args: Any) -> Hydra:
    """What finds every file."""
    path = create_automatic_config_search_path(None, None, args.config_path or str(conf_dir()))
    if args.config_dir is not None:
        folder = Path(args.config_dir).absolute()
        path.prepend("command-line", f"file://{folder}", anchor=SearchPathQuery(provider="schema"))
    hydra = Hydra.create_main_hydra2(task_name="benchmark_app", config_search_path=path)
    GlobalHydra.instance().clear()  # nobody here looks for it there
    hydra.config_loader.repository = _ReadOnce(hydra.config_loader.repository)
    return hydra


class _ReadOnce(CachingConfigRepository):  # type: ignore[misc]
    """Reads every file once for a whole sweep. Hydra reads them once per composition, which is half of its time."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _ReadOnce:
        """Share what was read: a composition copies the repository, and never changes what it got from it."""
        same = _ReadOnce(copy.deepcopy(self.delegate, memo))
        same.cache = self.cache
        return same


class Composer:
    """Composes and checks, without making anything: a run that is refused leaves no trace.

    Attributes:
        several: Whether the command line asks for a sweep.

    Args:
        args: The parsed command line.
    """

    def __init__(self, args: Any) -> None:
        self._hydra, self._args = _finder(args), args
        self._name = args.config_name or "config"
        typed = _parse(args.overrides)
        suite = _value(typed, "suite")
        self._suite = None if suite in (None, "none") else str(suite)
        self.several = bool(args.multirun or self._suite or _value(typed, "hydra.mode") == "MULTIRUN")

    def once(self) -> tuple[Settings, Path, HydraRecord]:
        """One run: its settings, its directory and how it was composed.

        Raises:
            HYDRA_ERRORS: Something in it cannot work.
        """
        composed = self._compose(self._args.overrides, RunMode.RUN)
        if not str(composed.hydra.run.dir).strip():
            raise SettingError("hydra.run.dir=: must name a folder, or be left out")
        launcher = composed.hydra.runtime.choices.get("launcher", "basic")
        directory = Path(str(composed.hydra.run.dir)).absolute()
        settings, record = self._checked(composed)
        if launcher != "basic" and settings.repeats == 1:
            raise SettingError(f"launcher={launcher}: starts the runs of a sweep; add -m")
        return settings, directory, record

    def sweep(self) -> Asked:
        """A sweep: every run of it, composed and checked.

        Raises:
            HYDRA_ERRORS: It cannot be composed at all; what is wrong with one run of it stands in the plan.
        """
        overrides = self._args.overrides
        master = self._compose(overrides, RunMode.MULTIRUN)
        _check_hydra_part(master)
        with read_write(master.hydra.sweep):
            master.hydra.sweep.dir = str(Path(str(master.hydra.sweep.dir)).absolute())
        settings = config.group(SweepCfg, master, "sweep")
        check_folder(Path(master.hydra.sweep.dir), resume=settings.resume)
        params = [f"{key}={value}" for key, value in (master.hydra.sweeper.params or {}).items()]
        typed = [str(override.input_line) for override in _parse(overrides) if not override.is_hydra_override()]
        wanted = _parse([*params, *typed], self._hydra)
        of_members = [override for override in wanted if override.key_or_group not in OF_THE_SWEEP]
        for override in of_members:
            if override.is_sweep_override() and not override.is_discrete_sweep():
                raise SettingError(f"{override.input_line}: has no end of values; list them, as in KEY=A,B")
        (combinations,) = BasicSweeper.split_arguments(of_members, None)

        # A member is composed with the launcher, whose settings may be typed or stand in a preset.
        launcher = master.hydra.runtime.choices.get("launcher", "basic")
        of_all = [*master.hydra.overrides.hydra, *([] if launcher == "basic" else [f"launcher={launcher}"])]

        def compose(member: list[str]) -> tuple[Settings, HydraRecord]:
            try:
                composed = self._compose([*of_all, *member], RunMode.RUN)
                return self._checked(composed)
            except SettingError:
                raise
            except HYDRA_ERRORS as error:
                raise SettingError(explain(error, member)) from error

        plan = make_plan(combinations, compose, suite=self._suite is not None)
        return Asked(
            plan=plan,
            config=master,
            options=self._options(),
            overrides=[text for text in overrides if not text.lstrip("+").startswith(("sweep.resume=", "hydra.mode="))],
            suite=self._suite,
            settings=settings,
            report=config.group(RunCfg, master, "run").report,
        )

    def _compose(self, overrides: list[str], mode: RunMode) -> DictConfig:
        composed: DictConfig = self._hydra.compose_config(self._name, overrides, run_mode=mode)
        HydraConfig.instance().set_config(composed)
        return composed

    def _options(self) -> list[str]:
        args = self._args
        folders = [("--config-dir", args.config_dir), ("--config-path", args.config_path)]
        options = [word for name, folder in folders if folder for word in (name, str(Path(folder).absolute()))]
        return options + (["--config-name", args.config_name] if args.config_name else [])

    def _checked(self, composed: DictConfig) -> tuple[Settings, HydraRecord]:
        """Check one composed configuration.

        Raises:
            SettingError: Something in it cannot work.
        """
        with open_dict(composed):
            hydra = composed.pop("hydra")
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
        if choices.get("camera") and (problem := camera_problem(str(choices["camera"]), composed.task)):
            raise SettingError(problem)
        for override in hydra.overrides.task:
            if override.lstrip("+").startswith("agent.algorithm="):
                raise SettingError(f"{override}: follows from the choice of an agent; set agent=CHOICE")
        tuned = f"{choices['task']}_{choices['agent']}"
        of_library = f"{tuned}_{choices['framework']}"
        for group, name, sources in (
            ("tuned", tuned, "task and agent"),
            ("tuned_library", of_library, "task, agent and framework"),
        ):
            if choices.get(group) not in (None, name):
                raise SettingError(f"{group}={choices[group]}: follows from {sources} ({name}); leave it out")
        hydra_keys = {field.name for field in dataclasses.fields(HydraConf)}
        for override in hydra.overrides.hydra:
            key = re.split(r"[.=]", override.lstrip("+~").removeprefix("hydra."))[0]
            if override.startswith("+") and key not in hydra_keys:
                raise SettingError(f"{override}: no such setting; see python -m benchmark_app --hydra-help")
        presets = [str(choices[group]) for group in PRESET_GROUPS if choices.get(group) not in (None, "none")]
        suite = [self._suite] if self._suite else []
        settings = config.check(composed, presets + suite)
        # The repeat command must still mean the same file when `latest` has moved on.
        overrides = [
            f"checkpoint={_quoted(str(settings.checkpoint))}" if override.startswith("checkpoint=") else override
            for override in hydra.overrides.task
            if not override.startswith("launcher=")
        ]
        record = HydraRecord(
            config=OmegaConf.to_yaml(composed, resolve=True),
            hydra=OmegaConf.to_yaml(hydra),
            options=self._options(),
            overrides=[*(f"suite={name}" for name in suite), *overrides],
        )
        return settings, record


def _check_hydra_part(master: DictConfig) -> None:
    """Refuse what Hydra would take for a sweep and would not do here.

    Raises:
        SettingError: It was typed.
    """
    sweeper = master.hydra.runtime.choices.get("hydra/sweeper")
    if sweeper != "basic":
        raise SettingError(
            f"hydra/sweeper={sweeper}: a sweep here runs every combination of the values; leave it out, and have "
            "another sweeper start single runs"
        )
    for key, instead in (
        ("hydra.sweep.subdir", "the folders of a sweep are named by their cases"),
        ("hydra.sweeper.max_batch_size", "the launcher decides how many run at once"),
        ("hydra.run.dir", "names the folder of a single run; set hydra.sweep.dir"),
    ):
        for override in master.hydra.overrides.hydra:
            if override.lstrip("+").startswith(f"{key}="):
                raise SettingError(f"{override}: {instead}; leave it out")
    if not str(master.hydra.sweep.dir).strip():
        raise SettingError("hydra.sweep.dir=: must name a folder, or be left out")


def _quoted(text: str) -> str:
    """A text as Hydra's grammar takes it back: quoted, its quotes escaped, and the backslashes before any of them."""
    escaped = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"
