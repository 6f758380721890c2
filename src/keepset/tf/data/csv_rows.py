"""The values of a CSV record: its fields, each of the type of its column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.core.dtypes import DType, StringType, as_dtype, string
from keepset.core.spec import TensorSpec
from keepset.errors import ElementError, InvalidArgumentError
from keepset.tf.data.arguments import plain
from keepset.tf.data.csv_records import CsvFormat
from keepset.tf.data.csv_types import Inferred, is_exact
from keepset.tf.tensors.dtype import DType as TensorDType
from keepset.tf.tensors.elements import untensored
from keepset.tf.tensors.tensor import array_of


class RowParser:
    """The function that makes the values of a record."""

    def __init__(
        self,
        written: CsvFormat,
        record_defaults: Sequence[Any],
        na_value: Any = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        self.written, self.na_value = written, text_of(na_value).encode()
        self.fields = [_Field(default) for default in record_defaults]
        if not self.fields:
            raise InvalidArgumentError("record_defaults must name at least one column")
        self.columns = None if select_cols is None else increasing(select_cols)
        if self.columns and len(self.columns) != len(self.fields):
            raise InvalidArgumentError(
                f"select_cols has {len(self.columns)} columns, and record_defaults has "
                f"{len(self.fields)}; pass a default for each of them"
            )

    @property
    def spec(self) -> tuple[TensorSpec, ...]:
        return tuple(TensorSpec((), field.dtype) for field in self.fields)

    def __call__(self, record: Any) -> tuple[Any, ...]:
        text = bytes(record)
        found = self._found(text)
        if self.columns:
            found = [found[place] for place in self.columns if place < len(found)]
        if len(found) != len(self.fields):
            raise ElementError(
                f"a row has {len(found)} fields, and {len(self.fields)} were expected: "
                f"{_shown(text)}"
            )
        pairs = zip(self.fields, found, strict=True)
        return tuple(field.parse(value, self.na_value, text) for field, value in pairs)

    def _found(self, text: bytes) -> list[bytes]:
        return self.written.fields(text)


class _Field:
    """The type of a column, and what stands where nothing is written.

    A type that was found from the first rows must hold whole numbers as they are; one that the
    user gave may round them.
    """

    def __init__(self, default: Any) -> None:
        self.is_inferred = isinstance(default, Inferred)
        given = default.default if isinstance(default, Inferred) else default
        self.dtype, self.default = _dtype_and_default(given)

    def parse(self, found: bytes, na_value: bytes, row: bytes) -> Any:
        if not found or found == na_value:
            if self.default is None:
                raise ElementError(f"a field is required and missing in the row {_shown(row)}")
            return self.default
        if isinstance(self.dtype, StringType):
            return found
        text = found.decode("ascii", "replace")
        try:
            value = self._number(text)
        except (ValueError, OverflowError) as error:
            raise ElementError(
                f"{text!r:.60} is no {self.dtype.name}, in the row {_shown(row)}"
            ) from error
        if self.is_inferred and not is_exact(text, value):
            raise ElementError(
                f"{text!r:.60} is a whole number that {self.dtype.name} would round, in the row "
                f'{_shown(row)}; pass the column\'s type or b"", for text, in column_defaults'
            )
        return value

    def _number(self, text: str) -> Any:
        # Python reads underscores inside of numbers, which TensorFlow does not.
        if "_" in text:
            raise ValueError(text)
        with np.errstate(over="ignore"):
            return self.dtype.type(text)  # type: ignore[union-attr]


def _dtype_and_default(default: Any) -> tuple[DType, Any]:
    """What a default means: the dtype of a field that must be there, or a value for others."""
    if isinstance(default, TensorDType | np.dtype | StringType | type):
        return as_dtype(default), None
    value = untensored(default)
    if isinstance(value, list | tuple) and not len(value):
        return as_dtype("float32"), None
    array = array_of(value)
    kind = string if array.dtype == object else array.dtype
    return kind, array.reshape(-1)[0] if array.size else None


def increasing(columns: Any) -> list[int]:
    places = [int(each) for each in columns]
    if any(place < 0 for place in places) or places != sorted(set(places)):
        raise InvalidArgumentError(
            f"select_cols must be numbers of columns from 0 on, in ascending order, not {places}"
        )
    return places


def text_of(given: Any) -> str:
    found = plain(given)
    return found.decode() if isinstance(found, bytes) else str(found)


def _shown(text: bytes) -> str:
    return f"{text.decode(errors='replace')!r:.80}"
