"""What Hydra says of a mistake, in one line that names the setting, its value and what to type."""

from __future__ import annotations

import re
import shlex

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.places import conf_dir
from benchmark_app.refusal import unknown_key
from benchmark_app.settings import GROUPS, YOURS, SettingError

HYDRA_VERSION = "1.3"
# What composing raises for what a person typed or wrote in a file; `explain` puts each into one line.
HYDRA_ERRORS = (HydraException, OmegaConfBaseException, SettingError, OSError, ValueError, TypeError, YAMLError)
REFERENCE = "reference_physics"
# Hydra's launchers that are packages of their own: what they are called here, and the extra that installs them.
LAUNCHERS = {
    "joblib": ("joblib", "joblib"),
    "submitit_local": ("slurm_local", "slurm"),
    "submitit_slurm": ("slurm", "slurm"),
    "ray": ("ray", "ray"),
}

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
        others = [argument for argument in arguments if not argument.lstrip("+").startswith("profiling.tool=")]
        return text.replace(f" {YOURS} ", f" {shlex.join(others)} " if others else " ")
    typed = dict(argument.lstrip("+~").split("=", 1) for argument in arguments if "=" in argument)
    if no_name := _no_name(typed):
        return no_name
    if found := NO_SUCH_CHOICE.search(text):
        group, value, options = found.groups()
        if group == "hydra/launcher" and value in LAUNCHERS:
            launcher, extra = LAUNCHERS[value]
            return f"launcher={launcher}: is not installed; type: pip install 'benchmark-app[{extra}]'"
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
    if key.startswith("hydra.launcher."):
        launcher = typed.get("launcher", "basic")
        return f"{shown}: launcher={launcher} has no such setting; see conf/launcher/{launcher}.yaml"
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
