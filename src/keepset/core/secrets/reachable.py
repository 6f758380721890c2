"""Reachable: the secrets that functions and objects use, by the names that they have there."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from keepset.core.fingerprint.functions import source_of_function
from keepset.core.fingerprint.origin import is_library_function, is_library_module
from keepset.core.fingerprint.reach import with_nested
from keepset.core.secrets.arguments import positional_name, secret_signatures, values_of
from keepset.core.secrets.holders import (
    held_by_class,
    strength_of_attribute,
    strength_of_key,
)
from keepset.core.secrets.literals import masked_source
from keepset.core.secrets.mask import has_secret_parts, secret_texts, strength_after
from keepset.core.secrets.names import NONE, WEAK, strength_of_name

# As many values are looked at; a pipeline that uses more has a large model or large tables in it.
_MOST_VALUES: Final = 5000
# Larger containers hold data.
_MOST_ITEMS: Final = 100
_MOST_ATTRIBUTES: Final = 1000

Part = tuple[Any, int]


def reachable_secrets(values: Iterable[tuple[str, Any]]) -> set[str]:
    """The texts that are secret by a name, in values that are given with their own names."""
    found: set[str] = set()
    todo: list[Part] = [(value, strength_of_name(name)) for name, value in values]
    # The values themselves, so that no id is used twice, and the surest of their names.
    seen: dict[int, Part] = {}
    while todo and len(seen) < _MOST_VALUES:
        value, strength = todo.pop()
        if isinstance(value, str | bytes):
            found |= secret_texts(value, strength)
            continue
        if type(value) is re.Pattern:
            found |= secret_texts(value, strength)
        strength = NONE if callable(value) else strength
        if id(value) not in seen or seen[id(value)][1] < strength:
            seen[id(value)] = value, strength
            if type(value) in (list, tuple) or has_secret_parts(type(value)):
                # What its items and keys are only together; the rest follows with its parts.
                found |= secret_texts(value, strength, 1)
            todo += _parts(value, strength)
    return found


def _parts(value: Any, strength: int) -> Iterator[Part]:
    """What a value consists of, each with the strength of its name."""
    if isinstance(value, FunctionType):
        return iter(()) if is_library_function(value) else _of_function(value)
    if isinstance(value, functools.partial):
        return _of_partial(value)
    if isinstance(value, MethodType):
        return iter([(value.__self__, NONE), (value.__func__, NONE)])
    if isinstance(value, tuple) and (fields := getattr(type(value), "_fields", None)):
        held = min(strength_of_attribute(value, ""), WEAK)
        return _of_names(dict(zip(fields, value, strict=False)), max(strength, held))
    if type(value) in (list, tuple, set, frozenset):
        return _of_sequence(value, strength)
    if isinstance(value, dict):
        return chain(_of_names(value, strength, _MOST_ITEMS), _of_object(value, strength))
    if value is os.environ:
        return _of_names(dict(os.environ), NONE)
    if isinstance(value, ModuleType):
        return iter(())  # what a function uses of it is found with the function
    return _of_object(value, strength)


def _of_function(function: FunctionType) -> Iterator[Part]:
    outside = function.__globals__
    names = {name for code in with_nested(function.__code__) for name in code.co_names}
    for name in names:
        if name not in outside:
            continue
        value = outside[name]
        yield value, strength_of_name(name)
        if isinstance(value, ModuleType) and not is_library_module(value):
            inner = vars(value)
            yield from ((inner[each], strength_of_name(each)) for each in names if each in inner)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield cell.cell_contents, strength_of_name(name)
        except ValueError:  # not assigned yet
            continue
    source = source_of_function(function)
    masked = masked_source(source, (), secret_signatures(function)) if source else None
    yield from values_of(function, masked.aliases if masked else ())
    defaults = function.__defaults__ or ()
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    for name, value in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
        yield value, strength_of_name(name)
    yield from _of_names(function.__kwdefaults__ or {}, NONE)
    yield from _of_names(vars(function), NONE)


def _of_partial(value: functools.partial[Any]) -> Iterator[Part]:
    yield value.func, NONE
    for i, item in enumerate(value.args):
        named = strength_of_name(positional_name(value.func, i))
        yield item, max(named, strength_after(value.args, i))
    yield from _of_names(value.keywords, NONE)


def _of_sequence(value: Any, strength: int) -> Iterator[Part]:
    if len(value) <= _MOST_ITEMS:
        # A copy: another thread may change it meanwhile.
        for i, item in enumerate(list(value)):
            yield item, max(strength, strength_after(value, i))


def _of_names(value: dict[Any, Any], strength: int, most: int = _MOST_ATTRIBUTES) -> Iterator[Part]:
    # Not by its own methods: a class made of dict may do anything in them.
    if dict.__len__(value) > most:
        return
    for name, item in list(dict.items(value)):
        yield item, max(strength, strength_of_key(value, name))


def _of_object(value: Any, strength: int) -> Iterator[Part]:
    """The attributes of an object or a class, without running any code of it."""
    kind = type(value)
    if isinstance(value, type):
        if not _is_library(value):
            yield from _of_names(dict(vars(value)), NONE)
            yield from held_by_class(value)
        return
    if not _is_library(kind):
        yield kind, NONE
    attributes = dict(_attributes(value))
    for name, item in attributes.items():
        held = min(strength_of_attribute(value, name), WEAK)
        yield item, max(strength, held, strength_of_key(attributes, name))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    names = [name for each in type(value).__mro__ for name in _slots(each)]
    # A property in the place of an attribute may raise whatever it likes.
    with suppress(Exception):
        own = object.__getattribute__(value, "__dict__")
        if dict.__len__(own) <= _MOST_ATTRIBUTES:
            yield from [(name, item) for name, item in list(own.items()) if type(name) is str]
    for name in names:
        with suppress(Exception):
            yield name, object.__getattribute__(value, name)


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_library(kind: type) -> bool:
    # Faster than is_library_class. A class that is taken for another costs no more than time.
    return kind.__module__ == "builtins" or _is_library_name(kind.__module__)


@functools.lru_cache(1024)
def _is_library_name(name: Any) -> bool:
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module is not None and is_library_module(module)
