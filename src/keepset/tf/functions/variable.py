"""Variable: a tensor that can be set, for the counters and tables in code of data."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.tensors.conversion import dtype_of, plain, value_of
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor


class Variable(Tensor):
    """As ``tf.Variable`` without gradients: it is a tensor whose value can be set.

    Unlike TensorFlow's it is a ``tf.Tensor`` for ``isinstance``. Do not set one inside a function
    that ``map`` runs in parallel.

    Example:
        >>> import keepset.tf as tf
        >>> count = tf.Variable(0)
        >>> count.assign_add(2)
        <tf.Variable 'Variable:0' shape=() dtype=int32, numpy=np.int32(2)>
        >>> count * 3
        <tf.Tensor: shape=(), dtype=int32, numpy=6>
    """

    __slots__ = ("_name", "trainable")

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        **ignored: Any,
    ) -> None:
        if initial_value is None:
            raise ValueError("tf.Variable needs an initial_value")
        given = initial_value() if callable(initial_value) else initial_value
        super().__init__(value_of(given, dtype))
        self._name, self.trainable = name or "Variable", trainable is not False

    @property
    def name(self) -> str:
        return f"{self._name}:0"

    def assign(
        self, value: Any, use_locking: bool = False, name: Any = None, **ignored: Any
    ) -> Variable:
        """Set the value, to one of the same shape and dtype."""
        found = value_of(value, dtype_of(self._value))
        if np.shape(plain(found)) != np.shape(plain(self._value)):
            raise InvalidArgumentError(
                f"the shape of {self.name} is {self.shape}, and that of the value "
                f"{np.shape(plain(found))}"
            )
        self._value = found
        return self

    def assign_add(self, delta: Any, use_locking: bool = False, name: Any = None) -> Variable:
        """Set it to the sum with another value."""
        return self.assign(run_quietly(np.add, self._value, self._other(delta)))

    def assign_sub(self, delta: Any, use_locking: bool = False, name: Any = None) -> Variable:
        """Set it to the difference from another value."""
        return self.assign(run_quietly(np.subtract, self._value, self._other(delta)))

    def _other(self, delta: Any) -> Any:
        return value_of(delta, dtype_of(self._value))

    def value(self) -> Tensor:
        """What it is now, as a tensor that does not change."""
        return Tensor(self._value)

    def read_value(self) -> Tensor:
        """As ``value``."""
        return self.value()

    def initialized_value(self) -> Tensor:
        """As ``value``."""
        return self.value()

    def __repr__(self) -> str:
        shape, dtype = self.shape, self.dtype.name
        return f"<tf.Variable '{self.name}' shape={shape} dtype={dtype}, numpy={self._value!r}>"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self._value, spec) if spec else repr(self)

    def __reduce__(self) -> Any:
        return _restored, (self._value, self._name, self.trainable)


def _restored(value: Any, name: str, trainable: bool) -> Variable:
    return Variable(Tensor(value), trainable, name=name)


__all__ = ["Variable"]
