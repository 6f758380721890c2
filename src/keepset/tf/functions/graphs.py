"""What programs say about graphs and devices, of which there are none here."""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from keepset.tf.tensors.conversion import value_of
from keepset.tf.tensors.tensor import Tensor, wrapped


@contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Nothing: all that is here runs where Python does."""
    yield


@contextmanager
def name_scope(name: str) -> Iterator[str]:
    """Nothing: there is no graph in which names would show."""
    yield f"{name}/"


@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Nothing: all runs in the order in which it is written."""
    yield


def tuple(tensors: Any, control_inputs: Any = None, name: str | None = None) -> Any:
    """The same tensors: all of them are there already."""
    return builtins.tuple(tensors) if isinstance(tensors, builtins.tuple) else list(tensors)


@contextmanager
def init_scope() -> Iterator[None]:
    """Nothing: there is no graph to leave."""
    yield


def executing_eagerly() -> bool:
    """True: there are no graphs here."""
    return True


def inside_function() -> bool:
    """False: there are no graphs here."""
    return False


def group(*inputs: Any, **options: Any) -> None:
    """Nothing: what was called has run."""


def no_op(name: str | None = None) -> None:
    """Nothing."""


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The same: there are no gradients here."""
    return wrapped(value_of(input))


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value in NumPy."""
    return tensor.numpy() if isinstance(tensor, Tensor) else tensor


def timestamp(name: str | None = None) -> Tensor:
    """The seconds since 1970, as float64."""
    return Tensor(np.float64(time.time()))


def is_symbolic_tensor(tensor: Any) -> bool:
    """False: all tensors have values here."""
    return False


__all__ = [
    "control_dependencies",
    "device",
    "executing_eagerly",
    "get_static_value",
    "group",
    "init_scope",
    "inside_function",
    "is_symbolic_tensor",
    "name_scope",
    "no_op",
    "stop_gradient",
    "timestamp",
    "tuple",
]
