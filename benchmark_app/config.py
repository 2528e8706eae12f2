"""The one place where a composed configuration is checked.

Validation happens after composition, so that YAML files, presets from `--config-dir`, `+key=…` and the command line
all pass the same gate.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark_app.checkpoint_card import CardError, iterations_left, mismatches
from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.execution_settings import execution_problems
from benchmark_app.frameworks.agent import AGENTS, Agent
from benchmark_app.frameworks.mapping import native_problems
from benchmark_app.frameworks.registry import load_translation
from benchmark_app.image_settings import image_problems
from benchmark_app.installation import installation_problems
from benchmark_app.physics import availability
from benchmark_app.physics.catalogue import ENGINES, made_for_others
from benchmark_app.physics.cfg import EngineCfg
from benchmark_app.profiling import tools
from benchmark_app.rank_settings import MOST_RANKS, library_rank_problems, rank_problems
from benchmark_app.refusal import unknown_key
from benchmark_app.rendering.catalogue import undrawable
from benchmark_app.settings import (
    AUTO,
    GROUPS,
    FrameworkCfg,
    NotInstalledError,
    SettingError,
    Settings,
    UnsupportedError,
    task_cfg_class,
)
from benchmark_app.startup_settings import startup_problems
from benchmark_app.video_settings import video_problems

MOST = 10**9
# The groups with rules of their own, beyond the types of their settings.
_WITH_RULES = (
    *("workflow", "physics", "reference_physics", "rendering", "profiling", "numerics", "task", "equivalence", "run"),
    *("training", "play", "runtime", "execution"),
)
ACTION_SETS = 3  # of the workflow equivalence; each row is driven with one
MOST_REPEATS = 1000
MOST_ENVS = 2**20  # a million more would only be killed for want of memory, perhaps with its neighbours


@dataclass(kw_only=True)
class _Root:
    """Schema of the top level; the groups are checked one by one against their own."""

    seed: int
    num_envs: int
    device: str
    threads: int
    kernel_cache: str | None
    nan_guard: bool
    strict: bool
    checkpoint: str | None
    repeats: int
    task: Any
    workflow: Any
    framework: Any
    agent: Any
    physics: Any
    rendering: Any
    profiling: Any
    admission: Any
    numerics: Any
    distributed: Any
    training: Any
    play: Any
    video: Any
    runtime: Any
    startup: Any
    learning: Any
    equivalence: Any
    run: Any
    sweep: Any
    worker: Any
    execution: Any
    reference_physics: Any = None


def check(composed: DictConfig, presets: list[str]) -> Settings:
    """Turn a composed configuration into settings, or refuse it.

    Args:
        composed: What Hydra composed from files, presets and the command line.
        presets: Active choices that have no typed field in a bundle.

    Raises:
        UnsupportedError: The settings are sound, but the task, the engine or the library does not do them together.
        NotInstalledError: Something they need is not installed here.
        SettingError: The first setting that cannot be used.
    """
    plain: dict[str, Any] = OmegaConf.to_container(_typed(_Root, composed, ""), resolve=True)  # type: ignore[assignment]
    groups = {name: OmegaConf.to_object(_typed(kind, composed[name], name)) for name, kind in GROUPS.items()}
    module = composed.task.get("module") if isinstance(composed.task, DictConfig) else None
    if not isinstance(module, str):
        raise SettingError(f"task.module={module}: must name the Python module of the task")
    groups["task"] = OmegaConf.to_object(_typed(task_cfg_class(module), composed.task, "task"))
    groups["agent"], groups["framework"] = agent_and_framework(composed)
    groups["physics"] = _engine(composed, "physics")
    if plain["reference_physics"] is not None:
        groups["reference_physics"] = _engine(composed, "reference_physics")
    settings = Settings(**{**plain, **groups}, presets=presets)
    for problem in _problems(settings):
        raise SettingError(problem)
    for problem in _unsupported(settings):
        raise UnsupportedError(problem)
    for problem in installation_problems(settings):
        raise NotInstalledError(problem)
    return settings


T = TypeVar("T")


def group(kind: type[T], composed: DictConfig, name: str) -> T:
    """One group of a composed configuration.

    Args:
        kind: Its class in `settings.py`.
        composed: What Hydra composed.
        name: The group.

    Raises:
        SettingError: A setting of it is unknown or of the wrong type.
    """
    found: T = OmegaConf.to_object(_typed(kind, composed[name], name))  # type: ignore[assignment]
    return found


def agent_and_framework(composed: DictConfig) -> tuple[Agent, FrameworkCfg]:
    """The agent and the library of a composed configuration.

    Raises:
        SettingError: A setting of theirs is unknown or of the wrong type.
    """
    if not isinstance(composed.agent, DictConfig):
        shown = _shown(composed.agent)
        raise SettingError(f"agent={shown}: is a group; choose one of its files, or set agent.SETTING=VALUE")
    algorithm = composed.agent.get("algorithm")
    if algorithm not in AGENTS:
        raise SettingError(f"agent.algorithm={algorithm}: must be one of {', '.join(AGENTS)}; choose an agent")
    agent = OmegaConf.to_object(_typed(AGENTS[algorithm], composed.agent, "agent"))
    framework = OmegaConf.to_object(_typed(FrameworkCfg, composed.framework, "framework"))
    return agent, framework  # type: ignore[return-value]


def _engine(composed: DictConfig, group: str) -> EngineCfg:
    node = composed[group]
    engine = node.get("name") if isinstance(node, DictConfig) else node
    if engine not in ENGINES:
        raise SettingError(f"{group}.name={engine}: must be one of {', '.join(ENGINES)}; choose an engine")
    cfg: EngineCfg = OmegaConf.to_object(_typed(ENGINES[engine].cfg, node, group, engine))  # type: ignore[assignment]
    return cfg


def _typed(kind: type[T], node: Any, name: str, of: str = "") -> DictConfig:
    """Merge a node into its schema: unknown keys (of the engine `of`), wrong types, missing values are refused."""
    prefix = f"{name}." if name else ""
    if not isinstance(node, DictConfig):
        raise SettingError(f"{name}={node}: is a group of settings; set one of them, such as {name}.KEY=VALUE")
    schema: DictConfig = OmegaConf.structured(kind)
    known = [cls.name for cls in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for key in node:
        if key not in known:
            value: Any = OmegaConf.to_container(node, resolve=False)
            if not name and key in ("experiment", "tuned", "tuned_library"):
                raise SettingError(f"{key!s}: the first line of its file must be '# @package _global_'")
            shown = f"{prefix}{key!s}={_shown(value[key])}"
            raise SettingError(unknown_key(shown, [f"{prefix}{name}" for name in known], of))
        try:
            schema[key] = node[key]
        except OmegaConfBaseException as error:
            value = OmegaConf.to_container(node, resolve=False)
            shown = f"{prefix}{key!s}={_shown(value[key])}"
            raise SettingError(f"{shown}: {_expected(kind, str(key), str(error))}") from error
    for key in known:
        if OmegaConf.is_missing(schema, key):
            raise SettingError(f"{prefix}{key}: has no value; set {prefix}{key}=VALUE")
    return schema


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


def _expected(kind: type[Any], key: str, message: str) -> str:
    """Say in a few words what a setting of a schema class must be."""
    types = {cls.name: str(cls.type) for cls in dataclasses.fields(kind)}
    base, optional = types.get(key, "").removesuffix(" | None"), types.get(key, "").endswith(" | None")
    words = {
        "int": "must be a whole number",
        "float": "must be a number",
        "bool": "must be true or false",
        "str": "must be a text",
        "int | str": f"must be a whole number or {AUTO}",
        "list[int]": "must be a list of whole numbers such as [32,32]",
        "list[float]": "must be a list of numbers such as [3.0,-3.0,2.0]",
        "list[str]": "must be a list such as [a,b]",
        "dict[str, str]": "must be pairs such as {old:new}",
        "dict[str, Any]": "must be settings, such as framework.native.PATH=VALUE",
    }.get(base)
    if words is None:
        return re.sub(r"\s+", " ", message).strip()
    return f"{words} or null" if optional else words


def _problems(settings: Settings) -> list[str]:
    """Every value that is well typed and still cannot work."""
    s = settings
    found = _not_finite(dataclasses.asdict(settings))
    for name in _WITH_RULES:
        if (group := getattr(s, name)) is not None:
            found += [f"{name}.{problem}" for problem in group.problems()]
    found += [f"agent.{problem}" for problem in s.agent.problems(s.num_envs)] if s.num_envs > 0 else []
    for key, value, least, most in (
        ("num_envs", s.num_envs, 1, MOST_ENVS),
        ("seed", s.seed, 0, 2**31 - 1),
        ("threads", s.threads, 1, os.cpu_count() or 1),
        ("repeats", s.repeats, 1, MOST_REPEATS),
        ("distributed.nproc", s.distributed.nproc, 1, MOST_RANKS),
        ("agent.iterations", s.agent.iterations, 1, MOST),
        ("agent.rollout", s.agent.rollout, 1, MOST_ENVS),
        ("training.checkpoint_interval", s.training.checkpoint_interval, 0, MOST),
        ("training.video_interval", s.training.video_interval, 0, MOST),
        ("training.early_stop_window", s.training.early_stop_window, 1, MOST),
        ("play.episodes", s.play.episodes, 1, MOST),
        ("play.policy_batch", s.play.policy_batch, 1, MOST_ENVS),
        ("runtime.steps", s.runtime.steps, 1, MOST),
        ("startup.top_n", s.startup.top_n, 0, MOST),
        ("run.grace_s", s.run.grace_s, 0, 86400),
        ("run.reserve_mb", s.run.reserve_mb, 1, 1024),
        ("run.retries", s.run.retries, 0, 100),
        ("sweep.allow_failures", s.sweep.allow_failures, 0, MOST),
    ):
        if not value >= least:
            found.append(f"{key}={value}: must be at least {least}")
        elif value > most:
            found.append(f"{key}={value}: must be at most {most}")
    if not s.run.root.strip():
        found.append("run.root=: must name a folder, such as outputs")
    if not 0.0 <= s.learning.ema_alpha <= 1.0:
        found.append(f"learning.ema_alpha={s.learning.ema_alpha}: must be from 0 to 1")
    if s.training.least_warmup >= s.agent.iterations and "training" in s.workflow.steps:
        found.append(
            f"training.warmup_iterations={s.training.warmup_iterations}: must be below agent.iterations="
            f"{s.agent.iterations}, or nothing would be measured"
        )
    if s.training.early_stop_success is not None and not 0.0 < s.training.early_stop_success <= 1.0:
        found.append(f"training.early_stop_success={s.training.early_stop_success}: must be in (0, 1], or null")
    if s.kernel_cache is not None:
        if not s.kernel_cache.strip():
            found.append("kernel_cache=: must name a folder, or be null")
        s.kernel_cache = os.path.abspath(os.path.expanduser(s.kernel_cache))
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", s.device):
        found.append(f"device={s.device}: must be auto, cpu, cuda or cuda:N")
    if s.profiling.tool != tools.NONE and not set(tools.LOOPS) & set(s.workflow.steps):
        found.append(
            f"profiling.tool={s.profiling.tool}: workflow={s.workflow.name} has no loop to profile; leave it out, or "
            f"choose one of {', '.join(tools.LOOPS)}"
        )
    found += rank_problems(s) + startup_problems(s) + execution_problems(s) + video_problems(s)
    if not found and _learns(s):
        found += _native_problems(s)
    return found + _checkpoint_problems(s) + _equivalence_problems(s)


def _learns(s: Settings) -> bool:
    return bool({"training", "play"} & set(s.workflow.steps))


def _native_problems(s: Settings) -> list[str]:
    """Settings of the library's own that it does not have."""
    try:
        translation = load_translation(s.framework.module)
    except ImportError as error:
        return [no_adapter(s.framework, error)]
    if s.agent.algorithm not in translation.ALGORITHMS:
        return []
    return native_problems(s.framework.name, translation, s.agent, s.framework.native)


def _unsupported(s: Settings) -> list[str]:
    """What the engine, the task or the library declares it does not do, said before anything is started."""
    found = []
    for group, engine in (("physics", s.physics), ("reference_physics", s.reference_physics)):
        if engine is None:
            continue
        problems = [availability.device_problem(engine.name, s.device)]
        if (declared := s.task.declaration) is not None and not is_gymnasium(s.task.module):
            problems.append(made_for_others(engine.name, s.task.name, declared.engines))
        problems = [problem.replace("physics=", f"{group}=", 1) for problem in problems]
        found += [problem for problem in (*problems, undrawable(s.rendering.name, engine.name, s.device)) if problem]
    found += image_problems(s, learns=_learns(s))
    return found + (_framework_problems(s) if _learns(s) else [])


def _framework_problems(s: Settings) -> list[str]:
    """What the library cannot do."""
    name = s.framework.name
    translation = load_translation(s.framework.module)
    if s.agent.algorithm not in translation.ALGORITHMS:
        has = ", ".join(translation.ALGORITHMS)
        return [f"agent.algorithm={s.agent.algorithm}: {name} has none ({has}); choose another framework or agent"]
    found = [
        f"agent.{row.parameter}={getattr(s.agent, row.parameter)}: {name} cannot do it: {row.reason}"
        for row in translation.mapping(s.agent)
        if row.quality == "unsupported"
    ]
    if s.agent.precision == "mixed" and s.device == "cpu":
        found.append("agent.precision=mixed: the libraries do it on CUDA only; set agent.precision=float32")
    return found + library_rank_problems(s, translation)


def no_adapter(framework: FrameworkCfg, error: ImportError) -> str:
    """One line for a library whose package cannot be imported."""
    return (
        f"framework.module={framework.module}: cannot be imported as a library's adapter ({error}); install it, or put "
        "its folder on PYTHONPATH"
    )


def _not_finite(node: dict[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key, value in node.items():
        if isinstance(value, dict):
            found += _not_finite(value, f"{prefix}{key}.")
        elif isinstance(value, float) and not math.isfinite(value):
            found.append(f"{prefix}{key}={value}: must be a finite number")
    return found


def _checkpoint_problems(s: Settings) -> list[str]:
    trains, plays = ("training" in s.workflow.steps, "play" in s.workflow.steps)
    if s.checkpoint is None:
        if plays and not trains:
            return [f"checkpoint=null: workflow={s.workflow.name} plays an earlier checkpoint; set checkpoint=PATH"]
        return []
    if not trains and not plays:
        return [
            f"checkpoint={s.checkpoint}: workflow={s.workflow.name} takes none; set workflow=training to continue it, "
            "workflow=play to play it, or leave it out"
        ]
    path = Path(s.checkpoint)
    if not path.is_file():
        what = "is no regular file" if path.exists() else "no such file"
        return [f"checkpoint={s.checkpoint}: {what}; set checkpoint=PATH to one a training saved"]
    # Now, because `outputs/latest` is about to point elsewhere.
    s.checkpoint = str(path.resolve())
    try:
        found = mismatches(Path(s.checkpoint), s) + (_resume_problems(s) if trains else [])
    except CardError as error:
        found = [str(error)]
    return ["; ".join(found)] if found else []


def _resume_problems(s: Settings) -> list[str]:
    left = iterations_left(s)
    done = s.agent.iterations - left
    if left < 1:
        return [
            f"agent.iterations={s.agent.iterations}: the checkpoint has done {done} already; set agent.iterations "
            f"above {done}"
        ]
    if s.training.least_warmup >= left:
        return [
            f"training.warmup_iterations={s.training.warmup_iterations}: must be below the {left} iterations left of "
            f"agent.iterations={s.agent.iterations} after the checkpoint's {done}, or nothing would be measured"
        ]
    return []


def _equivalence_problems(s: Settings) -> list[str]:
    """What keeps two engines from being compared."""
    reference, probe = s.reference_physics, s.equivalence
    if "equivalence" not in s.workflow.steps:
        if reference is None:
            return []
        return [f"reference_physics={reference.name}: workflow={s.workflow.name} compares no engines; leave it out"]
    if reference is None:
        return ["reference_physics=null: workflow=equivalence compares two engines; set reference_physics=ENGINE"]
    if s.num_envs < ACTION_SETS:
        return [f"num_envs={s.num_envs}: workflow=equivalence has {ACTION_SETS} sets of actions, each needs a row"]
    longest = s.task.max_episode_steps
    if probe.steps is not None and not 1 <= probe.steps <= longest:
        return [f"equivalence.steps={probe.steps}: must be from 1 to {longest}, the steps of an episode, or null"]
    if probe.reference_python is not None and shutil.which(probe.reference_python) is None:
        return [f"equivalence.reference_python={probe.reference_python}: no such program; give a Python interpreter"]
    return []
