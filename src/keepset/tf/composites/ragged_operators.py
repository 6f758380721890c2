"""Operators and indexing of ragged tensors, which need functions that make ragged tensors.

They are put into the class here, as the class itself is what those functions are written with.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.tf.composites.ragged_functions import boolean_mask, elementwise
from keepset.tf.composites.ragged_indexing import item_of
from keepset.tf.composites.ragged_tensor import RaggedTensor, as_tensor
from keepset.tf.tensors.conversion import Holder, value_of
from keepset.tf.tensors.tensor import Tensor

_BOTH_WAYS: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
_COMPARED: Final = ("lt", "le", "gt", "ge", "eq", "ne")
_ALONE: Final = ("neg", "invert", "abs")


def _operated(function: Callable[..., Any], *operands: Any) -> Any:
    # One of them is a tensor, so that the operator is TensorFlow's.
    return elementwise(lambda one, *others: function(_tensor(one), *others), operands, {})


def _tensor(given: Any) -> Tensor:
    return given if isinstance(given, Tensor) else Tensor(value_of(given))


def _forward(name: str) -> Callable[[RaggedTensor, Any], Any]:
    function = getattr(operator, f"__{name}__")

    def forward(self: RaggedTensor, other: Any) -> Any:
        if other is None and name in ("eq", "ne"):
            return name == "ne"
        return _operated(function, self, other)

    return forward


def _reflected(name: str) -> Callable[[RaggedTensor, Any], Any]:
    function = getattr(operator, f"__{name}__")

    def backward(self: RaggedTensor, other: Any) -> Any:
        first = other if isinstance(other, Tensor) else Tensor(value_of(other, self.dtype))
        return _operated(lambda mine, its: function(its, mine), self, first)

    return backward


def _alone(name: str) -> Callable[[RaggedTensor], Any]:
    function = getattr(operator, f"__{name}__")
    return lambda self: _operated(function, self)


def _item(self: RaggedTensor, key: Any) -> Any:
    value = key._value if isinstance(key, Holder) else key
    is_mask = isinstance(value, np.ndarray) and value.dtype.kind == "b"
    if is_mask or isinstance(key, RaggedTensor):
        return boolean_mask(self, key)
    return as_tensor(item_of(self, key))


def _install() -> None:
    for name in _BOTH_WAYS:
        setattr(RaggedTensor, f"__r{name}__", _reflected(name))
    for name in _BOTH_WAYS + _COMPARED:
        setattr(RaggedTensor, f"__{name}__", _forward(name))
    for name in _ALONE:
        setattr(RaggedTensor, f"__{name}__", _alone(name))
    setattr(RaggedTensor, "__getitem__", _item)  # noqa: B010  # as the others


_install()

__all__: list[str] = []
