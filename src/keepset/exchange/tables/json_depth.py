"""Depth of JSON: what is nested deeper than a parser that calls itself can bear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from keepset.core.dtypes import Array

# Arrow's parser calls itself for each level, and ends the process when the stack is full; the types
# of what it read are walked through by calls of Python, which has fewer.
MOST_LEVELS: Final = 100
# Lines of this length are few enough to look for brackets in each by itself.
_LONG_BYTES: Final = 2000
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def is_too_deep(data: bytes) -> bool:
    """Whether a line of JSON has more than ``MOST_LEVELS`` lists and objects in each other.

    Only lines with that many brackets are looked into; finding them takes a few percent of the
    time that parsing takes.
    """
    if len(data) <= MOST_LEVELS:
        return False
    octets = np.frombuffer(data, np.uint8)
    ends = np.append(np.flatnonzero(octets == ord("\n")), len(data))
    starts = np.append(0, ends[:-1] + 1)
    long = np.flatnonzero(ends - starts > MOST_LEVELS)
    if not len(long):
        return False
    if len(long) * _LONG_BYTES > len(data):
        # Each so many-th bracket: two of them in one line, and it has that many.
        brackets = np.flatnonzero((octets | 0x20) == ord("{"))[:: MOST_LEVELS // 2]
        lines = np.searchsorted(ends, brackets)
        long = np.unique(lines[1:][lines[1:] == lines[:-1]])
    return any(
        _has_many_brackets(data, start, stop) and _levels(data[start:stop]) > MOST_LEVELS
        for start, stop in _spans(starts, ends, long)
    )


def has_open_line(data: bytes) -> bool:
    """Whether a line does not end with an object, so that Arrow would read on in the next one."""
    octets = np.frombuffer(data, np.uint8)
    ends = np.append(np.flatnonzero(octets == ord("\n")), len(data))
    starts = np.append(0, ends[:-1] + 1)
    filled = np.flatnonzero(ends > starts)
    odd = filled[octets[ends[filled] - 1] != ord("}")]
    lines = (data[start:stop].strip() for start, stop in _spans(starts, ends, odd))
    return any(line and not line.endswith(b"}") for line in lines)


def _spans(starts: Array, ends: Array, lines: Array) -> Iterator[tuple[int, int]]:
    return zip(starts[lines].tolist(), ends[lines].tolist(), strict=True)


def _has_many_brackets(data: bytes, start: int, stop: int) -> bool:
    """Whether so many lists and objects begin in a line, in each other or not."""
    found = 0
    for bracket in (b"[", b"{"):
        # Going from one to the next is faster by far than counting, which looks at each byte.
        at = data.find(bracket, start, stop)
        while at >= 0 and found <= MOST_LEVELS:
            found += 1
            at = data.find(bracket, at + 1, stop)
    return found > MOST_LEVELS


def _levels(line: bytes) -> int:
    """How deep lists and objects are nested, without parsing them."""
    octets = np.frombuffer(_TEXT.sub(b"", line), np.uint8)
    # The codes of brackets and braces differ in one bit.
    folded = octets | 0x20
    steps = (folded == ord("{")).astype(np.int32) - (folded == ord("}"))
    return int(np.cumsum(steps).max(initial=0))
