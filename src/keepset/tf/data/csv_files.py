"""CSV files as TensorFlow reads them: ``CsvDataset`` and ``make_csv_dataset``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from keepset.core.dtypes import string
from keepset.core.spec import TensorSpec
from keepset.dataset import Dataset as KeepsetDataset
from keepset.dataset.named_files import naming
from keepset.errors import InvalidArgumentError, NoFilesError
from keepset.tf.data.arguments import plain
from keepset.tf.data.csv_records import CsvFormat
from keepset.tf.data.csv_rows import RowParser, increasing, text_of
from keepset.tf.data.csv_types import first_rows, inferred_defaults
from keepset.tf.data.dataset import Dataset
from keepset.tf.data.record_files import names_of
from keepset.tf.gfile import glob


class _Records:
    """The function that reads the records of a file."""

    def __init__(self, written: CsvFormat, header: bool) -> None:
        self.written, self.header = written, header

    def __call__(self, name: Any) -> Iterator[bytes]:
        return self.written.records_of(text_of(name), self.header)


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
            text_of(compression_type or ""), text_of(field_delim), bool(use_quote_delim)
        )
        excluded = None if exclude_cols is None else set(increasing(plain(exclude_cols)))
        selected = None if select_cols is None else increasing(plain(select_cols))
        kind = RowParser if excluded is None else _ExcludingParser
        row = kind(written, list(record_defaults), na_value, selected)
        row.excluded = excluded  # type: ignore[attr-defined]
        found = names_of(filenames)
        names = [found] if isinstance(found, str) else list(found)
        files = KeepsetDataset(naming([text_of(each) for each in names]))
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
    written = CsvFormat(
        text_of(compression_type or ""), text_of(field_delim), bool(use_quote_delim)
    )
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
        rows = first_rows(files, written, header, num_rows_for_inference, names)
        defaults = inferred_defaults(rows, text_of(na_value), names, places)
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
    found = {name for each in patterns for name in glob(text_of(os.fspath(each)))}
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
