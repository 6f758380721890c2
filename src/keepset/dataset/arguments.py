"""Arguments: what people pass, checked and made uniform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keepset import nodes
from keepset.core.dtypes import StringType, as_dtype
from keepset.core.spec import Spec, TensorSpec, structure_and_leaves
from keepset.errors import InvalidArgumentError
from keepset.nodes.autotune import AUTOTUNE


def function_for(function: Any, stage: str) -> Callable[..., Any]:
    if not callable(function):
        raise InvalidArgumentError(f"{stage} needs a function, not {type(function).__name__}")
    return function  # type: ignore[no-any-return]


def whole_number(value: Any, what: str) -> int:
    """An integer argument, also one of NumPy; anything else is refused."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgumentError(f"{what} must be an integer, not {value!r:.60}")
    return int(value.__index__())


def positive(value: Any, what: str) -> int:
    """An integer argument of at least one."""
    number = whole_number(value, what)
    if number < 1:
        raise InvalidArgumentError(f"{what} must be at least 1, not {number}")
    return number


def number_type(dtype: Any) -> np.dtype[Any]:
    wanted = as_dtype(dtype)
    if isinstance(wanted, StringType):
        raise InvalidArgumentError("the elements are numbers; their dtype cannot be string")
    return wanted


def seed_or_none(seed: Any) -> int | None:
    return None if seed is None else whole_number(seed, "seed")


def parallelism_for(
    calls: Any, deterministic: bool | None, executor: str
) -> nodes.Parallelism | None:
    if calls is None:
        if executor == "thread":
            return None
        calls = AUTOTUNE
    return nodes.Parallelism(whole_number(calls, "num_parallel_calls"), deterministic, executor)


def signature_of(types: Any, shapes: Any) -> Spec:
    """The signature that TensorFlow's older ``output_types, output_shapes`` spell out."""
    if isinstance(types, Mapping | tuple):
        structure, dtypes = structure_and_leaves(types)
        sizes = [None] * len(dtypes) if shapes is None else _flat_shapes(types, shapes)
        pairs = zip(sizes, dtypes, strict=True)
        return structure.build([TensorSpec(size, dtype) for size, dtype in pairs])
    return TensorSpec(shapes, types)


def _flat_shapes(types: Any, shapes: Any) -> list[Any]:
    if isinstance(types, Mapping):
        return [s for key in sorted(types) for s in _flat_shapes(types[key], shapes[key])]
    if isinstance(types, tuple):
        pairs = zip(types, shapes, strict=True)
        return [s for inner, shape in pairs for s in _flat_shapes(inner, shape)]
    return [shapes]
