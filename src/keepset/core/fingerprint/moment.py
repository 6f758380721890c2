"""Moment: a time in which nothing changes, so that what was found out need not be found again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

# What was found out of values, by their ids; each is held, so that its id stays its own.
_found: ContextVar[dict[int, tuple[object, Any]] | None] = ContextVar("found", default=None)


@contextmanager
def one_moment() -> Iterator[None]:
    """As long as this lasts no array and no file changes, and each large one is looked at once."""
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def once(value: object, find: Callable[[], T]) -> T:
    """What ``find`` says of a value, which is asked once in a moment, and always outside of one."""
    found = _found.get()
    if found is None:
        return find()
    if id(value) not in found:
        found[id(value)] = value, find()
    answer: T = found[id(value)][1]
    return answer
