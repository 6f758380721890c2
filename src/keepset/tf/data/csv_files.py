"""CSV as TensorFlow reads it: ``decode_csv``, ``CsvDataset`` and ``make_csv_dataset``."""

from __future__ import annotations

import csv
import glob
import io
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import DType, StringType, as_dtype, string
from keepset.errors import ElementError, InvalidArgumentError, NoFilesError
from keepset.tf.data.dataset import Dataset, TextLineDataset
from keepset.tf.tensor import Tensor, array_of, tensored, untensored

_INFERRED: Final = ("int32", "int64", "float32")


class _Field:
    """The type of a column, and what stands where nothing is written."""

    def __init__(self, default: Any) -> None:
        self.dtype, self.default = _dtype_and_default(default)

    def parse(self, text: str | None, na_value: str, row: str) -> Any:
        if text is None or text == na_value:
            if self.default is None:
                raise ElementError(f"a field is required and missing in the row {row!r:.80}")
            return self.default
        if isinstance(self.dtype, StringType):
            return text.encode()
        try:
            return self.dtype.type(text)
        except (ValueError, OverflowError) as error:
            raise ElementError(
                f"{text!r} is no {self.dtype.name}, in the row {row!r:.80}"
            ) from error


def _dtype_and_default(default: Any) -> tuple[DType, Any]:
    """What a default means: the dtype of a field that must be there, or a value for others."""
    if isinstance(default, np.dtype | StringType | type):
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
        kinds = _inferred(*looked, len(names))
        defaults = [kinds[place] for place in places]
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
    count: int,
) -> list[Any]:
    """The narrowest type that fits the first values of each column, and a default of it."""
    kinds = [0] * count
    for row in _rows(files, delimiter, quotes, header, most):
        for place, text in enumerate(row[:count]):
            while text != na_value and kinds[place] < len(_INFERRED):
                if _fits(text, _INFERRED[kinds[place]]):
                    break
                kinds[place] += 1
    return [_empty(kind) for kind in kinds]


def _empty(kind: int) -> Any:
    return b"" if kind == len(_INFERRED) else np.dtype(_INFERRED[kind]).type(0)


def _rows(
    files: Sequence[str], delimiter: str, quotes: bool, header: bool, most: int | None
) -> Iterator[list[str]]:
    left = most
    for file in files:
        with open(file, newline="") as lines:
            for number, line in enumerate(lines):
                if number or not header:
                    if left == 0:
                        return
                    left = None if left is None else left - 1
                    yield _split(line.rstrip("\r\n"), delimiter, quotes)


def _fits(text: str, name: str) -> bool:
    try:
        value = np.dtype(name).type(text)
    except (ValueError, OverflowError):
        return False
    return name != "float32" or bool(np.isfinite(value)) or "inf" in text.lower()
