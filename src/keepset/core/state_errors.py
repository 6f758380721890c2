"""Errors of states that do not fit: what stages raise over one becomes a StateError.

A state comes from a file of the user's, and each stage takes its part of it as it is. So a value
that no stage gave out, or one of another pipeline, is noticed by whatever is computed with it, at
once or where the first elements behind it are read. None of the stages looks for that itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any, Final

import numpy as np

from keepset.core.state_outline import has_other_workers, other_workers
from keepset.errors import ElementError, InvalidArgumentError, KeepsetError, StateError

# What comes of numbers, texts and lists that are taken for each other, or are out of range.
_OF_VALUES: Final = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError),
    *(AssertionError, RecursionError),
)
_OWN: Final = tuple(
    os.path.dirname(path) + os.sep for path in (os.path.dirname(__file__), os.__file__, np.__file__)
)
_INSTALLED: Final = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


@contextmanager
def state_errors(
    state: Any, outline: dict[str, Any] | None = None, *, is_reading: bool = False
) -> Iterator[None]:
    """Turn errors of our own code over a state that was taken in into StateErrors.

    Those of functions of the user's stay as they are, and so does everything without a state.

    Args:
        state: The state; None where an iteration begins without one.
        outline: That of the pipeline as it is now, where the state holds places of its stages.
        is_reading: Whether elements are read, which may have arguments that are refused.
    """
    try:
        yield
    except _OF_VALUES as error:
        is_clear = isinstance(error, KeepsetError)
        if type(error) in (InvalidArgumentError, ElementError) and not is_reading:
            is_clear = False  # about a value of the state, of which the user knows nothing
        if state is None or is_clear or _is_of_user(error):
            raise
        # The place of a stage is told in other words where workers run it, and its neighbours have
        # places of their own then: what does not fit shows as any error, in any of them.
        if outline is not None and has_other_workers(outline, state["pipeline"]):
            raise other_workers(error) from error
        raise StateError(
            "this state does not fit the pipeline, or was changed since it was taken "
            f"({type(error).__name__}: {error!s:.200}); build the dataset as it was when the state "
            "was taken, or begin anew"
        ) from error


def _is_of_user(error: BaseException) -> bool:
    """Whether a function of the user's raised it: a stage says where, or its code was running."""
    if hasattr(error, "__notes__"):
        return True
    return any(_is_foreign(frame.f_code.co_filename) for frame, _ in walk_tb(error.__traceback__))


def _is_foreign(file: str) -> bool:
    """Whether a file belongs neither to this package nor to what it computes with."""
    own = next((path for path in _OWN if file.startswith(path)), None)
    if own is None:
        return not file.startswith("<keepset ")  # as generated loops are called
    return any(part in file[len(own) - 1 :] for part in _INSTALLED)
