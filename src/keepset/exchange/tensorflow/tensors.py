"""Single tensors as bytes: ``serialize_tensor`` and ``parse_tensor``."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.dtypes import as_dtype, string
from keepset.core.element import to_element
from keepset.errors import ElementError
from keepset.exchange.tensorflow.tensor_proto import dense_tensor
from keepset.exchange.tensorflow.tensor_proto import parse_tensor as parse_message


def serialize_tensor(tensor: Any) -> bytes:
    """The bytes of an array, a scalar or a string, with its dtype and shape.

    Example:
        >>> parse_tensor(serialize_tensor([[1, 2], [3, 4]]))
        array([[1, 2],
               [3, 4]])
    """
    leaf = to_element(tensor)
    if not isinstance(leaf, bytes | np.ndarray | np.generic):
        raise ElementError(f"an array or a scalar is needed, not {type(tensor).__name__}")
    try:
        return dense_tensor(leaf)
    except ValueError as error:
        raise ElementError(f"the tensor cannot be serialised: {error}") from error


def parse_tensor(serialized: Any, out_type: Any = None) -> Any:
    """The array, scalar or string that these bytes hold.

    Args:
        serialized: What :func:`serialize_tensor`, or TensorFlow's function of that name, gave.
        out_type: The dtype that it must have, if that is to be checked.
    """
    data = serialized.numpy() if hasattr(serialized, "numpy") else serialized
    try:
        array = parse_message(bytes(data)).dense
    except ValueError as error:
        raise ElementError(f"the bytes are no tensor: {error}") from error
    found = string if array.dtype == object else array.dtype
    if out_type is not None and as_dtype(out_type) != found:
        raise ElementError(f"the tensor is of {found.name}, not of {as_dtype(out_type).name}")
    return array if array.ndim else array[()]
