"""HfRows: how the rows of a Hugging Face data set become elements, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.spec import Spec
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.values import array_of, missing_in
from keepset.exchange.huggingface.features import Form


class HfRows:
    """Makes chunks of record batches, as ``ArrowRows`` does; ``forms`` say what columns are.

    Example:
        >>> table = pa.table({"x": [[[1, 2], [3, 4]]]})
        >>> HfRows(table.schema, {"x": {"array": [2, 2]}}).chunk(table).rows[0]["x"]
        array([[1, 2],
               [3, 4]])
    """

    def __init__(
        self,
        schema: pa.Schema,
        forms: Mapping[str, Form],
        *,
        columns: Sequence[str] | None = None,
        missing: Mapping[str, Any] | None = None,
        types: Mapping[str, Any] | None = None,
        where: str = "",
        is_str: Callable[[pa.DataType], bool] | None = None,
    ) -> None:
        self._where = where or "the table"
        self._forms = {name: form for name, form in forms.items() if name in schema.names}
        fields = [
            pa.field(field.name, self._type(field.type, self._forms.get(field.name), field.name))
            for field in schema
        ]
        plain = pa.schema(fields)
        self._rows = ArrowRows(
            plain,
            columns=columns,
            missing=missing,
            types=types,
            where=self._where,
            is_str=is_str,
        )
        self.spec: Spec = self._rows.spec
        self.names: list[str] = self._rows.names
        self._schema = pa.schema([plain.field(name) for name in self.names])

    def chunk(self, batch: pa.RecordBatch | pa.Table, row: int | Array = 0) -> Chunk:
        """The elements of a batch; ``row`` is as for ``ArrowRows``."""
        first = row if isinstance(row, int) else int(row[0]) if len(row) else 0
        arrays = [
            self._array(array_of(batch, name), self._forms.get(name), name, first)
            for name in self.names
        ]
        return self._rows.chunk(pa.RecordBatch.from_arrays(arrays, schema=self._schema), row)

    def _type(self, type: pa.DataType, form: Form | None, name: str) -> pa.DataType:
        """The type that ``_array`` makes of one."""
        if form is None:
            return type
        type = _stored(type)
        if "array" in form:
            for _ in form["array"]:
                type = self._items_of(type, name)
            for size in reversed(form["array"]):
                type = pa.large_list(type) if size is None else pa.list_(type, size)
            return type
        if "file" in form:
            self._need_fields(type, ("bytes", "path"), name)
            return _CONTENT if not form.get("paths") else _NAMED
        if "fields" in form:
            self._need_fields(type, form["fields"], name)
            fields = [(f.name, form["fields"].get(f.name), f.type) for f in type]
            return pa.struct([(n, self._type(t, inner, f"{name}.{n}")) for n, inner, t in fields])
        if pa.types.is_struct(type):  # a Sequence of dicts was kept as a dict of lists
            return self._type(type, _turned(form, type), name)
        inner = self._type(self._items_of(type, name), form["list"], name)
        return pa.large_list(inner)

    def _array(self, array: pa.Array, form: Form | None, name: str, row: int) -> pa.Array:
        if form is None:
            return array
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if "array" in form:
            return self._tensors(array, form["array"], name, row)
        if "file" in form:
            return self._files(array, bool(form.get("paths")), name, row)
        if "fields" in form:
            fields = [(f.name, form["fields"].get(f.name)) for f in array.type]
            made = [
                self._array(pc.struct_field(array, [i]), inner, f"{name}.{n}", row)
                for i, (n, inner) in enumerate(fields)
            ]
            return pa.StructArray.from_arrays(made, [n for n, _ in fields])
        if pa.types.is_struct(array.type):
            return self._array(array, _turned(form, array.type), name, row)
        inner = self._array(array.flatten(), form["list"], name, row)
        return _lists(array, inner)

    def _tensors(self, array: pa.Array, shape: list[int | None], name: str, row: int) -> pa.Array:
        """Arrays of one shape, but perhaps for their first dimension."""
        missing = missing_in(array)
        lists = array if missing is None else array.drop_null()
        items, counts = lists, []
        for size in shape:
            is_sound = size is None or bool((_lengths(items) == size).all())
            if items.null_count or not is_sound:
                raise ElementError(
                    f"{self._where}: {name!r} has an array that is not of the shape {shape}, in "
                    f"one of the rows from {row} on; leave it out with columns="
                )
            counts.append(len(items))
            items = items.flatten()
        found = items
        for size, count in zip(reversed(shape), reversed(counts), strict=True):
            if size is None:
                found = _lists(lists, found)
            else:
                type = pa.list_(found.type, size)
                found = pa.Array.from_buffers(type, count, [None], children=[found])
        if missing is None:
            return found
        places = np.cumsum(~missing) - 1
        return found.take(pa.array(places, mask=missing))

    def _files(self, array: pa.Array, keeps_paths: bool, name: str, row: int) -> pa.Array:
        content = pc.struct_field(array, "bytes").cast(pa.large_binary())
        path = pc.struct_field(array, "path").cast(pa.large_binary())
        if keeps_paths:
            parts = [content.fill_null(b""), path.fill_null(b"")]
            return pa.StructArray.from_arrays(parts, ["bytes", "path"])
        named = pc.and_(content.is_null(), path.is_valid())
        if pc.any(named).as_py():
            place = path[pc.index(named, True).as_py()].as_py()
            raise ElementError(
                f"{self._where}: {name!r} only names the file {place!r:.200}, in one of the rows "
                f"from {row} on; use ks.from_hf, which opens such files, or let save_to_disk take "
                f"them in, or leave {name!r} out with columns="
            )
        return content

    def _items_of(self, type: pa.DataType, name: str) -> pa.DataType:
        type = _stored(type)
        if not hasattr(type, "value_type") or pa.types.is_dictionary(type):
            raise self._misfit(name, type, "lists")
        return type.value_type

    def _need_fields(self, type: pa.DataType, names: Any, name: str) -> None:
        if not pa.types.is_struct(type) or not set(names) <= {field.name for field in type}:
            raise self._misfit(name, type, f"structs of {', '.join(names)}")

    def _misfit(self, name: str, type: pa.DataType, wanted: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{self._where}: {name!r} has the type {type}, and its features say that it should be "
            f"{wanted}; save the data set again, or leave {name!r} out with columns="
        )


_CONTENT = pa.large_binary()
_NAMED = pa.struct([("bytes", pa.large_binary()), ("path", pa.large_binary())])


def _stored(type: pa.DataType) -> pa.DataType:
    return type.storage_type if isinstance(type, pa.BaseExtensionType) else type


def _turned(form: Form, type: pa.DataType) -> Form:
    """The form of a dict of lists, given that of a list of dicts."""
    inner = form["list"].get("fields", {})
    return {"fields": {f.name: {"list": inner[f.name]} for f in type if f.name in inner}}


def _lists(like: pa.Array, items: pa.Array) -> pa.Array:
    """Lists of the same lengths, and missing where those are, of other items."""
    missing = missing_in(like)
    offsets = np.zeros(len(like) + 1, np.int64)
    np.cumsum(_lengths(like), out=offsets[1:])
    mask = None if missing is None else pa.array(missing)
    return pa.LargeListArray.from_arrays(pa.array(offsets), items, mask=mask)


def _lengths(lists: pa.Array) -> Array:
    """How long lists are; missing ones count as empty."""
    lengths = pc.list_value_length(lists)
    if lengths.null_count:
        lengths = lengths.fill_null(0)
    found: Array = lengths.to_numpy(zero_copy_only=False)
    return found
