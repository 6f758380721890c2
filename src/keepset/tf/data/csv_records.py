"""Records and fields of CSV files, by TensorFlow's rules.

A record ends with LF, CR or CRLF; a field that begins with a quote may hold delimiters, line ends
and doubled quotes. Fields are bytes, whatever the encoding of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final

from keepset.core.record import record
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.exchange.files.row_file import Place
from keepset.exchange.tensorflow.compression import compression_named
from keepset.exchange.text.lines import MOST_RECORD_BYTES, text_pieces
from keepset.tf.files.file_places import place_of

_QUOTED: Final = re.compile(rb'"((?:[^"]++|"")*+)"')


@record
class CsvFormat:
    """How a file is written."""

    compression: str = ""
    delimiter: str = ","
    quotes: bool = True

    def __post_init__(self) -> None:
        if len(self.delimiter.encode()) != 1:
            raise InvalidArgumentError(
                f"field_delim must be one character of one byte, not {self.delimiter!r}"
            )
        if self.compression not in ("", "GZIP", "ZLIB"):
            raise InvalidArgumentError(
                f"compression_type {self.compression!r} is unknown; choose '', 'GZIP' or 'ZLIB'"
            )

    def records_of(self, file: str, header: bool) -> Iterator[bytes]:
        """The records of a file, behind its header."""
        found = self.records(self._pieces(file), file)
        if header and next(found, None) is None:
            raise ElementError(f"{file} has no header; it is empty, or pass header=False")
        yield from found

    def _pieces(self, file: str) -> Iterator[bytes]:
        """What is in a file, a piece at a time: it may be larger than memory."""
        place = Place(file, *place_of(file))
        return text_pieces(place, compression_named(self.compression))

    def records(self, pieces: Iterable[bytes], file: str = "") -> Iterator[bytes]:
        """The records of text that comes in pieces, whose borders may be anywhere."""
        left = b""
        for piece in chain(pieces, [None]):
            is_end = piece is None
            text = left + (piece or b"")
            start = 0
            if self.quotes and b'"' in text:
                for behind, found in self._complete(text, is_end):
                    start = behind
                    yield found
            else:
                # A CR that comes last may be half of what ends a record.
                last = max(text.rfind(b"\n"), text.rfind(b"\r", 0, max(0, len(text) - 1)))
                start = len(text) if is_end else last + 1
                yield from text[:start].splitlines()
            left = text[start:]
            if len(left) > MOST_RECORD_BYTES:
                raise CorruptRecordError(
                    f"{file} has a record of more than {MOST_RECORD_BYTES} bytes, or a quote that "
                    f"does not end: {left!r:.60}; mend the file, or pass use_quote_delim=False",
                    path=file,
                )

    def _complete(self, text: bytes, is_end: bool) -> Iterator[tuple[int, bytes]]:
        """Whole records, each with the place behind it."""
        match, start, size = _record(self.delimiter.encode()).match, 0, len(text)
        while start < size:
            found = match(text, start)
            assert found is not None  # it matches an empty record too
            end = found.end()
            if end >= size - 1 and not is_end:
                return
            behind = end + (2 if text[end : end + 2] == b"\r\n" else 1)
            yield behind, text[start:end]
            start = behind

    def fields(self, text: bytes) -> list[bytes]:
        """The fields of a record."""
        delimiter = self.delimiter.encode()
        if not self.quotes or b'"' not in text:
            return text.split(delimiter)
        found, place = [], 0
        while True:
            field, place = self._field(text, place, delimiter)
            found.append(field)
            if place >= len(text):
                return found if place == len(text) else [*found[:-1], field]
            place += 1
            if place == len(text):
                return [*found, b""]

    def _field(self, text: bytes, place: int, delimiter: bytes) -> tuple[bytes, int]:
        """The field at a place, and where it ends."""
        if text[place : place + 1] != b'"':
            end = text.find(delimiter, place)
            end = len(text) if end < 0 else end
            if b'"' in text[place:end]:
                raise ElementError(
                    f"a field without quotes has a quote inside, in the row {text!r:.80}; "
                    "quote the field and double the quote, or pass use_quote_delim=False"
                )
            return text[place:end], end
        found = _QUOTED.match(text, place)
        if found is None:
            raise ElementError(f"a quoted field does not end, in the row {text!r:.80}")
        if text[found.end() : found.end() + 1] not in (b"", delimiter):
            raise ElementError(
                f"a quote inside of a quoted field must be doubled, in the row {text!r:.80}"
            )
        return found[1].replace(b'""', b'"'), found.end()


@cache
def _record(delimiter: bytes) -> re.Pattern[bytes]:
    """A record that may have quoted fields, of whatever text: it never backtracks."""
    other = rb"[^%s\r\n]*+" % re.escape(delimiter)
    field = rb'(?:"(?:[^"]++|"")*+"?+%s|%s)' % (other, other)
    return re.compile(rb"%s(?:%s%s)*+" % (field, re.escape(delimiter), field))
