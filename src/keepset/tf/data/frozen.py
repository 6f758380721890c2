"""Frozen functions: what a function's variables were when it was given to ``map``, they stay.

TensorFlow traces a function when ``map`` is called. Programs rely on it where they make pipelines
in a loop, ``for i in range(3): ds.map(lambda x: x * 10 + i)``, or use a name again in the next cell
of a notebook: to Python, all such functions see the last value.
"""

from __future__ import annotations

import builtins
import dis
import functools
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final

from keepset.core.fingerprint.origin import is_library_function

_SETS: Final = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_LOADS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_SETS_CELL: Final = frozenset({"STORE_DEREF", "DELETE_DEREF"})
# What functions and classes that are made inside need of the module around them.
_OF_MODULE: Final = ("__name__", "__package__", "__file__", "__spec__", "__doc__")


def frozen(function: Any) -> Any:
    """The same function, for which variables outside of it keep the values that they have now.

    Variables are names: what a list or an object holds is not copied. The functions of the user's
    that it calls are frozen with it. One that sets a variable outside of it, or uses one that is
    not there yet, stays as it is.

    Example:
        >>> functions = [frozen(lambda: i) for i in range(3)]
        >>> [each() for each in functions]
        [0, 1, 2]
    """
    return _Freeze().value(function)


class _Freeze:
    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._given: list[Any] = []  # so that no id is used twice

    def value(self, given: Any) -> Any:
        """A function frozen, or anything else as it is."""
        kind = type(given)
        if kind is FunctionType:
            return self._function(given)
        if kind is MethodType and isinstance(given.__func__, FunctionType):
            found = self._function(given.__func__)
            return given if found is given.__func__ else MethodType(found, given.__self__)
        if kind is functools.partial:
            found = self.value(given.func)
            made = functools.partial(found, *given.args, **given.keywords)
            return given if found is given.func else made
        return given

    def _function(self, given: FunctionType) -> Any:
        if id(given) in self._made:
            return self._made[id(given)]
        self._made[id(given)] = given  # unless it turns out that it needs another
        self._given.append(given)
        is_own = not is_library_function(given)
        names = _globals_of(given) if is_own else []
        if names is None or _sets_cells(given.__code__) or not _is_filled(given):
            return given
        if not given.__closure__ and not any(_may_change(given.__globals__[n]) for n in names):
            return given
        made = _copy(given, {} if is_own else given.__globals__)
        self._made[id(given)] = made
        if is_own:
            made.__globals__.update(
                {name: given.__globals__[name] for name in _OF_MODULE if name in given.__globals__},
                __builtins__=given.__globals__.get("__builtins__", builtins),
            )
            made.__globals__.update({name: self.value(given.__globals__[name]) for name in names})
        for cell, old in zip(made.__closure__ or (), given.__closure__ or (), strict=True):
            cell.cell_contents = self.value(old.cell_contents)
        return made


def _copy(given: FunctionType, names: dict[str, Any]) -> FunctionType:
    cells = None if given.__closure__ is None else tuple(CellType() for _ in given.__closure__)
    made = FunctionType(given.__code__, names, given.__name__, given.__defaults__, cells)
    made.__kwdefaults__ = given.__kwdefaults__
    made.__dict__.update(given.__dict__)
    for name in ("__module__", "__qualname__", "__doc__", "__annotations__"):
        setattr(made, name, getattr(given, name))
    return made


def _globals_of(function: FunctionType) -> list[str] | None:
    """The global variables that it uses; None if it sets one, or uses one that is not there."""
    found: set[str] = set()
    for code in _codes(function.__code__):
        for step in dis.get_instructions(code):
            if step.opname in _SETS:
                return None
            if step.opname in _LOADS:
                found.add(step.argval)
    there = function.__globals__
    names = {name for name in found if name in there}
    is_whole = all(name in names or hasattr(builtins, name) for name in found)
    return sorted(names) if is_whole else None


def _sets_cells(code: CodeType) -> bool:
    """Whether it, or a function in it, sets a variable of a function around it."""
    outside = set(code.co_freevars)
    return any(
        step.opname in _SETS_CELL and step.argval in outside
        for each in _codes(code)
        for step in dis.get_instructions(each)
    )


def _is_filled(function: FunctionType) -> bool:
    try:
        return all(cell.cell_contents is not _Freeze for cell in function.__closure__ or ())
    except ValueError:  # a variable that is not set yet
        return False


def _may_change(value: Any) -> bool:
    """Whether another value may come under this name, or under one that it uses."""
    if isinstance(value, FunctionType):
        return not is_library_function(value)
    return type(value).__name__ != "module"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)
