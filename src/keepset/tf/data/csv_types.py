"""The types of CSV columns that the caller left open: the narrowest that fit the first rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.record import record
from keepset.errors import ElementError, InvalidArgumentError
from keepset.tf.data.csv_records import CsvFormat

_INFERRED: Final = ("int32", "int64", "uint64", "float32", "float64")
_WHOLE: Final = re.compile(r"\s*[+-]?\d+\s*")


@record
class Inferred:
    """A default of the type that was found from the first rows."""

    default: Any


def inferred_defaults(
    rows: Iterable[Row], na_value: str, names: Sequence[str], places: Sequence[int]
) -> list[Any]:
    """The narrowest type that fits the first values of each column, and a default of it."""
    guesses = [_Guess(name) for name in names]
    for row in rows:
        for guess, text in zip(guesses, row.fields, strict=True):
            if text != na_value:
                guess.see(text, row)
    return [guesses[place].default() for place in places]


class Row(NamedTuple):
    file: str
    line: int
    fields: list[str]


def first_rows(
    files: Sequence[str],
    written: CsvFormat,
    header: bool,
    most: int | None,
    names: Sequence[str],
) -> Iterator[Row]:
    every = (
        (file, number, found)
        for file in files
        for number, found in enumerate(written.records_of(file, header), 1 + header)
    )
    for file, number, found in islice(every, most):
        try:
            fields = written.fields(found)
        except ElementError:
            continue  # the caller that takes the row finds out
        if len(fields) != len(names):
            raise InvalidArgumentError(
                f"{file}: line {number} has {len(fields)} fields, and there are {len(names)} "
                "columns; mend the file, or pass column_defaults and ignore_errors=True"
            )
        yield Row(file, number, [field.decode(errors="replace") for field in fields])


class _Guess:
    """The types that a column may have, after some of its values."""

    def __init__(self, name: str) -> None:
        self._name, self._types = name, list(_INFERRED)
        self._is_number = self._is_whole = True
        self._where = ""
        self._is_empty = True

    def see(self, text: str, row: Row) -> None:
        self._is_empty = False
        if not self._is_number:
            return
        self._types = [name for name in self._types if _fits(text, name)]
        self._is_number = _fits(text, "float64", is_rounded=True)
        self._is_whole = self._is_whole and _WHOLE.fullmatch(text) is not None
        if not self._found() and not self._where:
            self._where = f"{row.file}: line {row.line}: {self._name!r} has {text!r:.60}"

    def _found(self) -> str | None:
        """The narrowest type; a column of nothing but whole numbers has none of floats."""
        left = (name for name in self._types if not (self._is_whole and "float" in name))
        return next(left, None)

    def default(self) -> Any:
        if self._is_empty or not self._is_number:
            return b""
        found = self._found()
        if found is not None:
            return Inferred(np.dtype(found).type(0))
        raise ElementError(
            f"{self._where}, a number that no type has together with those before it, unless it is "
            'rounded; pass b"", for text, or np.float64(0) in column_defaults'
        )


def _fits(text: str, name: str, *, is_rounded: bool = False) -> bool:
    """Whether a text is a number of this type; not so if the type would round a whole one."""
    try:
        with np.errstate(over="ignore"):
            value = np.dtype(name).type(text)
    except (ValueError, OverflowError):
        return False
    if not is_rounded and not is_exact(text, value):
        return False
    return not name.startswith("float") or bool(np.isfinite(value))


def is_exact(text: str, value: Any) -> bool:
    """Whether a number is what is written, if that is a whole number."""
    if value.dtype.kind != "f" or not _WHOLE.fullmatch(text):
        return True
    # Numbers of more than 64 bits are refused, and Python does not read thousands of digits.
    is_short = len(text) < 40 and -(1 << 63) <= int(text) < 1 << 64
    return is_short and bool(np.isfinite(value)) and int(value) == int(text)
