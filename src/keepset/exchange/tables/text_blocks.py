"""Text in blocks of whole records, each with the number of the line that it begins in."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from keepset.errors import CorruptRecordError, InvalidArgumentError
from keepset.exchange.files.row_file import Place
from keepset.exchange.text.codec_names import UTF8, codec_named
from keepset.exchange.text.lines import (
    MOST_RECORD_BYTES,
    compression_of,
    decoded_pieces,
    text_pieces,
)

BLOCK_BYTES: Final = 2 << 20
# Of a block, what one thread parses at a time.
PART_BYTES: Final = 256 << 10
# What types are found from.
SAMPLE_BYTES: Final = 1 << 20
_NEWLINE: Final = ord("\n")
_MARKS: Final = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LONGEST_MARK: Final = 4
# Those whose decoders drop the mark: the next one is text.
_MARKED: Final = ("utf-16", "utf-32")


class Block(NamedTuple):
    """Whole records, one behind the other; the first begins in line ``line``."""

    data: bytes
    line: int
    has_end: bool = True  # of its last record, and not of the file within it


def blocks_of(
    place: Place, end_of_last: Callable[[bytes], int], encoding: str | None = None
) -> Iterator[Block]:
    """A file in blocks of about two megabytes, as UTF-8, whether it is compressed or not.

    Without an encoding it is taken to be UTF-8.

    ``end_of_last`` says where the last whole record of some text ends, and 0 if there is none. What
    is behind it at the end of the file is a record too, and belongs to the last block: types are
    found from it as from all others.
    """
    waiting, line = b"", 1
    last = Block(b"", line)  # which is given when another one follows
    for part in _texts(place, encoding):
        waiting += part
        end = end_of_last(waiting)
        if end:
            if last.data:
                yield last
            last = Block(waiting[:end], line)
            line += line_ends(last.data)
            waiting = waiting[end:]
        elif len(waiting) > MOST_RECORD_BYTES:
            if last.data:
                yield last
            raise CorruptRecordError(
                f"{place.name}: line {line} begins a record that does not end within "
                f"{MOST_RECORD_BYTES >> 20} MB; look for a quote that is not closed, or pass "
                "quote=None",
                path=place.name,
            )
    if last.data or waiting:
        yield Block(last.data + waiting, last.line, not waiting)


def line_ends(data: bytes) -> int:
    """How many lines end in some text; a return that no newline follows ends one too."""
    ends = int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE))
    return ends + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def has_blank_lines(data: bytes) -> bool:
    """Whether nothing is between two newlines, or before the first."""
    is_end = np.frombuffer(data, np.uint8) == _NEWLINE
    return bool(len(data)) and bool(is_end[0] or (is_end[1:] & is_end[:-1]).any())


def _texts(place: Place, encoding: str | None) -> Iterator[bytes]:
    """Pieces of a file, as UTF-8 without the mark that some put before it."""
    name = UTF8[0] if encoding is None else codec_named(encoding)
    compression = compression_of(place.store, place.file, None)
    pieces = _marked(text_pieces(place, compression, BLOCK_BYTES), name, place)
    is_first = True
    for text in pieces if name in UTF8 else _encoded(decoded_pieces(pieces, name, place)):
        yield text.removeprefix(codecs.BOM_UTF8) if is_first and name not in _MARKED else text
        is_first = False


def _encoded(texts: Iterator[str]) -> Iterator[bytes]:
    return (text.encode() for text in texts)


def _with_whole_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, of which the first is long enough for any mark."""
    first = b""
    while len(first) < _LONGEST_MARK and (piece := next(pieces, None)) is not None:
        first += piece
    yield first
    yield from pieces


def _marked(pieces: Iterator[bytes], name: str, place: Place) -> Iterator[bytes]:
    for number, piece in enumerate(_with_whole_mark(pieces)):
        if number == 0:
            _check_mark(piece[:_LONGEST_MARK], name, place)
        yield piece


def _check_mark(head: bytes, name: str, place: Place) -> None:
    for mark, wanted in _MARKS.items():
        if head.startswith(mark) and not name.startswith(_MARKED):
            raise InvalidArgumentError(
                f"{place.name} is in UTF-16, as its first bytes say; pass encoding={wanted!r}"
            )
