"""Run-time checks of the schema's type annotations, shared by construction, writing and reading.

One walker, `conform`, follows a value along its annotation. What happens at a nested dataclass is the caller's choice:
construction looks at the class only, writing walks on into it, reading builds it from a JSON object.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

RecordHandler = Callable[[type, object, str], object]

# Beyond this neither a seed nor a count is meant, and readers in other languages lose digits silently.
_INT_LIMIT = 2**64
_EXPECTED: dict[type, str] = {float: "a finite number", int: "an integer", str: "text", bool: "true or false"}


class BundleError(ValueError):
    """A value that breaks the schema.

    Args:
        path: Dotted path of the offending field, `""` for the whole file.
        reason: What is wrong, in one line.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason

    def under(self, parent: str) -> BundleError:
        """The same error seen from an enclosing object that stands at `parent`."""
        return BundleError(join(parent, self.path), self.reason)


class Record:
    """Base of the schema's dataclasses: the field types, then the class's own rules, are checked when one is made."""

    def __post_init__(self) -> None:
        for name, hint in field_hints(type(self)).items():
            conform(getattr(self, name), hint, name, _require_instance)
        self.rules()

    def rules(self) -> None:
        """Check what types cannot say; raise `BundleError` with the path relative to this object."""


def check_record(record: Record) -> None:
    """Check a whole tree again, down to list items and dictionary values, which may have changed since construction."""
    _check_nested(type(record), record, "")


def conform(value: Any, hint: Any, path: str, record: RecordHandler) -> Any:
    """Return `value` as `hint` demands (an integer becomes a float where one is expected), or raise.

    Args:
        value: Anything.
        hint: A resolved annotation of the schema.
        path: Where `value` stands, for the message.
        record: Called with (class, value, path) where the annotation is a dataclass.

    Raises:
        BundleError: `value` does not fit `hint`.
    """
    if hint is Any:
        return value
    origin = get_origin(hint)
    if origin is Literal:
        return _literal(value, get_args(hint), path)
    if origin in (Union, types.UnionType):
        return _union(value, get_args(hint), path, record)
    if origin is list:
        if not isinstance(value, list):
            refuse(path, "a list", value)
        return [conform(item, get_args(hint)[0], f"{path}[{i}]", record) for i, item in enumerate(value)]
    if origin is dict:
        return _mapping(value, get_args(hint)[1], path, record)
    if dataclasses.is_dataclass(hint):
        return record(hint, value, path)  # type: ignore[arg-type]  # `hint` is a class here, not an instance
    return _scalar(value, hint, path)


def field_hints(cls: type) -> dict[str, Any]:
    """Field name → resolved annotation of a dataclass, in declaration order."""
    return _field_hints(cls)


def join(parent: str, name: object) -> str:
    """Append a field name or dictionary key to a dotted path; a name that cannot be printed is escaped."""
    text = str(name)
    if not text.isprintable() or len(text) > 120:
        text = f"{text!a:.120}"
    return f"{parent}.{text}" if parent and text else parent or text


def describe(value: object) -> str:
    """A short, one-line, printable description of any value, safe for huge and deeply nested ones."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}" if abs(value) < _INT_LIMIT else "a huge integer"
    if isinstance(value, float):
        return f"{value}"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}…"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return f"a {type(value).__module__}.{type(value).__qualname__}"


def refuse(path: str, expected: str, value: object) -> NoReturn:
    """Raise the one message every type error has."""
    raise BundleError(path, f"expected {expected}, got {describe(value)}")


@cache
def _field_hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def _literal(value: Any, allowed: tuple[Any, ...], path: str) -> Any:
    if not isinstance(value, str) or value not in allowed:
        refuse(path, "one of " + ", ".join(allowed), value)
    return value


def _union(value: Any, options: tuple[Any, ...], path: str, record: RecordHandler) -> Any:
    if value is None and types.NoneType in options:
        return None
    options = tuple(option for option in options if option is not types.NoneType)
    if len(options) == 1:
        return conform(value, options[0], path, record)
    # The one wide union is that of `extra`: a value keeps its own type, so an integer stays an integer.
    for kind in (bool, int, float, str):
        if isinstance(value, kind) and kind in options:
            return _scalar(value, kind, path)
    refuse(path, "a number, text, true or false", value)


def _mapping(value: Any, hint: Any, path: str, record: RecordHandler) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(path, "an object", value)
    for key in value:
        if not isinstance(key, str):
            raise BundleError(path, f"expected text as key, got {describe(key)}")
    return {key: conform(item, hint, join(path, key), record) for key, item in value.items()}


def _scalar(value: Any, kind: type, path: str) -> Any:
    wanted: Any = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        refuse(path, _EXPECTED[kind], value)
    if kind is int and abs(value) >= _INT_LIMIT:
        refuse(path, "an integer below 2**64", value)
    if kind is not float:
        return value
    try:
        number = float(value)
    except OverflowError:
        refuse(path, _EXPECTED[float], value)
    if not math.isfinite(number):
        refuse(path, _EXPECTED[float], value)
    return number


def _require_instance(cls: type, value: object, path: str) -> object:
    if not isinstance(value, cls):
        refuse(path, f"a {cls.__name__}", value)
    return value


def _check_nested(cls: type, value: object, path: str) -> object:
    record = _require_instance(cls, value, path)
    assert isinstance(record, Record)
    for name, hint in field_hints(type(record)).items():
        conform(getattr(record, name), hint, join(path, name), _check_nested)
    try:
        record.rules()
    except BundleError as error:
        raise error.under(path) from None
    return record
