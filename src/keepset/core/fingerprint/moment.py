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

    One that is entered again takes a large array for unchanged if a sample of it is. In a ``light``
    one large arrays do not count: for those who want to know whether there is anything to count.
    """

    def __init__(self, *, light: bool = False) -> None:
        self._light = light
        self._found: dict[int, _Found] = {}
        self._entered = 0
        self._tokens: list[Token[Moment | None]] = []

    def __enter__(self) -> Self:
        self._entered += 1
        self._tokens.append(_now.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _now.reset(self._tokens.pop())

    def once(self, value: object, find: Callable[[], T]) -> T:
        known = self._found.get(id(value))
        if known is None or known.entered != self._entered:
            known = self._found[id(value)] = _Found(value, find(), b"", self._entered)
        answer: T = known.answer
        return answer

    def content(
        self, value: object, find: Callable[[], bytes], sample: Callable[[], bytes]
    ) -> bytes:
        if self._light:
            return b"light"
        known = self._found.get(id(value))
        if known is not None and known.entered == self._entered:
            return bytes(known.answer)
        piece = sample()
        same = known is not None and known.sample == piece
        answer = bytes(known.answer) if known is not None and same else find()
        self._found[id(value)] = _Found(value, answer, piece, self._entered)
        return answer


_now: ContextVar[Moment | None] = ContextVar("moment", default=None)


def once(value: object, find: Callable[[], T]) -> T:
    """What ``find`` says of a value, which is asked once in a moment, and always outside of one."""
    moment = _now.get()
    return find() if moment is None else moment.once(value, find)


def content_once(value: object, find: Callable[[], bytes], sample: Callable[[], bytes]) -> bytes:
    """A digest of a large value, found once in a moment.

    Args:
        value: What is hashed.
        find: Hashes all of it.
        sample: Takes a little of it, by which most changes are noticed.
    """
    moment = _now.get()
    return find() if moment is None else moment.content(value, find, sample)
