"""A quick yes to a bundle that is beyond doubt; whatever else is the strict reader's to judge.

The strict reader (`benchmark_app.bundle.read`) takes milliseconds for a training with its curves, most of them to be
able to say where something is wrong. Nearly all files are right. Here the same annotations become checks that only
answer "surely a bundle" or "not sure", on what a fast parser returned. That parser keeps one of two equal keys and
tells nobody, so what it kept is written anew and the colons are counted: a pair that was lost takes one with it.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin

import orjson

from benchmark_app.bundle.check import BundleError, Record, field_hints
from benchmark_app.bundle.read import workflow_of
from benchmark_app.bundle.schema import BUNDLES, SCHEMA_VERSION

Check = Callable[[Any], bool]

_VERSIONS = frozenset(f"1.{minor}" for minor in range(int(SCHEMA_VERSION.split(".")[1]) + 1))
# The fast parser makes a float of an integer beyond 64 bits, which the schema refuses where it takes either.
_BEYOND_INTEGERS = 2.0**63


def read_fast(data: bytes) -> dict[str, Any] | None:
    """The JSON object of a bundle of schema 1.0 to 1.4; None where only the strict reader can tell.

    Fields that have a default may be absent, and integers may stand where floats are expected.
    """
    try:
        raw = orjson.loads(data)
    except ValueError:
        return None
    if not isinstance(raw, dict) or not _is_version(raw.get("schema_version")):
        return None
    sure = _CHECKS[workflow_of(raw)](raw) and not _may_repeat_keys(data, raw)
    return raw if sure else None


def _may_repeat_keys(data: bytes, raw: dict[str, Any]) -> bool:
    """False if no key surely stands twice in one object."""
    # A colon written as the escape \u003a is none in the text, and would be one in what is written anew.
    return b"\\u003" in data or data.count(b":") != orjson.dumps(raw).count(b":")


def _check(hint: Any) -> Check:
    """The check of a resolved annotation of the schema."""
    origin = get_origin(hint)
    if origin is Literal:
        return _literal(frozenset(get_args(hint)))
    if origin in (Union, types.UnionType):
        return _union(get_args(hint))
    if origin is list:
        return _is_curve if get_args(hint) == (float,) else _list(_check(get_args(hint)[0]))
    if origin is dict:
        return _mapping(_check(get_args(hint)[1]))
    if dataclasses.is_dataclass(hint):
        return _record(hint)  # type: ignore[arg-type]  # `hint` is a class here
    return _SCALARS[hint]


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_curve(value: Any) -> bool:
    """True for a list of finite numbers; one pass in C, because curves are most of what there is to check."""
    return type(value) is list and set(map(type, value)) <= {float, int} and math.isfinite(sum(value))


def _of_type(kind: type) -> Check:
    return lambda value: type(value) is kind  # exact, because true and false are integers to Python


def _literal(allowed: frozenset[str]) -> Check:
    return lambda value: type(value) is str and value in allowed


_is_version = _literal(_VERSIONS)
_SCALARS: dict[type, Check] = {float: _is_number, int: _of_type(int), str: _of_type(str), bool: _of_type(bool)}


def _union(options: tuple[Any, ...]) -> Check:
    if types.NoneType in options:
        (option,) = (option for option in options if option is not types.NoneType)
        check = _check(option)
        return lambda value: value is None or check(value)
    return lambda value: (
        type(value) in options and (type(value) is not float or -_BEYOND_INTEGERS < value < _BEYOND_INTEGERS)
    )


def _list(check: Check) -> Check:
    return lambda value: type(value) is list and all(map(check, value))


def _mapping(check: Check) -> Check:
    return lambda value: type(value) is dict and all(map(check, value.values()))


def _record(cls: type[Record]) -> Check:
    checks = {name: _check(hint) for name, hint in field_hints(cls).items()}
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]  # every Record of the schema is a dataclass
    required = {field.name for field in fields if field.default is field.default_factory is dataclasses.MISSING}
    rules = _rules(cls)

    def check(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys() <= checks.keys():
            return False
        for name, item in value.items():
            if not checks[name](item):
                return False
        return rules is None or rules(value)

    return check


def _rules(cls: type[Record]) -> Check | None:
    """The rules of a class for an object of checked values; None if it has none."""
    if cls.rules is Record.rules:
        return None
    make = _maker(cls)

    def obeyed(raw: dict[str, Any]) -> bool:
        try:
            make(raw).rules()
        except BundleError:
            return False
        return True

    return obeyed


def _maker(cls: type[Record]) -> Callable[[dict[str, Any]], Record]:
    """A function that makes an object of a class of the schema of checked values, without checking them again."""
    nested = {
        name: _maker(option)
        for name, hint in field_hints(cls).items()
        for option in (get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,))
        if isinstance(option, type) and issubclass(option, Record)
    }

    def make(raw: dict[str, Any]) -> Record:
        record = object.__new__(cls)
        record.__dict__.update(raw)  # what is absent is found in the class, which holds the defaults
        for name, make_nested in nested.items():
            if raw.get(name) is not None:
                record.__dict__[name] = make_nested(raw[name])
        return record

    return make


_CHECKS = {workflow: _check(cls) for workflow, cls in BUNDLES.items()}
