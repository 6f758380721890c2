"""Sums, means and other reductions of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError, NotCoveredError
from keepset.tf.composites.ragged_shapes import expand_dims
from keepset.tf.composites.ragged_tensor import RaggedTensor, as_tensor
from keepset.tf.composites.row_partition import places_of, reduced_segments
from keepset.tf.tensors.conversion import Value, as_value, value_of
from keepset.tf.tensors.quiet import quietly
from keepset.tf.tensors.tensor import Tensor, wrapped

Segments = Callable[[Value, Any], Value]


def _lowest_of_max(dtype: np.dtype[Any]) -> Any:
    """What TensorFlow gives for the maximum of no items: the least finite number."""
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest_of_min(dtype: np.dtype[Any]) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


def _ufunc(function: Any, empty: Callable[[np.dtype[Any]], Any]) -> Segments:
    return lambda values, splits: reduced_segments(function, values, splits, empty(values.dtype))


_sums = _ufunc(np.add, lambda dtype: 0)
_products = _ufunc(np.multiply, lambda dtype: 1)
_highest = _ufunc(np.maximum, _lowest_of_max)
_lowest = _ufunc(np.minimum, _highest_of_min)
_any = _ufunc(np.logical_or, lambda dtype: False)
_all = _ufunc(np.logical_and, lambda dtype: True)


@quietly
def _means(values: Value, splits: Any) -> Value:
    counts = np.diff(splits).reshape((-1,) + (1,) * (values.ndim - 1))
    sums = _sums(values, splits)
    # As TensorFlow: whole numbers have a mean in float64, if they are in rows.
    return sums / counts.astype(values.dtype if values.dtype.kind == "f" else np.float64)


@quietly
def _variances(values: Value, splits: Any) -> Value:
    squares = _means(np.square(values), splits) - np.square(_means(values, splits))
    return np.maximum(squares, 0) if not np.isnan(squares).any() else squares


def _deviations(values: Value, splits: Any) -> Value:
    return np.sqrt(_variances(values, splits))


def _reduction(segments: Segments) -> Callable[..., Any]:
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        if not isinstance(input_tensor, RaggedTensor):
            raise TypeError("use tf.sparse.reduce_sum or tf.sparse.reduce_max for sparse tensors")
        return _reduced(segments, input_tensor, axis, keepdims)

    return reduce


def _reduced(segments: Segments, ragged: RaggedTensor, axis: Any, keepdims: bool) -> Any:
    rank = len(ragged.shape)
    given = None if axis is None else np.atleast_1d(np.asarray(value_of(axis)))
    if given is None or len({each % rank for each in given.tolist()}) == rank:
        flat = ragged.flat.reshape(-1)
        found = wrapped(as_value(segments(flat, np.array([0, len(flat)]))[0]))
        return Tensor(found._value.reshape((1,) * rank)) if keepdims else found
    if any(not -rank <= each < rank for each in given.tolist()):
        raise InvalidArgumentError(f"axis={axis} is outside of a ragged tensor of rank {rank}")
    made: Any = ragged
    for each in sorted((each % rank for each in given.tolist()), reverse=True):
        made = along(segments, made, each)
        if keepdims:
            made = expand_dims(made, each)
    return made


def along(segments: Segments, part: Any, axis: int) -> Any:
    """Reduced along one dimension, which is gone then."""
    if not isinstance(part, RaggedTensor):
        return _along_array(segments, part._value, axis)
    if axis > 1:
        return part.with_values(along(segments, as_tensor(part._part), axis - 1))
    if isinstance(part._part, RaggedTensor):
        raise NotCoveredError(
            f"axis={axis} of a ragged tensor with {part.ragged_rank} ragged dimensions is not "
            "covered; reduce the inner ones first, or use to_tensor()"
        )
    if axis == 1:
        return Tensor(segments(part._part, part._splits))
    places = places_of(part._splits)
    order = np.argsort(places, kind="stable")
    count = int(np.diff(part._splits).max(initial=0))
    columns = np.searchsorted(places[order], np.arange(count + 1))
    return Tensor(segments(part._part[order], columns))


def _along_array(segments: Segments, value: Value, axis: int) -> Tensor:
    moved = np.moveaxis(value, axis, -1)
    flat = moved.reshape(-1)
    splits = np.arange(flat.size // max(moved.shape[-1], 1) + 1) * moved.shape[-1]
    return Tensor(as_value(segments(flat, splits).reshape(moved.shape[:-1])))


REDUCTIONS = {
    "reduce_all": _reduction(_all),
    "reduce_any": _reduction(_any),
    "reduce_max": _reduction(_highest),
    "reduce_mean": _reduction(_means),
    "reduce_min": _reduction(_lowest),
    "reduce_prod": _reduction(_products),
    "reduce_std": _reduction(_deviations),
    "reduce_sum": _reduction(_sums),
    "reduce_variance": _reduction(_variances),
}
