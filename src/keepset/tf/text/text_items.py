"""Functions of single texts, applied to all texts of a tensor or a ragged tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_functions import elementwise
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.row_partition import splits_of_lengths
from keepset.tf.tensors.conversion import as_value, string_array, value_of
from keepset.tf.tensors.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


def per_item(function: Function) -> Function:
    """A function of each text by itself, which works on the flat values of what is ragged."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        given = [*arguments[:2], *named.values()]
        if any(map(_is_ragged, given)):
            return elementwise(function, arguments, named)
        return function(*arguments, **named)

    return call  # type: ignore[return-value]


def _is_ragged(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return any(isinstance(each, RaggedTensor) for each in given)
    return isinstance(given, RaggedTensor)


def strings_of(given: Any) -> Any:
    """An array of texts, also of a single one."""
    value = value_of(given, "string")
    return string_array([value], ()) if type(value) is bytes else value


def text_of(given: Any, what: str) -> bytes:
    """A single text, such as a separator."""
    value = value_of(given, "string")
    if type(value) is not bytes:
        raise InvalidArgumentError(f"{what} must be a single text, got shape {np.shape(value)}")
    return value


def each_text(function: Callable[[bytes], Any], given: Any, dtype: Any = object) -> Tensor:
    """A tensor of what a function makes of each text."""
    array = strings_of(given)
    made = [function(text) for text in array.reshape(-1).tolist()]
    if dtype is object:
        return Tensor(string_array(made, array.shape) if array.ndim else made[0])
    return Tensor(as_value(np.array(made, dtype).reshape(array.shape)))


def each_row(function: Callable[[bytes], Sequence[Any]], given: Any, dtype: Any = object) -> Any:
    """What a function makes of each text as a row: a ragged tensor with one dimension more."""
    if isinstance(given, RaggedTensor):
        return given.with_flat_values(each_row(function, given.flat_values, dtype))
    array = strings_of(given)
    if array.ndim > 1:
        outer = RaggedTensor.from_tensor(Tensor(array), ragged_rank=array.ndim - 1)
        return each_row(function, outer, dtype)
    rows = [function(text) for text in array.reshape(-1).tolist()]
    values = _values([item for row in rows for item in row], dtype)
    if not array.ndim:
        return Tensor(values)
    return RaggedTensor(values, splits_of_lengths([len(row) for row in rows], np.int64))


def _values(items: Sequence[Any], dtype: Any) -> Any:
    return string_array(items) if dtype is object else np.array(items, dtype)
