"""Plain text: lines as elements, and elements as lines."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import eq
from typing import Any, BinaryIO, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import check_covered
from keepset.core.dtypes import string, text, text_array
from keepset.core.node import stage
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.tensorflow.compression import NONE, compression_named, pieces_of
from keepset.exchange.text.codec_names import UTF8, codec_named
from keepset.storage import Store

PIECE_BYTES: Final = 1 << 20
# A line or record that is longer than this has no end, as a rule.
MOST_RECORD_BYTES: Final = 64 << 20
LINE_SPEC: Final = TensorSpec((), string)
TEXT_LINE_SPEC: Final = TensorSpec((), text)
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
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_text_compression(self.kind, self.compression_type)
        if self.encoding is not None:
            codec_named(self.encoding)

    def open_file(self, place: Place) -> RowFile:
        compression = compression_of(place.store, place.file, self.compression_type)
        if self.encoding is None:
            return _Lines(place, compression)
        return _TextLines(place, compression, codec_named(self.encoding))


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
        given = 0
        for part in text_pieces(self._place, self._compression):
            head, newline, rest = part.rpartition(b"\n")
            if not newline:
                waiting.append(part)
                _check_length(waiting, given, self._place)
                continue
            lines = b"".join([*waiting, head]).split(b"\n")
            waiting = [rest] if rest else []
            given += len(lines)
            yield [line.removesuffix(b"\r") for line in lines]
        if waiting:
            yield [b"".join(waiting).removesuffix(b"\r")]


class _TextLines(RowFile):
    """The lines of one file as ``str``; it is decoded as a whole, so any encoding will do."""

    spec: Spec = TEXT_LINE_SPEC

    def __init__(self, place: Place, compression: str, encoding: str) -> None:
        self._place, self._compression, self._encoding = place, compression, encoding

    def chunks(self, start: int) -> Iterator[Chunk]:
        given = 0
        for lines in self._lines():
            skipped = min(max(0, start - given), len(lines))
            given += len(lines)
            for at in range(skipped, len(lines), _MOST_LINES):
                some = lines[at : at + _MOST_LINES]
                yield Chunk.from_columns(LEAF, [text_array(some)], len(some))

    def _lines(self) -> Iterator[list[str]]:
        waiting: list[str] = []
        given = 0
        pieces = text_pieces(self._place, self._compression)
        for part in decoded_pieces(pieces, self._encoding, self._place):
            head, newline, rest = part.rpartition("\n")
            if not newline:
                waiting.append(part)
                _check_length(waiting, given, self._place)
                continue
            lines = "".join([*waiting, head]).split("\n")
            waiting = [rest] if rest else []
            given += len(lines)
            yield [line.removesuffix("\r") for line in lines]
        if any(waiting):
            yield ["".join(waiting).removesuffix("\r")]


def _check_length(waiting: Sequence[bytes | str], given: int, place: Place) -> None:
    """Refuse a line that has no end: one of a small compressed file may fill the memory."""
    if sum(map(len, waiting)) > MOST_RECORD_BYTES:
        raise CorruptRecordError(
            f"{place.name}: line {given + 1} does not end within {MOST_RECORD_BYTES >> 20} MB; "
            "look at what the file holds, or read it with read_fixed_length",
            path=place.name,
            record=given + 1,
        )


def decoded_pieces(pieces: Iterable[bytes], encoding: str, place: Place) -> Iterator[str]:
    """The text of a file; an error names the line and the byte that cannot be decoded.

    Whatever comes before that is given first.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    read, lines = 0, 1
    for piece in chain(pieces, [b""]):
        try:
            part = decoder.decode(piece, final=not piece)
            if encoding not in UTF8:
                part.encode()  # some know half a surrogate pair, which is no character
        except UnicodeDecodeError as error:
            start = read - (len(error.object) - len(piece)) + error.start
            try:
                before = error.object[: error.start].decode(encoding, errors="replace")
            except UnicodeError:  # some, such as idna, replace nothing
                before = ""
            yield before
            lines += before.count("\n")
            octet = f"0x{error.object[error.start]:02x}"
            raise _undecodable(place, lines, f"{octet} at byte {start}", error, start) from error
        except UnicodeEncodeError as error:
            lines += part.count("\n", 0, error.start)
            raise _undecodable(place, lines, repr(part[error.start]), error, read) from error
        except UnicodeError as error:
            # Of a whole file, such as one in UTF-16 that does not begin with a mark.
            what = f"what begins at byte {read}"
            raise _undecodable(place, lines, what, error, read, encoding) from error
        read, lines = read + len(piece), lines + part.count("\n")
        yield part


def _undecodable(
    place: Place, line: int, what: str, error: UnicodeError, byte: int, encoding: str = ""
) -> CorruptRecordError:
    name, reason = getattr(error, "encoding", encoding), getattr(error, "reason", error)
    return CorruptRecordError(
        f"{place.name}: line {line}: {what} is no text in {name} ({reason}); "
        "pass the encoding= that the file has, such as 'latin-1', or leave it out for bytes",
        path=place.name,
        record=line,
        byte=byte,
    )


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
        if spec not in (LINE_SPEC, TEXT_LINE_SPEC):
            raise ElementError(
                f"lines of text are bytes or texts, and elements are {spec}; make texts of them "
                "with map, or write CSV or JSON lines"
            )
        self._is_text = spec == TEXT_LINE_SPEC
        # Without a name and a time in it, equal texts make equal files.
        self._packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_compressed else None
        self._file: Any = self._packed or file

    def write(self, chunk: Chunk) -> None:
        wanted = TEXT_LINE_SPEC if self._is_text else LINE_SPEC
        check_covered(chunk, LEAF, [wanted], eq, "a line of text is", "make a text of it with map")
        lines: list[bytes] = np.asarray(chunk.columns[0]).tolist()
        if self._is_text:
            lines = [line.encode() for line in np.asarray(chunk.columns[0]).tolist()]
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
