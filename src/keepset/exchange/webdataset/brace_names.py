"""Brace names: ``train-{000..009}.tar`` and ``{train,test}.tar``, as shells spell many names."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from keepset.errors import InvalidArgumentError
from keepset.storage import path_text

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)")
_MOST: Final = 1_000_000


def expanded(given: Any) -> Any:
    """What users name, with the braces of each name resolved; other things stay as they are.

    Example:
        >>> expanded("train-{08..10}.tar")
        ['train-08.tar', 'train-09.tar', 'train-10.tar']
    """
    if isinstance(given, str | os.PathLike):
        names = _names(path_text(given))
        return names if len(names) != 1 else names[0]
    if isinstance(given, list | tuple):
        return [name for each in given for name in _each(each)]
    return given


def _each(given: Any) -> list[Any]:
    return _names(path_text(given)) if isinstance(given, str | os.PathLike) else [given]


def _names(pattern: str) -> list[str]:
    braces = _BRACES.search(pattern)
    if braces is None or os.path.exists(pattern):  # a file may be called so
        return [pattern]
    choices = _choices(braces[1], pattern)
    rest = _names(pattern[braces.end() :])
    return [pattern[: braces.start()] + choice + end for choice in choices for end in rest]


def _choices(inside: str, pattern: str) -> list[str]:
    numbers = _RANGE.fullmatch(inside)
    if numbers is None:
        if "," in inside:
            return inside.split(",")
        raise InvalidArgumentError(
            f"{pattern!r} has braces that are neither a range, as in {{000..009}}, nor a choice, "
            "as in {a,b}"
        )
    first, last = int(numbers[1]), int(numbers[2])
    if not first <= last < first + _MOST:
        raise InvalidArgumentError(
            f"{pattern!r} has the range {numbers[0]}; it must go up, by {_MOST:,} names at most"
        )
    # As wide as they are written, if one of them begins with a zero.
    is_padded = any(text.startswith("0") and len(text) > 1 for text in numbers.groups())
    width = max(map(len, numbers.groups())) if is_padded else 0
    return [f"{number:0{width}d}" for number in range(first, last + 1)]
