"""Lines of text and records of a fixed length: the plainest of files."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import string
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.exchange.files.file_names import store_of
from keepset.exchange.tensorflow.compression import compression_named, pieces_of
from keepset.storage import Store

_SPEC: Final = TensorSpec((), string)
# Of lines that are cut out of a piece of a file at once.
_MOST_LINES: Final = 1 << 16


@stage
class RawRecords(Node):
    """Pieces of the files that ``parent`` names, one file after another, as ``bytes``."""

    parent: Node
    compression_type: str | None = None
    store_options: Any = None

    def __post_init__(self) -> None:
        if compression_named(self.compression_type) == "SNAPPY":
            raise InvalidArgumentError(f"{self.kind} reads no SNAPPY; choose 'GZIP' or 'ZLIB'")

    def cursor(self, run: Run) -> Cursor:
        return _RawCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return _SPEC

    @abstractmethod
    def records(self, store: Store, file: str) -> Iterator[list[bytes]]:
        """The records of one file, some at a time."""

    def compression(self, store: Store, file: str) -> str:
        """How a file is compressed."""
        return compression_named(self.compression_type)

    def _pieces(self, store: Store, file: str) -> Iterator[memoryview]:
        try:
            yield from pieces_of(store, file, self.compression(store, file))
        except ValueError as error:
            where = store.object_url(file)
            raise CorruptRecordError(f"{where} cannot be read: {error}", path=where) from error


@stage
class TextLineDataset(RawRecords):
    """The lines of text files, without what ends them (``\\n`` or ``\\r\\n``)."""

    def records(self, store: Store, file: str) -> Iterator[list[bytes]]:
        waiting: list[bytes] = []
        for piece in self._pieces(store, file):
            for start in range(0, len(piece), _PIECE_BYTES):
                part = bytes(piece[start : start + _PIECE_BYTES])
                head, newline, rest = part.rpartition(b"\n")
                if not newline:
                    waiting.append(part)
                    continue
                lines = b"".join([*waiting, head]).split(b"\n")
                waiting = [rest] if rest else []
                yield [line.removesuffix(b"\r") for line in lines]
        if waiting:
            yield [b"".join(waiting).removesuffix(b"\r")]


_PIECE_BYTES: Final = 1 << 20


@stage
class FixedLengthRecordDataset(RawRecords):
    """Records of ``record_bytes`` each, between a header and a footer that are passed over."""

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.record_bytes < 1 or self.header_bytes < 0 or self.footer_bytes < 0:
            raise InvalidArgumentError(
                f"record_bytes must be at least 1, header_bytes and footer_bytes at least 0, not "
                f"{self.record_bytes}, {self.header_bytes} and {self.footer_bytes}"
            )

    def records(self, store: Store, file: str) -> Iterator[list[bytes]]:
        size, waiting, skipped = self.record_bytes, b"", self.header_bytes
        whole = 0
        for piece in self._pieces(store, file):
            for start in range(0, len(piece), _PIECE_BYTES):
                data = waiting + bytes(piece[start : start + _PIECE_BYTES])
                whole += len(data) - len(waiting)
                left = min(skipped, len(data))
                data, skipped = data[left:], skipped - left
                count = max(0, (len(data) - self.footer_bytes) // size)
                if count:
                    yield [data[n * size : (n + 1) * size] for n in range(count)]
                waiting = data[count * size :]
        if len(waiting) != self.footer_bytes or skipped:
            where = store.object_url(file)
            raise CorruptRecordError(
                f"{where} has {whole} bytes: without a header of {self.header_bytes} and a footer "
                f"of {self.footer_bytes}, these are no whole number of records of {size}",
                path=where,
                byte=whole,
            )


class _RawCursor(Cursor):
    def __init__(self, node: RawRecords, parent: Cursor) -> None:
        self._node, self._parent = node, parent
        self._before: State = {}
        self._records: Iterator[list[bytes]] | None = None
        self._waiting: list[bytes] = []
        self._at = 0  # in what is waiting
        self._given = 0  # of the file that is open

    def read(self, max_rows: int) -> Chunk:
        while self._records is not None or self._open():
            if self._at < len(self._waiting):
                rows = self._waiting[self._at : self._at + min(max_rows, _MOST_LINES)]
                self._at += len(rows)
                self._given += len(rows)
                column = np.empty(len(rows), object)
                column[:] = rows
                return Chunk.from_columns(LEAF, [column], len(rows))
            self._more()
        return EMPTY

    def _more(self) -> None:
        assert self._records is not None
        try:
            self._waiting, self._at = next(self._records, []), 0
        except BaseException:
            self._records = None
            raise
        if not self._waiting:
            self._records = None

    def _open(self) -> bool:
        self._before = self._parent.state()
        chunk = self._parent.read(1)
        if not len(chunk):
            return False
        name = chunk.rows[0]
        if not isinstance(name, bytes):
            raise ElementError(
                f"{self._node.kind} needs names of files, and one is a {type(name).__name__}"
            )
        store, file = store_of(os.fsdecode(name), self._node.store_options)
        self._records = self._node.records(store, file)
        self._waiting, self._at, self._given = [], 0, 0
        return True

    def state(self) -> State:
        if self._records is None:
            return {"parent": self._parent.state(), "given": None}
        return {"parent": self._before, "given": self._given}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        if state["given"] is None or not self._open():
            return
        while self._given < state["given"] and self._records is not None:
            if self._at == len(self._waiting):
                self._more()
            step = min(state["given"] - self._given, len(self._waiting) - self._at)
            self._at += step
            self._given += step

    def close(self) -> None:
        self._records = None
        self._parent.close()
