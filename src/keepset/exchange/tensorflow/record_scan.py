"""Where records lie in memory: found by the many, by their lengths alone."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from keepset.core.dtypes import Array
from keepset.exchange.tensorflow.masked_crc import checksums_of_lengths, masked_crc

HEAD_BYTES: Final = 12
FRAME_BYTES: Final = 16
length_at = struct.Struct("<Q").unpack_from
# Runs of records of one length are found by looking at so many at first, then at more and more.
_SHORTEST_RUN: Final = 16
# As many records as it is worth to look for at a time.
LONGEST_RUN: Final = 1 << 16
# Where nothing runs, so many are looked at one by one before it is tried again.
_ONE_BY_ONE: Final = 128
_SEARCH_BYTES: Final = 1 << 16


def scan(data: memoryview, at: int, most: int, most_bytes: int, least: int) -> tuple[Array, Array]:
    """Where the payloads of whole records begin, and their lengths, as the lengths tell.

    At most so many, and about so many bytes, unless there would be too few.
    """
    starts: list[Array] = []
    lengths: list[Array] = []
    count, end, enough = 0, len(data), at + most_bytes
    if least > 1 and (groups := _run_of_groups(data, at, least, most // least, enough)):
        return groups
    while count < most and end - at >= FRAME_BYTES and (at < enough or count < least):
        size = length_at(data, at)[0]
        if size > end - at - FRAME_BYTES:
            break
        room = (min(end, enough) - at) // (size + FRAME_BYTES)
        run = _run(data, at, size, min(most - count, max(room, 1)))
        if run >= _SHORTEST_RUN:
            starts.append(at + HEAD_BYTES + np.arange(run) * (size + FRAME_BYTES))
            lengths.append(np.full(run, size, np.int64))
            at += run * (size + FRAME_BYTES)
            count += run
        else:
            few = _ONE_BY_ONE if count >= least else least - count
            stop = enough if count >= least else end
            at, found, sizes = _one_by_one(data, at, min(most - count, few), stop)
            starts.append(found)
            lengths.append(sizes)
            count += len(found)
    if len(starts) == 1:
        return starts[0], lengths[0]
    if not starts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(starts), np.concatenate(lengths)


def _run_of_groups(
    data: memoryview, at: int, size: int, most: int, enough: int
) -> tuple[Array, Array] | None:
    """As ``_scan``, if groups of records follow each other that are all like the first one."""
    _, starts, lengths = _one_by_one(data, at, size, len(data))
    if len(starts) < size:
        return None
    stride = int(lengths.sum()) + size * FRAME_BYTES
    count = min(most, max(1, (min(len(data), enough) - at) // stride))
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        found = np.ndarray((count,), "<u8", data, start - HEAD_BYTES, (stride,))
        alike = found == length
        count = count if alike.all() else int(alike.argmin())
    if count < _SHORTEST_RUN:
        return None
    places = starts + stride * np.arange(count)[:, np.newaxis]
    return places.reshape(-1), np.tile(lengths, count)


def _run(data: memoryview, at: int, size: int, most: int) -> int:
    """How many records follow each other that all have one length."""
    stride = size + FRAME_BYTES
    looked, window = 1, _SHORTEST_RUN
    while looked < most:
        stop = min(most, looked + window)
        found = np.ndarray((stop - looked,), "<u8", data, at + looked * stride, (stride,))
        alike = found == size
        if not alike.all():
            return looked + int(alike.argmin())
        looked, window = stop, 4 * window
    return most


def _one_by_one(data: memoryview, at: int, most: int, enough: int) -> tuple[int, Array, Array]:
    """Where they end, the starts and the lengths of records whose lengths differ."""
    heads: list[int] = []
    add, end = heads.append, len(data) - FRAME_BYTES
    last = min(end, enough - 1)
    for _ in range(most):
        if at > last:
            break
        size = length_at(data, at)[0]
        if size > end - at:
            break
        add(at)
        at += size + FRAME_BYTES
    ends = np.array([*heads, at], np.int64)
    return at, ends[:-1] + HEAD_BYTES, np.diff(ends) - FRAME_BYTES


def stored_checksums(octets: Array, places: Array) -> Array:
    """The checksums that stand at some places."""
    found: Array = octets[places[:, np.newaxis] + np.arange(4)]
    return found.view("<u4").reshape(len(places))


def expected_checksums(lengths: Array) -> Array:
    """The checksums that lengths must have."""
    if (lengths == lengths[0]).all():
        return checksums_of_lengths(lengths[:1])
    return checksums_of_lengths(lengths)


def is_head(data: memoryview, at: int) -> bool:
    return masked_crc(data[at : at + 8]) == int.from_bytes(data[at + 8 : at + 12], "little")


def next_head(data: memoryview, at: int) -> int | None:
    """Where the next record may begin: at a length that fits its checksum."""
    octets = np.frombuffer(data, np.uint8)
    last = len(data) - HEAD_BYTES
    while at <= last:
        stop = min(last + 1, at + _SEARCH_BYTES)
        windows = np.lib.stride_tricks.sliding_window_view(octets[at : stop + 11], HEAD_BYTES)
        lengths = np.ascontiguousarray(windows[:, :8]).view("<u8").reshape(-1)
        stored = np.ascontiguousarray(windows[:, 8:]).view("<u4").reshape(-1)
        found = np.flatnonzero(checksums_of_lengths(lengths) == stored)
        if len(found):
            return at + int(found[0])
        at = stop
    return None
