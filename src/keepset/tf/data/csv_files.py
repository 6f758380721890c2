"""CSV as TensorFlow reads it: ``decode_csv``, ``CsvDataset`` and ``make_csv_dataset``."""

from __future__ import annotations

import csv
import glob
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.dtypes import DType, StringType, as_dtype, string
from keepset.core.record import record
from keepset.errors import ElementError, InvalidArgumentError, NoFilesError
from keepset.tf.data.dataset import Dataset
from keepset.tf.data.record_files import TextLineDataset
from keepset.tf.dtype import DType as TensorDType
from keepset.tf.elements import tensored, untensored
from keepset.tf.tensor import Tensor, array_of

_INFERRED: Final = ("int32", "int64", "uint64", "float32", "float64")
_WHOLE: Final = re.compile(r"\s*[+-]?\d+\s*")


class _Field:
    """The type of a column, and what stands where nothing is written.

    A type that was found from the first rows must hold whole numbers as they are; one that the
    user gave may round them.
    """

    def __init__(self, default: Any) -> None:
        self.is_inferred = isinstance(default, _Inferred)
        given = default.default if isinstance(default, _Inferred) else default
        self.dtype, self.default = _dtype_and_default(given)

    def parse(self, text: str | None, na_value: str, row: str) -> Any:
        if text is None or text == na_value:
            if self.default is None:
                raise ElementError(f"a field is required and missing in the row {row!r:.80}")
            return self.default
        if isinstance(self.dtype, StringType):
            return text.encode()
        try:
            value = self.dtype.type(text)
        except (ValueError, OverflowError) as error:
            raise ElementError(
                f"{text!r} is no {self.dtype.name}, in the row {row!r:.80}"
            ) from error
        if self.is_inferred and not _is_exact(text, value):
            raise ElementError(
                f"{text!r:.60} is a whole number that {self.dtype.name} would round, in the row "
                f'{row!r:.80}; pass the column\'s type or b"", for text, in column_defaults'
            )
        return value


@record
class _Inferred:
    """A default of the type that was found from the first rows."""

    default: Any


def _is_exact(text: str, value: Any) -> bool:
    """Whether a number is what is written, if that is a whole number."""
    if value.dtype.kind != "f" or not _WHOLE.fullmatch(text):
        return True
    # Numbers of more than 64 bits are refused, and Python does not read thousands of digits.
    is_short = len(text) < 40 and -(1 << 63) <= int(text) < 1 << 64
    return is_short and bool(np.isfinite(value)) and int(value) == int(text)


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


def _split(line: str, delimiter: str, quotes: bool) -> list[str]:
    lines = io.StringIO(line)
    if quotes:
        return next(csv.reader(lines, delimiter=delimiter), [""])
    return next(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE), [""])


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The fields of one line, or of many: a tensor for each column."""
    given = untensored(records)
    fields = [_Field(default) for default in record_defaults]
    lines = [given] if isinstance(given, bytes | str) else np.asarray(given).ravel().tolist()
    rows = [
        _row(line, fields, field_delim, use_quote_delim, na_value, select_cols) for line in lines
    ]
    if isinstance(given, bytes | str):
        return [tensored(value) for value in rows[0]]
    return [tensored(_column(values)) for values in zip(*rows, strict=True)]


def _column(values: Sequence[Any]) -> Any:
    if isinstance(values[0], bytes):
        array = np.empty(len(values), object)
        array[:] = values
        return array
    return np.array(values)


def _row(
    line: bytes | str,
    fields: Sequence[_Field],
    delimiter: str,
    quotes: bool,
    na_value: str,
    columns: Sequence[int] | None,
) -> list[Any]:
    text = line.decode() if isinstance(line, bytes) else line
    found = _split(text, delimiter, quotes)
    if columns is not None:
        found = [found[place] for place in columns if place < len(found)]
    if len(found) != len(fields):
        raise ElementError(
            f"a row has {len(found)} fields, and {len(fields)} were expected: {text!r:.80}"
        )
    pairs = zip(fields, found, strict=True)
    return [field.parse(value, na_value, text) for field, value in pairs]


class _Rows:
    """The function that makes an element of a line."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def __call__(self, line: Any) -> Any:
        return tuple(decode_csv(line, **self.given))


def CsvDataset(  # noqa: N802
    filenames: Any,
    record_defaults: Sequence[Any],
    compression_type: str | None = None,
    buffer_size: int | None = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    exclude_cols: Sequence[int] | None = None,
) -> Dataset:
    """The rows of CSV files as tuples. A field must not go over several lines."""
    if select_cols is not None and exclude_cols is not None:
        raise InvalidArgumentError("pass select_cols or exclude_cols, not both")
    if exclude_cols is not None:
        count = len(record_defaults) + len(exclude_cols)
        select_cols = [place for place in range(count) if place not in exclude_cols]
    rows = _Rows(
        record_defaults=list(record_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols,
    )
    names = [filenames] if isinstance(filenames, str | bytes) else list(filenames)
    files = Dataset.from_tensor_slices(names)
    skipped = 1 if header else 0
    return files.flat_map(lambda name: TextLineDataset(name, compression_type).skip(skipped)).map(
        rows
    )


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of CSV rows: a dict of columns, and the label apart if it is named.

    As in TensorFlow, rows are shuffled and repeated for ever unless you say otherwise.
    """
    files = _files(file_pattern)
    names = list(column_names) if column_names else _header(files[0], field_delim, use_quote_delim)
    places = _places(select_columns, names)
    defaults: list[Any]
    if column_defaults is not None:
        defaults = list(column_defaults)
    else:
        looked = (files, field_delim, use_quote_delim, na_value, header, num_rows_for_inference)
        defaults = _inferred(*looked, names, places)
    chosen = [names[place] for place in places]
    if label_name is not None and label_name not in chosen:
        raise InvalidArgumentError(f"label_name {label_name!r} is none of {', '.join(chosen)}")
    ds = CsvDataset(
        files,
        defaults,
        compression_type,
        header=header,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=places,
    )
    if ignore_errors:
        ds = ds.ignore_errors()
    if shuffle:
        ds = ds.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        ds = ds.repeat(num_epochs)
    batches = ds.batch(batch_size, drop_remainder=num_epochs is None)
    return batches.map(_Named(tuple(chosen), label_name))


class _Named:
    """The function that names the columns of a batch."""

    def __init__(self, names: tuple[str, ...], label: str | None) -> None:
        self.names, self.label = names, label

    def __call__(self, *columns: Any) -> Any:
        named = dict(zip(self.names, columns, strict=True))
        if self.label is None:
            return named
        label = named.pop(self.label)
        return named, label


def _files(pattern: Any) -> list[str]:
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    found = [name for each in patterns for name in sorted(glob.glob(str(each)))]
    if not found:
        raise NoFilesError(f"no file matches {pattern!r}; check the pattern and the folder")
    return found


def _header(file: str, delimiter: str, quotes: bool) -> list[str]:
    with open(file, newline="") as lines:
        return _split(lines.readline().rstrip("\r\n"), delimiter, quotes)


def _places(wanted: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    try:
        return sorted(names.index(each) if isinstance(each, str) else int(each) for each in wanted)
    except ValueError as error:
        raise InvalidArgumentError(
            f"select_columns has a name that is not there: {error}"
        ) from error


def _inferred(
    files: Sequence[str],
    delimiter: str,
    quotes: bool,
    na_value: str,
    header: bool,
    most: int | None,
    names: Sequence[str],
    places: Sequence[int],
) -> list[Any]:
    """The narrowest type that fits the first values of each column, and a default of it."""
    guesses = [_Guess(name) for name in names]
    for row in _rows(files, delimiter, quotes, header, most):
        for guess, text in zip(guesses, row.fields, strict=False):
            if text != na_value:
                guess.see(text, row)
    return [guesses[place].default() for place in places]


class _Guess:
    """The types that a column may have, after some of its values."""

    def __init__(self, name: str) -> None:
        self._name, self._types = name, list(_INFERRED)
        self._is_number = self._is_whole = True
        self._where = ""

    def see(self, text: str, row: _Row) -> None:
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
        if not self._is_number:
            return b""
        found = self._found()
        if found is not None:
            return _Inferred(np.dtype(found).type(0))
        raise ElementError(
            f"{self._where}, a number that no type has together with those before it, unless it is "
            'rounded; pass b"", for text, or np.float64(0) in column_defaults'
        )


class _Row(NamedTuple):
    file: str
    line: int
    fields: list[str]


def _rows(
    files: Sequence[str], delimiter: str, quotes: bool, header: bool, most: int | None
) -> Iterator[_Row]:
    left = most
    for file in files:
        with open(file, newline="") as lines:
            for number, line in enumerate(lines):
                if number or not header:
                    if left == 0:
                        return
                    left = None if left is None else left - 1
                    fields = _split(line.rstrip("\r\n"), delimiter, quotes)
                    yield _Row(file, number + 1, fields)


def _fits(text: str, name: str, *, is_rounded: bool = False) -> bool:
    """Whether a text is a number of this type; not so if the type would round a whole one."""
    try:
        with np.errstate(over="ignore"):
            value = np.dtype(name).type(text)
    except (ValueError, OverflowError):
        return False
    if not is_rounded and not _is_exact(text, value):
        return False
    return not name.startswith("float") or bool(np.isfinite(value)) or "inf" in text.lower()
