"""Examples that are written alike: of one length, with the same keys and lists in the same places.

Only their values differ. Those of thousands are then columns of one table of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from keepset.core.dtypes import Array
from keepset.exchange.tensorflow.wire import packed_varints, varint_at

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3
_FIELD_1, _FIELD_2 = 0x0A, 0x12
_KINDS = {0x0A: _BYTES_LIST, 0x12: _FLOAT_LIST, 0x1A: _INT64_LIST}


class Span(NamedTuple):
    """A list: its kind, or 0 for none, and where its values lie, several for strings."""

    kind: int
    places: list[tuple[int, int]]


class _OddError(Exception):
    """The Example is not written as usual."""


def layout_of(example: bytes) -> dict[bytes, Span] | None:
    """Where the lists of an Example lie, by key; None if it is written in an unusual way."""
    found: dict[bytes, Span] = {}
    try:
        at, end = _enter(example, 0, len(example), _FIELD_1)
        while at < end:
            at, entry_end = _enter(example, at, end, _FIELD_1)
            key_at, key_end = _enter(example, at, entry_end, _FIELD_1)
            at, feature_end = _enter(example, key_end, entry_end, _FIELD_2)
            if feature_end != entry_end:
                return None
            found[example[key_at:key_end]] = _span(example, at, entry_end)
            at = entry_end
    except (_OddError, ValueError, IndexError):
        return None
    return found if end == len(example) else None


def _enter(data: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    """Where what is in a field begins and ends."""
    if at >= end or data[at] != tag:
        raise _OddError
    size, at = varint_at(data, at + 1)
    if at + size > end:
        raise _OddError
    return at, at + size


def _span(data: bytes, at: int, end: int) -> Span:
    if at == end:
        return Span(0, [])
    tag = data[at]
    if tag not in _KINDS:
        raise _OddError
    at, list_end = _enter(data, at, end, tag)
    places = []
    while at < list_end:
        place = _enter(data, at, list_end, _FIELD_1)
        places.append(place)
        at = place[1]
    if list_end != end or (_KINDS[tag] != _BYTES_LIST and len(places) > 1):
        raise _OddError
    return Span(_KINDS[tag], places)


class Table:
    """Examples of one length, those of them that have the layout of the first one."""

    def __init__(self, examples: Sequence[bytes], spans: Mapping[bytes, Span]) -> None:
        self._joined, self._size = b"".join(examples), len(examples[0])
        octets = np.frombuffer(self._joined, np.uint8).reshape(len(examples), self._size)
        fixed = np.full(self._size, 0xFF, np.uint8)
        for span in spans.values():
            for start, stop in span.places:
                fixed[start:stop] = 0
        fits = ~((octets ^ octets[0]) & fixed).any(axis=1)
        for span in spans.values():
            if span.kind == _INT64_LIST and span.places and span.places[0][1] > span.places[0][0]:
                # A number that goes on behind the end of its list is damage.
                fits &= octets[:, span.places[0][1] - 1] < 0x80
        self.fits = fits
        self._rows = np.arange(len(examples)) if fits.all() else np.flatnonzero(fits)
        self._octets = octets if fits.all() else octets[self._rows]

    def values(self, span: Span) -> tuple[Array, Array]:
        """The values of a list in all rows that fit, and how many there are in each."""
        count = len(self._rows)
        if span.kind == _BYTES_LIST:
            return self._strings(span.places), np.full(count, len(span.places))
        start, stop = span.places[0] if span.places else (0, 0)
        block = np.ascontiguousarray(self._octets[:, start:stop])
        if span.kind == _FLOAT_LIST:
            if (stop - start) % 4:
                raise ValueError("a list of numbers ends within one of them")
            return block.view("<f4").reshape(-1), np.full(count, (stop - start) // 4)
        counts = (block < 0x80).sum(axis=1)
        return packed_varints(block.reshape(-1)).view(np.int64), counts

    def _strings(self, places: Sequence[tuple[int, int]]) -> Array:
        joined, firsts = self._joined, (self._rows * self._size).tolist()
        made = np.empty((len(firsts), len(places)), object)
        for number, (start, stop) in enumerate(places):
            made[:, number] = [joined[first + start : first + stop] for first in firsts]
        return made.reshape(-1)
