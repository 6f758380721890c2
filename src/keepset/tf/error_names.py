"""TensorFlow's names for the errors of this library and of Python, given to them where they pass.

An error keeps its own class and gets a second one, so that programs catch it by either name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from keepset import errors as library
from keepset.errors import InvalidArgumentError
from keepset.tf.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)
from keepset.tf.named_error import NamedError

# The name of an error is that of the first kind here that it is of.
_NAMES: Final = (
    (library.CardinalityError, FailedPreconditionError),
    (library.ElementIndexError, OutOfRangeError),
    (library.NotAddressableError, UnimplementedError),
    (
        (library.CorruptRecordError, library.CorruptSnapshotError, library.CorruptCacheError),
        DataLossError,
    ),
    ((library.ElementError, library.StateError), InvalidArgumentError),
    (library.WorkerDiedError, UnavailableError),
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    ((IsADirectoryError, NotADirectoryError), FailedPreconditionError),
    (library.MissingExtraError, UnimplementedError),
)
# What a function of Python's raises where TensorFlow runs it for the program.
_OF_FUNCTIONS: Final = (
    ((TypeError, ValueError), InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (Exception, UnknownError),
)


def translated(error: BaseException, *, is_of_function: bool = False) -> Any:
    """An error that is caught by its own names, and by the one that TensorFlow gives it.

    Args:
        error: Any error. One that has no other name is returned as it is.
        is_of_function: Whether it comes from a function that TensorFlow calls when a pipeline runs,
            as those of ``from_generator``; their errors all have names there.

    Example:
        >>> from keepset.errors import ElementError
        >>> type(translated(ElementError("of another shape"))).__mro__[1:3]
        (<class 'keepset.errors.ElementError'>, <class 'keepset.errors.InvalidArgumentError'>)
    """
    names = _NAMES + _OF_FUNCTIONS if is_of_function else _NAMES
    name = next((name for kinds, name in names if isinstance(error, kinds)), None)
    if name is None or (isinstance(error, OpError) and isinstance(error, (name, NamedError))):
        return error
    return _with_name(error, name)


def _with_name(error: BaseException, name: type[OpError]) -> Any:
    """An error with one more name by which it is caught."""
    kind = type(error)
    both: Any = _both(kind, name)
    if issubclass(kind, OpError):
        with_both: Any = error
        with_both.__class__ = both
        return with_both
    # Those of Python's own cannot change: it is a new one, with what the old one holds.
    made = both.__new__(both)
    made.args = (str(error) if isinstance(error, OSError) else f"{kind.__name__}: {error}",)
    for key in ("errno", "filename", "strerror"):
        if hasattr(error, key):
            setattr(made, key, getattr(error, key))
    made.__dict__.update(getattr(error, "__dict__", {}))
    made.__cause__ = error
    return made.with_traceback(error.__traceback__)


def _both(kind: Any, name: Any) -> Any:
    """The class of errors that are of two kinds."""
    key = kind, name
    if key not in _BOTH:
        _BOTH[key] = _made_of_both(kind, name)
    return _BOTH[key]


_BOTH: dict[Any, Any] = {}


def _made_of_both(kind: Any, name: Any) -> Any:
    if issubclass(name, kind):
        return name
    first = kind if issubclass(kind, OpError) else name
    second = name if first is kind else kind
    members = {"__reduce__": _reduce, "__module__": kind.__module__, "error_code": name.error_code}
    members["__str__"] = Exception.__str__ if first is name else kind.__str__
    try:
        return type(kind.__name__, (first, second), {**members, "_parts": (kind, name)})
    except TypeError:  # of classes that hold their data in other ways
        return name


def _reduce(self: Any) -> tuple[Any, ...]:
    return _remade, (*self._parts, self.args, dict(self.__dict__))


def _remade(
    kind: type[BaseException], name: type[OpError], args: Any, held: dict[str, Any]
) -> BaseException:
    both: Any = _both(kind, name)
    made: BaseException = both.__new__(both)
    made.args = args
    made.__dict__.update(held)
    return made


@contextmanager
def translation() -> Iterator[None]:
    """Errors that pass are caught by the names that TensorFlow gives them as well."""
    try:
        yield
    except Exception as error:
        told = translated(error)
        if told is error:
            raise
        raise told from error
