"""``tf.sparse``: sparse tensors made, ordered, cut and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.core.sparse import Sparse
from keepset.errors import InvalidArgumentError
from keepset.tf.composites.crossing import sparse_cross as cross
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.conversion import as_value, int_of, ints_of, matching, plain, value_of
from keepset.tf.tensors.of_tensorflow import composite_of_tensorflow
from keepset.tf.tensors.tensor import Tensor

__all__ = [
    "SparseTensor",
    "add",
    "concat",
    "cross",
    "expand_dims",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "slice",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]


def to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The whole tensor, with ``default_value`` where nothing stands.

    Example:
        >>> to_dense(SparseTensor([[0, 1]], [5], [2, 2]), default_value=-1).numpy().tolist()
        [[-1, 5], [-1, -1]]

    Raises:
        InvalidArgumentError: Places lie outside, or (unless ``validate_indices=False``) are not in
            order or are there twice.
    """
    given = _sparse(sp_input)
    values = given._values
    filler: Any = b"" if values.dtype == object else values.dtype.type(0)
    if default_value is not None:
        filler = matching(Tensor(values), default_value)[1]
        if np.ndim(filler):
            raise InvalidArgumentError("default_value should be a scalar")
    dense = np.empty(tuple(given._shape), values.dtype)
    dense[...] = filler
    _check_inside(given)
    if validate_indices and len(given._indices) > 1:
        flat = _numbers(given._indices, given._shape)
        if (np.diff(flat) <= 0).any():
            raise InvalidArgumentError(
                "indices are out of order or repeated; use tf.sparse.reorder first"
            )
    if len(given._shape):
        dense[tuple(given._indices.T)] = values
    elif len(values):
        dense = values[0]
    return Tensor(as_value(dense))


def _check_inside(given: SparseTensor) -> None:
    outside = (given._indices < 0) | (given._indices >= given._shape)
    if outside.any():
        row = int(outside.any(axis=1).argmax())
        raise InvalidArgumentError(
            f"indices[{row}] = {given._indices[row].tolist()} is out of bounds: need 0 <= index < "
            f"{given._shape.tolist()}"
        )


def _sparse(given: Any) -> SparseTensor:
    if isinstance(given, SparseTensor):
        return given
    if type(found := composite_of_tensorflow(given)) is Sparse:
        return SparseTensor.of(found)
    raise TypeError(f"Input must be a SparseTensor, not {type(given).__name__}")


def _numbers(indices: Any, shape: Any) -> Any:
    """The place of each entry if all dimensions were one."""
    factors = np.append(np.cumprod(shape[:0:-1])[::-1], 1).astype(np.int64)
    return indices @ factors


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The entries of a tensor that are not zero, or not empty."""
    value = plain(value_of(tensor))
    present = value != (b"" if value.dtype == object else 0)
    return SparseTensor(np.argwhere(present), value[present], np.array(value.shape, np.int64))


def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same entries row by row, as most functions need them."""
    given = _sparse(sp_input)
    return _chosen(given, np.lexsort(given._indices.T[::-1]))


def _chosen(given: SparseTensor, places: Any) -> SparseTensor:
    return SparseTensor(given._indices[places], given._values[places], given._shape)


def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The entries for which a mask holds."""
    given, kept = _sparse(sp_input), np.asarray(value_of(to_retain, "bool"))
    if kept.shape != given._values.shape:
        raise ValueError(f"to_retain has {kept.shape} items for {given._values.shape} values")
    return _chosen(given, kept)


def slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The entries in a box."""
    given = _sparse(sp_input)
    first, sizes = np.array(ints_of(start)), np.array(ints_of(size))
    stop = np.minimum(first + sizes, given._shape)
    kept = ((given._indices >= first) & (given._indices < stop)).all(axis=1)
    shape = np.maximum(stop - first, 0)
    return SparseTensor(given._indices[kept] - first, given._values[kept], shape)


def split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None
) -> list[SparseTensor]:
    """Several parts along a dimension; the first ones are larger if it does not go even."""
    given, count, place = _sparse(sp_input), int_of(num_split), int_of(axis)
    size = int(given._shape[place])
    if not 1 <= count <= size:
        raise InvalidArgumentError(f"Input num_split should be between 1 and {size}, not {count}")
    lengths = [size // count + (part < size % count) for part in range(count)]
    made, first = [], np.zeros_like(given._shape)
    for length in lengths:
        sizes = given._shape.copy()
        sizes[place] = length
        made.append(slice(given, first.tolist(), sizes.tolist()))
        first[place] += length
    return made


def concat(
    axis: Any, sp_inputs: Sequence[Any], expand_nonconcat_dims: bool = False, name: Any = None
) -> SparseTensor:
    """Sparse tensors one behind the other along a dimension."""
    given = [_sparse(each) for each in sp_inputs]
    rank, place = len(given[0]._shape), int_of(axis)
    if not -rank <= place < rank:
        raise InvalidArgumentError(f"axis={place} is outside of {rank} dimensions")
    place %= rank
    shapes = np.stack([each._shape for each in given])
    shape = shapes.max(axis=0)
    others = np.delete(shapes, place, axis=1)
    if not expand_nonconcat_dims and (others != others[0]).any():
        raise InvalidArgumentError(
            "all dimensions but axis must be the same; pass expand_nonconcat_dims=True to widen"
        )
    shape[place] = shapes[:, place].sum()
    moved, passed = [], 0
    for each in given:
        indices = each._indices.copy()
        indices[:, place] += passed
        passed += int(each._shape[place])
        moved.append(indices)
    values = np.concatenate([each._values for each in given])
    return reorder(SparseTensor(np.concatenate(moved), values, shape))


def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same entries in a larger shape, or in the smallest that holds them."""
    given = _sparse(sp_input)
    if new_shape is None:
        shape = given._indices.max(axis=0) + 1 if len(given._indices) else given._shape * 0
        return SparseTensor(given._indices, given._values, shape)
    shape = np.array(ints_of(new_shape), np.int64)
    if len(shape) != len(given._shape):
        raise ValueError(f"new_shape {shape.tolist()} has another rank than {given.shape}")
    if (shape < given._shape).any():
        raise InvalidArgumentError(f"new_shape {shape.tolist()} is smaller than {given.shape}")
    return SparseTensor(given._indices, given._values, shape)


def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same entries in other dimensions; -1 stands for what is left."""
    given, sizes = _sparse(sp_input), np.array(ints_of(shape), np.int64)
    total = int(np.prod(given._shape))
    if (sizes == -1).sum() == 1:
        rest = int(np.prod(sizes[sizes != -1]))
        sizes[sizes == -1] = total // rest if rest else 0
    if int(np.prod(sizes)) != total:
        raise InvalidArgumentError(f"{total} items have no shape {sizes.tolist()}")
    flat = _numbers(given._indices, given._shape)
    indices = np.stack(np.unravel_index(flat, tuple(sizes)), axis=1) if len(sizes) else flat[:, :0]
    return SparseTensor(indices, given._values, sizes)


def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """With one more dimension, of size 1."""
    given = _sparse(sp_input)
    rank, place = len(given._shape), -1 if axis is None else int_of(axis)
    if not -rank - 1 <= place <= rank:
        raise ValueError(f"axis={place} is outside of {rank} dimensions")
    place %= rank + 1
    indices = np.insert(given._indices, place, 0, axis=1)
    return SparseTensor(indices, given._values, np.insert(given._shape, place, 1))


def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """With its dimensions in another order."""
    given = _sparse(sp_input)
    order = list(range(len(given._shape)))[::-1] if perm is None else list(ints_of(perm))
    return reorder(SparseTensor(given._indices[:, order], given._values, given._shape[order]))


def fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """With a value at the beginning of each row that has none, and which rows these were."""
    given = reorder(_sparse(sp_input))
    filler = matching(Tensor(given._values), default_value)[1]
    rows = int(given._shape[0])
    is_empty = np.bincount(given._indices[:, 0], minlength=rows) == 0
    places = np.zeros((int(is_empty.sum()), len(given._shape)), np.int64)
    places[:, 0] = np.flatnonzero(is_empty)
    fillers = np.empty(len(places), given._values.dtype)
    fillers[...] = filler
    indices = np.concatenate([given._indices, places])
    order = np.argsort(indices[:, 0], kind="stable")
    values = np.concatenate([given._values, fillers])
    return SparseTensor(indices[order], values[order], given._shape), Tensor(is_empty)


def _merged(one: Any, two: Any, function: Any) -> SparseTensor:
    """Two sparse tensors of one shape; what is missing in one counts as 0."""
    first, second = _sparse(one), _sparse(two)
    if not np.array_equal(first._shape, second._shape):
        raise InvalidArgumentError(f"shapes {first.shape} and {second.shape} must be the same")
    matching(first.values, second.values)
    indices = np.concatenate([first._indices, second._indices])
    places, back = np.unique(indices, axis=0, return_inverse=True)
    parts = np.zeros((2, len(places)), first._values.dtype)
    back = back.reshape(-1)
    parts[0, back[: len(first._values)]] = first._values
    parts[1, back[len(first._values) :]] = second._values
    return SparseTensor(places, function(*parts), first._shape)


def maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger of two entries at each place."""
    return _merged(sp_a, sp_b, np.maximum)


def minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of two entries at each place."""
    return _merged(sp_a, sp_b, np.minimum)


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum of two sparse tensors, or of a sparse one and a tensor, which is a tensor."""
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        made = _merged(a, b, np.add)
        least = np.asarray(value_of(threshold)).astype(made._values.real.dtype)
        return retain(made, np.abs(made._values) >= least) if least else made
    sparse, other = (a, b) if isinstance(a, SparseTensor) else (b, a)
    dense = np.array(plain(value_of(other, _sparse(sparse).dtype)))
    if dense.shape != tuple(sparse._shape):
        raise InvalidArgumentError(f"shapes {sparse.shape} and {dense.shape} must be the same")
    np.add.at(dense, tuple(sparse._indices.T), sparse._values)
    return Tensor(as_value(dense))


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a matrix, in either order."""
    if not isinstance(sp_a, SparseTensor):
        found = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return Tensor(found._value.T.copy())
    dense = plain(value_of(b, sp_a.dtype))
    dense = dense.conj().T if adjoint_b else dense
    rows, columns = sp_a._indices.T if not adjoint_a else sp_a._indices[:, ::-1].T
    shape = sp_a._shape if not adjoint_a else sp_a._shape[::-1]
    if len(shape) != 2 or dense.ndim != 2 or shape[1] != dense.shape[0]:
        raise InvalidArgumentError(f"a matrix of {shape.tolist()} does not go with {dense.shape}")
    values = sp_a._values.conj() if adjoint_a else sp_a._values
    made = np.zeros((int(shape[0]), dense.shape[1]), dense.dtype)
    np.add.at(made, rows, values[:, np.newaxis] * dense[columns])
    return Tensor(made)


def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """For each row of numbers, which numbers it has: a row of ``vocab_size`` bools."""
    given, size = _sparse(sp_input), int_of(vocab_size)
    numbers = given._values
    if numbers.dtype.kind not in "iu":
        raise InvalidArgumentError(f"values must be whole numbers, not {given.dtype.name}")
    shape = tuple(given._shape[:-1])
    if ((numbers < 0) | (numbers >= size)).any():
        raise InvalidArgumentError(f"a value is outside of 0..{size - 1}; pass a larger vocab_size")
    made = np.zeros((*shape, size), bool)
    made[(*given._indices[:, :-1].T, numbers)] = True
    return Tensor(made)


def map_values(op: Any, *args: Any, **kwargs: Any) -> SparseTensor:
    """A function of the values; the places stay."""
    given = [*args, *kwargs.values()]
    first = next((each for each in given if isinstance(each, SparseTensor)), None)
    if first is None:
        raise ValueError("No SparseTensor in argument list of map_values")
    if any(
        isinstance(each, SparseTensor) and not np.array_equal(each._indices, first._indices)
        for each in given
    ):
        raise InvalidArgumentError("all sparse tensors must have the same indices")
    inner = [each.values if isinstance(each, SparseTensor) else each for each in given]
    count = len(args)
    return first.with_values(op(*inner[:count], **dict(zip(kwargs, inner[count:], strict=True))))


def _reduced(function: Any, given: Any, axis: Any, keepdims: Any, output_is_sparse: bool) -> Any:
    sparse = _sparse(given)
    rank = len(sparse._shape)
    axes = tuple(range(rank)) if axis is None else tuple(each % rank for each in ints_of(axis))
    left = [each for each in range(rank) if each not in axes]
    shape = [int(sparse._shape[each]) for each in left]
    flat = _numbers(sparse._indices[:, left], np.array(shape, np.int64)) if left else np.zeros(
        len(sparse._values), np.int64
    )  # fmt: skip
    made = np.zeros(int(np.prod(shape)), sparse._values.dtype)
    is_there = np.zeros(len(made), bool)
    order = np.argsort(flat, kind="stable")
    numbers, starts = np.unique(flat[order], return_index=True)
    if len(numbers):
        made[numbers] = function.reduceat(sparse._values[order], starts, dtype=made.dtype)
    is_there[numbers] = True
    kept = (
        [1 if at in axes else int(sparse._shape[at]) for at in range(rank)] if keepdims else shape
    )
    if output_is_sparse:
        places: Any = np.stack(np.unravel_index(numbers, tuple(kept)), axis=1) if kept else [[]]
        return SparseTensor(places, made[numbers], kept)
    return Tensor(as_value(made.reshape(kept)))


def reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum of the entries along dimensions."""
    return _reduced(np.add, sp_input, axis, keepdims, output_is_sparse)


def reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest of the entries along dimensions, 0 where there is none."""
    return _reduced(np.maximum, sp_input, axis, keepdims, output_is_sparse)


__getattr__ = not_covered("tf.sparse")
