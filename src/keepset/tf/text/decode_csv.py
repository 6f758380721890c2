"""``tf.io.decode_csv``: the fields of lines, as strict as TensorFlow reads them (RFC 4180)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.tensors.conversion import as_value, dtype_of, ints_of, string_array, value_of
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.number_texts import to_number
from keepset.tf.text.text_items import strings_of

_DTYPES = ("float32", "float64", "int32", "int64", "string")


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """A tensor for each column, of the shape of the records.

    Args:
        records: One line or many, without what ends them.
        record_defaults: For each column a value that stands where nothing is written, and that
            gives the dtype; an empty list for a column of floats that must be there.
        field_delim: The character between fields.
        use_quote_delim: Whether quotes may be around fields.
        na_value: What is written where there is no value.
        select_cols: The numbers of the columns to read, in their order.

    Example:
        >>> [column.numpy().tolist() for column in decode_csv(["1,a", ",b"], [[7], [""]])]
        [[1, 7], [b'a', b'b']]
    """
    lines = strings_of(records) if _is_given(records) else np.zeros(0, object)
    columns = None if select_cols is None else _checked(ints_of(select_cols), record_defaults)
    fields = [_Field(place, default) for place, default in enumerate(record_defaults)]
    if len(field_delim.encode()) != 1:
        raise InvalidArgumentError(f"field_delim should be only 1 char, not {field_delim!r}")
    reader = _Reader(field_delim.encode(), bool(use_quote_delim))
    rows = []
    for number, line in enumerate(lines.reshape(-1).tolist()):
        found = reader.fields(line)
        if columns is not None:
            found = [found[place] for place in columns if place < len(found)]
        if len(found) != len(fields):
            raise InvalidArgumentError(
                f"Expect {len(fields)} fields but have {len(found)} in record {number}: "
                f"{line!r:.80}"
            )
        rows.append(found)
    empty = na_value.encode()
    return [
        field.column([row[place] for row in rows], empty, lines.shape)
        for place, field in enumerate(fields)
    ]


def _is_given(records: Any) -> bool:
    return not (isinstance(records, list | tuple) and not records)


def _checked(columns: Sequence[int], defaults: Sequence[Any]) -> Sequence[int]:
    if any(place < 0 for place in columns):
        raise ValueError("select_cols contains negative values.")
    if any(one >= other for one, other in pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")
    if len(columns) != len(defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return columns


class _Field:
    """The dtype of a column, and what stands where nothing is written."""

    def __init__(self, place: int, default: Any) -> None:
        value = value_of(default)
        self._place, self._dtype = place, dtype_of(value)
        if self._dtype.name not in _DTYPES:
            raise InvalidArgumentError(
                f"column {place}: {self._dtype.name} is not one of {', '.join(_DTYPES)}"
            )
        if np.size(value) > 1:
            raise InvalidArgumentError(
                f"There should only be 1 default per field but field {place} has {np.size(value)}"
            )
        self._has_default = type(value) is bytes or bool(np.size(value))
        first = value if type(value) is bytes or not self._has_default else np.ravel(value)[0]
        self._default = first

    def column(self, texts: list[bytes], empty: bytes, shape: tuple[int, ...]) -> Tensor:
        is_missing = [not text or text == empty for text in texts]
        if not self._has_default and any(is_missing):
            raise InvalidArgumentError(
                f"Field {self._place} is required but missing in record {is_missing.index(True)}!"
            )
        pairs = enumerate(zip(texts, is_missing, strict=True))
        items = [self._default if lacks else self._item(n, text) for n, (text, lacks) in pairs]
        if self._dtype.name == "string":
            return Tensor(string_array(items, shape) if shape else items[0])
        return Tensor(as_value(np.array(items, self._dtype.storage).reshape(shape)))

    def _item(self, number: int, text: bytes) -> Any:
        if self._dtype.name == "string":
            return text
        try:
            return to_number(text, self._dtype)._value
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                f"Field {self._place} in record {number} is not a valid {self._dtype.name}: "
                f"{text.decode('utf-8', 'replace')}"
            ) from error


class _Reader:
    """Takes lines apart."""

    def __init__(self, delimiter: bytes, quotes: bool) -> None:
        self._delimiter, self._quotes = delimiter, quotes

    def fields(self, line: bytes) -> list[bytes]:
        if not self._quotes or b'"' not in line:
            if b"\n" in line or b"\r" in line:
                raise _unquoted(line)
            return line.split(self._delimiter) if line else []
        made, at = [], 0
        while at <= len(line):
            field, at = (
                self._quoted(line, at) if line[at : at + 1] == b'"' else self._bare(line, at)
            )
            made.append(field)
        return made

    def _bare(self, line: bytes, at: int) -> tuple[bytes, int]:
        stop = line.find(self._delimiter, at)
        stop = len(line) if stop < 0 else stop
        field = line[at:stop]
        if any(char in field for char in b'"\r\n'):
            raise _unquoted(line)
        return field, stop + 1

    def _quoted(self, line: bytes, at: int) -> tuple[bytes, int]:
        parts, start = [], at + 1
        while True:
            stop = line.find(b'"', start)
            if stop < 0:
                raise InvalidArgumentError(
                    f"Quoted field has to end with quote followed by delim or end: {line!r:.80}"
                )
            parts.append(line[start:stop])
            behind = line[stop + 1 : stop + 2]
            if behind in (b"", self._delimiter):
                return b'"'.join(parts), stop + 2
            if behind != b'"':
                raise InvalidArgumentError(
                    f"Quote inside a string has to be escaped by another quote: {line!r:.80}"
                )
            start = stop + 2


def _unquoted(line: bytes) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Unquoted fields cannot have quotes/CRLFs inside: {line!r:.80}; put quotes around the "
        "field, or pass use_quote_delim=False"
    )
