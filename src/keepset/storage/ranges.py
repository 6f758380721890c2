"""Ranges: which bytes to ask for when many small pieces of an object are wanted."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from operator import itemgetter

# A request costs about as much as reading this many bytes that nobody wants.
MAX_GAP_BYTES = 1 << 20


def merged(ranges: Iterable[tuple[int, int]], max_gap_bytes: int) -> list[tuple[int, int]]:
    """The fewest ranges that cover those given, over gaps of up to ``max_gap_bytes``.

    Ranges are an offset and a length. The result is sorted, and its ranges are further apart.

    Example:
        >>> merged([(90, 10), (0, 10), (12, 3)], max_gap_bytes=5)
        [(0, 15), (90, 10)]
    """
    result: list[tuple[int, int]] = []
    for offset, length in sorted(ranges):
        start, stop = offset, offset + length
        if result and start <= sum(result[-1]) + max_gap_bytes:
            start, before = result.pop()
            stop = max(stop, start + before)
        result.append((start, stop - start))
    return result


def cut(pieces: Sequence[tuple[int, memoryview]], offset: int, length: int) -> memoryview:
    """The bytes of a range from the piece that covers it; fewer if that piece ends too early.

    Pieces are sorted and begin at their offset in the object.
    """
    start, data = pieces[bisect(pieces, offset, key=itemgetter(0)) - 1]
    return data[offset - start : offset - start + length]
