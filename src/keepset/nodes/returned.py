"""What a user's function returned, where it is not what a stage can use."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from keepset.errors import ResultError


class _Place(NamedTuple):
    """Where a function is defined, as far as it says so."""

    name: str
    file: str | None
    line: int

    def __str__(self) -> str:
        return self.name if self.file is None else f"{self.name} ({self.file}, line {self.line})"


def place_of(function: Callable[..., Any]) -> _Place:
    """Where a function is defined, or the class of an object that is called."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__wrapped__", function)
    # As stages call it in their titles, but for methods: without the functions that it is within.
    path, code = getattr(function, "__qualname__", None), getattr(function, "__code__", None)
    # Proxies answer for every attribute, with more proxies.
    if not isinstance(path, str):
        path = type(function).__qualname__
    name = path.rpartition("<locals>.")[2]
    if not isinstance(code, CodeType):
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    if code is None:
        return _Place(name, None, 0)
    return _Place(name, code.co_filename, code.co_firstlineno)


class Truth:
    """The truth value that a predicate returned: a bool, as in TensorFlow, or 0 or 1.

    Other values have a truth in Python, too, but a predicate that returns them is a mistake: None
    is a forgotten ``return``, and a list is true whatever it holds.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = place_of(function)

    def __call__(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if isinstance(value, int | np.integer) and value in (0, 1):
            return bool(value)
        if np.ndim(value) == 0 and hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.dtype.kind == "b" or (array.dtype.kind in "iu" and array in (0, 1)):
                return bool(array)
        raise ResultError(
            f"the predicate {self._function} must return a single bool, but it returned "
            f"{_shown(value)}"
        )


def _shown(value: Any) -> str:
    if value is None:
        return "None; has it no return statement?"
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}; use .all() or .any()"
    if isinstance(value, np.generic | int | float):
        return f"{value!r}; compare it with something, such as != 0"
    return f"{value!r:.60} of type {type(value).__name__}"


class NoneWatch:
    """Warns, once, of a function that begins by returning None: a forgotten ``return`` mostly."""

    def __init__(self, function: Callable[..., Any], title: str) -> None:
        self._function, self._title = place_of(function), title
        self._has_warned = False

    def __call__(self) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn_explicit(
            f"in {self._title}, {self._function} returned None for its first element; has it no "
            "return statement? If None is meant, ignore this warning",
            UserWarning,
            self._function.file or "<unknown>",
            self._function.line,
        )
