"""Tables: data frames and Arrow columns, by what they hold and not by how it lies in memory.

A frame that was built column by column equals one that was built at once, and a slice of a table
equals a copy of that slice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import xxhash

from keepset.core.fingerprint.moment import content_once
from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.sketch import Part, Sketch, part, shortened

# Rows that are brought into one form at a time.
_BLOCK_ROWS = 1 << 16
# Rows at each end by which most changes are noticed.
_SAMPLED = 512


def table_sketch(value: Any) -> Sketch | None:
    """The sketch of what belongs to pandas, pyarrow or polars and holds data; None otherwise."""
    for package, rule in _RULES.items():
        if package in sys.modules and any(
            library_of(base) == package for base in type(value).__mro__
        ):
            return rule(value, sys.modules[package])
    return None


def _table(value: Any, text: str, parts: list[Part], own: bytes = b"") -> Sketch:
    kind = type(value)
    library = library_of(kind) if is_library_class(kind) else ""
    parts = [Part(f"class {kind.__name__}", kind, b"class"), *parts]
    if not is_library_class(kind):
        known = {"_attrs", "_flags", "_item_cache", "_mgr", "_name", "_cache", "_df", "_s"}
        attributes = {k: v for k, v in getattr(value, "__dict__", {}).items() if k not in known}
        parts += [part(f"attribute {name}", item) for name, item in sorted(attributes.items())]
    return Sketch("table", text, own, parts, library=library)


def _pandas(value: Any, pandas: Any) -> Sketch | None:
    if isinstance(value, pandas.DataFrame):
        columns = [
            Part(f"column {name}", value.iloc[:, i].array, f"column {i}".encode())
            for i, name in enumerate(value.columns)
        ]
        axes = [part("columns", value.columns), part("index", value.index)]
        text = f"{type(value).__name__} of shape {value.shape}"
        return _table(value, text, [*axes, *columns, *_pandas_extras(value)])
    if isinstance(value, pandas.Series):
        parts = [part("name", value.name), part("index", value.index), part("values", value.array)]
        text = f"{value.dtype} {type(value).__name__} of {len(value):,}"
        return _table(value, text, [*parts, *_pandas_extras(value)])
    if isinstance(value, pandas.Index):
        return _table(value, f"{type(value).__name__} of {len(value):,}", _index(value, pandas))
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return _extension_array(value, pandas)
    return None


def _pandas_extras(value: Any) -> list[Part]:
    return [
        part("attrs", dict(value.attrs)),
        part("duplicate labels", value.flags.allows_duplicate_labels),
    ]


def _index(value: Any, pandas: Any) -> list[Part]:
    parts = [part("names", list(value.names))]
    if isinstance(value, pandas.RangeIndex):
        return [*parts, part("range", range(value.start, value.stop, value.step))]
    if isinstance(value, pandas.MultiIndex):
        rows = [value.get_level_values(i) for i in range(value.nlevels)]
        parts += [part(f"level {i}", level.array) for i, level in enumerate(rows)]
        # The order of the labels shows in `levels`, and in what groups make of it.
        used = value.remove_unused_levels().levels
        return [*parts, part("levels", [level.array for level in used])]
    return [*parts, part("values", value.array), part("frequency", getattr(value, "freqstr", None))]


def _extension_array(value: Any, pandas: Any) -> Sketch | None:
    dtype = part("dtype", str(value.dtype))
    text = f"{value.dtype} column of {len(value):,}"
    if isinstance(value, pandas.Categorical):
        categories = [part("categories", value.categories), part("ordered", bool(value.ordered))]
        return _table(value, text, [dtype, *categories, part("codes", value.codes)])
    if type(value).__name__.startswith("Arrow"):
        return _table(value, text, [dtype, part("content", value.__arrow_array__())])
    for name in ("_ndarray", "_data"):
        content = getattr(value, name, None)
        mask = getattr(value, "_mask", None)
        if content is not None and type(content).__module__ == "numpy":
            if mask is not None and mask.any():
                # What lies under a mask is left over from something else.
                content = content.copy()
                content[mask] = content.dtype.type()
            extra = [] if mask is None else [part("mask", mask)]
            return _table(value, text, [dtype, part("content", content), *extra])
    return None


def _pyarrow(value: Any, pyarrow: Any) -> Sketch | None:
    if isinstance(value, pyarrow.Table | pyarrow.RecordBatch):
        columns = [
            Part(f"column {field.name}", column, f"column {i}".encode())
            for i, (field, column) in enumerate(zip(value.schema, value.columns, strict=True))
        ]
        text = f"{type(value).__name__} of shape {value.shape}"
        return _table(value, text, [part("schema", value.schema), *columns])
    if isinstance(value, pyarrow.Array | pyarrow.ChunkedArray):
        content = content_once(
            value, lambda: _arrow_content(value, pyarrow), lambda: _arrow_sample(value, pyarrow)
        )
        own = str(value.type).encode() + content
        # A column of one chunk is not told from one of several: Arrow's functions take both.
        return Sketch("column", f"{shortened(str(value.type))} column of {len(value):,}", own)
    if isinstance(value, pyarrow.Schema):
        fields = [part(f"field {i}", field) for i, field in enumerate(value)]
        metadata = part("metadata", dict(value.metadata or {}))
        return Sketch("schema", f"schema of {len(value):,} fields", parts=[*fields, metadata])
    if isinstance(value, pyarrow.Field):
        own = repr((value.name, str(value.type), value.nullable)).encode()
        return Sketch("field", shortened(str(value)), own, [part("metadata", value.metadata)])
    return None


def _arrow_content(value: Any, pyarrow: Any) -> bytes:
    """128 bits of the values of a column, whatever its chunks and offsets are."""
    chunks = value.chunks if isinstance(value, pyarrow.ChunkedArray) else [value]
    state = xxhash.xxh3_128(repr((len(value), value.null_count)).encode())
    if pyarrow.types.is_dictionary(value.type):
        # By its values, and by the order of those of the dictionary that occur.
        chunks = pyarrow.chunked_array(chunks, value.type).unify_dictionaries().chunks
        codes = [chunk.indices.drop_null().to_numpy() for chunk in chunks]
        if codes:
            used = pyarrow.array(np.unique(np.concatenate(codes)))
            state.update(_arrow_content(chunks[0].dictionary.take(used), pyarrow))
        value = value.cast(value.type.value_type)
        chunks = value.chunks if isinstance(value, pyarrow.ChunkedArray) else [value]
    if _is_flat(value, pyarrow):
        for chunk in chunks:
            width = chunk.type.bit_width // 8
            data = memoryview(chunk.buffers()[1])[chunk.offset * width :][: len(chunk) * width]
            state.update(data)
    else:
        for block in _blocks(pyarrow.chunked_array(chunks, value.type), pyarrow):
            state.update(block)
    return state.digest()


def _arrow_sample(value: Any, pyarrow: Any) -> bytes:
    ends = value.slice(0, _SAMPLED), value.slice(max(0, len(value) - _SAMPLED))
    return b"".join(_arrow_content(end, pyarrow) for end in ends)


def _is_flat(value: Any, pyarrow: Any) -> bool:
    """Whether each value is a fixed number of bytes, and none is missing."""
    kind, types = value.type, pyarrow.types
    fixed = types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind)
    return len(value) > 0 and fixed and value.null_count == 0


def _blocks(column: Any, pyarrow: Any) -> Iterator[Any]:
    """The rows of a column, a number of them at a time, each time without what is around them."""
    for start in range(0, len(column), _BLOCK_ROWS):
        rows = column.slice(start, _BLOCK_ROWS)
        # Taking rows makes arrays anew, in which nothing is left over from other ones.
        block = rows.take(pyarrow.array(range(len(rows)), pyarrow.int64())).combine_chunks()
        if isinstance(block, pyarrow.ChunkedArray):  # before pyarrow 20 it may stay one
            block = pyarrow.concat_arrays(block.chunks)
        if isinstance(block, pyarrow.ExtensionArray):
            block = block.storage
        batch = pyarrow.record_batch([block], ["column"])
        sink = pyarrow.BufferOutputStream()
        # A stream, because a batch alone leaves out dictionaries inside of it.
        with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield memoryview(sink.getvalue())


def _polars(value: Any, polars: Any) -> Sketch | None:
    if isinstance(value, polars.DataFrame):
        columns = [
            Part(f"column {column.name}", column, f"column {i}".encode())
            for i, column in enumerate(value.get_columns())
        ]
        return _table(value, f"DataFrame of shape {value.shape}", columns)
    if isinstance(value, polars.Series) and value.dtype != polars.Object:
        parts = [part("name", value.name), part("content", value.to_arrow())]
        return _table(
            value, f"{value.dtype} column of {len(value):,}", parts, str(value.dtype).encode()
        )
    return None


_RULES = {"pandas": _pandas, "pyarrow": _pyarrow, "polars": _polars}
