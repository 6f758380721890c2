"""NumPy without its warnings of overflows and divisions by zero, of which TensorFlow has none."""

from __future__ import annotations

import contextvars
from typing import Any, Final, TypeVar

import numpy as np

Function = TypeVar("Function")


def quietly(function: Function) -> Function:
    """A function that runs under ``np.errstate(all="ignore")``."""
    return np.errstate(all="ignore")(function)  # type: ignore[type-var]


def _context() -> contextvars.Context | None:
    """A context in which NumPy is quiet, if it keeps that in contexts, as it does since 2.0.

    To enter it takes a fiftieth of what ``np.errstate`` takes, which is ten additions.
    """
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return None
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


_CONTEXT: Final = _context()


def _run_with_errstate(function: Any, *values: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*values)


# Calls a function of NumPy. RuntimeError: another thread is in the context, which happens as NumPy
# lets other threads go on while it works on arrays; ``run_quietly`` takes care of that.
run_in_context: Final = _run_with_errstate if _CONTEXT is None else _CONTEXT.run


def run_quietly(function: Any, *values: Any) -> Any:
    """Call a function of NumPy that calls nothing else; several threads may do so at once."""
    try:
        return run_in_context(function, *values)
    except RuntimeError:
        return _run_with_errstate(function, *values)
