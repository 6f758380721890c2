"""Lengths of vectors and matrices, and tensors that are cut to a length."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions.reductions import Axes, axes_of
from keepset.tf.tensors.arithmetic import COMPLEX, FLOATS, check_dtype
from keepset.tf.tensors.conversion import Value, as_value, dtype_of, value_of
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor

_INEXACT = FLOATS | COMPLEX


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The length of vectors (one axis), of matrices (two) or of all items (None)."""
    given = value_of(tensor)
    check_dtype(given, _INEXACT, norm)
    axes = axes_of(axis, np.ndim(given))
    found = run_quietly(_norm, given, _order(ord, axes), axes, bool(keepdims))
    return Tensor(as_value(np.asarray(found).astype(given.real.dtype if ord == 1 else given.dtype)))


def _order(order: Any, axes: Axes) -> Any:
    allowed = ("euclidean", "fro") if axes is not None and len(axes) == 2 else ("euclidean",)
    if isinstance(order, str):
        if order not in allowed:
            raise ValueError(f"ord is a number, inf or {' or '.join(allowed)}, not {order!r}")
        return 2
    if not order > 0:
        raise ValueError(f"ord is above 0, not {order}")
    if len(allowed) == 2 and order not in (1, np.inf):
        raise ValueError(f"ord of matrices is 'fro', 'euclidean', 1 or inf here, not {order}")
    return order


def _norm(given: Value, order: Any, axes: Axes, keepdims: bool) -> Any:
    size = np.abs(given)
    if axes is not None and len(axes) == 2 and order in (1, np.inf):
        first, last = axes if order == 1 else axes[::-1]
        sums = np.sum(size, axis=first, keepdims=True)
        found = np.max(sums, axis=last, keepdims=True)
        return found if keepdims else np.squeeze(found, axes)
    if order == np.inf:
        return np.max(size, axis=axes, keepdims=keepdims)
    if order == 1:
        return np.sum(size, axis=axes, keepdims=keepdims)
    if order == 2:
        return np.sqrt(np.sum(size * size, axis=axes, keepdims=keepdims))
    return np.sum(size**order, axis=axes, keepdims=keepdims) ** (1 / order)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """A tensor divided by its length, and the length."""
    given = value_of(tensor)
    length = norm(tensor, ord, axis, True)
    return Tensor(as_value(run_quietly(np.true_divide, given, length._value))), length


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """A tensor divided by its length, which is at least the root of ``epsilon``."""
    given = value_of(x)
    check_dtype(given, _INEXACT, l2_normalize)
    axes = axes_of(dim if axis is None else axis, np.ndim(given))
    squares = np.sum((given * np.conj(given)).real, axis=axes, keepdims=True)
    length = np.sqrt(np.maximum(squares, given.real.dtype.type(epsilon)))
    return Tensor(as_value((given / length).astype(given.dtype)))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """A tensor cut to a length if it is longer."""
    given = value_of(t)
    check_dtype(given, FLOATS, clip_by_norm)
    most = value_of(clip_norm, dtype_of(given))
    along = axes_of(axes, np.ndim(given))
    length = np.sqrt(np.sum(given * given, axis=along, keepdims=True))
    return Tensor(as_value((given * most / np.maximum(length, most)).astype(given.dtype)))


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The length of all items of several tensors."""
    values = [value_of(each) for each in t_list if each is not None]
    for each in values:
        check_dtype(each, _INEXACT, global_norm)
    total = np.sum([np.sum(np.abs(each) ** 2) for each in values])
    return Tensor(as_value(np.sqrt(total).astype(values[0].dtype if values else np.float32)))


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Several tensors cut so that all of them have a length, and the length that they had."""
    if not isinstance(t_list, list | tuple):
        raise TypeError("t_list should be a sequence")
    length = global_norm(t_list) if use_norm is None else Tensor(value_of(use_norm))
    size = length._value
    if not np.isfinite(size):
        raise InvalidArgumentError(f"the length of the tensors is {size}")
    kind = dtype_of(size)
    factor = size.dtype.type(value_of(clip_norm, kind) / max(size, value_of(clip_norm, kind)))
    cut = [None if each is None else Tensor(as_value(value_of(each) * factor)) for each in t_list]
    return cut, length


install(globals())

__all__ = ["clip_by_global_norm", "clip_by_norm", "norm"]
