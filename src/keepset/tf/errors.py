"""``tf.errors``: the errors that code for TensorFlow catches, by its names.

``OpError`` is the root of all errors of this library, and ``InvalidArgumentError`` its own. The
others are also what Python calls them: a ``NotFoundError`` is a ``FileNotFoundError``. An error of
the library that has another name there is given both: one of a damaged record is caught as
``tf.errors.DataLossError`` and as ``keepset.CorruptRecordError``.

Example:
    >>> import keepset.tf as tf
    >>> try:
    ...     list(tf.data.TextLineDataset("no/such/file"))
    ... except tf.errors.NotFoundError as error:
    ...     print(error.error_code == tf.errors.NOT_FOUND, isinstance(error, FileNotFoundError))
    True True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from keepset import errors as _library
from keepset.errors import InvalidArgumentError
from keepset.errors import KeepsetError as OpError
from keepset.tf.not_covered import not_covered

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = range(6)
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED = range(6, 11)
OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(11, 17)

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]


class _NamedError(OpError):
    """An error that TensorFlow has a name for, made of a node, an operation and a message."""

    def __init__(self, *given: Any) -> None:
        message = given[2] if len(given) > 2 else "".join(map(str, given[:1]))
        super().__init__(message)
        self.args = (message,)

    # Without this, OSError's own __str__ would hide a message given as the only argument.
    __str__ = Exception.__str__

    @property
    def experimental_payloads(self) -> dict[bytes, bytes]:
        return {}


def _error(name: str, code: int, *kinds: type[Exception]) -> type[OpError]:
    """The class of a name, which is also what Python calls such errors."""
    members = {"error_code": code, "__module__": __name__, "__doc__": f"As ``tf.errors.{name}``."}
    return type(name, (_NamedError, *kinds), members)


CancelledError = _error("CancelledError", CANCELLED)
UnknownError = _error("UnknownError", UNKNOWN)
DeadlineExceededError = _error("DeadlineExceededError", DEADLINE_EXCEEDED, TimeoutError)
NotFoundError = _error("NotFoundError", NOT_FOUND, FileNotFoundError)
AlreadyExistsError = _error("AlreadyExistsError", ALREADY_EXISTS, FileExistsError)
PermissionDeniedError = _error("PermissionDeniedError", PERMISSION_DENIED, PermissionError)
ResourceExhaustedError = _error("ResourceExhaustedError", RESOURCE_EXHAUSTED, MemoryError)
FailedPreconditionError = _error("FailedPreconditionError", FAILED_PRECONDITION)
AbortedError = _error("AbortedError", ABORTED)
OutOfRangeError = _error("OutOfRangeError", OUT_OF_RANGE)
UnimplementedError = _error("UnimplementedError", UNIMPLEMENTED, NotImplementedError)
InternalError = _error("InternalError", INTERNAL)
UnavailableError = _error("UnavailableError", UNAVAILABLE)
DataLossError = _error("DataLossError", DATA_LOSS)
UnauthenticatedError = _error("UnauthenticatedError", UNAUTHENTICATED)


class OperatorNotAllowedInGraphError(TypeError):
    """As in TensorFlow; nothing raises it, because there are no graphs."""


# The name of an error is that of the first kind here that it is of.
_NAMES: Final = (
    (_library.CardinalityError, FailedPreconditionError),
    (_library.ElementIndexError, OutOfRangeError),
    (_library.NotAddressableError, UnimplementedError),
    (
        (_library.CorruptRecordError, _library.CorruptSnapshotError, _library.CorruptCacheError),
        DataLossError,
    ),
    ((_library.ElementError, _library.StateError), InvalidArgumentError),
    (_library.WorkerDiedError, UnavailableError),
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    ((IsADirectoryError, NotADirectoryError), FailedPreconditionError),
    (_library.MissingExtraError, UnimplementedError),
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
    if name is None or (isinstance(error, OpError) and isinstance(error, (name, _NamedError))):
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


__getattr__ = not_covered("tf.errors")
