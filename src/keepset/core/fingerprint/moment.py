"""Moment: a time in which nothing changes, so that what was found out need not be found again."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, NamedTuple, Self, TypeVar

T = TypeVar("T")


class _Found(NamedTuple):
    value: object  # held, so that its id stays its own
    answer: Any
    sample: bytes
    entered: int


class Moment:
    """As long as it lasts no array and no file changes, and each large one is looked at once.

    One that is entered again takes a large array for unchanged if a sample of it is.
    """

    def __init__(self) -> None:
        self._found: dict[int, _Found] = {}
        self._entered = 0
        self._tokens: list[Token[Moment | None]] = []

    def __enter__(self) -> Self:
        self._entered += 1
        self._tokens.append(_now.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _now.reset(self._tokens.pop())

    def once(self, value: object, find: Callable[[], T], sample: Callable[[], bytes] | None) -> T:
        known = self._found.get(id(value))
        if known is not None and known.entered == self._entered:
            again: T = known.answer
            return again
        piece = b"" if sample is None else sample()
        if known is not None and sample is not None and known.sample == piece:
            answer: T = known.answer
        else:
            answer = find()
        self._found[id(value)] = _Found(value, answer, piece, self._entered)
        return answer


_now: ContextVar[Moment | None] = ContextVar("moment", default=None)


def once(value: object, find: Callable[[], T], sample: Callable[[], bytes] | None = None) -> T:
    """What ``find`` says of a value, which is asked once in a moment, and always outside of one.

    Args:
        value: What is looked at.
        find: Looks at all of it.
        sample: Looks at a little of it, where that is enough to notice most changes.
    """
    moment = _now.get()
    return find() if moment is None else moment.once(value, find, sample)
