"""Indexing of tensors: what ``x[...]`` takes, which is less than NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.conversion import Holder, Value, as_value, plain


def item_of(value: Value, key: Any) -> Value:
    """The part of a value that a key stands for.

    Raises:
        InvalidArgumentError: It lies outside.
        DtypeError: The key is none that TensorFlow knows.
    """
    if type(key) is int and type(value) is np.ndarray:  # the usual case
        try:
            return value[key]
        except IndexError as error:
            raise _outside(value, key) from error
    if (mask := _mask(key)) is not None:
        return _masked(value, mask)
    keys = key if isinstance(key, tuple) else _list_of(key)
    plain_key = tuple(map(_plain_key, keys))
    if type(value) is not np.ndarray and any(each not in (None, Ellipsis) for each in plain_key):
        raise InvalidArgumentError("Attempting to slice scalar input.")
    try:
        return as_value(np.asarray(plain(value))[plain_key])
    except IndexError as error:
        raise _outside(value, key) from error


def _list_of(key: Any) -> tuple[Any, ...]:
    return tuple(key) if type(key) is list else (key,)


def _outside(value: Value, key: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the index {key!r:.80} is out of bounds of a tensor of shape {np.shape(value)}"
    )


def _mask(key: Any) -> Any:
    found = key._value if isinstance(key, Holder) else key
    if isinstance(found, bool | np.bool_):
        raise ValueError("mask cannot be scalar.")
    return found if isinstance(found, np.ndarray) and found.dtype == bool else None


def _masked(value: Value, mask: Any) -> Value:
    if np.shape(value)[: mask.ndim] != mask.shape:
        raise ValueError(f"Shapes {np.shape(value)} and {mask.shape} are incompatible")
    return value[mask]


def _plain_key(key: Any) -> Any:
    if type(key) is int or key is None or key is Ellipsis:
        return key
    if isinstance(key, slice):
        return slice(_bound(key.start), _bound(key.stop), _bound(key.step))
    return _whole(key)


def _bound(key: Any) -> Any:
    return key if key is None or type(key) is int else _whole(key)


def _whole(key: Any) -> int:
    found = key._value if isinstance(key, Holder) else key
    allowed = (np.int32, np.int64) if isinstance(key, Holder) else (int, np.integer)
    if isinstance(found, bool) or not isinstance(found, allowed):
        raise DtypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
            f"tf.int32/tf.int64 tensors are valid indices, got {key!r:.80}; tf.gather takes lists"
        )
    return int(found)
