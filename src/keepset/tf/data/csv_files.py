"""CSV as TensorFlow reads it: ``decode_csv``, ``CsvDataset`` and ``make_csv_dataset``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.dtypes import DType, StringType, as_dtype, string
from keepset.core.record import record
from keepset.core.spec import TensorSpec
from keepset.dataset import Dataset as KeepsetDataset
from keepset.dataset.named_files import naming
from keepset.errors import DtypeError, ElementError, InvalidArgumentError, NoFilesError
from keepset.tf.data.arguments import plain
from keepset.tf.data.csv_records import CsvFormat
from keepset.tf.data.dataset import Dataset
from keepset.tf.data.record_files import names_of
from keepset.tf.error_names import translation
from keepset.tf.gfile import glob
from keepset.tf.tensors.conversion import string_array, value_of
from keepset.tf.tensors.dtype import DType as TensorDType
from keepset.tf.tensors.elements import tensored, untensored
from keepset.tf.tensors.tensor import Tensor, array_of

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
        if self.is_inferred and not _is_exact(text, value):
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


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The fields of one record, or of many: a tensor of the shape of ``records`` for each column.

    A default of ``[]`` or a dtype is of a column that must be there; the dtype of the others is
    that of their defaults.
    """
    given = value_of(records)
    if not isinstance(given, bytes) and given.dtype != object and given.size:
        raise DtypeError(f"records must be text, not {records!r:.60}")
    made = CsvFormat("", _text(field_delim), bool(use_quote_delim))
    row = RowParser(made, record_defaults, na_value, select_cols, is_line=True)
    with translation():
        if isinstance(given, bytes):
            return [tensored(value) for value in row(given)]
        rows = [row(line) for line in given.ravel().tolist()]
    columns = zip(*rows, strict=True) if rows else [[] for _ in row.fields]
    pairs = zip(columns, row.fields, strict=True)
    return [tensored(_column(values, field, given.shape)) for values, field in pairs]


def _column(values: Sequence[Any], field: _Field, shape: tuple[int, ...]) -> Any:
    if isinstance(field.dtype, StringType):
        return string_array(list(values), shape)
    return np.array(values, field.dtype).reshape(shape)


class RowParser:
    """The function that makes the values of a record."""

    def __init__(
        self,
        written: CsvFormat,
        record_defaults: Sequence[Any],
        na_value: Any = "",
        select_cols: Sequence[int] | None = None,
        is_line: bool = False,
    ) -> None:
        self.written, self.na_value = written, _text(na_value).encode()
        self.fields = [_Field(default) for default in record_defaults]
        if not self.fields:
            raise InvalidArgumentError("record_defaults must name at least one column")
        self.columns = None if select_cols is None else _increasing(select_cols)
        if self.columns and len(self.columns) != len(self.fields):
            raise InvalidArgumentError(
                f"select_cols has {len(self.columns)} columns, and record_defaults has "
                f"{len(self.fields)}; pass a default for each of them"
            )
        self.is_line = is_line

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
        if self.is_line:
            if not text:
                return []
            if self.written.quotes and b'"' not in text and (b"\n" in text or b"\r" in text):
                raise ElementError(f"a field without quotes has a line end inside: {_shown(text)}")
        return self.written.fields(text)


def _increasing(columns: Any) -> list[int]:
    places = [int(each) for each in columns]
    if any(place < 0 for place in places) or places != sorted(set(places)):
        raise InvalidArgumentError(
            f"select_cols must be numbers of columns from 0 on, in ascending order, not {places}"
        )
    return places


class _Records:
    """The function that reads the records of a file."""

    def __init__(self, written: CsvFormat, header: bool) -> None:
        self.written, self.header = written, header

    def __call__(self, name: Any) -> Iterator[bytes]:
        return self.written.records_of(_text(name), self.header)


class _ReadEach:
    """The function that makes a dataset of the records of a file."""

    def __init__(self, records: _Records) -> None:
        self.records = records

    def __call__(self, name: Any) -> Dataset:
        made: Dataset = KeepsetDataset.from_generator.__func__(  # type: ignore[attr-defined]
            Dataset, self.records, args=(name,), output_signature=TensorSpec((), string)
        )
        return made


class CsvDataset(Dataset):
    """The rows of CSV files as tuples.

    Example:
        >>> import keepset.tf as tf
        >>> with tf.io.gfile.GFile("memory://csv/some.csv", "w") as file:
        ...     _ = file.write("a,b\\n1,x\\n2,y\\n")
        >>> rows = tf.data.experimental.CsvDataset(
        ...     "memory://csv/some.csv", [tf.int32, tf.string], header=True
        ... )
        >>> list(rows.as_numpy_iterator())
        [(np.int32(1), b'x'), (np.int32(2), b'y')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: Any = ",",
        use_quote_delim: Any = True,
        na_value: Any = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise InvalidArgumentError("pass select_cols or exclude_cols, not both")
        written = CsvFormat(
            _text(compression_type or ""), _text(field_delim), bool(use_quote_delim)
        )
        excluded = None if exclude_cols is None else set(_increasing(plain(exclude_cols)))
        selected = None if select_cols is None else _increasing(plain(select_cols))
        kind = RowParser if excluded is None else _ExcludingParser
        row = kind(written, list(record_defaults), na_value, selected)
        row.excluded = excluded  # type: ignore[attr-defined]
        found = names_of(filenames)
        names = [found] if isinstance(found, str) else list(found)
        files = KeepsetDataset(naming([_text(each) for each in names]))
        records = files.flat_map(_ReadEach(_Records(written, bool(header))))
        super().__init__(records.map(row, output_signature=row.spec))


class _ExcludingParser(RowParser):
    """A parser of all columns but some."""

    excluded: set[int]

    def _found(self, text: bytes) -> list[bytes]:
        found = super()._found(text)
        return [field for place, field in enumerate(found) if place not in self.excluded]


def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: Any = ",",
    use_quote_delim: Any = True,
    na_value: Any = "",
    header: Any = True,
    num_epochs: Any = None,
    shuffle: Any = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: Any = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: Any = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of CSV rows: a dict of columns, and the label apart if it is named.

    As in TensorFlow, rows are shuffled and repeated for ever unless you say otherwise.
    """
    written = CsvFormat(_text(compression_type or ""), _text(field_delim), bool(use_quote_delim))
    files, header = _files(file_pattern), bool(header)
    names = _names(files, written, column_names, header, encoding)
    places = _places(select_columns, names)
    defaults: list[Any]
    if column_defaults is not None:
        defaults = list(column_defaults)
        if len(defaults) != len(places):
            raise InvalidArgumentError(
                f"column_defaults has {len(defaults)} defaults, and there are {len(places)} "
                f"columns ({', '.join(names[place] for place in places)}); pass one for each"
            )
    else:
        rows = _rows(files, written, header, num_rows_for_inference, names)
        defaults = _inferred(rows, _text(na_value), names, places)
    chosen = [names[place] for place in places]
    if label_name is not None and label_name not in chosen:
        raise InvalidArgumentError(f"label_name {label_name!r} is none of {', '.join(chosen)}")
    ds: Dataset = CsvDataset(
        files,
        defaults,
        compression_type,
        header=header,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=None if select_columns is None else places,
    )
    if ignore_errors:
        ds = ds.ignore_errors()
    if shuffle:
        ds = ds.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        ds = ds.repeat(num_epochs)
    batches = ds.batch(batch_size, drop_remainder=num_epochs is None)
    named = _Named(tuple(chosen), label_name)
    made: Dataset = batches.map(named, output_signature=named(*batches._node.spec()))
    return made if prefetch_buffer_size is None else made.prefetch(prefetch_buffer_size)


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
    given = plain(pattern)
    patterns = [given] if isinstance(given, str | bytes) or hasattr(given, "__fspath__") else given
    found = {name for each in patterns for name in glob(_text(os.fspath(each)))}
    if not found:
        raise NoFilesError(f"no file matches {given!r}; check the pattern and the folder")
    return sorted(found)


def _names(
    files: Sequence[str],
    written: CsvFormat,
    given: Sequence[str] | None,
    header: bool,
    encoding: str,
) -> list[str]:
    """The names of the columns: those that are given, or those of all headers."""
    if given is not None:
        names = list(given)
    elif not header:
        raise InvalidArgumentError("there are no names: pass column_names, or header=True")
    else:
        names = _header(files[0], written, encoding)
        for file in files[1:]:
            if (other := _header(file, written, encoding)) != names:
                raise InvalidArgumentError(
                    f"{file} has the columns {', '.join(other)}, and {files[0]} has "
                    f"{', '.join(names)}; read them apart, or pass column_names"
                )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(
            f"the column {', '.join(twice)} is there twice, and one would hide the other; pass "
            "column_names that are all different"
        )
    return names


def _header(file: str, written: CsvFormat, encoding: str) -> list[str]:
    for found in written.records_of(file, False):
        return [field.decode(encoding) for field in written.fields(found)]
    raise InvalidArgumentError(f"{file} has no header; it is empty")


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
    rows: Iterable[_Row], na_value: str, names: Sequence[str], places: Sequence[int]
) -> list[Any]:
    """The narrowest type that fits the first values of each column, and a default of it."""
    guesses = [_Guess(name) for name in names]
    for row in rows:
        for guess, text in zip(guesses, row.fields, strict=True):
            if text != na_value:
                guess.see(text, row)
    return [guesses[place].default() for place in places]


class _Guess:
    """The types that a column may have, after some of its values."""

    def __init__(self, name: str) -> None:
        self._name, self._types = name, list(_INFERRED)
        self._is_number = self._is_whole = True
        self._where = ""
        self._is_empty = True

    def see(self, text: str, row: _Row) -> None:
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
    files: Sequence[str],
    written: CsvFormat,
    header: bool,
    most: int | None,
    names: Sequence[str],
) -> Iterator[_Row]:
    every = (
        (file, number, found)
        for file in files
        for number, found in enumerate(written.records_of(file, header), 1 + header)
    )
    for file, number, found in islice(every, most):
        try:
            fields = written.fields(found)
        except ElementError:
            continue  # whoever takes the row finds out
        if len(fields) != len(names):
            raise InvalidArgumentError(
                f"{file}: line {number} has {len(fields)} fields, and there are {len(names)} "
                "columns; mend the file, or pass column_defaults and ignore_errors=True"
            )
        yield _Row(file, number, [field.decode(errors="replace") for field in fields])


def _fits(text: str, name: str, *, is_rounded: bool = False) -> bool:
    """Whether a text is a number of this type; not so if the type would round a whole one."""
    try:
        with np.errstate(over="ignore"):
            value = np.dtype(name).type(text)
    except (ValueError, OverflowError):
        return False
    if not is_rounded and not _is_exact(text, value):
        return False
    return not name.startswith("float") or bool(np.isfinite(value))


def _text(given: Any) -> str:
    found = plain(given)
    return found.decode() if isinstance(found, bytes) else str(found)


def _shown(text: bytes) -> str:
    return f"{text.decode(errors='replace')!r:.80}"
