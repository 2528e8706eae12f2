"""The schema as JSON Schema (2020-12), generated from the dataclasses.

Regenerate the committed file with:

    python -m benchmark_app.bundle.json_schema > docs/bundle-1.4.schema.json
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
from typing import Any, Literal, Union, get_args, get_origin

from benchmark_app.bundle.check import field_hints
from benchmark_app.bundle.schema import BUNDLES, SCHEMA_VERSION

_SCALARS = {float: "number", int: "integer", str: "string", bool: "boolean"}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the four kinds of bundles. Rules between two values are the reader's alone."""
    definitions: dict[str, Any] = {}
    for cls in BUNDLES.values():
        _define(cls, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Benchmark bundle, schema {SCHEMA_VERSION}",
        "description": "A file training.json, play.json, runtime.json or startup.json.",
        "anyOf": [_reference(cls) for cls in BUNDLES.values()],
        "$defs": dict(sorted(definitions.items())),
    }


def _define(cls: type, definitions: dict[str, Any]) -> None:
    """Add a dataclass, and those its fields need, to the definitions."""
    if cls.__name__ in definitions:
        return
    summary, notes = _documentation(cls)
    definition: dict[str, Any] = {"type": "object", "description": summary, "properties": {}}
    definitions[cls.__name__] = definition
    for name, hint in field_hints(cls).items():
        note = {"description": notes[name]} if name in notes else {}
        definition["properties"][name] = note | _type(hint, definitions)
    if "schema_version" in definition["properties"]:
        newest = SCHEMA_VERSION.split(".")[1]
        definition["properties"]["schema_version"] = {"type": "string", "pattern": f"^1\\.[0-{newest}]$"}
    definition["required"] = [f.name for f in dataclasses.fields(cls) if _is_required(f)]
    definition["additionalProperties"] = False


def _is_required(field: dataclasses.Field[Any]) -> bool:
    defaults = (field.default, field.default_factory)
    return field.name == "schema_version" or all(default is dataclasses.MISSING for default in defaults)


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type(option, definitions) for option in get_args(hint)]}
    if origin is list:
        return {"type": "array", "items": _type(get_args(hint)[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(get_args(hint)[1], definitions)}
    if hint is types.NoneType:
        return {"type": "null"}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        _define(hint, definitions)
        return _reference(hint)
    return {"type": _SCALARS[hint]}


def _reference(cls: type) -> dict[str, str]:
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _documentation(cls: type) -> tuple[str, dict[str, str]]:
    """First paragraph of a class's docstring, and what its `Args:` section says of each field."""
    text, _, args = inspect.cleandoc(cls.__doc__ or "").partition("\nArgs:\n")
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", args, re.MULTILINE)
    return " ".join(text.split("\n\n")[0].split()), {name: " ".join(note.split()) for name, note in entries}


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
