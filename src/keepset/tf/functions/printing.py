"""``tf.print``: values on stderr, long tensors with their middle left out."""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.conversion import Holder, plain
from keepset.tf.tensors.tensor import Tensor


def print(*inputs: Any, **kwargs: Any) -> None:
    """Print tensors as their values, as TensorFlow does: on stderr, or ``output_stream``.

    Args:
        inputs: Tensors, structures of them, or anything else.
        kwargs: ``output_stream`` is a stream, a function of logging or ``file://`` and a path;
            ``summarize`` the number of items at each end of an axis, or -1 for all; ``end`` and
            ``sep`` as those of Python's own ``print``.
    """
    unknown = set(kwargs) - {"output_stream", "summarize", "end", "sep", "name"}
    if unknown:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {sorted(unknown)}")
    few = kwargs.get("summarize", 3)
    shown = kwargs.get("sep", " ").join(_texts(inputs, -1 if few is None else few))
    stream, end = kwargs.get("output_stream", sys.stderr), kwargs.get("end", "\n")
    if isinstance(stream, str) and stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a") as file:
            file.write(shown + end)
    elif callable(stream):  # tf.get_logger().info
        stream(shown)
    else:
        builtins.print(shown, end=end, file=stream, flush=True)


def _texts(inputs: Sequence[Any], few: int) -> Iterator[str]:
    if len(inputs) == 1 and isinstance(inputs[0], Holder) and not np.ndim(inputs[0]._value):
        yield _item(inputs[0]._value, False)  # alone, a text stands without quotes
        return
    for each in inputs:
        yield each if isinstance(each, str) else _shown(each, few)


def _shown(value: Any, few: int) -> str:
    if isinstance(value, Holder):
        return _array(plain(value._value), few)
    if isinstance(value, RaggedTensor):
        return _ragged(value)
    if isinstance(value, SparseTensor):
        parts = value.indices, value.values, value.dense_shape
        indices, values, shape = (_shown(part, few) for part in parts)
        return f"'SparseTensor(indices={indices}, values={values}, shape={shape})'"
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: str(pair[0]))
        return f"{{{', '.join(f'{key!r}: {_shown(item, few)}' for key, item in pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_shown(each, few) for each in value)}]"
    if isinstance(value, tuple):
        inside = ", ".join(_shown(each, few) for each in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


def _ragged(value: Any) -> str:
    """The rows of a ragged tensor between brackets."""
    if isinstance(value, Tensor) and value.ndim == 1:
        return f"[{', '.join(map(_in_ragged, plain(value._value)))}]"
    return f"[{', '.join(map(_ragged, value))}]"


def _in_ragged(item: Any) -> str:
    if isinstance(item, np.floating):
        return f"{item:.6f}"
    return repr(item.decode(errors="replace")) if isinstance(item, bytes) else _item(item, True)


def _array(array: Any, few: int) -> str:
    """An array between brackets, with a few items from each end of each axis."""
    if not np.ndim(array):
        return _item(array[()] if isinstance(array, np.ndarray) else array, True)
    size = len(array)
    if few >= 0 and size > 2 * few:
        parts = [*array[:few], "...", *array[size - few :]]
    else:
        parts = list(array)
    between = " " if array.ndim == 1 else "\n " * (array.ndim > 1)
    texts = [
        each
        if isinstance(each, str)
        else _item(each, True)
        if array.ndim == 1
        else _array(each, few).replace("\n", "\n ")
        for each in parts
    ]
    return f"[{between.join(texts)}]"


def _item(item: Any, is_inside: bool) -> str:
    if isinstance(item, bytes):
        text = item.decode(errors="replace")
        return f'"{text}"' if is_inside else text
    if isinstance(item, np.floating):
        return f"{float(str(item)):.9g}"
    if isinstance(item, np.bool_):
        return str(int(item))
    return str(item)


def get_logger() -> logging.Logger:
    """The logger of this name, as TensorFlow's code asks for it."""
    return logging.getLogger("tensorflow")


__all__ = ["get_logger", "print"]
