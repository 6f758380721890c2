"""Files of tables, as data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keepset.core.dtypes import as_dtype, dtype_name
from keepset.dataset import Dataset
from keepset.dataset.named_files import Files, chosen, named_files
from keepset.exchange.arrow.file import ReadArrow
from keepset.exchange.tables.csv import ReadCsv
from keepset.exchange.tables.json_lines import ReadJsonLines
from keepset.exchange.tables.parquet import ReadParquet
from keepset.exchange.text.codec_names import check_utf8, encoding_name


def read_parquet(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    **options: Any,
) -> Dataset:
    """The rows of Parquet files, as dicts.

    Structs become nested dicts, lists arrays of different lengths, text ``bytes``. What
    ``write_parquet`` wrote comes back as it was. The number of rows is known, and elements can be
    had by position: a group of rows is decoded for that, and a few of those used last are kept.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.parquet"``, a list of them, or
            a Dataset of names. Urls of object stores are files too.
        columns: The columns to read; all by default. The others are not read from the disk.
        missing: What stands for missing values, by column: ``{"age": -1}``; ``{"tags": []}`` for
            lists and ``{"tags[]": 0}`` for what is in them. Without it missing floats are NaN and
            missing times NaT, and anything else that is missing is an error.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.
        encoding: ``"utf-8"`` for columns of text that are ``str``; those of bytes stay ``bytes``.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> path = tempfile.mkdtemp() + "/some.parquet"
        >>> pq.write_table(pa.table({"name": ["ada", "bob"], "age": [36, None]}), path)
        >>> read_parquet(path, missing={"age": -1})[1]
        {'name': b'bob', 'age': np.int64(-1)}
    """
    check_utf8("read_parquet", encoding)
    return Dataset(
        ReadParquet(
            parent=named_files(files, options),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=dtype_names(types),
            encoding=encoding_name(encoding),
            store_options=options or None,
        )
    )


def read_arrow(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    **options: Any,
) -> Dataset:
    """The rows of Arrow IPC files and streams, which Feather files are too, as dicts.

    Numbers are used where they lie on the disk. Elements can be had by position, but for streams
    that are compressed or not on a disk. The files below ``segments/`` of what ``save`` and
    ``snapshot`` keep can be read too.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.arrow"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
        columns: The columns to read; all by default.
        missing: What stands for missing values, by column; see ``read_parquet``.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.
        encoding: ``"utf-8"`` for columns of text that are ``str``; those of bytes stay ``bytes``.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.feather
        >>> path = tempfile.mkdtemp() + "/some.feather"
        >>> pa.feather.write_feather(pa.table({"x": [1, 2], "tags": [["a"], []]}), path)
        >>> read_arrow(path)[0]
        {'x': np.int64(1), 'tags': array([b'a'], dtype=object)}
    """
    check_utf8("read_arrow", encoding)
    return Dataset(
        ReadArrow(
            parent=named_files(files, options),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=dtype_names(types),
            encoding=encoding_name(encoding),
            store_options=options or None,
        )
    )


def read_csv(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    header: bool | Sequence[str] = True,
    delimiter: str | None = None,
    quote: str | None = '"',
    missing: Mapping[str, Any] | None = None,
    null_values: Sequence[str] = ("",),
    on_bad_row: str = "error",
    encoding: str | None = None,
    **options: Any,
) -> Dataset:
    """The rows of CSV and TSV files, as dicts.

    Types are found from the first megabyte of the first file that has rows: whole numbers, floats,
    bools, dates, times, and otherwise text, which is ``bytes``. They are the types of all rows of
    all files. Fields in quotes may hold delimiters and newlines. Files that are compressed with
    gzip are unpacked.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.csv"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
        columns: The columns to read; all by default.
        types: Dtypes of columns that are not to be found: ``{"zip": "string", "x": "float32"}``.
        header: Whether the first line has the names of the columns; or these names, for files
            without such a line. Without names, columns are called ``0``, ``1`` and so on.
        delimiter: What separates columns; a tab for names that end with ``.tsv``, otherwise a
            comma.
        quote: What stands around fields that hold delimiters; None if nothing does.
        missing: What stands for missing values, by column: ``{"age": -1}``. Without it missing
            floats are NaN, missing times NaT, and missing text is what the file says, ``b""`` as a
            rule; any other missing value is a bad row.
        null_values: What is written where a value is missing.
        on_bad_row: What to do about rows that do not fit: ``"error"`` names the file, the line and
            the column; ``"skip"`` leaves them out and warns of their number at the end of the file;
            ``"warn"`` warns of each as well.
        encoding: That of the files, ``"utf-8"``, ``"latin-1"`` or whatever else Python knows, for
            text that is ``str``. Without it files are in UTF-8, and text is ``bytes``.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.csv"
        >>> _ = path.write_text("name,age\\nada,36\\nbob,\\n")
        >>> list(read_csv(path, missing={"age": -1}))
        [{'name': b'ada', 'age': np.int64(36)}, {'name': b'bob', 'age': np.int64(-1)}]
    """
    nulls = (null_values,) if isinstance(null_values, str) else tuple(null_values)
    return Dataset(
        ReadCsv(
            parent=named_files(files, options),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=dtype_names(types),
            header=header if isinstance(header, bool) else tuple(header),
            delimiter=delimiter,
            quote=quote,
            null_values=nulls,
            on_bad_row=on_bad_row,
            encoding=encoding_name(encoding),
            store_options=options or None,
        )
    )


def read_json_lines(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    missing: Mapping[str, Any] | None = None,
    on_bad_row: str = "error",
    encoding: str | None = None,
    **options: Any,
) -> Dataset:
    """The objects of files that have one in each line.

    Objects become dicts, nested as they are, and lists arrays of different lengths; a list of
    objects becomes a dict of lists. Types are found from the first megabyte of the first file that
    has rows, and are those of all rows of all files. Files that are compressed with gzip are
    unpacked.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.jsonl"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
        columns: The keys to read; all by default.
        types: Dtypes of values that are not to be found: ``{"price": "float32"}``,
            ``{"place.height": "float64"}``; also of keys that the first rows do not have.
        missing: What stands for values that are null or not there: ``{"age": -1}``;
            ``{"tags": []}`` for lists and ``{"tags[]": 0}`` for what is in them. Without it missing
            floats are NaN and missing times NaT, and anything else that is missing is a bad row.
        on_bad_row: What to do about lines that do not fit: ``"error"`` names the file, the line and
            the key; ``"skip"`` leaves them out and warns of their number at the end of the file;
            ``"warn"`` warns of each as well.
        encoding: That of the files, ``"utf-8"``, ``"latin-1"`` or whatever else Python knows, for
            text that is ``str``. Without it files are in UTF-8, and text is ``bytes``.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.jsonl"
        >>> _ = path.write_text('{"name": "ada", "x": [1, 2]}\\n{"name": "bob", "x": []}\\n')
        >>> next(iter(read_json_lines(path)))
        {'name': b'ada', 'x': array([1, 2])}
    """
    return Dataset(
        ReadJsonLines(
            parent=named_files(files, options),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=dtype_names(types),
            on_bad_row=on_bad_row,
            encoding=encoding_name(encoding),
            store_options=options or None,
        )
    )


def dtype_names(types: Mapping[str, Any] | None) -> dict[str, str] | None:
    """The dtypes of columns by their names, in which form a stage keeps them."""
    if not types:
        return None
    return {name: dtype_name(as_dtype(dtype)) for name, dtype in types.items()}
