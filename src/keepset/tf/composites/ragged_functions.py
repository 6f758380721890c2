"""What the functions of ``tf`` do where an argument is ragged or sparse.

They are written for tensors. One that is called with a RaggedTensor fails to convert it and is then
looked up here, so that calls with tensors wait for nothing: see :func:`with_composites`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_reductions import REDUCTIONS
from keepset.tf.composites.ragged_shapes import concat, expand_dims, gather, stack
from keepset.tf.composites.ragged_tensor import RaggedTensor, as_tensor, part_of, taken
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.conversion import cast_value, plain, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.of_tensorflow import composite_of_tensorflow, is_composite_of_tensorflow
from keepset.tf.tensors.tensor import Tensor, wrapped

Function = TypeVar("Function", bound=Callable[..., Any])
Handler = Callable[..., Any]

# Functions of each item by itself: they are applied to the flat values.
_NAMES = """
abs acos acosh add asin asinh atan atan2 atanh bitcast cast ceil clip_by_value cos cosh digamma
divide equal erf erfc exp expm1 floor floordiv floormod greater greater_equal identity
is_finite is_inf is_nan less less_equal lgamma log log1p log_sigmoid logical_and logical_not
logical_or logical_xor maximum minimum mod multiply multiply_no_nan negative not_equal one_hot
ones_like pow real reciprocal relu relu6 rint round rsqrt saturate_cast sigmoid sign sin sinh
softplus softsign sqrt square squared_difference subtract tan tanh truediv truncatediv
truncatemod xdivy xlogy zeros_like
"""
_ELEMENTWISE = frozenset(_NAMES.split())


def with_composites(name: str, function: Function) -> Function:
    """A function for tensors that is there for ragged and sparse tensors as well.

    For the functions of a whole module: ``install(globals())`` at its end.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except (TypeError, ValueError):
            found = dispatched(name, function, arguments, named)
            if found is NotImplemented:
                raise
            return found

    return call  # type: ignore[return-value]


def install(names: dict[str, Any]) -> None:
    """Put :func:`with_composites` around all functions of a module that are known here."""
    for name in _ELEMENTWISE | HANDLERS.keys():
        if callable(names.get(name)) and not hasattr(names[name], "__wrapped__"):
            names[name] = with_composites(name, names[name])


def dispatched(
    name: str, function: Callable[..., Any], arguments: Sequence[Any], named: dict[str, Any]
) -> Any:
    """What a function gives where an argument is ragged or sparse.

    NotImplemented if none is, or if the function is not there for them.
    """
    given = [*arguments, *named.values()]
    if any(map(is_composite_of_tensorflow, _inside(given))):
        arguments = [_adopted(each) for each in arguments]
        named = {key: _adopted(each) for key, each in named.items()}
    elif not any(map(_has_composites, given)):
        return NotImplemented
    if name in HANDLERS:
        return HANDLERS[name](*arguments, **named)
    return elementwise(function, arguments, named) if name in _ELEMENTWISE else NotImplemented


def _adopted(given: Any) -> Any:
    """A ragged or sparse tensor of TensorFlow's own as one of those here."""
    if isinstance(given, list | tuple):
        return list(map(_adopted, given))
    found = composite_of_tensorflow(given)
    if type(found) is Ragged:
        return RaggedTensor.of(found)
    return SparseTensor.of(found) if type(found) is Sparse else given


def _has_composites(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return any(map(_has_composites, given))
    return isinstance(given, _COMPOSITES)


def elementwise(
    function: Callable[..., Any], arguments: Sequence[Any], named: dict[str, Any]
) -> Any:
    """A function of each item by itself, on the flat values of what is ragged among its arguments.

    All that is ragged must have the same rows. Tensors are repeated along rows as they would be
    along dimensions.

    Example:
        >>> import keepset.tf as tf
        >>> rows = tf.ragged.constant([[1, 2], [3]])
        >>> elementwise(tf.maximum, (rows, [[2], [5]]), {})
        <tf.RaggedTensor [[2, 2], [5]]>
    """
    given = [*arguments, *named.values()]
    if any(isinstance(each, SparseTensor) for each in _inside(given)):
        return _sparse_elementwise(function, arguments, named)
    found = [each for each in _inside(given) if isinstance(each, RaggedTensor)]
    leader = max(found, key=lambda each: each.ragged_rank)
    for other in found:
        _check_rows(leader, other)
    flats = [_flat(each, leader) for each in given]
    count = len(arguments)
    made = function(*flats[:count], **dict(zip(named, flats[count:], strict=True)))
    return leader.with_flat_values(made)


def _inside(given: Sequence[Any]) -> list[Any]:
    return [item for each in given for item in (each if isinstance(each, list | tuple) else [each])]


def _sparse_elementwise(
    function: Callable[..., Any], arguments: Sequence[Any], named: dict[str, Any]
) -> Any:
    """Of one sparse tensor, which keeps its places."""
    first, *rest = arguments
    if not isinstance(first, SparseTensor) or any(map(_has_composites, rest)):
        raise TypeError(f"{function.__name__} takes one sparse tensor; use tf.sparse for others")
    return first.with_values(function(first.values, *rest, **named))


def _check_rows(one: RaggedTensor, other: RaggedTensor) -> None:
    splits = zip(one.nested_row_splits, other.nested_row_splits, strict=False)
    same = all(np.array_equal(a._value, b._value) for a, b in splits)
    if not same or one.ragged_rank != other.ragged_rank:
        raise InvalidArgumentError(
            f"Incompatible shapes: ragged tensors of {one.shape} and {other.shape} must have rows "
            "of the same lengths"
        )


def _flat(given: Any, leader: RaggedTensor) -> Any:
    """What stands for an argument beside the flat values."""
    if isinstance(given, RaggedTensor):
        return given.flat_values
    if isinstance(given, list | tuple) and any(isinstance(x, RaggedTensor) for x in given):
        return type(given)(_flat(each, leader) for each in given)
    if not isinstance(given, Tensor | np.ndarray | list):
        return given
    value = given._value if isinstance(given, Tensor) else np.asarray(value_of(given))
    if np.ndim(value) < leader.flat.ndim:
        return given
    places = _repeated(np.asarray(value), leader)
    return Tensor(places) if isinstance(given, Tensor) else places


def _repeated(value: Any, leader: RaggedTensor) -> Any:
    """The item of a tensor for each of the flat values, whose rows it must fit."""
    columns, inner = leader.coordinates(), leader.flat.ndim - 1
    missing = len(columns) + inner - value.ndim
    if missing < 0:
        raise InvalidArgumentError(
            f"Incompatible shapes: {value.shape} and the ragged {leader.shape}"
        )
    value = value.reshape((1,) * missing + value.shape)
    chosen = []
    for axis, column in enumerate(columns):
        size = value.shape[axis]
        lengths = [] if not axis else np.diff(leader.nested_row_splits[axis - 1]._value)
        fits = size == len(leader) if not axis else bool((lengths == size).all())
        if size != 1 and not fits:
            raise InvalidArgumentError(
                f"Incompatible shapes: {value.shape} and the ragged {leader.shape}, whose rows "
                f"have other lengths than {size}"
            )
        chosen.append(np.zeros_like(column) if size == 1 else column)
    return value[tuple(chosen)]


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The items for which a mask holds, in rows; the mask may be ragged.

    Example:
        >>> import keepset.tf as tf
        >>> tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
        <tf.RaggedTensor [[1], [3, 4]]>
    """
    if not isinstance(mask, RaggedTensor):
        given = np.asarray(value_of(mask, "bool"))
        if not given.ndim:
            raise ValueError("mask cannot be scalar.")
        if given.ndim == 1:
            part = part_of(data)
            if len(part) != len(given):
                raise ValueError(f"a mask of {len(given)} items for {len(part)} rows")
            return as_tensor(taken(part, np.flatnonzero(given)))
        mask = RaggedTensor.from_tensor(given, ragged_rank=given.ndim - 1)
    if not isinstance(data, RaggedTensor):
        data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
    splits = mask._splits
    if not np.array_equal(splits, data._splits):
        raise InvalidArgumentError("data and mask must have rows of the same lengths")
    inner = boolean_mask(as_tensor(data._part), as_tensor(mask._part))
    if isinstance(mask._part, RaggedTensor):
        return RaggedTensor(part_of(inner), splits)
    kept = np.concatenate([[0], np.cumsum(mask._part)])[splits]
    return RaggedTensor(part_of(inner), kept.astype(splits.dtype))


def _size(input: Any, out_type: Any = np.int32, name: str | None = None) -> Tensor:
    flat = input._values if isinstance(input, SparseTensor) else input.flat
    count = int(np.prod(input._shape)) if isinstance(input, SparseTensor) else flat.size
    return wrapped(np.array(count, as_dtype(out_type).storage))


def _rank(input: Any, name: str | None = None) -> Tensor:
    return Tensor(np.int32(len(input.shape)))


def _shape(input: Any, out_type: Any = np.int32, name: str | None = None) -> Tensor:
    if isinstance(input, SparseTensor):
        return Tensor(input._shape.astype(as_dtype(out_type).storage))
    raise TypeError(
        "tf.shape of a ragged tensor would have lengths in it; use bounding_shape(), "
        "row_lengths() or nrows()"
    )


def _cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    if isinstance(x, SparseTensor):
        return x.with_values(Tensor(cast_value(x._values, dtype)))
    return x.with_flat_values(Tensor(cast_value(x.flat, dtype)))


def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is not None:
        return elementwise(
            lambda c, a, b: wrapped(np.where(*(plain(value_of(each)) for each in (c, a, b)))),
            (condition, x, y),
            {},
        )
    held = condition.flat
    columns = [column[held] for column in condition.coordinates()]
    return Tensor(np.stack(columns, axis=1).astype(np.int64))


def _unstack(value: Any, num: Any = None, axis: Any = 0, name: str | None = None) -> list[Any]:
    return list(value)


def _reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    keys: list[Any] = [slice(None)] * len(tensor.shape)
    for each in np.atleast_1d(value_of(axis)).tolist():
        keys[each] = slice(None, None, -1)
    return tensor[tuple(keys)]


def _tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    counts = np.asarray(value_of(multiples)).tolist()
    made = input
    for axis, count in enumerate(counts):
        made = concat([made] * count, axis) if count != 1 else made
    return made


def _squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    axes = sorted(np.atleast_1d(value_of(axis)).tolist(), reverse=True)
    made = input
    for each in axes:
        made = made[(slice(None),) * each + (0,)] if each else made[0]
    return made


HANDLERS: dict[str, Handler] = {
    **REDUCTIONS,
    "boolean_mask": boolean_mask,
    "cast": _cast,
    "concat": concat,
    "expand_dims": expand_dims,
    "gather": gather,
    "rank": _rank,
    "reverse": _reverse,
    "shape": _shape,
    "size": _size,
    "squeeze": _squeeze,
    "stack": stack,
    "tile": _tile,
    "unstack": _unstack,
    "where": _where,
}
_COMPOSITES = (RaggedTensor, SparseTensor, Ragged, Sparse)
