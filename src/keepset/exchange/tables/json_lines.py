"""JSON lines: an object in each line, whose types are found from the first ones and then fixed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from keepset.core.cached import cached_property
from keepset.core.dtypes import as_dtype
from keepset.core.node import stage
from keepset.exchange.arrow.leaves import is_list, is_text
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.values import arrow_type
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.tables.bad_rows import check_policy
from keepset.exchange.tables.csv_records import Record
from keepset.exchange.tables.json_depth import MOST_LEVELS, has_open_line, is_too_deep
from keepset.exchange.tables.json_misfits import misfit, mixed_types, strange_key, unreadable
from keepset.exchange.tables.text_blocks import (
    PART_BYTES,
    SAMPLE_BYTES,
    Block,
    blocks_of,
    has_blank_lines,
    line_ends,
)
from keepset.exchange.tables.text_table import TextTable
from keepset.exchange.tables.whole_numbers import (
    LARGE_DIGITS,
    is_exact,
    may_be_rounded,
    number_of,
    rounded,
    type_of,
)
from keepset.exchange.text.codec_names import codec_named

_BLANK: Final = b" \t\r"
# What a line with a number has that float64 may round.
_LARGE: Final = re.compile(rb"[0-9]{%d}" % LARGE_DIGITS)
# A line that begins with anything but an object. Arrow makes a row of a null, and crashes if it is
# the first one that it sees; it takes a return for the end of a line, too.
_NO_OBJECT: Final = re.compile(rb"(?:\xef\xbb\xbf)?+[ \t\r]*+[^{ \t\r\n]")
_NO_OBJECT_LATER: Final = re.compile(rb"\n" + _NO_OBJECT.pattern)
_NULL_AFTER_RETURN: Final = re.compile(rb"\r[ \t]*+n")
# Threads take longer to be told than a small block takes to be parsed.
_PARALLEL_BYTES: Final = 128 << 10
# Of lines that do not go with the others, while types are found.
_MOST_DROPPED: Final = 20


@stage
class ReadJsonLines(FileRows):
    """The objects of each file. All have the keys and the types of the first ones."""

    missing: Any = None
    types: Any = None
    on_bad_row: str = "error"
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_policy(self.on_bad_row)
        if self.encoding is not None:
            codec_named(self.encoding)

    def open_file(self, place: Place) -> RowFile:
        first = self._first_schema
        schema = _found_schema(self, place) if first is None else first
        return _JsonRows(self, place, schema)

    @cached_property
    def _first_schema(self) -> pa.Schema | None:
        """That of the first file that has rows, if the files are known before anything runs."""
        found = (_found_schema(self, self.place_of(name)) for name in self._names or [])
        return next((schema for schema in found if schema is not None), None)


class _JsonRows(TextTable):
    def __init__(self, node: ReadJsonLines, place: Place, schema: pa.Schema | None) -> None:
        rows = None
        if schema is not None:
            rows = ArrowRows(
                schema,
                columns=node.columns,
                missing=node.missing,
                types=node.types,
                where=place.name,
                is_str=None if node.encoding is None else is_text,
            )
            schema = pa.schema([schema.field(name) for name in rows.names])
        super().__init__(place, rows, node.on_bad_row)
        self._schema = schema
        self._rounded = _given_floats(node.types or {})
        self._encoding = node.encoding
        # Whoever chooses keys does not want to hear of others.
        self._others = "error" if node.columns is None else "ignore"

    def blocks(self) -> Iterator[Block]:
        return blocks_of(self.place, _end_of_last, self._encoding)

    def records(self, data: bytes) -> list[Record]:
        return _lines(data)

    def parse(self, data: bytes) -> pa.Table:
        table = _table(data, self._schema, self._others)
        if any(may_be_rounded(leaf) for _, leaf in self._exact_leaves(table)):
            for start, stop, _ in _lines(data):
                if _LARGE.search(data, start, stop):
                    self._check_whole(data[start:stop])
        return table

    def _exact_leaves(self, table: pa.Table) -> Iterator[tuple[str, Any]]:
        """The columns of floats in which whole numbers are not to be rounded."""
        leaves = _leaves_of(zip(table.column_names, table.columns, strict=True))
        return ((name, leaf) for name, leaf in leaves if name not in self._rounded)

    def _check_whole(self, record: bytes) -> None:
        found = _object(record)
        if isinstance(found, dict) and self._rounded_number(found) is not None:
            raise pa.ArrowInvalid("there is a whole number that float64 may round")

    def _rounded_number(self, found: dict[str, Any]) -> tuple[str, int] | None:
        """The first whole number that float64 may round, and its name."""
        for field in self._schema or ():
            for name, number in _whole_among_floats(field.type, found.get(field.name), field.name):
                if name not in self._rounded and not is_exact(number):
                    return name, number
        return None

    def has_a_row_for_each(self, table: pa.Table, data: bytes) -> bool:
        rows: int = table.num_rows
        lines = line_ends(data) + (not data.endswith(b"\n"))
        return (rows == lines and not has_blank_lines(data)) or rows == len(_lines(data))

    def complaint(self, record: bytes) -> str:
        if is_too_deep(record):
            return (
                f"its lists and objects are nested more than {MOST_LEVELS} levels deep: "
                f"{record!r:.80}; write it with fewer"
            )
        what = unreadable(record)
        if what is not None:
            return f"{what}; correct it"
        found = _object(record)
        if isinstance(found, str):
            return found
        field = _first_unfit(list(self._schema or ()), record)
        if field is not None:
            return misfit(field, found.get(field.name))
        large = self._rounded_number(found)
        if large is not None:
            return (
                f"{rounded(*large)}; read it as float64 all the same, with "
                f"types={{{large[0]!r}: 'float64'}}, or write it as a text"
            )
        is_strict = self._schema is not None and self._others == "error"
        strange = strange_key(found, self._schema) if is_strict else None
        if strange is not None:
            return (
                f"there is a key {strange!r}, which none of the first rows has; say what type it "
                f"has, with types={{{strange!r}: 'float64'}}, or choose keys with columns="
            )
        mixed = mixed_types(found)
        if mixed is not None:
            return f"{mixed}: {record!r:.80}; bring them to one type"
        return f"{record!r:.80} cannot be read; correct it"


def _found_schema(node: ReadJsonLines, place: Place) -> pa.Schema | None:
    """The types of the first rows of a file, as they are parsed; None if there are no rows."""
    for block in blocks_of(place, _end_of_last, node.encoding):
        text = block.data.lstrip(_BLANK + b"\n")
        is_long = len(text) > SAMPLE_BYTES
        sample = text[: _end_of_last(text[:SAMPLE_BYTES]) or None] if is_long else text
        lines = [sample[start:stop] for start, stop, _ in _lines(sample)]
        found = _inferred([line for line in lines if not _lacks_object(line)])
        if found is not None:
            table, lines = found
            return _typed(_with_whole_numbers(table, lines), node.types or {})
    return None


def _with_whole_numbers(table: pa.Table, lines: list[bytes]) -> pa.Schema:
    """The schema of rows, in which columns of nothing but whole numbers are of a type that is so.

    Arrow takes them for float64 as soon as one does not fit an int64.
    """
    leaves = _leaves_of(zip(table.column_names, table.columns, strict=True))
    large = {name for name, leaf in leaves if may_be_rounded(leaf)}
    if not large:
        return table.schema
    bounds: dict[str, tuple[int, int] | None] = {}  # None if there are others, too
    for line in lines:
        found = _object(line)
        for field in table.schema:
            value = found.get(field.name) if isinstance(found, dict) else None
            for name, number in _numbers(field.type, value, field.name):
                low, high = bounds.get(name, (0, 0)) or (0, 0)
                if isinstance(number, float) or bounds.get(name, (0, 0)) is None:
                    bounds[name] = None
                else:
                    bounds[name] = min(low, number), max(high, number)
    types = {name: type_of(*each) for name in large if (each := bounds.get(name)) is not None}
    return pa.schema(_replaced_types(table.schema, "", types))


def _replaced_types(
    fields: Iterable[pa.Field], path: str, types: Mapping[str, pa.DataType]
) -> list[tuple[str, pa.DataType]]:
    def replaced(type: pa.DataType, name: str) -> pa.DataType:
        if pa.types.is_struct(type):
            return pa.struct(_replaced_types(type, f"{name}.", types))
        if is_list(type):
            return pa.list_(replaced(type.value_type, name))
        return types.get(name, type)

    return [(field.name, replaced(field.type, path + field.name)) for field in fields]


def _leaves_of(columns: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The columns of floats, also those within lists and objects, by their names."""
    for name, column in columns:
        while is_list(column.type):
            column = pc.list_flatten(column)
        if pa.types.is_struct(column.type):
            inner = (
                (f"{name}.{field.name}", pc.struct_field(column, [i]))
                for i, field in enumerate(column.type)
            )
            yield from _leaves_of(inner)
        elif pa.types.is_float64(column.type):
            yield name, column


def _numbers(type: pa.DataType, value: Any, name: str) -> Iterator[tuple[str, int | float]]:
    """The numbers in a value that are read as float64, with the names of their columns."""
    if isinstance(value, list) and is_list(type):
        for item in value:
            yield from _numbers(type.value_type, item, name)
    elif isinstance(value, dict) and pa.types.is_struct(type):
        for field in type:
            yield from _numbers(field.type, value.get(field.name), f"{name}.{field.name}")
    elif isinstance(value, int | float) and pa.types.is_float64(type):
        yield name, value


def _whole_among_floats(type: pa.DataType, value: Any, name: str) -> Iterator[tuple[str, int]]:
    for inner, number in _numbers(type, value, name):
        if isinstance(number, int):
            yield inner, number


def _given_floats(types: Mapping[str, str]) -> set[str]:
    """The columns that are floats because the user said so, which may be rounded."""
    dtypes = {name: arrow_type(as_dtype(dtype)) for name, dtype in types.items()}
    return {name for name, type in dtypes.items() if pa.types.is_floating(type)}


def _inferred(lines: list[bytes]) -> tuple[pa.Table, list[bytes]] | None:
    """Those lines that agree with each other, as a table; the others are complained of later."""
    found: tuple[pa.Table, list[bytes]] | None = None
    for _ in range(_MOST_DROPPED):
        if not lines:
            return found
        try:
            return _table(b"\n".join(lines), None, "infer"), lines
        except pa.ArrowInvalid:
            first = _first_odd(lines)
        if first:
            found = _table(b"\n".join(lines[:first]), None, "infer"), lines[:first]
        lines = lines[:first] + lines[first + 1 :]
    return found


def _first_odd(lines: list[bytes]) -> int:
    """The number of the first line that does not go with those before it."""
    return _first_failing(len(lines), lambda end: _table(b"\n".join(lines[:end]), None, "infer"))


def _first_unfit(fields: list[pa.Field], record: bytes) -> pa.Field | None:
    """The first field whose value in a record is of another type."""

    def parse(end: int) -> pa.Table:
        return _table(record, pa.schema(fields[:end]), "ignore")

    if not fields or not _fails(parse, len(fields)):
        return None
    return fields[_first_failing(len(fields), parse)]


def _first_failing(count: int, parse: Callable[[int], pa.Table]) -> int:
    """Which item is the first that cannot be parsed together with those before it.

    ``parse`` gets how many items to parse, and fails for all of them.
    """
    sound, odd = 0, count
    while odd - sound > 1:
        middle = (sound + odd) // 2
        if _fails(parse, middle):
            odd = middle
        else:
            sound = middle
    return sound


def _fails(parse: Callable[[int], pa.Table], end: int) -> bool:
    try:
        parse(end)
    except pa.ArrowInvalid:
        return True
    return False


def _table(data: bytes, schema: pa.Schema | None, others: str) -> pa.Table:
    try:
        data.decode()  # Arrow does not look, not even at keys
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(str(error)) from error
    if _lacks_object(data):
        raise pa.ArrowInvalid("there is a line that holds no object")
    if has_open_line(data):
        raise pa.ArrowInvalid("there is a line whose object does not end in it")
    if is_too_deep(data):
        raise pa.ArrowInvalid(f"there is a line with more than {MOST_LEVELS} levels")
    options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)
    is_large = schema is not None and len(data) >= _PARALLEL_BYTES
    if is_large:
        # Parts of it are parsed side by side; a line that is longer than a part is an error.
        with suppress(pa.ArrowInvalid):
            parts = pa_json.ReadOptions(block_size=PART_BYTES)
            return pa_json.read_json(pa.BufferReader(data), parts, options)
    whole = pa_json.ReadOptions(block_size=len(data) + 1, use_threads=is_large)
    return pa_json.read_json(pa.BufferReader(data), whole, options)


def _lacks_object(data: bytes) -> bool:
    """Whether a line that is not blank begins with anything but an object."""
    return bool(
        _NO_OBJECT.match(data)
        or _NO_OBJECT_LATER.search(data)
        or (b"\r" in data and _NULL_AFTER_RETURN.search(data))
    )


def _end_of_last(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def _lines(data: bytes) -> list[Record]:
    """All lines but those that are blank."""
    records, start = [], 0
    for line in data.split(b"\n"):
        if line.strip(_BLANK):
            records.append(Record(start, start + len(line)))
        start += len(line) + 1
    return records


def _typed(schema: pa.Schema, types: Mapping[str, str]) -> pa.Schema:
    """The schema as rows are parsed whose values then become these dtypes."""
    return pa.schema(_typed_fields(schema, "", types))


def _typed_fields(
    fields: Iterable[pa.Field], path: str, types: Mapping[str, str]
) -> list[tuple[str, pa.DataType]]:
    known = [(field.name, _typed_type(field.type, path + field.name, types)) for field in fields]
    # A key that the first rows do not have may be named as well.
    names = {name for name, _ in known}
    here = [name.removeprefix(path) for name in types if name.startswith(path)]
    more = [name for name in here if "." not in name and name not in names]
    return [*known, *((name, _json_type(pa.null(), types[path + name])) for name in more)]


def _typed_type(type: pa.DataType, name: str, types: Mapping[str, str]) -> pa.DataType:
    if pa.types.is_struct(type):
        return pa.struct(_typed_fields(type, f"{name}.", types))
    if is_list(type):
        return pa.list_(_typed_type(type.value_type, name, types))
    if name in types:
        return _json_type(type, types[name])
    # Arrow makes times of texts if all that it sees look so; the next one may not.
    return pa.string() if pa.types.is_temporal(type) else type


def _json_type(found: pa.DataType, dtype: str) -> pa.DataType:
    """The type as which values are parsed that look like ``found`` and are to have a dtype.

    Arrow makes numbers of numbers and texts of texts; the rest is a cast.
    """
    wanted = arrow_type(as_dtype(dtype))
    is_number = pa.types.is_integer(wanted) or pa.types.is_floating(wanted)
    if pa.types.is_integer(found) or pa.types.is_floating(found):
        return wanted if is_number else found
    if pa.types.is_boolean(found):
        return found
    if pa.types.is_null(found) and (is_number or pa.types.is_boolean(wanted)):
        return wanted
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return wanted
    return pa.string()


def _object(record: bytes) -> dict[str, Any] | str:
    """The object in a line, or what is wrong with the line."""
    try:
        found = json.loads(record, object_pairs_hook=_unique, parse_int=_whole)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.doc[: error.pos].rstrip().endswith("}"):
            rest = error.doc[error.pos :].strip()
            if "{" not in rest:
                return f"{rest!r:.60} stands behind the object: {record!r:.80}; remove it"
            return f"there is more than one object: {record!r:.80}; put each in a line of its own"
        return f"it is no JSON ({error}): {record!r:.80}; correct it"
    except ValueError as error:
        return f"it is no JSON ({error}): {record!r:.80}; correct it"
    except RecursionError:
        return f"its lists are nested too deeply: {record!r:.80}; correct it"
    if not isinstance(found, dict):
        return f"it holds no object, but {type(found).__name__}: {record!r:.80}; correct it"
    return found


def _whole(digits: str) -> int:
    return number_of(digits.encode())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} is there twice")
    return found
