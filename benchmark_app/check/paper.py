"""Checks of what a task declares and of the files it brings along. Nothing is built for them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from pathlib import PurePosixPath
from unittest import SkipTest

from benchmark_app.envs.declaration import Source
from benchmark_app.physics.catalogue import ENGINES

from .claims import Claims, setting_names, settings_in_file
from .findings import require

OWN = "this project"
WRITTEN_BY_CHECK = ("golden.json", "reference.json")
_ADDRESS = re.compile(r"https?://\S+")


def the_declaration_is_complete(claims: Claims) -> str:
    """Whoever lists or reads about the task finds every part of its declaration filled in."""
    declared = claims.declaration
    for key in ("suite", "title", "summary", "robot_type", "control"):
        require(bool(getattr(declared, key).strip()), f"DECLARATION.{key} is empty; fill it in")
    for key in ("suite", "robot_type", "control"):
        value = getattr(declared, key)
        require(re.fullmatch(r"[a-z][a-z0-9_]*", value) is not None, f"DECLARATION.{key}={value!r}: use lower_case")
    require(bool(declared.reward_terms), "DECLARATION.reward_terms is empty; name every term of the reward")
    require(bool(declared.joints), "DECLARATION.joints is empty; list the robot's joints with limits and damping")
    for key in ("reward_terms", "metrics"):
        for name, meaning in getattr(declared, key).items():
            require(bool(meaning.strip()), f"DECLARATION.{key}[{name!r}] has no meaning; say what it is, and its unit")
    described = claims.cfg.description
    require(described != claims.cfg.name and " " in described, "Cfg.description: say in a sentence what is to be done")
    for name, address in declared.links.items():
        require(_ADDRESS.fullmatch(address) is not None, f"DECLARATION.links[{name!r}]={address}: is no web address")
    return f"{declared.suite}, {len(declared.reward_terms)} reward terms, {len(declared.metrics)} metrics"


def success_is_declared_whole(claims: Claims) -> str:
    """A task that counts as solved from some success rate on says what success is."""
    success, solved = claims.declaration.success, claims.declaration.solved_at
    if solved is None:
        return "judged by its return" + (", though it knows success" if success else "")
    require(bool(success), f"DECLARATION.solved_at={solved} without success: say in a sentence what success is")
    require(0.0 < solved <= 1.0, f"DECLARATION.solved_at={solved}: a share of episodes, in (0, 1]")
    return f"solved at {100 * solved:g} % of episodes"


def the_engines_are_known(claims: Claims) -> str:
    """Every engine the task is declared for exists, and is named once."""
    engines = claims.declaration.engines
    require(bool(engines), "DECLARATION.engines is empty; name those the task runs on")
    require(len(set(engines)) == len(engines), f"DECLARATION.engines={engines}: names one twice")
    for name in engines:
        require(name in ENGINES, f"DECLARATION.engines: {name} is unknown; known: {', '.join(ENGINES)}")
    return ", ".join(engines)


def the_settings_file_and_the_class_agree(claims: Claims) -> str:
    """The file gives every setting, and the defaults of the class are the same numbers."""
    given = settings_in_file(claims)
    if lacking := [name for name in setting_names(claims) if name not in given]:
        raise AssertionError(f"{claims.entry.config.name} lacks {', '.join(lacking)}; add them with a comment each")
    same = 0
    for field in fields(claims.cfg):
        if field.default is MISSING and field.default_factory is MISSING:
            continue
        default = field.default if field.default_factory is MISSING else field.default_factory()
        found = getattr(claims.cfg, field.name)
        if isinstance(default, float) and isinstance(found, float):
            equal = math.isclose(default, found, rel_tol=1e-9, abs_tol=0.0)
        else:
            equal = default == found
        where = f"{claims.entry.config.name} says {field.name}={found}, the class {default}"
        require(equal, f"{where}; make them the same")
        same += 1
    require(given["name"] == claims.entry.name, f"name={given['name']}: the file is {claims.entry.config.name}")
    require(not (problems := claims.cfg.problems()), f"its own settings cannot work: {'; '.join(problems)}")
    return f"{len(given)} settings, {same} with a default"


def the_episode_is_whole_control_steps(claims: Claims) -> str:
    """The time limit is a whole number of control steps, so that it means what it says."""
    cfg = claims.cfg
    steps = cfg.episode_length_s / cfg.control_dt
    exact = math.isclose(steps, cfg.max_episode_steps, rel_tol=1e-6)
    require(exact, f"episode_length_s={cfg.episode_length_s} is {steps:g} control steps of {cfg.control_dt:g} s")
    return f"{cfg.max_episode_steps} steps of {cfg.control_dt:g} s"


def the_conventions_name_everything(claims: Claims) -> str:
    """`conventions()` is plain JSON, agrees with settings and declaration, and names all components, each once."""
    cfg, declared = claims.cfg, claims.declaration
    told = cfg.conventions()
    json.dumps(told, allow_nan=False)
    expected = {
        "control_rate_hz": round(1.0 / cfg.control_dt, 6),
        "physics_dt_s": cfg.physics_dt,
        "decimation": cfg.decimation,
        "episode_steps": cfg.max_episode_steps,
        "robot_type": declared.robot_type,
        "controller": declared.control,
    }
    for key, value in expected.items():
        require(
            told.get(key) == value, f"conventions()[{key!r}] is {told.get(key)!r}, and {value!r} follows from the task"
        )
    semantics = told.get("semantics")
    versioned = re.fullmatch(rf"{re.escape(cfg.name)}-{re.escape(declared.control)}-v\d+", str(semantics))
    require(
        versioned is not None, f"conventions()['semantics']={semantics!r}: expected {cfg.name}-{declared.control}-v1"
    )
    groups = told.get("observations") or {}
    named = "policy" in groups or bool(told.get("images"))
    require(named, "conventions()['observations'] has no group 'policy'; name its components in order")
    require(bool(told.get("actions")), "conventions()['actions'] is missing; name the components of an action in order")
    for where, components in [*groups.items(), ("actions", told["actions"])]:
        names = [component.get("name") for component in components]
        require(all(names), f"conventions(): a component of {where} has no name")
        twice = sorted({name for name in names if names.count(name) > 1})
        require(not twice, f"conventions(): {where} has {', '.join(twice)} more than once; names must differ")
        for component in components:
            known = all(isinstance(component.get(key), str) for key in ("unit", "meaning"))
            require(known, f"conventions(): {where}.{component['name']} lacks its unit ('' for none) or its meaning")
    images = [f"{len(told['images'])} images"] if told.get("images") else []
    counted = [f"{sum(map(len, groups.values()))} observations", *images, f"{len(told['actions'])} actions"]
    return f"{semantics}; {', '.join(counted)}"


def sources_tell_where_things_come_from(claims: Claims) -> str:
    """Every source has an origin and a licence, and a revision where it is not our own."""
    sources = claims.declaration.sources
    require(bool(sources), "DECLARATION.sources is empty; say where the assets come from")
    for source in sources:
        what = f"DECLARATION.sources ({source.what})"
        require(bool(source.what and source.origin), f"{what}: has no origin; {OWN!r}, or an address")
        if source.origin != OWN:
            require(
                _ADDRESS.fullmatch(source.origin) is not None, f"{what}: origin={source.origin}: {OWN!r} or an address"
            )
            require(bool(source.revision), f"{what}: has no revision; give the commit or version of {source.origin}")
        _require_licence(source, what)
    return f"{len(sources)} sources, licences {', '.join(sorted({source.licence for source in sources}))}"


def _require_licence(source: Source, what: str) -> None:
    require(bool(source.licence), f"{what}: has no licence; give its SPDX identifier, such as Apache-2.0")
    try:
        from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
    except ImportError:  # older than 24.2; the tests' own environment has a newer one
        return
    try:
        right = canonicalize_license_expression(source.licence)
    except InvalidLicenseExpression as error:
        raise AssertionError(f"{what}: licence={source.licence} is no SPDX identifier ({error})") from error
    require(right == source.licence, f"{what}: licence={source.licence}: its SPDX identifier is {right}")


def every_file_has_a_source(claims: Claims) -> str:
    """Every file the task brings along has a source with its licence's text, and every source's files exist."""
    covered, texts = set(), set()
    for source in claims.declaration.sources:
        files = [file for part in _parts(source) for file in _below(part, claims.files)]
        covered |= set(files)
        if not source.licence_file:
            require(
                not files, f"{source.what}: is a file, and its source names no licence_file; add the licence's text"
            )
            continue
        texts.add(source.licence_file)
        is_there = (claims.folder / source.licence_file).is_file()
        require(is_there, f"{source.licence_file}: is named by DECLARATION.sources and is not there; add it")
        is_empty = not (claims.folder / source.licence_file).read_text(encoding="utf-8").strip()
        require(not is_empty, f"{source.licence_file}: is empty; it must hold the licence, or say where its text is")
        for part in _parts(source):
            require(bool(_below(part, claims.files)), f"{part}: is named by DECLARATION.sources and is not there")
    bare = [file for file in claims.files if file not in covered | texts and file not in WRITTEN_BY_CHECK]
    require(not bare, f"{', '.join(bare)}: no source names it; add it to DECLARATION.sources, or delete it")
    return f"{len(covered - texts)} files, {len(texts)} licence texts"


def _parts(source: Source) -> list[str]:
    """The files or folders a source is about; several are separated by commas."""
    return [part.strip() for part in source.what.split(",")]


def _below(part: str, files: Iterable[str]) -> list[str]:
    return [
        file for file in files if PurePosixPath(file) == PurePosixPath(part) or file.startswith(f"{part.rstrip('/')}/")
    ]


def the_gym_id_is_registered_once(claims: Claims) -> str:
    """`gymnasium.make(gym_id)` finds this task, and no other task has its id."""
    try:
        import gymnasium
    except ImportError as error:
        raise SkipTest(f"gymnasium is not installed here ({error})") from error
    from gymnasium.envs.registration import parse_env_id

    from benchmark_app.catalogue.entries import find_tasks

    gym_id = claims.cfg.gym_id
    try:
        _, _, version = parse_env_id(gym_id)
    except gymnasium.error.Error as error:
        raise AssertionError(f"gym_id={gym_id}: is no id of Gymnasium's; use the form Name-v0 ({error})") from error
    require(version is not None, f"gym_id={gym_id}: has no version; end it with -v0")
    others = [entry.name for entry in find_tasks().values() if entry.name != claims.entry.name]
    for name in others:
        taken = find_tasks()[name].cfg().gym_id == gym_id
        require(not taken, f"gym_id={gym_id}: the task {name} has it too; choose another")
    if claims.entry.name not in find_tasks():
        raise SkipTest(f"{gym_id} is well formed and unique; only shipped and installed tasks are registered")
    import benchmark_app.gym  # noqa: F401 (registers them)

    found = gymnasium.registry.get(gym_id)
    registered = found is not None and found.kwargs.get("module") == claims.cfg.module
    require(registered, f"gym_id={gym_id}: importing benchmark_app.gym does not register this task under it")
    return gym_id


PAPER: tuple[Callable[[Claims], str], ...] = (
    the_declaration_is_complete,
    success_is_declared_whole,
    the_engines_are_known,
    the_settings_file_and_the_class_agree,
    the_episode_is_whole_control_steps,
    the_conventions_name_everything,
    sources_tell_where_things_come_from,
    every_file_has_a_source,
    the_gym_id_is_registered_once,
)
"""Every check of the declaration and the files."""
