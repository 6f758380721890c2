"""One encoding for every kind of leaf. ``encoding_of`` chooses it from the spec alone."""

from __future__ import annotations

import numpy as np

from keepset.core.dtypes import DType, StringType, text
from keepset.core.spec import LeafSpec, RaggedTensorSpec, Shape, SparseTensorSpec, TensorSpec
from keepset.errors import ElementError
from keepset.format.encodings.composite import Raggeds, Sparses
from keepset.format.encodings.encoding import Encoding
from keepset.format.encodings.fixed import Nothing, Scalars, Tensors
from keepset.format.encodings.numbers import Numbers
from keepset.format.encodings.strings import Strings, Texts
from keepset.format.encodings.variable import Arrays

__all__ = ["Encoding", "encoding_of"]

_INT64 = np.dtype(np.int64)


def encoding_of(spec: LeafSpec, wide: bool = False) -> Encoding:
    """How leaves of ``spec`` are kept; ``wide`` if a chunk may hold over 2**31 items of one."""
    if isinstance(spec, TensorSpec):
        return _dense(spec.dtype, spec.shape, wide)
    if isinstance(spec, RaggedTensorSpec):
        inner = None if spec.shape is None else (None, *spec.shape[spec.ragged_rank + 1 :])
        splits = _dense(spec.row_splits_dtype, (None,), wide)
        return Raggeds(splits, spec.ragged_rank, _dense(spec.dtype, inner, wide))
    if isinstance(spec, SparseTensorSpec):
        rank = spec.rank
        return Sparses(
            _dense(_INT64, (None, rank), wide),
            _dense(spec.dtype, (None,), wide),
            _dense(_INT64, (rank,), wide),
        )
    raise ElementError(
        f"elements of {spec} cannot be kept in a file; turn data sets into arrays first, with "
        "batch or flat_map"
    )


def _dense(dtype: DType, shape: Shape, wide: bool) -> Encoding:
    if isinstance(dtype, StringType):
        strings = Texts(wide) if dtype is text else Strings(wide)
        return strings if shape == () else Arrays(strings, shape, wide)
    numbers = Numbers(dtype)
    if shape is None or None in shape:
        return Arrays(numbers, shape, wide)
    sizes = tuple(size for size in shape if size is not None)
    if 0 in sizes:
        return Nothing(numbers, sizes)
    return Scalars(numbers) if sizes == () and numbers.width == 1 else Tensors(numbers, sizes)
