"""Arguments: the names by which functions know what they are called with."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from keepset.core.secrets.names import WEAK, strength_of_name
from keepset.core.secrets.variables import ATTRIBUTE, Variable

# The names of functions, and those of their parameters in order.
Signatures = tuple[tuple[str, tuple[str, ...]], ...]

# How many functions around one another are looked through for the one with the parameters.
_MOST_WRAPPED = 10


def positional_name(function: Any, number: int) -> str:
    """What a function calls its argument at a position; empty if that cannot be told."""
    names = parameter_names(function)
    if number < len(names):
        return names[number]
    # All further ones are in *args.
    return names[-1].removeprefix("*") if names and names[-1].startswith("*") else ""


def parameter_names(function: Any) -> tuple[str, ...]:
    """The positional parameters of a function, a class, a method or a callable object."""
    plain, skipped = _unwrapped(function)
    if plain is None:
        return ()
    code = plain.__code__
    names = code.co_varnames[skipped : code.co_argcount]
    if code.co_flags & 0x04:  # CO_VARARGS
        names += (f"*{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}",)
    return names


def _unwrapped(function: Any) -> tuple[FunctionType | None, int]:
    """The function that gets the arguments, and how many it gets by itself."""
    skipped = 0
    for _ in range(_MOST_WRAPPED):
        if isinstance(function, MethodType):
            function, skipped = function.__func__, 1
        elif isinstance(function, type):
            made = vars(function).get("__new__") or getattr(function, "__init__", None)
            function, skipped = getattr(made, "__func__", made), 1
        elif isinstance(wrapped := _wrapped(function), FunctionType | MethodType | type):
            function = wrapped
        elif isinstance(function, FunctionType):
            return function, skipped
        else:
            kinds = [each for each in type(function).__mro__ if "__call__" in vars(each)]
            called = vars(kinds[0])["__call__"] if kinds else None
            if not isinstance(called, FunctionType):
                return None, 0
            function, skipped = called, 1
    return None, 0


def _wrapped(function: Any) -> Any:
    """What a decorator that takes any arguments was put around."""
    try:
        return vars(function).get("__wrapped__")
    except TypeError:
        return None


def secret_signatures(function: Any) -> Signatures:
    """Those functions among what a function uses that have parameters for secrets."""
    if not isinstance(function, FunctionType):
        return ()
    names = set(_names(function.__code__))
    found: dict[str, tuple[str, ...]] = {}
    for name, value in _used(function, names):
        if not callable(value) or name in found:
            continue
        parameters = parameter_names(value)
        if any(strength_of_name(each) >= WEAK for each in parameters):
            found[name] = parameters
    return tuple(sorted(found.items()))


def values_of(function: Any, aliases: Iterable[tuple[Variable, int]]) -> Iterator[tuple[Any, int]]:
    """What the variables hold that a function passes on under the names of secrets."""
    if not isinstance(function, FunctionType):
        return
    for variable, strength in aliases:
        # Not assigned yet, a property, or an object whose methods raise anything.
        with suppress(Exception):
            yield _value_of(variable, function), strength


def _value_of(variable: Variable, function: FunctionType) -> Any:
    if variable.name in function.__code__.co_freevars:
        number = function.__code__.co_freevars.index(variable.name)
        value = (function.__closure__ or ())[number].cell_contents
    else:
        value = function.__globals__[variable.name]
    for kind, name in variable.steps:
        value = _attribute(value, name) if kind == ATTRIBUTE else _item(value, name)
    return value


def _attribute(value: Any, name: str) -> Any:
    """An attribute, without running any code of its object."""
    if isinstance(value, enum.Enum) and name == "value":
        return value._value_
    if isinstance(value, enum.EnumMeta):
        return value._member_map_[name]
    if isinstance(value, ModuleType):
        return vars(value)[name]
    with suppress(TypeError, KeyError):
        return vars(value)[name]
    kind = value if isinstance(value, type) else type(value)
    found = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    is_slot = isinstance(found, MemberDescriptorType) and kind is not value
    return object.__getattribute__(value, name) if is_slot else found


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        return dict.get(value, key)
    if isinstance(value, list | tuple):
        return list(value)[key]
    raise KeyError(key)


def _used(function: FunctionType, names: set[str]) -> Iterator[tuple[str, Any]]:
    outside = function.__globals__
    # The class that a method belongs to, whose other methods it calls by `self`.
    owner = outside.get(function.__qualname__.rpartition(".")[0])
    yield from _methods(owner, names)
    for name in names:
        value = outside.get(name)
        yield name, value
        if isinstance(value, ModuleType):
            yield from ((each, vars(value).get(each)) for each in names)
        else:
            yield from _methods(value, names)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        yield name, value
        yield from _methods(value, names)


def _methods(value: Any, names: set[str]) -> Iterator[tuple[str, Any]]:
    """The methods of an object or a class that are among some names, bound to something."""
    if value is None:
        return
    kind = value if isinstance(value, type) else type(value)
    for base in kind.__mro__:
        for name in names & vars(base).keys():
            found = vars(base)[name]
            if isinstance(found, FunctionType):
                yield name, MethodType(found, value)
            elif isinstance(found, staticmethod | classmethod):
                yield name, found.__get__(None, kind)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
