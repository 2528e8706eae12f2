"""Reading bundles strictly: schema 1.0 to 1.4, newer 1.x with warnings, anything else refused in one line."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchmark_app.bundle.check import BundleError, Record, conform, describe, field_hints, join, refuse
from benchmark_app.bundle.schema import BUNDLES, SCHEMA_VERSION, Bundle

R = TypeVar("R", bound=Record)
T = TypeVar("T")


@dataclass(frozen=True)
class LoadedBundle:
    """A bundle, the workflow its content says it is of, and what a reader should know about it."""

    bundle: Bundle
    workflow: str
    warnings: tuple[str, ...] = ()


def read_bundle_file(path: str | Path) -> LoadedBundle:
    """Read one bundle file of any name.

    Raises:
        BundleError: The file cannot be read, is no JSON, or breaks the schema; the one exception this raises.
    """
    return read_checked(path, parse_bundle)


def read_checked(path: str | Path, parse: Callable[[object], T]) -> T:
    """Read a JSON file and have its content checked.

    Args:
        path: The file.
        parse: Builds what is returned from the content, or raises `BundleError`.

    Raises:
        BundleError: The file cannot be read, is no JSON, or `parse` says so.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise BundleError("", f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BundleError("", f"not UTF-8 text (byte {error.start})") from None
    except ValueError as error:  # a path with a zero byte in it
        raise BundleError("", f"cannot be read: {error}") from None
    constants: list[str] = []
    loaded = parse(_load_json(text, constants))
    if constants:  # the fields we know were refused with their path above; this one stands in an unknown field
        raise BundleError("", f"{constants[0]} is not a JSON number")
    return loaded


def parse_bundle(raw: object) -> LoadedBundle:
    """Build a bundle from the object a JSON parser returned.

    Missing fields that have a default take it, integers become floats where those are expected. Unknown fields are
    refused up to schema 1.4 and reported as warnings in a newer 1.x.

    Raises:
        BundleError: `raw` is not a bundle of a schema this program reads.
    """
    if not isinstance(raw, dict):
        raise BundleError("", f"not a bundle: expected an object, got {describe(raw)}")
    newer = _is_newer(raw)
    workflow = workflow_of(raw)
    warnings: list[str] | None = [] if newer else None
    bundle = parse_record(BUNDLES[workflow], raw, "", warnings)
    return LoadedBundle(bundle, workflow, tuple(warnings or ()))


def parse_record(cls: type[R], raw: object, path: str, warnings: list[str] | None = None) -> R:
    """Build one dataclass of the schema, and all that is nested in it, from a JSON object.

    Args:
        cls: Class to build.
        raw: The JSON object.
        path: Where it stands, for messages.
        warnings: Receives a line for each unknown field; None refuses them.
    """
    if not isinstance(raw, dict):
        refuse(path, "an object", raw)
    hints = field_hints(cls)
    for key in raw:
        if key not in hints:
            if warnings is None:
                raise BundleError(join(path, key), f"unknown field, {cls.__name__} has none of this name")
            warnings.append(f"{join(path, key)}: unknown field, ignored")
    values = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # every Record of the schema is a dataclass
        where = join(path, field.name)
        if field.name in raw:
            values[field.name] = conform(
                raw[field.name], hints[field.name], where, lambda c, v, p: parse_record(c, v, p, warnings)
            )
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise BundleError(where, "missing")
    try:
        return cls(**values)
    except BundleError as error:
        raise error.under(path) from None


def workflow_of(raw: dict[str, Any]) -> str:
    """Tell from its keys which workflow a bundle is of."""
    run = raw.get("run")
    run = run if isinstance(run, dict) else {}
    judged = "reward" in raw or "ep_length" in raw
    if "phases" in raw:
        return "startup"
    # Only a training has an iteration budget: a file that lost its learning part must not pass for something else.
    if "learning" in raw or (run.get("max_iterations") is not None and not judged):
        return "training"
    if judged or run.get("framework") is not None or "success_rate" in raw or "checkpoint_path" in raw:
        return "play"
    return "runtime"


def _is_newer(raw: dict[str, Any]) -> bool:
    """True for a newer minor version than ours; refuses what is no bundle and other major versions."""
    if "schema_version" not in raw:
        raise BundleError("schema_version", "missing: not a bundle")
    version = raw["schema_version"]
    match = re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})", version) if isinstance(version, str) else None
    if match is None:
        refuse("schema_version", 'text such as "1.4"', version)
    major, minor = int(match[1]), int(match[2])
    ours, newest = (int(part) for part in SCHEMA_VERSION.split("."))
    if major != ours:
        raise BundleError("schema_version", f"schema {version} is not supported, expected {ours}.0 to {SCHEMA_VERSION}")
    return minor > newest


def _load_json(text: str, constants: list[str]) -> object:
    """Parse JSON without its traps; NaN and Infinity tokens are kept as floats and noted in `constants`."""

    def constant(token: str) -> float:
        constants.append(token)
        return float(token)

    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=constant)
    except BundleError:
        raise
    except json.JSONDecodeError as error:
        raise BundleError("", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise BundleError("", "not a bundle: nested too deeply") from None
    except ValueError:  # Python refuses to convert integers of thousands of digits
        raise BundleError("", "not a bundle: holds a huge integer") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BundleError("", f"the key {describe(twice)} stands twice in one object")
    return result
