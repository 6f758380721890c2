"""Moment: a time in which nothing changes, so that what was found out need not be found again."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from contextlib import nullcontext
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
    one large arrays do not count: enough to find out whether everything can be counted. In a
    ``sampled`` one they count by a sample.
    """

    def __init__(self, *, light: bool = False, sampled: bool = False) -> None:
        self._light, self._sampled = light, sampled
        self._found: dict[Hashable, _Found] = {}
        self._entered = 0
        self._tokens: list[Token[Moment | None]] = []

    @staticmethod
    def current() -> Moment:
        """The one that is under way, or a new one."""
        return _now.get() or Moment()

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
        self, key: Hashable, value: object, find: Callable[[], bytes], sample: Callable[[], bytes]
    ) -> bytes:
        if self._light:
            return b"light"
        if self._sampled:
            piece = sample()
            return b"sample" + piece if piece else b""
        known = self._found.get(key)
        if known is not None and known.entered == self._entered:
            return bytes(known.answer)
        piece = sample()
        same = known is not None and known.sample == piece
        answer = bytes(known.answer) if known is not None and same else find()
        self._found[key] = _Found(value, answer, piece, self._entered)
        return answer


_now: ContextVar[Moment | None] = ContextVar("moment", default=None)


def once(value: object, find: Callable[[], T]) -> T:
    """What ``find`` says of a value, which is asked once in a moment, and always outside of one."""
    moment = _now.get()
    return find() if moment is None else moment.once(value, find)


def is_light() -> bool:
    """Whether large arrays do not count now."""
    moment = _now.get()
    return moment is not None and moment._light


def content_once(
    value: object,
    find: Callable[[], bytes],
    sample: Callable[[], bytes],
    key: Hashable = None,
) -> bytes:
    """A digest of a large value, found once in a moment.

    Args:
        value: What is hashed.
        find: Hashes all of it.
        sample: Takes a little of it, by which most changes are noticed.
        key: The same for all values that have their content in one place; None for one of its own.
    """
    moment = _now.get()
    if moment is None:
        return find()
    return moment.content(id(value) if key is None else key, value, find, sample)


def this_moment() -> Moment | nullcontext[None]:
    """The moment that lasts already, or one that begins here."""
    return Moment() if _now.get() is None else nullcontext()


# What was found out of values that nothing writes to, as long as each lives.
_remembered: dict[int, tuple[weakref.ref[Any], Any, bytes]] = {}


def remembered(value: object, find: Callable[[], T], sample: Callable[[], bytes]) -> T:
    """What ``find`` says of a value that nothing can write to, which is asked once in a process.

    A view that was made before the value was locked may write all the same, so a sample is
    compared each time.
    """
    piece, key = sample(), id(value)
    known = _remembered.get(key)
    if known is not None and known[0]() is value and known[2] == piece:
        again: T = known[1]
        return again
    answer = find()
    _remembered[key] = weakref.ref(value, lambda _: _remembered.pop(key, None)), answer, piece
    return answer
