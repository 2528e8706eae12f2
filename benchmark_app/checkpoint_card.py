"""What a checkpoint was made for, in a small JSON file beside it, so that a mismatch is found before anything starts.

A policy network loads into another activation function, or into a task with its observations in another order, without
complaint and plays badly: only the card knows. Nothing heavy is imported, and a checkpoint never opened here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark_app import __version__
from benchmark_app.bundle.write import write_json_file
from benchmark_app.frameworks.mapping import leaves
from benchmark_app.frameworks.registry import load_translation
from benchmark_app.settings import Settings

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

# What has to agree for a checkpoint to mean the same: settings that change the networks or what is stored with them.
AGENT = (
    *("algorithm", "hidden_layers", "activation", "normalize_observations", "normalize_values"),
    *("encoder", "encoder_channels", "encoder_kernels", "encoder_strides"),
)
MOST_BYTES = 2**20
MOST_LETTERS = 200

Components = list[str] | int
"""The names of a vector's components in their order, or only their number where a task gives no names."""


class CardError(Exception):
    """A card cannot be used; the message is one line."""


def card_path(checkpoint: Path) -> Path:
    """The card of a checkpoint: `policy.pt` has `policy.pt.json`."""
    return checkpoint.with_name(checkpoint.name + ".json")


def write_card(checkpoint: Path, settings: Settings, env: TorchEnv, iteration: int) -> None:
    """Describe a checkpoint that was just saved.

    Args:
        checkpoint: Its file.
        settings: Settings of the run.
        env: The environment it was trained on, for the dimensions of what the task gives no names.
        iteration: Training iterations behind it, those of the checkpoint it was continued from included.

    """
    card = {
        "benchmark_app": __version__,
        "gym_id": settings.task.gym_id,
        **_describe(settings),
        "training": _training(settings),
        "iteration": iteration,
        **_sizes(env),
        "images": {},
        **_interface(settings),
    }
    write_json_file(card, card_path(checkpoint))


def require_names(settings: Settings, env: TorchEnv) -> None:
    """Check a task's names against its environment, before anything is trained.

    Raises:
        ValueError: They are not as many as the environment's dimensions.
    """
    sizes = _sizes(env)
    counted = {key: _counted(value) for key, value in _interface(settings).items() if key in sizes}
    if wrong := [key for key, count in counted.items() if count != sizes[key]]:
        raise ValueError(
            f"task={settings.task.name}: conventions() names {counted[wrong[0]]} {wrong[0]}, the environment has "
            f"{sizes[wrong[0]]}"
        )


def _sizes(env: TorchEnv) -> dict[str, Any]:
    return {"observations": dict(env.obs_groups_spec), "actions": int(env.action_space.shape[0])}


def iterations_done(checkpoint: Path) -> int:
    """Training iterations behind a checkpoint; 0 where its card does not say, or there is none.

    Raises:
        CardError: The card cannot be used.
    """
    done: int = (_read(checkpoint) or {}).get("iteration", 0)
    return done


def policy_iterations(settings: Settings) -> int:
    """Training iterations of the policy a run plays: those it asks for, or those behind the checkpoint it was given.

    Raises:
        CardError: The card cannot be used.
    """
    if "training" in settings.workflow.steps:
        return settings.agent.iterations
    return 0 if settings.checkpoint is None else iterations_done(Path(settings.checkpoint))


def iterations_left(settings: Settings) -> int:
    """Training iterations a run does: `agent.iterations` in all, less those behind the checkpoint it continues.

    Raises:
        CardError: The card cannot be used.
    """
    done = 0 if settings.checkpoint is None else iterations_done(Path(settings.checkpoint))
    return settings.agent.iterations - done


def resume_facts(settings: Settings) -> dict[str, int | str]:
    """What the bundle of a training says about the checkpoint it continues; empty where there is none."""
    if settings.checkpoint is None:
        return {}
    anew = ["episodes in progress", "random generators", "the window of the last episodes"]
    if settings.agent.algorithm == "sac":
        anew.append("the replay buffer")
    return {
        "resumed_from": settings.checkpoint,
        "resumed_iterations": iterations_done(Path(settings.checkpoint)),
        "resume_differs": f"not restored, begun anew: {', '.join(anew)}",
    }


def mismatches(checkpoint: Path, settings: Settings) -> list[str]:
    """Every way in which a checkpoint was made for something else, each worded for a person.

    Empty when all agrees. What the card or the task does not say is not compared: the library then looks at the
    dimensions itself, and so it does where there is no card.
    """
    name, rename = checkpoint.name, settings.admission.rename
    try:
        card = _read(checkpoint)
    except CardError as error:
        return [str(error)]
    if card is None:
        shown = ", ".join(f"{old}:{new}" for old, new in rename.items())
        return [f"admission.rename={{{shown}}}: the checkpoint {name} has no card, so no names"] if rename else []
    here = _interface(settings)
    found = [
        f"{key}={value}: the checkpoint {name} was made with {key}={card[key]}"
        for key, value in _describe(settings).items()
        if key in card and card[key] != value
    ]
    if "training" in settings.workflow.steps:
        # Optimizer, noise and temperature come from the checkpoint: another setting would be claimed and not used.
        theirs_before = card.get("training", {})
        found += [
            f"{key}={value}: the training that {name} is to continue was made with {key}={theirs_before[key]}"
            for key, value in _training(settings).items()
            if key not in _describe(settings) and theirs_before.get(key, value) != value
        ]
    found += _rename_problems(card, here, rename, name)
    theirs, ours = _vectors(_renamed(card, rename)), _vectors(here)
    for where in {**ours, **theirs}:
        part = where.partition(".")[0]
        if part in card and part in here and (said := _difference(where, theirs.get(where), ours.get(where), name)):
            found.append(said)
    return found


def _describe(settings: Settings) -> dict[str, Any]:
    """What the settings make a checkpoint for, apart from the task's vectors."""
    agent, framework = settings.agent, settings.framework
    rows = load_translation(framework.module).mapping(agent)
    of_networks = {path for row in rows if row.parameter in AGENT for path in row.paths}
    return {
        # A native setting can change a network without changing a shape.
        "framework.native": {path: value for path, value in leaves(framework.native) if path in of_networks},
        "framework": settings.framework.name,
        "task": settings.task.name,
        **{f"agent.{key}": getattr(agent, key) for key in AGENT if hasattr(agent, key)},
        "control_rate_hz": round(1.0 / settings.task.control_dt, 6),
        **{key: value for key, value in settings.task.conventions().items() if key == "semantics"},
    }


def _training(settings: Settings) -> dict[str, Any]:
    """The whole description a training was made with, but for how long it is: what a continued one must keep."""
    agent = dataclasses.asdict(settings.agent)
    return {
        **{f"agent.{key}": value for key, value in agent.items() if key != "iterations"},
        "framework.native.*": dict(leaves(settings.framework.native)),
    }


def _interface(settings: Settings) -> dict[str, Any]:
    """The task's vectors as its conventions name them, in the form a card has; empty for a task that names none."""
    conventions = settings.task.conventions()
    found: dict[str, Any] = {}
    if "observations" in conventions:
        groups = conventions["observations"].items()
        found["observations"] = {group: [entry["name"] for entry in entries] for group, entries in groups}
    if "actions" in conventions:
        found["actions"] = [entry["name"] for entry in conventions["actions"]]
    if found:
        images = conventions.get("images", {}).items()
        found["images"] = {camera: entry["channels"] for camera, entry in images}
    return found


# ---------------------------------------------------------------- reading, with suspicion: anyone may have written it


def _read(checkpoint: Path) -> dict[str, Any] | None:
    path = card_path(checkpoint)
    if not path.exists():
        return None
    refused = f"checkpoint={checkpoint}: its card {path.name}"
    if not path.is_file():
        raise CardError(f"{refused} is no regular file")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise CardError(f"{refused} is no card: it is larger than {MOST_BYTES // 2**20} MiB")
        card = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise CardError(f"{refused} cannot be read ({error})") from error
    if not isinstance(card, dict):
        raise CardError(f"{refused} is no JSON object")
    if missing := [key for key in ("framework", "task", "iteration") if key not in card]:
        raise CardError(f"{refused} is no card: it lacks {', '.join(missing)}")
    if wrong := [key for key, sound in SOUND.items() if key in card and not sound(card[key])]:
        raise CardError(f"{refused} is damaged: {', '.join(wrong)} cannot be what it says")
    return card


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MOST_LETTERS and value.isprintable()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 10**9


def _is_components(value: Any) -> bool:
    return _is_count(value) or _is_list(value, _is_text)


def _is_list(value: Any, sound: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(sound, value))


def _is_table(value: Any, sound: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value)) and all(map(sound, value.values()))


SOUND: dict[str, Callable[[Any], bool]] = {
    "framework": _is_text,
    "framework.native": lambda value: _is_table(value, lambda entry: not isinstance(entry, dict)),
    "task": _is_text,
    "agent.algorithm": _is_text,
    "agent.hidden_layers": lambda value: _is_list(value, _is_count),
    "agent.activation": _is_text,
    "agent.encoder": lambda value: value is None or _is_text(value),
    "agent.encoder_channels": lambda value: _is_list(value, _is_count),
    "agent.encoder_kernels": lambda value: _is_list(value, _is_count),
    "agent.encoder_strides": lambda value: _is_list(value, _is_count),
    "agent.normalize_observations": _is_flag,
    "agent.normalize_values": _is_flag,
    "training": lambda value: _is_table(value, lambda entry: True),
    "iteration": _is_count,
    "control_rate_hz": _is_rate,
    "semantics": _is_text,
    "observations": lambda value: _is_table(value, _is_components),
    "actions": _is_components,
    "images": lambda value: _is_table(value, _is_count),
}
"""What each entry of a card must be; others are not looked at."""


# ---------------------------------------------------------------- comparing vectors


def _vectors(source: dict[str, Any]) -> dict[str, Components]:
    """Every vector and image of a card, by a name a person can follow: `observations.policy`, `actions`."""
    found: dict[str, Components] = {}
    for part in ("observations", "actions", "images"):
        value = source.get(part, {})
        found |= {f"{part}.{key}": entry for key, entry in value.items()} if isinstance(value, dict) else {part: value}
    return found


def _lists(source: dict[str, Any]) -> dict[str, list[str]]:
    """Every list of names in a card that a rename map may rename: components, and images themselves."""
    named = {where: value for where, value in _vectors(source).items() if isinstance(value, list)}
    return {**named, "images": list(source.get("images", {}))}


def _renamed(card: dict[str, Any], rename: dict[str, str]) -> dict[str, Any]:
    """A card with the names this task has for the same things."""

    def renamed(value: Any) -> Any:
        return [rename.get(name, name) for name in value] if isinstance(value, list) else value

    parts: dict[str, Any] = {
        "observations": {group: renamed(value) for group, value in card.get("observations", {}).items()},
        "actions": renamed(card.get("actions")),
        "images": {rename.get(camera, camera): channels for camera, channels in card.get("images", {}).items()},
    }
    return {part: value for part, value in parts.items() if part in card}


def _rename_problems(card: dict[str, Any], here: dict[str, Any], rename: dict[str, str], name: str) -> list[str]:
    theirs, ours = (sorted({each for names in _lists(source).values() for each in names}) for source in (card, here))
    found = []
    for old, new in rename.items():
        if old not in theirs:
            has = ", ".join(theirs) or "no names"
            found.append(f"admission.rename={{{old}:{new}}}: the checkpoint {name} has no {old}, it has {has}")
        if new not in ours:
            has = ", ".join(ours) or "no names"
            found.append(f"admission.rename={{{old}:{new}}}: this task has no {new}, it has {has}")
    for where, names in _lists(card).items():
        after = [rename.get(each, each) for each in names]
        if len(set(after)) < len(set(names)):
            twice = ", ".join(sorted({each for each in after if after.count(each) > names.count(each)}))
            found.append(f"admission.rename: would make two names of {where} in the checkpoint {name} equal: {twice}")
    return found


def _counted(value: Any) -> Any:
    """Numbers of components in place of their names."""
    if isinstance(value, dict):
        return {key: _counted(entry) for key, entry in value.items()}
    return len(value) if isinstance(value, list) else value


def _difference(where: str, theirs: Components | None, ours: Components | None, name: str) -> str:
    """How one vector differs, "" if it does not."""
    unit = "channels" if where.startswith("images.") else "values"
    counts = [_counted(side) for side in (theirs, ours)]
    if counts[0] != counts[1]:
        there, here = ("none" if count is None else f"{count} {unit}" for count in counts)
        said = f"{where}: the checkpoint {name} has {there}, this task has {here}"
        if isinstance(theirs, list) and isinstance(ours, list):
            only = [
                f"{side} alone has {', '.join(extra)}"
                for side, extra in (
                    ("the checkpoint", [each for each in theirs if each not in ours]),
                    ("this task", [each for each in ours if each not in theirs]),
                )
                if extra
            ]
            said += f" ({', '.join(only)})" if only else ""
        return said
    if not isinstance(theirs, list) or not isinstance(ours, list) or theirs == ours:
        return ""
    pairs = enumerate(zip(theirs, ours, strict=True), start=1)
    moved = ", ".join(f"{place} is {there} there, {here} here" for place, (there, here) in pairs if there != here)
    if sorted(theirs) == sorted(ours):
        return f"{where}: the checkpoint {name} has the same names in another order, and the order matters: {moved}"
    return (
        f"{where}: the checkpoint {name} has other names: {moved} (where two mean the same, set "
        "admission.rename={there:here})"
    )
