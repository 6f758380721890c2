"""RaggedTensor: rows of unequal length, as functions of users see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from keepset.core.ragged import Ragged
from keepset.errors import ElementIndexError, InvalidArgumentError
from keepset.tf.composites.ragged_constructors import Part, RaggedConstructors
from keepset.tf.composites.row_partition import (
    places_of,
    ranges,
    rowids_of,
    splits_of_lengths,
)
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.conversion import (
    Value,
    as_value,
    dtype_of,
    int_of,
    ints_of,
    matching,
    plain,
    value_of,
)
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor


class RaggedTensor(RaggedConstructors):
    """As ``tf.RaggedTensor``: row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``.

    ``values`` is a tensor, or ragged again. Make one with ``tf.ragged.constant`` or the class's
    ``from_...`` methods; pipelines hold it as :class:`keepset.Ragged`.

    Example:
        >>> import keepset.tf as tf
        >>> words = tf.ragged.constant([[3, 1], [], [4, 1, 5]])
        >>> words
        <tf.RaggedTensor [[3, 1], [], [4, 1, 5]]>
        >>> words.shape, words.row_lengths().numpy().tolist(), words[2, :2].numpy().tolist()
        (TensorShape([3, None]), [2, 0, 3], [4, 1])
        >>> (words * 2).to_tensor().numpy().tolist()
        [[6, 2, 0], [0, 0, 0], [8, 2, 10]]
    """

    __slots__ = ("__weakref__", "_length", "_part", "_splits")
    __getitem__: Any  # as the operators, in ragged_operators.py
    __array_priority__ = 101  # arrays of NumPy leave operators to it
    __keepset_operand__ = True  # and so do tensors

    def __init__(self, part: Part, splits: Any, length: int | None = None) -> None:
        """Of parts that fit: see the ``from_...`` methods for others.

        ``length`` is that of all rows, where it is known to be one and the same.
        """
        self._part, self._splits, self._length = part, splits, length

    @staticmethod
    def _part_of(given: Any) -> Part:
        return part_of(given)

    @classmethod
    def of(cls, ragged: Ragged) -> RaggedTensor:
        """What a pipeline holds."""
        part = ragged.values
        return cls(cls.of(part) if isinstance(part, Ragged) else part, ragged.row_splits)

    def to_ragged(self) -> Ragged:
        """As a pipeline holds it."""
        part = self._part
        inner = part.to_ragged() if isinstance(part, RaggedTensor) else part
        return Ragged.trusted(inner, self._splits)

    # ---- what it is made of -------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """All rows joined."""
        return as_tensor(self._part)

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, with no raggedness left."""
        return Tensor(self.flat)

    @property
    def flat(self) -> Value:
        """As ``flat_values``, as an array."""
        return self._part.flat if isinstance(self._part, RaggedTensor) else self._part

    @property
    def row_splits(self) -> Tensor:
        """Where each row begins, and the end."""
        return Tensor(self._splits)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of each ragged dimension, the outermost first."""
        return tuple(Tensor(level._splits) for level in self._levels())

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row lengths of each ragged dimension, the outermost first."""
        return tuple(Tensor(np.diff(level._splits)) for level in self._levels())

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row numbers of each ragged dimension, the outermost first."""
        return tuple(Tensor(rowids_of(level._splits)) for level in self._levels())

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row of each value."""
        return Tensor(rowids_of(self._splits))

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins."""
        return Tensor(self._splits[:-1])

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends."""
        return Tensor(self._splits[1:])

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """How long each row is, in the second dimension or in an inner one."""
        if int_of(axis) in (1, -self._rank() + 1):
            return Tensor(np.diff(self._splits))
        inner = axis - 1 if axis > 0 else axis
        if isinstance(self._part, RaggedTensor):
            return self.with_values(self._part.row_lengths(inner))
        size = self._part.shape[inner]
        return self.with_values(Tensor(np.full(len(self._part), size, self._splits.dtype)))

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """How many rows there are."""
        return Tensor(self._sized(out_type).type(len(self._splits) - 1))

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, if it is known to be one."""
        return None if self._length is None else Tensor(self._splits.dtype.type(self._length))

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are cut into rows."""
        return len(self._levels())

    @property
    def dtype(self) -> DType:
        return dtype_of(self.flat)

    @property
    def shape(self) -> TensorShape:
        """The number of rows, None for each ragged dimension, then the uniform ones."""
        return TensorShape([len(self._splits) - 1, self._length, *self._part.shape[1:]])

    def get_shape(self) -> TensorShape:
        return self.shape

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """The sizes of the smallest tensor that holds all rows."""
        sizes = np.array(self.bounds(), self._sized(out_type))
        return Tensor(sizes if axis is None else as_value(sizes[value_of(axis)]))

    def bounds(self) -> tuple[int, ...]:
        """As ``bounding_shape``, as numbers of Python."""
        levels = self._levels()
        longest = [int(np.diff(level._splits).max(initial=0)) for level in levels]
        return (len(self._splits) - 1, *longest, *self.flat.shape[1:])

    def coordinates(self) -> Any:
        """Where each of the flat values stands: a column for each dimension, rows first."""
        columns: list[Any] = []
        for level in self._levels():
            rowids = rowids_of(level._splits)
            columns = [column[rowids] for column in columns] or [rowids]
            columns.append(places_of(level._splits))
        return columns

    def _levels(self) -> list[RaggedTensor]:
        levels, level = [], self
        while isinstance(level, RaggedTensor):
            levels.append(level)
            level = level._part
        return levels

    def _rank(self) -> int:
        return self.ragged_rank + int(self.flat.ndim)

    def _sized(self, out_type: Any) -> np.dtype[Any]:
        return self._splits.dtype if out_type is None else as_dtype(out_type).storage

    # ---- the same rows with something else ------------------------------------------------------

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        part = part_of(new_values)
        if len(part) != len(self._part):
            raise InvalidArgumentError(f"{len(part)} new values for {len(self._part)} old ones")
        return RaggedTensor(part, self._splits, self._length)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows at all levels, of other innermost values."""
        if isinstance(self._part, RaggedTensor):
            return self.with_values(self._part.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same, with splits of int32 or int64."""
        part = self._part
        inner = part.with_row_splits_dtype(dtype) if isinstance(part, RaggedTensor) else part
        return RaggedTensor(inner, self._splits.astype(as_dtype(dtype).storage), self._length)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Several dimensions in one."""
        rank = self._rank()
        outer, inner = (axis + rank if axis < 0 else axis for axis in (outer_axis, inner_axis))
        if not 0 <= outer <= inner < rank:
            raise ValueError(
                f"Expected outer_axis ({outer_axis}) to be less than or equal to "
                f"inner_axis ({inner_axis}), both in a tensor of {rank} dimensions"
            )
        return merged(self, outer, inner)

    # ---- other things made of it ------------------------------------------------------------

    def to_list(self) -> list[Any]:
        """Nested lists of Python."""
        rows = self._part.to_list() if isinstance(self._part, RaggedTensor) else self._part.tolist()
        splits = self._splits.tolist()
        return [rows[start:stop] for start, stop in pairwise(splits)]

    def numpy(self) -> Any:
        """An array of arrays; one of more dimensions if all rows have one length."""
        inner = self._part.numpy() if isinstance(self._part, RaggedTensor) else self._part
        rows = np.split(inner, self._splits[1:-1]) if len(self._splits) > 1 else []
        if not rows:
            return np.array([], inner.dtype)
        if len({len(row) for row in rows}) > 1:
            made = np.empty(len(rows), object)
            made[:] = rows
            return made
        return np.array(rows)

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """A tensor with ``default_value`` behind short rows, cut where ``shape`` is smaller."""
        flat, sizes = self.flat, list(self.bounds())
        if shape is not None:
            wanted = list(TensorShape(_sizes(shape)))
            if len(wanted) != len(sizes):
                raise ValueError(f"Shapes {tuple(wanted)} and {self.shape} have different ranks")
            sizes = [old if new is None else new for old, new in zip(sizes, wanted, strict=True)]
        if tuple(sizes[-flat.ndim + 1 :]) != flat.shape[1:] and flat.ndim > 1:
            raise InvalidArgumentError(f"a ragged tensor of {self.shape} has no shape {sizes}")
        filler: Any = b"" if flat.dtype == object else flat.dtype.type(0)
        if default_value is not None:
            filler = matching(Tensor(flat), default_value)[1]
        made = np.empty(sizes, flat.dtype)
        made[...] = filler
        columns = self.coordinates()
        if shape is not None:
            kept = np.logical_and.reduce([c < s for c, s in zip(columns, sizes, strict=False)])
            columns, flat = [column[kept] for column in columns], flat[kept]
        made[tuple(columns)] = flat
        return Tensor(made)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Each item at its place."""
        flat, columns = self.flat, self.coordinates()
        size = int(np.prod(flat.shape[1:]))
        inner = np.indices(flat.shape[1:]).reshape(flat.ndim - 1, size)
        outer = [np.repeat(column, size) for column in columns]
        inside = [np.tile(column, len(flat)) for column in inner]
        indices = np.stack([*outer, *inside], axis=1).astype(np.int64)
        return SparseTensor(indices, flat.reshape(-1), np.array(self.bounds(), np.int64))

    # ---- as a sequence ------------------------------------------------------------

    def row(self, index: int) -> Any:
        """One row."""
        count = len(self._splits) - 1
        if not -count <= index < count:
            raise ElementIndexError(f"the index {index} is out of bounds of {count} rows")
        index %= count
        return _section(self._part, int(self._splits[index]), int(self._splits[index + 1]))

    def __iter__(self) -> Iterator[Any]:
        return (as_tensor(self.row(index)) for index in range(len(self._splits) - 1))

    def __len__(self) -> int:
        return len(self._splits) - 1

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        with np.printoptions(formatter={"all": _shown}):
            return f"<tf.RaggedTensor {_shown(self.numpy())}>"

    def __reduce__(self) -> Any:
        return RaggedTensor, (self._part, self._splits, self._length)

    def __keepset_fingerprint__(self) -> Any:
        return self.to_ragged()


def part_of(given: Any) -> Part:
    """What rows can be cut of: an array of at least one dimension, or a RaggedTensor."""
    if isinstance(given, RaggedTensor):
        return given
    if isinstance(given, Ragged):
        return RaggedTensor.of(given)
    value = plain(value_of(given))
    if not np.ndim(value):
        raise ValueError("values must have at least one dimension, and this is a scalar")
    return value


def as_tensor(part: Any) -> Any:
    """A tensor of an array; what is ragged stays."""
    return part if isinstance(part, RaggedTensor) else Tensor(part)


def taken(part: Part, places: Any) -> Part:
    """The items, or rows, at these places."""
    if not isinstance(part, RaggedTensor):
        return part[places]
    lengths = np.diff(part._splits)[places]
    inner = taken(part._part, ranges(part._splits[places], lengths))
    return RaggedTensor(inner, splits_of_lengths(lengths, part._splits.dtype), part._length)


def merged(part: Part, outer: int, inner: int) -> Any:
    """As ``merge_dims``, for an array or what is ragged."""
    if outer == inner:
        return as_tensor(part)
    if not isinstance(part, RaggedTensor):
        shape = part.shape
        return Tensor(part.reshape(*shape[:outer], -1, *shape[inner + 1 :]))
    if outer > 1:
        return part.with_values(merged(part._part, outer - 1, inner - 1))
    if outer == 0:
        return merged(part._part, 0, inner - 1)
    within = part._part
    if isinstance(within, RaggedTensor):
        joined = RaggedTensor(within._part, within._splits[part._splits])
    else:
        values = within.reshape(-1, *within.shape[2:])
        joined = RaggedTensor(values, part._splits * within.shape[1])
    return merged(joined, 1, inner - 1)


def _section(part: Part, start: int, stop: int) -> Part:
    if not isinstance(part, RaggedTensor):
        return part[start:stop]
    splits = part._splits[start : stop + 1]
    inner = _section(part._part, int(splits[0]), int(splits[-1]))
    return RaggedTensor(inner, splits - splits[0], part._length)


def _sizes(shape: Any) -> Any:
    if isinstance(shape, Tensor):
        return ints_of(shape)
    return shape


def _shown(item: Any) -> str:
    """As a list, with commas."""
    if not isinstance(item, np.ndarray):
        return str(item)
    return np.array2string(item, separator=", ") if item.size else repr(item.tolist())
