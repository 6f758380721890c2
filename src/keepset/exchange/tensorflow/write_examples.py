"""Elements as Examples: the features that an element's spec asks for, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_rows
from keepset.core.dtypes import Array, StringType
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import (
    LeafSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    Spec,
    TensorSpec,
    is_untyped,
)
from keepset.core.structure import structure_of
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.tensorflow.features import (
    FeatureDescription,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RowLengths,
    SparseFeature,
    VarLenFeature,
)
from keepset.exchange.tensorflow.tensor_proto import dense_tensor
from keepset.exchange.tensorflow.wire import bytes_field, varint, varints


def leaf_names(spec: Spec) -> list[str]:
    """The name of each leaf: its keys with ``/`` between them; ``"value"`` if there are none."""
    names: list[str] = []
    _collect(spec, "", names)
    return names


def _collect(spec: Spec, prefix: str, names: list[str]) -> None:
    structure = structure_of(spec)
    if structure.is_leaf:
        names.append(prefix or "value")
    elif structure.kind == "tuple":
        for number, item in enumerate(spec):
            _collect(item, f"{prefix}/{number}" if prefix else str(number), names)
    elif structure.kind != "none":
        for key in structure.keys:
            item = spec[key] if structure.kind == "dict" else getattr(spec, key)
            _collect(item, f"{prefix}/{key}" if prefix else str(key), names)


class ExampleWriter:
    """Makes Examples of elements of one spec.

    Args:
        spec: That of the elements.
        serialize: The names of leaves to keep as serialised tensors, with their dtype and shape.
    """

    def __init__(self, spec: Spec, serialize: Collection[str] = ()) -> None:
        self.spec, self._structure = spec, structure_of(spec)
        names, leaves = leaf_names(spec), self._structure.leaves(spec)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ElementError(f"two entries of the element would be called {twice!r}; rename one")
        unknown = set(serialize) - set(names)
        if unknown:
            raise InvalidArgumentError(
                f"serialize names {', '.join(sorted(map(repr, unknown)))}, and elements have "
                f"{', '.join(map(repr, names))}"
            )
        self._leaves = [
            _serialized(name) if name in serialize else _leaf(name, leaf)
            for name, leaf in zip(names, leaves, strict=True)
        ]

    def check(self, chunk: Chunk) -> None:
        """An error unless elements are nested as the spec is."""
        if chunk.structure != self._structure:
            raise self._structure.difference(chunk.structure, 0)

    @property
    def features(self) -> dict[str, FeatureDescription]:
        """What ``parse_example`` needs to read the elements again."""
        return {leaf.name: leaf.feature for leaf in self._leaves}

    def examples(self, columns: Sequence[Column]) -> list[bytes]:
        """The Example of each element."""
        entries: list[list[bytes]] = []
        for leaf, column in zip(self._leaves, columns, strict=True):
            entries += leaf.entries(column)
        # The order of keys that a deterministic writer of protobuf gives.
        keyed = sorted(zip(self._keys, entries, strict=True), key=lambda pair: pair[0])
        rows = zip(*(each for _, each in keyed), strict=True)
        return [bytes_field(1, b"".join(row)) for row in rows]

    @property
    def _keys(self) -> list[str]:
        return [key for leaf in self._leaves for key in leaf.keys]


class _Leaf:
    """One leaf: what describes it, the keys that it takes, and what is written for them."""

    def __init__(
        self,
        name: str,
        feature: FeatureDescription,
        keys: Sequence[str],
        values: Callable[[Column], list[list[bytes]]],
    ) -> None:
        self.name, self.feature, self.keys, self._values = name, feature, list(keys), values

    def entries(self, column: Column) -> list[list[bytes]]:
        """For each key, an entry of the map for each row."""
        made = []
        for key, features in zip(self.keys, self._values(column), strict=True):
            head = bytes_field(1, key.encode())
            made.append([bytes_field(1, head + bytes_field(2, each)) for each in features])
        return made


def _serialized(name: str) -> _Leaf:
    feature = FixedLenFeature([], "string")
    return _Leaf(
        name,
        feature,
        [name],
        lambda column: [[_strings([dense_tensor(leaf)]) for leaf in column_rows(column)]],
    )


def _leaf(name: str, spec: LeafSpec) -> _Leaf:
    dtype = _stored_name(name, spec)
    if isinstance(spec, RaggedTensorSpec):
        return _ragged_leaf(name, spec, dtype)
    if isinstance(spec, SparseTensorSpec):
        return _sparse_leaf(name, spec, dtype)
    shape = spec.shape
    feature: FeatureDescription
    if is_untyped(spec) and shape == (0,):
        # Of no kind, which readers take for a list of whatever type they are asked for. (So are the
        # items of a Ragged without any.)
        feature = FixedLenSequenceFeature((), dtype, allow_missing=True)
        return _Leaf(name, feature, [name], lambda column: [[b""] * len(column)])
    if shape is not None and None not in shape:
        feature = FixedLenFeature(shape, dtype)
    elif shape is not None and None not in shape[1:]:
        feature = FixedLenSequenceFeature(shape[1:], dtype, allow_missing=True)
    else:
        feature = VarLenFeature(dtype)
    return _Leaf(name, feature, [name], lambda column: [_features_of(column)])


def _stored_name(name: str, spec: LeafSpec) -> str:
    if not isinstance(spec, TensorSpec | RaggedTensorSpec | SparseTensorSpec):
        raise ElementError(f"{name!r} is {spec}, which no Example can hold; map it to arrays")
    if isinstance(spec.dtype, StringType):
        return "string"
    if spec.dtype.kind in "biumM" or spec.dtype.name.startswith(("int", "uint")):
        return "int64"
    if spec.dtype.kind == "f" or "float" in spec.dtype.name:
        return "float32"
    raise ElementError(
        f"{name!r} is {spec}, and Examples hold {', '.join(('int64', 'float32', 'string'))}; map "
        f"it to one of these, or keep it whole with serialize=[{name!r}]"
    )


def _features_of(column: Column) -> list[bytes]:
    """The feature of each row, its values flat."""
    if isinstance(column, np.ndarray) and column.dtype != object and column.dtype.kind == "f":
        return _float_rows(column)
    return [_feature(leaf) for leaf in column_rows(column)]


def _feature(leaf: Any) -> bytes:
    if isinstance(leaf, bytes):
        return _strings([leaf])
    array = np.asarray(leaf)
    if array.dtype == object:
        return _strings(array.ravel().tolist())
    if array.dtype.kind in "biumM" or array.dtype.name.startswith(("int", "uint")):
        return _integers(array)
    return bytes_field(2, _packed(array.astype("<f4").tobytes()))


def _strings(items: Sequence[bytes]) -> bytes:
    return bytes_field(1, b"".join(bytes_field(1, item) for item in items))


def _packed(data: bytes) -> bytes:
    return bytes_field(1, data) if data else b""


def _integers(array: Array) -> bytes:
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
        raise ElementError(
            f"{int(array.max())} does not fit into the int64 of an Example; keep it as a string"
        )
    return bytes_field(3, _packed(varints(array.astype(np.int64).ravel())))


def _float_rows(column: Array) -> list[bytes]:
    """Rows of one size, whose heads are the same."""
    rows = np.ascontiguousarray(column.astype("<f4")).reshape(len(column), -1)
    data, size = rows.tobytes(), 4 * rows.shape[1]
    if not size:
        return [bytes_field(2, b"")] * len(column)
    inner = b"\x0a" + varint(size)
    head = b"\x12" + varint(len(inner) + size) + inner
    return [head + data[start : start + size] for start in range(0, len(data), size)]


def _ragged_leaf(name: str, spec: RaggedTensorSpec, dtype: str) -> _Leaf:
    keys = [f"{name}/row_lengths_{depth}" for depth in range(spec.ragged_rank)]
    feature = RaggedFeature(dtype, name, [RowLengths(key) for key in keys], spec.row_splits_dtype)

    def values(column: Column) -> list[list[bytes]]:
        rows = [_ragged_parts(leaf) for leaf in column_rows(column)]
        lengths = [[_feature(parts[place + 1]) for parts in rows] for place in range(len(keys))]
        items = [b"" if is_untyped(spec) else _feature(parts[0]) for parts in rows]
        return [items, *lengths]

    return _Leaf(name, feature, [name, *keys], values)


def _ragged_parts(leaf: Any) -> list[Array]:
    """The values, then the lengths of rows, the outermost first."""
    lengths = []
    while isinstance(leaf, Ragged):
        lengths.append(np.diff(leaf.row_splits))
        leaf = leaf.values
    return [leaf, *lengths]


def _sparse_leaf(name: str, spec: SparseTensorSpec, dtype: str) -> _Leaf:
    if spec.shape is None or None in spec.shape:
        raise ElementError(
            f"{name!r} is {spec}, whose size must be known to be read again; keep it whole with "
            f"map(...) to arrays, or give it one shape"
        )
    keys = [f"{name}/index_{axis}" for axis in range(len(spec.shape))]
    feature = SparseFeature(keys, f"{name}/values", dtype, spec.shape)

    def values(column: Column) -> list[list[bytes]]:
        rows: list[Sparse] = column_rows(column)
        places = [[_feature(row.indices[:, axis]) for row in rows] for axis in range(len(keys))]
        return [*places, [_feature(row.values) for row in rows]]

    return _Leaf(name, feature, [*keys, f"{name}/values"], values)
