"""Iterating: an iterable object as the function that FromGenerator calls for each pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from keepset.errors import InvalidArgumentError


class Iterating:
    """Each call is a new pass over ``iterable``. A list means several components, as a tuple."""

    __keepset_recipe__ = ("iterable",)

    def __init__(self, iterable: Iterable[Any]) -> None:
        if not hasattr(iterable, "__iter__"):
            raise InvalidArgumentError(
                f"an object with __iter__ is needed, not {type(iterable).__name__}"
            )
        if hasattr(iterable, "__next__"):
            raise InvalidArgumentError(
                f"a {type(iterable).__name__} can be iterated over only once; pass the object "
                "that it comes from"
            )
        self.iterable = iterable

    @property
    def __name__(self) -> str:
        return type(self.iterable).__name__

    def __call__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield tuple(item) if type(item) is list else item
