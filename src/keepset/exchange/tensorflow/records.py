"""TFRecord: records one behind the other, each with its length and two checksums."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.dtypes import Array
from keepset.errors import CorruptRecordError
from keepset.exchange.tensorflow.masked_crc import checksums, masked_crc, unmasked
from keepset.exchange.tensorflow.record_scan import (
    FRAME_BYTES,
    HEAD_BYTES,
    LONGEST_RUN,
    expected_checksums,
    is_head,
    length_at,
    next_head,
    scan,
    stored_checksums,
)

_foot = struct.Struct("<I")
# Larger records are not looked for behind damage.
_SEARCHED_RECORD_BYTES: Final = 64 << 20
# Of records that are given together.
MOST_BYTES: Final = 8 << 20
# No message can be larger than half of that; a length beyond it is damage with a fitting checksum.
_MOST_RECORD_BYTES: Final = 1 << 32


def frame(data: bytes) -> bytes:
    """A record as it stands in a file.

    Example:
        >>> frame(b"hello").hex()
        '0500000000000000eab2043e68656c6c6fbb1f1c19'
    """
    length = len(data).to_bytes(8, "little")
    return b"".join((length, _foot.pack(masked_crc(length)), data, _foot.pack(masked_crc(data))))


class Records(NamedTuple):
    """Some records, where they lie in memory: ``data[starts[i] : starts[i] + lengths[i]]``.

    ``pieces`` are the same as bytes or views.
    """

    data: memoryview
    starts: Array
    lengths: Array
    pieces: list[Any]

    def __len__(self) -> int:
        return len(self.starts)

    def cut(self, start: int, stop: int) -> Records:
        """Those from ``start`` to ``stop``."""
        rows = slice(start, stop)
        return Records(self.data, self.starts[rows], self.lengths[rows], self.pieces[rows])

    def every(self, step: int, first: int) -> Records:
        """Each ``step``-th one, from ``first`` on."""
        if step == 1:
            return self
        rows = slice(first, None, step)
        return Records(self.data, self.starts[rows], self.lengths[rows], self.pieces[rows])


_NONE: Final = Records(memoryview(b""), np.zeros(0, np.int64), np.zeros(0, np.int64), [])


class RecordReader:
    """Reads the records of one file, many at a time.

    What is damaged is an error once; the next ``read`` goes on behind it, at the next record whose
    length and checksum fit each other. Records that belong together are given together.

    Args:
        pieces: The bytes of the file, uncompressed.
        where: The file, for messages.
        verify: Whether to compare the records with their checksums.
        as_bytes: Whether ``pieces`` of records are bytes, rather than views.
        group: How many records belong together. Of groups, none is given behind damage.
        first: The number of the first record, and ``offset`` where its bytes begin.
        is_lost: Whether the record is the first that can be found behind there.
        remedy: What to do about damage, for messages.
    """

    def __init__(
        self,
        pieces: Iterator[memoryview],
        where: str,
        *,
        verify: bool = True,
        as_bytes: bool = False,
        group: int = 1,
        first: int = 0,
        offset: int = 0,
        is_lost: bool = False,
        remedy: str = "restore the file from a copy",
    ) -> None:
        self._pieces, self._where, self._verify, self._as_bytes = pieces, where, verify, as_bytes
        self._group, self._remedy = group, remedy
        self._data, self._at = memoryview(b""), 0
        self._base = offset  # where the data that is held begins
        self._failure: CorruptRecordError | None = None  # of the next read
        self._broken: str | None = None  # why there are no more pieces, if not because of the end
        self._has_ended = False
        self._record = first
        self._failed_at = (0, 0)  # the record and the byte of the failure
        self._is_lost = is_lost  # the next record is still to be searched for

    @property
    def record(self) -> int:
        """The number of the next record; what failed comes next until it was told."""
        return self._record if self._failure is None else self._failed_at[0]

    @property
    def base(self) -> int:
        """Where the data that the last records lie in begins, in what is not compressed."""
        return self._base

    @property
    def offset(self) -> int:
        """Where the next record begins, counted in what is not compressed."""
        return self._base + self._at if self._failure is None else self._failed_at[1]

    @property
    def is_lost(self) -> bool:
        """Whether the next record is to be searched for from ``offset`` on."""
        return self._failure is None and self._is_lost

    def read(self, most: int, most_bytes: int = MOST_BYTES) -> Records:
        """At least one and at most so many records; none at the end.

        Raises:
            CorruptRecordError: Something is damaged, behind the records that came before.
        """
        while self._failure is None:
            self._find_the_way()
            starts, lengths = scan(self._data, self._at, most, most_bytes, self._group)
            whole = len(starts) - len(starts) % self._group
            if whole:
                found = self._checked(starts[:whole], lengths[:whole])
                if len(found):
                    return found
            elif not self._more(starts, lengths):
                return _NONE
        failure, self._failure = self._failure, None
        if self._group > 1:
            self._data, self._at, self._has_ended, self._broken = memoryview(b""), 0, True, None
            self._is_lost = False
        raise failure

    def advance_to(self, record: int) -> None:
        """Pass over the records before one, whose lengths are checked but not what is in them."""
        verify, self._verify = self._verify, False
        try:
            while self.record < record:
                with suppress(CorruptRecordError):  # it was told when it was met
                    if not len(self.read(min(record - self.record, LONGEST_RUN), 1 << 62)):
                        return
        finally:
            self._verify = verify

    def close(self) -> None:
        """Let go of the file."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()
        self._data, self._at, self._has_ended = memoryview(b""), 0, True
        self._is_lost = False

    def _checked(self, starts: Array, lengths: Array) -> Records:
        """The records as far as their checksums fit; what comes after those is a failure."""
        data = self._data
        octets = np.frombuffer(data, np.uint8)
        good = stored_checksums(octets, starts - 4) == expected_checksums(lengths)
        count = len(starts) if good.all() else int(good.argmin())
        head_is_bad = count < len(starts)
        starts, lengths = starts[:count], lengths[:count]
        stops = starts + lengths
        spans = zip(starts.tolist(), stops.tolist(), strict=True)
        pieces: list[Any] = (
            [data[start:stop].tobytes() for start, stop in spans]
            if self._as_bytes
            else [data[start:stop] for start, stop in spans]
        )
        found = Records(data, starts, lengths, pieces)
        if self._verify and count:
            good = checksums(pieces) == unmasked(stored_checksums(octets, stops))
            if not good.all():
                return self._up_to_damage(found, int(good.argmin()))
        if head_is_bad:
            found = found.cut(0, count - count % self._group)
        if count:
            self._at = int(stops[-1]) + 4
            self._record += count
        if head_is_bad:
            self._lose_the_way()
        return found

    def _up_to_damage(self, found: Records, bad: int) -> Records:
        at = int(found.starts[bad]) - HEAD_BYTES
        self._fail(self._record + bad, self._base + at, "fails its checksum")
        self._at = at + int(found.lengths[bad]) + FRAME_BYTES
        self._record += bad + 1
        return found.cut(0, bad - bad % self._group)

    def _lose_the_way(self, length: int | None = None) -> None:
        """Note that a record cannot be found, so that the next one is to be searched for.

        A ``length`` is one that fits its checksum, and that no record has.
        """
        what = "has a length that fails its checksum"
        if length is not None:
            what = (
                f"has a length of {length} bytes, with a checksum that fits it; no record is "
                f"larger than {_MOST_RECORD_BYTES} bytes"
            )
        elif not self._base + self._at:
            what += " (is this a TFRecord file?)"
        self._fail(self._record, self._base + self._at, what)
        self._record += 1
        self._at += 1
        self._is_lost = True

    def _find_the_way(self) -> None:
        """Go to the next record that can be found, if one could not.

        When it is wanted, and not before: a compressed file that holds something else may be small
        and have gigabytes in it.
        """
        if not self._is_lost:
            return
        self._is_lost = False
        while True:
            found = next_head(self._data, self._at)
            # A head may lie across the end of what is there.
            self._at = max(self._at, len(self._data) - HEAD_BYTES + 1) if found is None else found
            if found is not None and self._is_record_here():
                return
            if found is not None:
                self._at += 1
                continue
            piece = self._piece()
            if piece is None:
                self._at = len(self._data)
                return
            self._hold([self._data[self._at :], piece])

    def _is_record_here(self) -> bool:
        """Whether what looks like a head is one: eight bytes and their checksum may be a record."""
        length = length_at(self._data, self._at)[0]
        if length > _SEARCHED_RECORD_BYTES:
            return False
        parts, size = [self._data[self._at :]], len(self._data) - self._at
        while size < length + FRAME_BYTES and (piece := self._piece()) is not None:
            parts.append(piece)
            size += len(piece)
        if len(parts) > 1:
            self._hold(parts)
        start = self._at + HEAD_BYTES
        stored = self._data[start + length : start + length + 4]
        return len(stored) == 4 and masked_crc(
            self._data[start : start + length]
        ) == int.from_bytes(stored, "little")

    def _more(self, starts: Array, lengths: Array) -> bool:
        """Hold more bytes, for whole records are not enough; False at the end of the file.

        It is a failure if the file ends within a record or a group.
        """
        last = int(starts[-1] + lengths[-1]) + 4 if len(starts) else self._at
        left, byte = len(self._data) - last, self._base + last
        wanted = FRAME_BYTES
        if left >= HEAD_BYTES:
            length = length_at(self._data, last)[0]
            fits = is_head(self._data, last)
            if not fits or length > _MOST_RECORD_BYTES:
                self._at, self._record = last, self._record + len(starts)
                self._lose_the_way(length if fits else None)
                return True
            wanted += length
        # A long record comes in many pieces, which are joined once.
        parts, size = [self._data[self._at :]], left
        while size < wanted and (piece := self._piece()) is not None:
            parts.append(piece)
            size += len(piece)
        if size > left:
            self._hold(parts)
        if size >= wanted:
            return True
        if not size and not len(starts) and self._broken is None:
            return False
        self._fail_at_end(len(starts), byte, wanted - size)
        return True

    def _fail_at_end(self, records: int, byte: int, lacking: int) -> None:
        what = f"is cut: the file ends at least {lacking} bytes too early"
        if records and lacking == FRAME_BYTES:
            what = f"is missing, for the element that begins {records} records before it"
        if self._broken is not None:
            what, self._broken = f"cannot be read: {self._broken}", None
        self._fail(self._record + records, byte, what)
        self._record += records + 1
        self._at = len(self._data)

    def _hold(self, parts: list[memoryview]) -> None:
        self._base += self._at
        self._at = 0
        filled = [part for part in parts if len(part)]
        self._data = filled[0] if len(filled) == 1 else memoryview(b"".join(filled))

    def _piece(self) -> memoryview | None:
        if self._has_ended:
            return None
        try:
            piece = next(self._pieces, None)
        except ValueError as error:
            # What was already made of the stream comes first.
            self._broken, piece = str(error), None
        self._has_ended = piece is None
        return piece

    def _fail(self, record: int, byte: int, what: str) -> None:
        self._failed_at = record, byte
        self._failure = CorruptRecordError(
            f"{self._where}: record {record} at byte {byte} {what}; {self._remedy}",
            path=self._where,
            record=record,
            byte=byte,
        )
