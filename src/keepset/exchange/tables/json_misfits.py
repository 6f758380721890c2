"""What does not fit in an object of JSON lines, in words for its reader."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from keepset.exchange.arrow.leaves import is_list
from keepset.exchange.tables.whole_numbers import integer_for


class _TooLarge(str):
    """The text of a number that no float64 is as large as."""


def unreadable(record: bytes) -> str | None:
    """What Python reads in an object and Arrow does not, if there is such a thing."""
    try:
        found = json.loads(record, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    for name, value in _values(found, "") if isinstance(found, dict) else ():
        if isinstance(value, _TooLarge):
            return f"{name!r} has {value!s:.60}, which is too large for float64"
        for text, where in ((name, "the key"), (value, f"{name!r} has")):
            if isinstance(text, str) and not _is_unicode(text):
                return f"{where} {text!r:.60}, which has half of a surrogate pair and is no Unicode"
    return None


def _number(text: str) -> float | _TooLarge:
    number = float(text)
    return _TooLarge(text) if math.isinf(number) else number


def _values(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Objects, lists and what is in them, and how they are called."""
    yield name, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _values(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, name)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def strange_key(
    found: dict[str, Any], fields: Iterable[pa.Field] | None, path: str = ""
) -> str | None:
    """A key that is not among the fields, or within an object of theirs."""
    known = {field.name: field.type for field in fields or ()}
    for key, value in found.items():
        if key not in known:
            return path + key
        type = known[key]
        while is_list(type):
            is_filled = isinstance(value, list) and bool(value)
            type, value = type.value_type, value[0] if is_filled else None
        if pa.types.is_struct(type) and isinstance(value, dict):
            inner = strange_key(value, type, f"{path}{key}.")
            if inner is not None:
                return inner
    return None


def mixed_types(found: dict[str, Any]) -> str | None:
    """What is wrong with a list whose items are of several types, if there is one."""
    kinds: dict[str, str] = {}
    for name, kind in _kinds(found, ""):
        if kinds.setdefault(name, kind) != kind:
            return f"a list in {name.partition('[')[0]!r} has both {kinds[name]} and {kind}"
    return None


def _kinds(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """How the values in an object are called, and of which kind each is."""
    if isinstance(value, dict):
        yield name, "objects"
        for key, item in value.items():
            yield from _kinds(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        yield name, "lists"
        for item in value:
            yield from _kinds(item, f"{name}[]")
    elif isinstance(value, bool):
        yield name, "true or false"
    elif value is not None:
        yield name, "texts" if isinstance(value, str) else "numbers"


def misfit(field: pa.Field, value: Any) -> str:
    name, odd, type = _odd_value(field.type, value, field.name) or (field.name, value, field.type)
    what = f"{name!r} has {odd!r:.60}, which is no {type}, the type of the column"
    if pa.types.is_integer(type) and isinstance(odd, int | float) and not isinstance(odd, bool):
        # A smaller type was given by the user; an int64 holds all that it does.
        better = "float64" if isinstance(odd, float) else integer_for(odd, odd)
        if better is None or (better == "int64" and type.bit_width == 64):
            return f"{what}; write it as a text, or leave {field.name!r} out with columns="
        only_if = ", if no row has a negative one" if better == "uint64" else ""
        return f"{what}; read it as another type, with types={{{name!r}: {better!r}}}{only_if}"
    if pa.types.is_timestamp(type) and isinstance(odd, str):
        return f"{what}; read it as another type, with types={{{name!r}: 'string'}}"
    return f"{what}; bring it to one type, or leave {field.name!r} out with columns="


def _odd_value(type: pa.DataType, value: Any, name: str) -> tuple[str, Any, pa.DataType] | None:
    """The first value that does not fit its type, how it is called, and that type."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        if not isinstance(value, dict):
            return name, value, type
        parts = ((f.type, value.get(f.name), f"{name}.{f.name}") for f in type)
        return next(filter(None, (_odd_value(*part) for part in parts)), None)
    if is_list(type):
        if not isinstance(value, list):
            return name, value, type
        items = (_odd_value(type.value_type, item, name) for item in value)
        return next(filter(None, items), None)
    return None if _fits(type, value) else (name, value, type)


def _fits(type: pa.DataType, value: Any) -> bool:
    if isinstance(value, bool) or pa.types.is_boolean(type):
        return isinstance(value, bool) and bool(pa.types.is_boolean(type))
    if pa.types.is_integer(type):
        if pa.types.is_unsigned_integer(type):
            return isinstance(value, int) and 0 <= value < 1 << type.bit_width
        most = 1 << (type.bit_width - 1)
        return isinstance(value, int) and -most <= value < most
    if pa.types.is_floating(type):
        return isinstance(value, int | float)
    if pa.types.is_string(type):
        return isinstance(value, str)
    return False
