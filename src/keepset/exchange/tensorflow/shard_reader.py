"""ShardReader: the elements of one shard of a saved data set, file after file, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from keepset.core.column import Column, column_of
from keepset.core.spec import LeafSpec
from keepset.errors import CorruptRecordError, CorruptSnapshotError
from keepset.exchange.tensorflow.components import column_of_records, leaf_of
from keepset.exchange.tensorflow.compression import PIECE_BYTES, pieces_of
from keepset.exchange.tensorflow.frames import SNAPPY_ELEMENTS, FrameReader
from keepset.exchange.tensorflow.records import RecordReader
from keepset.exchange.tensorflow.saved_files import SavedFiles
from keepset.storage import Store

# How many shards may hold whole pieces; of more, each holds less.
_AT_A_TIME: Final = 16
_LEAST_BYTES: Final = 1 << 16
_REMEDY: Final = "restore the file from a copy, or save the data set again"


class ShardReader:
    """Gives the tensors of elements, one column for each.

    Args:
        store: Where the files are.
        names: The files, in their order.
        files: What is known of all of them.
        leaves: What each tensor is; None where only it can tell.
        verify: Whether records are compared with their checksums.
    """

    def __init__(
        self,
        store: Store,
        names: Sequence[str],
        files: SavedFiles,
        leaves: Sequence[LeafSpec | None],
        verify: bool,
    ) -> None:
        self._store, self._files, self._leaves, self._verify = store, files, leaves, verify
        self._names = list(names)
        # All shards may be read at a time.
        self._piece_bytes = max(_LEAST_BYTES, PIECE_BYTES * _AT_A_TIME // max(1, len(files.shards)))
        self._piece_bytes = min(self._piece_bytes, PIECE_BYTES)
        self._next = 0  # the file to open when the current one is at its end
        self._records: RecordReader | None = None
        self._frames: FrameReader | None = None

    def read(self, most: int, most_bytes: int) -> list[Column]:
        """The tensors of at most so many elements, about so large; no column at the end."""
        while self._is_open() or self._open():
            columns = (
                self._from_records(self._records, most, most_bytes)
                if self._records is not None
                else self._from_frames(most)
            )
            if columns:
                return columns
            self.close()
        return []

    def skip(self, count: int) -> int:
        """Pass over elements; how many there were."""
        left = count
        while left and (self._is_open() or self._open()):
            before = left
            if self._records is not None:
                group, start = len(self._leaves), self._records.record
                self._records.advance_to(start + left * group)
                left -= (self._records.record - start) // group
            elif self._frames is not None:
                left -= len(self._frames.read(left))
            if left == before:
                self.close()
        return count - left

    def close(self) -> None:
        """Let go of the file that is open."""
        for reader in (self._records, self._frames):
            if reader is not None:
                reader.close()
        self._records = self._frames = None

    def _is_open(self) -> bool:
        return self._records is not None or self._frames is not None

    def _open(self) -> bool:
        if self._next == len(self._names):
            return False
        name = self._names[self._next]
        self._next += 1
        files, where = self._files, self._store.object_url(name)
        compression = "" if files.compression == SNAPPY_ELEMENTS else files.compression
        pieces = pieces_of(self._store, name, compression, piece_bytes=self._piece_bytes)
        if files.version >= 2:
            self._records = RecordReader(
                pieces, where, verify=self._verify, group=len(self._leaves), remedy=_REMEDY
            )
        else:
            self._frames = FrameReader(pieces, where, files.compression, files.dtypes)
        return True

    def _from_records(self, reader: RecordReader, most: int, most_bytes: int) -> list[Column]:
        group, first = len(self._leaves), reader.record
        found = reader.read(most * group, most_bytes)
        if not len(found):
            return []
        with self._named(first):
            return [
                column_of_records(found.every(group, place), leaf)
                for place, leaf in enumerate(self._leaves)
            ]

    def _from_frames(self, most: int) -> list[Column]:
        assert self._frames is not None
        elements = self._frames.read(most)
        if not elements:
            return []
        with self._named(0):
            return [_column(elements, place, leaf) for place, leaf in enumerate(self._leaves)]

    @contextmanager
    def _named(self, record: int) -> Iterator[None]:
        """Name the file in the error of tensors that cannot be read."""
        try:
            yield
        except CorruptRecordError:
            raise
        except ValueError as error:
            where = self._store.object_url(self._names[self._next - 1])
            raise CorruptSnapshotError(
                f"{where}: a tensor behind record {record} cannot be read: {error}; {_REMEDY}",
                path=where,
            ) from error


def _column(elements: list[list[bytes]], place: int, leaf: LeafSpec | None) -> Column:
    leaves: list[Any] = []
    for element in elements:
        if place >= len(element):
            raise ValueError(f"an element has {len(element)} tensors")
        leaves.append(leaf_of(element[place], leaf))
    return column_of(leaves)
