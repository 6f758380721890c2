"""Library results: what Python's own functions may return of the containers they are given.

That is any item, or something new that holds the items: which one, nothing says. Libraries such as
NumPy return new arrays.
"""

from __future__ import annotations

import itertools
from types import BuiltinMethodType, MappingProxyType
from typing import Any, Final

from keepset.core.fingerprint.writers import is_container

_MODULES: Final = {
    *("builtins", "collections", "copy", "functools", "heapq", "itertools", "operator", "random"),
}
# Of the builtin functions, those that return numbers, texts or nothing are not among them.
_BUILTIN: Final = {"iter", "max", "min", "next", "sorted"}
# Functions that return something new and no item.
_NEW: Final = {"copy", "iter", "sorted"}
_DEEP: Final = {"deepcopy"}
# Methods that return an item of their container.
_TAKING: Final = {"__getitem__", "get", "pop", "popitem", "popleft", "setdefault"}
_COUNTING: Final = {"__contains__", "__len__", "count", "index"}
# What iterates over arrays, which gives views of them.
_OF_ARRAYS: Final = {
    *("enumerate", "filter", "iter", "list", "next", "reversed", "tuple", "zip"),
    *(name for name in vars(itertools) if not name.startswith("_")),
}
# Iterators over tuples that hold the items.
_OF_TUPLES: Final = {
    *("batched", "combinations", "combinations_with_replacement", "enumerate", "groupby"),
    *("pairwise", "permutations", "product", "zip", "zip_longest"),
}


def returns_items(called: Any) -> bool:
    """Whether this is one of Python's own functions or classes that may return items."""
    name, owner = _name(called), getattr(called, "__self__", None)
    if isinstance(called, BuiltinMethodType) and is_container(owner):
        return name not in _COUNTING
    module = _module(called)
    if module == "builtins":
        return isinstance(called, type) or name in _BUILTIN
    return module in _MODULES and name not in _DEEP


def is_new(called: Any) -> bool:
    """Whether it returns something new that holds the items, and never an item itself."""
    name = _name(called)
    if isinstance(called, BuiltinMethodType) and is_container(called.__self__):
        return name not in _TAKING
    return isinstance(called, type) or name in _NEW


def gives_tuples(called: Any) -> bool:
    return isinstance(called, type) and _name(called) in _OF_TUPLES


def gives_views(called: Any) -> bool:
    return _name(called) in _OF_ARRAYS


def calls_each(called: Any) -> bool:
    """Whether it calls a function with an item of each of the iterables behind it, as ``map``."""
    return _name(called) in ("imap", "map")


def is_iterable(value: Any) -> bool:
    """Whether Python's own functions iterate over the items of this value."""
    return is_container(value) or isinstance(value, tuple | frozenset | MappingProxyType)


def _module(called: Any) -> str:
    found = getattr(called, "__module__", None)
    if not isinstance(found, str):
        found = type(called).__module__
    return found.removeprefix("_")


def _name(called: Any) -> str:
    found = getattr(called, "__name__", "")
    return found if isinstance(found, str) else ""
