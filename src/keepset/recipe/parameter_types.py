"""Types of parameters: whether a recipe gives a stage what its fields are declared to hold."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from keepset.errors import RecipeError


def check_types(kind: Any, parameters: Mapping[str, Any], title: str) -> None:
    """Raise if a parameter is not of the type that its field is declared with.

    Stages check the values of their parameters; of which type these are, their callers' type
    checkers know. A recipe has no such thing.
    """
    hints = _hints(kind)
    for name, value in parameters.items():
        if not _fits(value, hints.get(name, Any)):
            raise RecipeError(
                f"{name} of {title} is {value!r:.60}, a {type(value).__name__}; it must be "
                f"{_described(hints[name])}"
            )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of a class's fields, or of a function's parameters."""
    try:
        return get_type_hints(kind)
    except (NameError, TypeError):  # a type that is known to type checkers only
        return {}


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is tuple or hint is tuple:
        return _fits_tuple(value, inner)
    if origin is Callable or hint is Callable:
        return callable(value)
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    known = hint if origin is None else origin
    return not isinstance(known, type) or isinstance(value, known)


def _fits_tuple(value: Any, inner: tuple[Any, ...]) -> bool:
    """A list will do: people write one, and stages read it as they read a tuple."""
    if not isinstance(value, tuple | list):
        return False
    if len(inner) == 2 and inner[1] is ...:
        return all(_fits(item, inner[0]) for item in value)
    fits = (_fits(item, hint) for item, hint in zip(value, inner, strict=False))
    return not inner or (len(value) == len(inner) and all(fits))


def _described(hint: Any) -> str:
    """A type in words: ``int or None``."""
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(_described, get_args(hint)))
    if hint is type(None):
        return "null"
    if get_origin(hint) is tuple:
        items = dict.fromkeys(_described(each) for each in get_args(hint) if each is not ...)
        return f"a list of {' and '.join(items)}"
    if get_origin(hint) is Callable:
        return "a function"
    known = get_origin(hint) or hint
    return "anything" if known is Any else getattr(known, "__name__", str(known))
