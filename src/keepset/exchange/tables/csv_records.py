"""Where records of CSV end: at the end of a line, unless that is within quotes."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.dtypes import Array


class Record(NamedTuple):
    """Where a record begins and ends in a block, without the end of its line."""

    start: int
    stop: int
    is_closed: bool = True  # or the text ends within quotes


class CsvRecords:
    """Finds records; the quote is None if there are none.

    A quote opens only at the beginning of a field, and two of them within quotes stand for one.
    """

    def __init__(self, delimiter: str, quote: str | None) -> None:
        self._delimiter = delimiter.encode()
        self._quote = None if quote is None else quote.encode()

    def end_of_last(self, data: bytes) -> int:
        """Where the last whole record of a block ends, behind the end of its line; 0 without."""
        newline = b"\n" if b"\n" in data else b"\r"
        last = data.rfind(newline) + 1
        if newline == b"\r" and last == len(data):
            last = data.rfind(newline, 0, last - 1) + 1  # a newline may yet follow
        if self._quote is None or not last or self._quote not in data:
            return last
        quotes = self._regular_quotes(data)
        if quotes is None:
            ends = [found.end() for found in self._pattern.finditer(data) if found["end"]]
            if ends and ends[-1] == len(data) and data.endswith(b"\r"):
                ends.pop()  # a newline may yet follow
            return ends[-1] if ends else 0
        if newline == b"\r":
            data = data[:last]
        ends_of_lines = np.flatnonzero(np.frombuffer(data, np.uint8) == newline[0])
        outside = ends_of_lines[np.searchsorted(quotes, ends_of_lines) % 2 == 0]
        return int(outside[-1]) + 1 if len(outside) else 0

    def _regular_quotes(self, data: bytes) -> Array | None:
        """Where quotes are; None if one stands within a field, where it is a letter like others."""
        assert self._quote is not None
        text = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(text == self._quote[0])
        opening = quotes[0::2]
        before = text[opening[opening > 0] - 1]
        allowed = np.frombuffer(b"\r\n" + self._delimiter + self._quote, np.uint8)
        return quotes if np.isin(before, allowed).all() else None

    def is_open(self, data: bytes) -> bool:
        """Whether the text ends within quotes."""
        if self._quote is None or self._quote not in data:
            return False
        quotes = self._regular_quotes(data)
        if quotes is not None:
            return len(quotes) % 2 == 1
        return any(map(_is_open, self._pattern.finditer(data)))

    def first(self, data: bytes) -> Record:
        """The first record that is no empty line; an empty one if there is none."""
        found = (each for each in self._pattern.finditer(data) if each["record"])
        return next((Record(*each.span("record")) for each in found), Record(0, 0))

    def records(self, data: bytes) -> list[Record]:
        """All records but those that are empty lines."""
        found = [each for each in self._pattern.finditer(data) if each["record"]]
        records = [Record(*each.span("record")) for each in found]
        if records and _is_open(found[-1]):
            records[-1] = records[-1]._replace(is_closed=False)
        return records

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        delimiter = re.escape(self._delimiter)
        plain = rb"[^" + delimiter + rb"\r\n]*+"
        first = later = plain
        if self._quote is not None:
            q = re.escape(self._quote)
            inside = rb"[^" + q + rb"]*+(?:" + q + q + rb"[^" + q + rb"]*+)*+"
            first, later = (
                rb"(?:"
                + q
                + inside
                + rb"(?:"
                + q
                + plain
                + rb"|(?P<"
                + name
                + rb">\Z))|"
                + plain
                + rb")"
                for name in (b"open", b"open_later")
            )
        record = rb"(?P<record>" + first + rb"(?:" + delimiter + later + rb")*+)"
        return re.compile(record + rb"(?P<end>\r\n|\n|\r|\Z)")


def _is_open(found: re.Match[bytes]) -> bool:
    return any(found.groupdict().get(name) is not None for name in ("open", "open_later"))
