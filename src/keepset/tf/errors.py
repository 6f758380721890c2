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

from keepset.errors import InvalidArgumentError
from keepset.errors import KeepsetError as OpError
from keepset.tf.named_error import NamedError as _NamedError
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


__getattr__ = not_covered("tf.errors")
