"""Control flow as functions: all of it runs at once, as Python's own ``if`` and ``for`` do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.structure import structure_of
from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.composites.ragged_shapes import stack
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.tensors.conversion import Holder, dtype_of, int_of, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.specs import RaggedTensorSpec
from keepset.tf.tensors.tensor import Tensor, tensor

Function = Callable[..., Any]


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """What one of two functions returns."""
    for each, word in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(each):
            raise TypeError(f"{word!r} must be callable.")
    return true_fn() if pred else false_fn()


def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function behind the first condition that holds returns, or else the default."""
    if isinstance(pred_fn_pairs, dict):
        raise ValueError("tf.case takes a list of pairs; a dict has no order")
    if not pred_fn_pairs:
        raise ValueError("tf.case takes at least one pair")
    for pred, function in pred_fn_pairs:
        if not isinstance(pred, Holder):
            raise TypeError(f"pred must be a Tensor, got: {pred!r}; use tf.constant")
        if pred:
            return function()
    if default is None:
        raise InvalidArgumentError("None of the conditions is True, and there is no default")
    return default()


def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """What the function with a number returns; without a default, the last one stands for all."""
    if not isinstance(branch_index, Holder):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    pairs = branch_fns.items() if isinstance(branch_fns, dict) else branch_fns
    functions = dict(enumerate(pairs) if callable(next(iter(pairs), None)) else pairs)
    if sorted(functions) != list(np.arange(len(functions))):
        raise ValueError(f"branch indices are 0, 1, 2 and so on, not {sorted(functions)}")
    number = int_of(branch_index)
    return functions.get(number, functions[len(functions) - 1] if default is None else default)()


def while_loop(
    cond: Function,
    body: Function,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """The loop variables once a condition on them no longer holds."""
    if not isinstance(loop_vars, list | tuple) or not loop_vars:
        raise ValueError("'loop_vars' must be provided: a list or tuple of at least one")
    current, rounds = loop_vars, 0
    most = None if maximum_iterations is None else int_of(maximum_iterations)
    while (most is None or rounds < most) and cond(*current):
        found = body(*current)
        if not isinstance(found, list | tuple) and len(loop_vars) == 1:
            found = [found]
        if len(found) != len(loop_vars):
            raise ValueError(f"the body returned {len(found)} of {len(loop_vars)} variables")
        current, rounds = found, rounds + 1
    return _tensors(current)


def _tensors(value: Any) -> Any:
    """Tensors in place of Python's own numbers, in the same structure."""
    if isinstance(value, list | dict | tuple):
        return _mapped(_tensors, value)
    return tensor(value)


def _mapped(function: Function, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: function(item) for key, item in value.items()}
    items = [function(item) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _rows(elems: Any) -> list[Any]:
    """The elements along the first axis of each leaf of a structure."""
    structure = structure_of(elems) if isinstance(elems, dict | tuple) else None
    leaves = [elems] if structure is None else structure.leaves(elems)
    tensors = [each if isinstance(each, RaggedTensor) else tensor(each) for each in leaves]
    if any(isinstance(each, Tensor) and not each.ndim for each in tensors):
        raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
    if len({len(each) for each in tensors}) > 1:
        raise ValueError(f"elems differ in length: {', '.join(str(len(each)) for each in tensors)}")
    if structure is None:
        return list(tensors[0])
    return [structure.build(list(row)) for row in zip(*tensors, strict=True)]


def map_fn(
    fn: Function,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The results of a function on each element along the first axis, in one tensor.

    They must be of the dtype that ``fn_output_signature`` says, or that of the elements. Rows of
    a ragged tensor make one again, unless ``fn_output_signature`` says something else.

    Example:
        >>> import keepset.tf as tf
        >>> digits = tf.ragged.constant([[3, 1], [4]])
        >>> tf.map_fn(tf.square, digits), tf.map_fn(tf.reduce_max, digits, tf.int32).numpy()
        (<tf.RaggedTensor [[9, 1], [16]]>, array([3, 4], dtype=int32))
    """
    if isinstance(elems, list):
        elems = (
            tuple(elems)
            if any(isinstance(each, Holder | RaggedTensor) for each in elems)
            else elems
        )
        if not isinstance(elems, tuple) and np.ndim(value_of(elems)) < 2:
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
    rows = _rows(elems)
    wanted = dtype if fn_output_signature is None else fn_output_signature
    if wanted is None:
        wanted = _dtypes(elems)
    return _stacked([fn(row) for row in rows], wanted)


def vectorized_map(
    fn: Function, elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """As ``map_fn``, of any dtypes. It runs once for each element, as the other one does."""
    rows = _rows(elems)
    if not rows:
        raise ValueError("tf.vectorized_map takes at least one element")
    results = [_tensors(fn(row)) for row in rows]
    return _stacked(results, _dtypes(results[0]))


def _dtypes(value: Any) -> Any:
    if isinstance(value, dict | tuple):
        return _mapped(_dtypes, value)
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(None, value.dtype, value.ragged_rank - 1, value.row_splits.dtype)
    return dtype_of(value_of(value))


def _stacked(results: list[Any], wanted: Any) -> Any:
    """Results of one structure and dtype in one, with a new first axis."""
    kinds = (dict,) if isinstance(wanted, dict) else (list, tuple)
    if isinstance(wanted, dict | list | tuple) and not all(isinstance(r, kinds) for r in results):
        raise ValueError(
            "the results have another structure than the elements; pass fn_output_signature"
        )
    if isinstance(wanted, dict):
        return {key: _stacked([each[key] for each in results], wanted[key]) for key in wanted}
    if isinstance(wanted, list | tuple):
        columns: Any = zip(*results, strict=True) if results else [()] * len(wanted)
        items = [_stacked(list(each), kind) for each, kind in zip(columns, wanted, strict=True)]
        return type(wanted)(*items) if hasattr(wanted, "_fields") else type(wanted)(items)
    if isinstance(wanted, RaggedTensorSpec):
        return _rows_of(results, wanted)
    dtype = as_dtype(getattr(wanted, "dtype", wanted))
    if not results:
        return Tensor(np.zeros((0,), dtype.storage))
    if any(isinstance(each, dict | list | tuple) for each in results):
        raise ValueError("the results have another structure than the one that was declared")
    found = [value_of(each, None if isinstance(each, Holder) else dtype) for each in results]
    for each in found:
        if dtype_of(each) is not dtype:
            raise DtypeError(
                f"fn returned {dtype_of(each).name}, and {dtype.name} is expected; pass "
                f"fn_output_signature=tf.{dtype_of(each).name}, or use tf.cast"
            )
    return Tensor(value_of([Tensor(each) for each in found]))


def _rows_of(results: list[Any], wanted: RaggedTensorSpec) -> Any:
    """Results of a type as the rows of a ragged tensor."""
    if not results:
        empty = Tensor(np.zeros(0, wanted.dtype.storage))
        splits = [np.zeros(1, wanted.row_splits_dtype.storage)] * (wanted.ragged_rank + 1)
        return RaggedTensor.from_nested_row_splits(empty, splits)
    found = [each if isinstance(each, RaggedTensor) else tensor(each) for each in results]
    for each in found:
        if each.dtype != wanted.dtype or getattr(each, "ragged_rank", 0) != wanted.ragged_rank:
            raise InvalidArgumentError(
                f"fn returned a {type(each).__name__} of {each.dtype.name}, and {wanted} is "
                f"expected; pass fn_output_signature=tf.{each.dtype.name} if it returns tensors of "
                "one shape, or a tf.RaggedTensorSpec"
            )
        if isinstance(each, Tensor) and not each.ndim:
            raise InvalidArgumentError(
                "fn returned a scalar, which is no row of a ragged tensor; pass "
                f"fn_output_signature=tf.{each.dtype.name}"
            )
    return stack(found).with_row_splits_dtype(wanted.row_splits_dtype)


def scan(
    fn: Function,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All that a function comes to on its last result and the next element."""
    rows = _rows(elems)[:: -1 if reverse else 1]
    if initializer is None:
        state, rows, found = rows[0], rows[1:], rows[:1]
    else:
        state, found = _tensors(initializer), []
    dtypes = _dtypes(state)
    for row in rows:
        state = _tensors(fn(state, row))
        found.append(state)
    return _stacked(found[:: -1 if reverse else 1], dtypes)


def foldl(
    fn: Function,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """What a function comes to on its last result and each element."""
    return _folded(fn, _rows(elems), initializer)


def foldr(
    fn: Function,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As ``foldl``, from the last element to the first."""
    return _folded(fn, _rows(elems)[::-1], initializer)


def _folded(fn: Function, rows: list[Any], initializer: Any) -> Any:
    state, rest = (rows[0], rows[1:]) if initializer is None else (_tensors(initializer), rows)
    for row in rest:
        state = _tensors(fn(state, row))
    return state


install(globals())

__all__ = [
    "case",
    "cond",
    "foldl",
    "foldr",
    "map_fn",
    "scan",
    "switch_case",
    "vectorized_map",
    "while_loop",
]
