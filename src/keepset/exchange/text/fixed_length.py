"""Records of a fixed length, one behind the other, between a header and a footer."""

from __future__ import annotations

from collections.abc import Iterator

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.node import stage
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError, RecordSizeError
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.tensorflow.compression import NONE
from keepset.exchange.text.lines import (
    LINE_SPEC,
    PIECE_BYTES,
    check_text_compression,
    compression_of,
    strings_chunk,
    text_pieces,
)


@stage
class ReadFixedLength(FileRows):
    """Records of ``record_bytes`` each; what is before and behind them is passed over."""

    knows_length = True
    is_addressable = True
    has_columns = False

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    compression_type: str | None = None

    def __post_init__(self) -> None:
        check_text_compression(self.kind, self.compression_type)
        if self.record_bytes < 1 or self.header_bytes < 0 or self.footer_bytes < 0:
            raise InvalidArgumentError(
                f"record_bytes must be at least 1, header_bytes and footer_bytes at least 0, not "
                f"{self.record_bytes}, {self.header_bytes} and {self.footer_bytes}"
            )

    def open_file(self, place: Place) -> RowFile:
        compression = compression_of(place.store, place.file, self.compression_type)
        return (_Plain if compression == NONE else _Packed)(self, place, compression)


class _Records(RowFile):
    spec: Spec = LINE_SPEC

    def __init__(self, node: ReadFixedLength, place: Place, compression: str) -> None:
        self._node, self._place, self._compression = node, place, compression

    def _check(self, whole: int) -> int:
        """How many records there are in a file of so many bytes."""
        node = self._node
        rest = whole - node.header_bytes - node.footer_bytes
        if rest < 0 or rest % node.record_bytes:
            raise RecordSizeError(
                f"{self._place.name} has {whole} bytes: without a header of {node.header_bytes} "
                f"and a footer of {node.footer_bytes}, these are no whole number of records of "
                f"{node.record_bytes}; check the numbers, or restore the file from a copy",
                path=self._place.name,
                byte=whole,
            )
        return rest // node.record_bytes

    @property
    def _step(self) -> int:
        return max(1, PIECE_BYTES // self._node.record_bytes)


class _Plain(_Records):
    """A file of which any record can be read."""

    def __init__(self, node: ReadFixedLength, place: Place, compression: str) -> None:
        super().__init__(node, place, compression)
        self.length = self._check(place.store.size(place.file))

    def chunks(self, start: int) -> Iterator[Chunk]:
        assert self.length is not None
        size = self._node.record_bytes
        for at in range(start, self.length, self._step):
            count = min(self._step, self.length - at)
            offset = self._node.header_bytes + at * size
            data = bytes(self._place.store.read_range(self._place.file, offset, count * size))
            yield _records(data, size, 0, count)

    def gather(self, rows: Array) -> Chunk:
        size = self._node.record_bytes
        ranges = [(self._node.header_bytes + row * size, size) for row in rows.tolist()]
        return strings_chunk(
            list(map(bytes, self._place.store.read_ranges(self._place.file, ranges)))
        )


class _Packed(_Records):
    """A compressed file, which is read from its beginning."""

    obstacle = "which is compressed"

    def chunks(self, start: int) -> Iterator[Chunk]:
        node, size = self._node, self._node.record_bytes
        waiting, at, whole = b"", -node.header_bytes, 0
        for piece in text_pieces(self._place, self._compression):
            data = waiting + piece
            whole += len(piece)
            if at < 0:
                data, at = data[-at:], min(0, at + len(data))
            count = max(0, (len(data) - node.footer_bytes) // size) if at >= 0 else 0
            skipped = min(count, max(0, start - at))
            if skipped < count:
                yield _records(data, size, skipped, count)
            at, waiting = at + count, data[count * size :]
        self._check(whole)


def _records(data: bytes, size: int, start: int, stop: int) -> Chunk:
    return strings_chunk([data[n * size : (n + 1) * size] for n in range(start, stop)])
