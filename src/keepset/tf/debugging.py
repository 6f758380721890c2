"""``tf.debugging``: checks, which are done at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.functions.math_table import FUNCTIONS
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.arithmetic import FLOATS, check_dtype
from keepset.tf.tensors.conversion import Holder, dtype_of, int_of, plain, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.tensor import Reference, Tensor


def Assert(  # noqa: N802
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError with some data unless a condition holds."""
    if not condition:
        shown = "\n".join(
            str(plain(each._value)) if isinstance(each, Holder) else str(each) for each in data
        )
        raise InvalidArgumentError(f"Expected '{condition}' to be true. Summarized data: {shown}")


def _comparison(name: str, sign: str, compare: Callable[..., Tensor]) -> Callable[..., None]:
    def check(
        x: Any, y: Any, message: Any = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        holds = compare(x, y)._value
        if not np.all(holds):
            one, two = (np.broadcast_to(plain(value_of(each)), np.shape(holds)) for each in (x, y))
            first = [np.ravel(each)[~np.ravel(holds)][:3].tolist() for each in (one, two)]
            raise InvalidArgumentError(
                f"{message or ''}\nCondition x {sign} y did not hold.\n"
                f"First elements of x and y that differ: {first[0]} and {first[1]}"
            )

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise InvalidArgumentError unless ``x {sign} y`` holds item by item."
    return check


_COMPARISONS = {
    "assert_equal": ("==", "equal"),
    "assert_greater": (">", "greater"),
    "assert_greater_equal": (">=", "greater_equal"),
    "assert_less": ("<", "less"),
    "assert_less_equal": ("<=", "less_equal"),
}
assert_equal, assert_greater, assert_greater_equal, assert_less, assert_less_equal = (
    _comparison(name, sign, FUNCTIONS[compare]) for name, (sign, compare) in _COMPARISONS.items()
)


def assert_none_equal(
    x: Any, y: Any, summarize: int | None = None, message: Any = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError where two tensors have the same item."""
    _differ(x, y, message)


_differ = _comparison("assert_none_equal", "!=", FUNCTIONS["not_equal"])


def _sign(name: str, sign: str, compare: Callable[..., None]) -> Callable[..., None]:
    def check(
        x: Any, message: Any = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        compare(x, 0, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise InvalidArgumentError unless ``x {sign} 0`` holds item by item."
    return check


assert_negative = _sign("assert_negative", "<", assert_less)
assert_non_negative = _sign("assert_non_negative", ">=", assert_greater_equal)
assert_non_positive = _sign("assert_non_positive", "<=", assert_less_equal)
assert_positive = _sign("assert_positive", ">", assert_greater)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: Any = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless floats are as near as ten times their precision."""
    one = value_of(x)
    two = value_of(y, None if isinstance(y, Holder) else dtype_of(one))
    check_dtype(one, FLOATS, assert_near)
    if one.dtype != two.dtype:
        raise DtypeError(f"tensors of {one.dtype.name} and {two.dtype.name} do not go together")
    default = 10 * np.finfo(one.dtype).eps
    relative, absolute = (default if each is None else value_of(each) for each in (rtol, atol))
    if not np.all(np.abs(one - two) <= absolute + relative * np.abs(two)):
        raise InvalidArgumentError(f"{message or ''}\nx and y not equal to tolerance: {x} and {y}")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The same tensor, in which nothing may be infinite or no number."""
    given = value_of(tensor)
    check_dtype(given, FLOATS, check_numerics)
    if not np.isfinite(given).all():
        kinds = [word for word, has in (("NaN", np.isnan), ("Inf", np.isinf)) if has(given).any()]
        raise InvalidArgumentError(f"{message} : Tensor had {' and '.join(kinds)} values")
    return Tensor(given)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """As ``check_numerics``."""
    return check_numerics(x, message)


def _rank(x: Any) -> int:
    return np.ndim(plain(value_of(x)))


def assert_rank(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raise ValueError unless a tensor has so many dimensions."""
    assert_rank_in(x, [rank], message)


def assert_rank_in(x: Any, ranks: Any, message: Any = None, name: str | None = None) -> None:
    """Raise ValueError unless a tensor has one of some numbers of dimensions."""
    allowed = [int_of(each) for each in ranks]
    if _rank(x) not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise InvalidArgumentError(
            f"{message or ''} Tensor must have rank {wanted}. Received rank {_rank(x)}, "
            f"shape {np.shape(plain(value_of(x)))}"
        )


def assert_rank_at_least(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raise ValueError unless a tensor has at least so many dimensions."""
    if _rank(x) < int_of(rank):
        raise InvalidArgumentError(
            f"{message or ''} Tensor must have rank at least {rank}. Received rank {_rank(x)}"
        )


def assert_scalar(tensor: Any, message: Any = None, name: str | None = None) -> None:
    """Raise ValueError unless a tensor has no dimensions."""
    if _rank(tensor):
        raise InvalidArgumentError(
            f"{message or ''} Expected scalar shape, saw {np.shape(value_of(tensor))}"
        )


def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: str | None = None) -> None:
    """Raise TypeError unless a tensor is of a dtype."""
    wanted, found = as_dtype(tf_type), dtype_of(value_of(tensor))
    if found is not wanted:
        raise DtypeError(f"{message or ''} tensor must be of type {wanted!r}; got {found!r}")


def assert_integer(x: Any, message: Any = None, name: str | None = None) -> None:
    """Raise TypeError unless a tensor is of whole numbers."""
    found = dtype_of(value_of(x))
    if not found.is_integer:
        raise DtypeError(f'{message or ""} Expected "x" to be integer type. Found: {found!r}')


def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError for a single tensor or text, which can be iterated over by mistake."""
    if isinstance(values, Holder | np.ndarray | str | bytes) or not hasattr(values, "__iter__"):
        raise DtypeError(f'Expected "values" to be a list of tensors, not {type(values).__name__}')


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """The one floating dtype of tensors; float32 if there are none."""
    found = [dtype_of(value_of(each)) for each in tensors or ()]
    wanted = as_dtype(dtype) if dtype is not None else (found or [as_dtype("float32")])[0]
    if any(each is not wanted for each in found) or not wanted.is_floating:
        raise DtypeError(f"a single floating dtype is expected, not {[*found, wanted]}")
    return wanted


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: Any = None,
    name: str | None = None,
) -> None:
    """Raise ValueError unless tensors have shapes, in which a name is one size everywhere."""
    sizes: dict[Any, int] = {}
    for key, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        found = np.shape(plain(value_of(key.deref() if isinstance(key, Reference) else key)))
        symbols = list(wanted) if isinstance(wanted, list | tuple | str) else [wanted]
        if wanted == ():
            symbols = []
        if symbols[:1] in (["..."], [Ellipsis], ["*"]) and len(found) >= len(symbols) - 1:
            symbols, found = symbols[1:], found[len(found) - len(symbols) + 1 :]
        if len(symbols) != len(found):
            raise InvalidArgumentError(f"{message or ''} a tensor of shape {found} is not {wanted}")
        for symbol, size in zip(symbols, found, strict=True):
            if symbol in (None, "."):
                continue
            is_number = isinstance(symbol, int) or str(symbol).isdigit()
            needed = int(symbol) if is_number else sizes.setdefault(symbol, size)
            if needed != size:
                raise InvalidArgumentError(
                    f"{message or ''} dimension {symbol} must have size {needed}, not {size}"
                )


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, Holder) and dtype_of(tensor._value).is_numeric


def _nothing(name: str) -> Callable[..., None]:
    def ignore(*args: Any, **kwargs: Any) -> None:
        pass

    ignore.__name__ = ignore.__qualname__ = name
    ignore.__doc__ = "Nothing: there is nothing here that it would change."
    return ignore


disable_check_numerics = _nothing("disable_check_numerics")
disable_traceback_filtering = _nothing("disable_traceback_filtering")
enable_check_numerics = _nothing("enable_check_numerics")
enable_traceback_filtering = _nothing("enable_traceback_filtering")
set_log_device_placement = _nothing("set_log_device_placement")


__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "is_numeric_tensor",
    "set_log_device_placement",
]

__getattr__ = not_covered("tf.debugging")
