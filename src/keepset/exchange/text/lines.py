"""Plain text: lines as elements, and elements as lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from operator import eq
from typing import Any, BinaryIO, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import check_covered
from keepset.core.dtypes import string
from keepset.core.node import stage
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.tensorflow.compression import NONE, compression_named, pieces_of
from keepset.storage import Store

PIECE_BYTES: Final = 1 << 20
LINE_SPEC: Final = TensorSpec((), string)
_GZIP: Final = b"\x1f\x8b"
# Of lines that are elements at once.
_MOST_LINES: Final = 1 << 16


def compression_of(store: Store, file: str, asked: str | None) -> str:
    """How a file is compressed: what was asked for, or what its first bytes say."""
    if asked is not None:
        return compression_named(asked)
    size = store.size(file)
    head = bytes(store.read_range(file, 0, min(len(_GZIP), size)))
    # What is called so and has nothing in it was cut off.
    if size < len(_GZIP) and file.endswith((".gz", ".tgz")):
        where = store.object_url(file)
        raise CorruptRecordError(
            f"{where} cannot be read: it ends before it begins; restore the file from a copy, or "
            "leave it out",
            path=where,
        )
    return "GZIP" if head == _GZIP else NONE


@stage
class ReadText(FileRows):
    """The lines of text files, without what ends them (``\\n`` or ``\\r\\n``).

    That a file is compressed with gzip is found from its content, unless somebody says how it is.
    """

    has_columns = False

    compression_type: str | None = None

    def __post_init__(self) -> None:
        check_text_compression(self.kind, self.compression_type)

    def open_file(self, place: Place) -> RowFile:
        return _Lines(place, compression_of(place.store, place.file, self.compression_type))


class _Lines(RowFile):
    """The lines of one file, which is read from its beginning."""

    spec: Spec = LINE_SPEC

    def __init__(self, place: Place, compression: str) -> None:
        self._place, self._compression = place, compression

    def chunks(self, start: int) -> Iterator[Chunk]:
        given = 0
        for lines in self._lines():
            skipped = min(max(0, start - given), len(lines))
            given += len(lines)
            for at in range(skipped, len(lines), _MOST_LINES):
                yield strings_chunk(lines[at : at + _MOST_LINES])

    def _lines(self) -> Iterator[list[bytes]]:
        waiting: list[bytes] = []
        for part in text_pieces(self._place, self._compression):
            head, newline, rest = part.rpartition(b"\n")
            if not newline:
                waiting.append(part)
                continue
            lines = b"".join([*waiting, head]).split(b"\n")
            waiting = [rest] if rest else []
            yield [line.removesuffix(b"\r") for line in lines]
        if waiting:
            yield [b"".join(waiting).removesuffix(b"\r")]


def text_pieces(place: Place, compression: str, most_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """What is in a file, at most so much at a time."""
    pieces = pieces_of(place.store, place.file, compression)
    while True:
        try:
            piece = next(pieces, None)
        except ValueError as error:
            raise place.damaged(error) from error
        if piece is None:
            return
        for start in range(0, len(piece), most_bytes):
            yield bytes(piece[start : start + most_bytes])


def check_text_compression(kind: str, compression_type: str | None) -> None:
    """Refuse what no text is compressed with."""
    if compression_named(compression_type) == "SNAPPY":
        raise InvalidArgumentError(f"{kind} reads no SNAPPY; choose 'GZIP' or 'ZLIB'")


def strings_chunk(strings: list[bytes]) -> Chunk:
    """Elements that are ``bytes``."""
    column = np.empty(len(strings), object)
    column[:] = strings
    return Chunk.from_columns(LEAF, [column], len(strings))


class TextWriter(RowWriter):
    """Writes ``bytes`` as lines that end with ``\\n``."""

    def __init__(self, file: BinaryIO, spec: Spec, is_compressed: bool) -> None:
        if spec != LINE_SPEC:
            raise ElementError(
                f"lines of text are bytes or texts, and elements are {spec}; make texts of them "
                "with map, or write CSV or JSON lines"
            )
        # Without a name and a time in it, equal texts make equal files.
        self._packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_compressed else None
        self._file: Any = self._packed or file

    def write(self, chunk: Chunk) -> None:
        check_covered(
            chunk, LEAF, [LINE_SPEC], eq, "a line of text is", "make a text of it with map"
        )
        lines: list[bytes] = np.asarray(chunk.columns[0]).tolist()
        for row, line in enumerate(lines):
            if b"\n" in line or line.endswith(b"\r"):
                raise unfit(
                    "",
                    f"it holds the end of a line ({line!r:.60}); use a format with records, such "
                    "as TFRecord or Parquet",
                    row,
                )
        self._file.write(b"\n".join([*lines, b""]))

    def finish(self) -> None:
        if self._packed is not None:
            self._packed.close()
