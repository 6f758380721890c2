"""What stands in the place of values that are missing in a table."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.conform import conformer
from keepset.core.dtypes import Array, DType, StringType, dtype_name, storage_dtype, text, zero_of
from keepset.core.spec import TensorSpec
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.arrow.leaves import ArrowLeaf

_TEXTS: Final = conformer(TensorSpec(None, text))


def default_fill(dtype: DType) -> tuple[Any] | None:
    """What dtypes have for values that are missing, in a one-tuple: NaN or NaT; None for others."""
    if isinstance(dtype, StringType):
        return None
    if dtype.kind in "mM":
        return (np.array("NaT", dtype)[()],)
    # Those of ml_dtypes have a kind of their own.
    if dtype.kind in "fc" or dtype.name.startswith(("float", "bfloat")):
        return (np.array(np.nan).astype(dtype)[()],)
    return None


def example_fill(dtype: DType) -> str:
    """What the user might choose, as it is written in Python."""
    return "''" if isinstance(dtype, StringType) else str(zero_of(dtype))


def fill_value(value: Any, dtype: DType, key: str) -> Any:
    """A single value that the user gave in ``missing=``."""
    if isinstance(dtype, StringType):
        if isinstance(value, str | bytes):
            with suppress(ElementError, UnicodeError):
                return conformer(TensorSpec((), dtype))(value)
        raise _unfit(value, dtype, key)
    try:
        made = np.array(value, dtype)
        fits = made.ndim == 0 and (dtype.kind not in "biu" or bool(made == value))
    except (TypeError, ValueError, OverflowError) as error:
        raise _unfit(value, dtype, key) from error
    if not fits:
        raise _unfit(value, dtype, key)
    return made[()]


def fill_list(value: Any, dtype: DType, leaf: ArrowLeaf, key: str) -> Array:
    """A whole list that the user gave in ``missing=``, as an array."""
    if not isinstance(value, list | tuple | np.ndarray):
        raise InvalidArgumentError(
            f"missing={{{key!r}: {value!r}}} stands for a whole list and must be one, such as []; "
            f"for single values within lists it is missing={{{leaf.key!r}: {value!r}}}"
        )
    if not len(value):
        return np.empty(0, storage_dtype(dtype))
    inner = (leaf.spec(dtype).shape or ())[1:]
    is_plain = leaf.lists == 1 and not any(step.kind == "field" for step in leaf.steps[1:])
    try:
        made: Array = _TEXTS(value) if dtype is text else as_array(value)
        if not isinstance(dtype, StringType):
            made = made.astype(dtype)
    except (ElementError, TypeError, ValueError) as error:
        raise _unfit(value, dtype, key) from error
    if not is_plain or made.shape[1:] != inner or made.dtype != storage_dtype(dtype):
        raise _unfit(value, dtype, key)
    return made


def _unfit(value: Any, dtype: DType, key: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"missing={{{key!r}: {value!r:.60}}} cannot stand among values of {dtype_name(dtype)}; "
        f"pass a {'text' if isinstance(dtype, StringType) else 'number'} that can"
    )
