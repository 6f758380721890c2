"""Where a table has its keys and values from: tensors, or the lines of a text file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.error_names import translation
from keepset.tf.files.file_places import place_of
from keepset.tf.tensors.conversion import string_array, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.elements import untensored


class TextFileIndex:
    """What a line of a text file is used for, beside the numbers of its columns."""

    WHOLE_LINE: Final = -2
    LINE_NUMBER: Final = -1


class KeyValueTensorInitializer:
    """Keys and the value of each."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._keys = np.atleast_1d(_array(keys, key_dtype))
        self._values = np.atleast_1d(_array(values, value_dtype))
        self.key_dtype, self.value_dtype = (as_dtype(x.dtype) for x in (self._keys, self._values))

    def items(self) -> tuple[Any, Any]:
        """The keys and the values."""
        if self._keys.shape != self._values.shape:
            raise InvalidArgumentError(
                f"Expected shape {self._keys.shape} for value, got {self._values.shape}; give one "
                "value for each key"
            )
        return self._keys.reshape(-1), self._values.reshape(-1)


def _array(given: Any, dtype: Any) -> Any:
    value = value_of(given, dtype)
    return string_array([value]) if type(value) is bytes else value


class TextFileInitializer:
    """The lines of a file: whole ones, their numbers, or columns between delimiters.

    The file is read once, when a table is made of it.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: Any = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self._filename = os.fsdecode(untensored(filename))
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._key_index, self._value_index = int(key_index), int(value_index)
        self._size = None if vocab_size is None else int(vocab_size)
        self._delimiter, self._offset = delimiter.encode(), int(value_index_offset)
        _check_index("key", self._key_index, self.key_dtype)
        _check_index("value", self._value_index, self.value_dtype)
        if self._size is not None and self._size < 1:
            raise ValueError(f"`vocab_size` must be greater than 0, got {self._size}")

    @translation()
    def items(self) -> tuple[Any, Any]:
        """The keys and the values."""
        lines = list(self._lines())
        key = self._reader(self._key_index, self.key_dtype, 0)
        value = self._reader(self._value_index, self.value_dtype, self._offset)
        keys = [key(place, line) for place, line in enumerate(lines)]
        values = [value(place, line) for place, line in enumerate(lines)]
        return _typed(keys, self.key_dtype), _typed(values, self.value_dtype)

    def _lines(self) -> Iterator[bytes]:
        store, file = place_of(self._filename)
        lines = store.read(file).split(b"\n")
        if not lines[-1]:
            lines.pop()
        if self._size is not None and len(lines) < self._size:
            raise InvalidArgumentError(
                f"Invalid vocab_size in {self._filename}: expected {self._size} but got "
                f"{len(lines)} lines"
            )
        return (line.removesuffix(b"\r") for line in lines[: self._size])

    def _reader(self, index: int, dtype: DType, offset: int) -> Callable[[int, bytes], Any]:
        if index == TextFileIndex.LINE_NUMBER:
            return lambda place, line: place + offset
        if index == TextFileIndex.WHOLE_LINE:
            return lambda place, line: line
        return lambda place, line: self._column(place, line, index, dtype)

    def _column(self, place: int, line: bytes, index: int, dtype: DType) -> Any:
        columns = line.split(self._delimiter)
        if index >= len(columns):
            raise InvalidArgumentError(
                f"Invalid number of columns in {self._filename} line {place} ({line!r:.60}): "
                f"expected at least {index + 1}, got {len(columns)}; check the delimiter"
            )
        if dtype.name == "string":
            return columns[index]
        try:
            return dtype.storage.type(columns[index])
        except (ValueError, OverflowError) as error:
            raise InvalidArgumentError(
                f"{self._filename} line {place}: {columns[index]!r:.60} is no {dtype.name}"
            ) from error


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < -2:
        raise ValueError(f"Invalid {what} index {index}; use a column or a TextFileIndex")
    if index == TextFileIndex.LINE_NUMBER and dtype.name != "int64":
        raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is -1, got {dtype.name}")
    if index == TextFileIndex.WHOLE_LINE and dtype.name != "string":
        raise ValueError(f"`{what}_dtype` must be string if `{what}_index` is -2, got {dtype.name}")


def _typed(items: list[Any], dtype: DType) -> Any:
    return string_array(items) if dtype.name == "string" else np.array(items, dtype.storage)
