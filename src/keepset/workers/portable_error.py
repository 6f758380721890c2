"""Errors from worker processes: how they come back with their own class."""

from __future__ import annotations

import pickle
from typing import Any


def portable(error: Exception) -> Exception:
    """The error itself if it survives the journey, else as much of it as does.

    A class of the user's script is not to be imported here, so it goes by value; the process that
    sent it knows it again as its own class. One whose constructor wants something else than
    ``args`` is made anew without calling it.
    """
    import cloudpickle  # takes longer to import than this package

    failure: Exception | None = None
    for candidate in (error, Carried(error)):
        try:
            copy = pickle.loads(cloudpickle.dumps(candidate))
            if type(copy) is type(error):
                error.__traceback__ = None
                return candidate  # type: ignore[return-value]  # it is an error when it arrives
        except Exception as reason:  # any class may fail in any way when it is rebuilt
            failure = reason
    stand_in = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        stand_in.add_note(note)
    stand_in.add_note(f"(the error itself could not be handed over: {failure!r:.200})")
    return stand_in


class Carried:
    """Arrives as the error that it was made of: its class, its arguments and its attributes."""

    def __init__(self, error: Exception) -> None:
        self._facts = type(error), error.args, dict(vars(error))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_anew, self._facts


def _made_anew(kind: type[Exception], arguments: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(state)
    return error
