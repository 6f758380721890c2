"""Errors from worker processes: how they come back with their own class."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from types import MemberDescriptorType
from typing import Any, Final

from keepset.workers.pickling import dumps

# Errors behind errors, and groups in groups, are sent up to this depth.
_DEEPEST = 20
# Attributes of this library that say where an error was raised.
_OF_THE_PLACE: Final = ("__keepset_explained__", "__keepset_call__", "keepset_ends_source")


def portable(error: BaseException) -> Any:
    """What arrives in the parent as the error, or as much of it as can be sent.

    A class of the user's script cannot be imported here, so it goes by value; the process that
    sent it recognizes it as its own class. An error that cannot be pickled, or whose constructor
    makes another text of ``args``, is rebuilt without a call of its constructor. Its cause, its
    context and the members of a group are sent in the same way, each on its own.
    """
    return _portable(error, 1, {id(error)})


def _portable(error: BaseException, depth: int, linked: set[int]) -> _Portable:
    error.__traceback__ = None
    # First, because they may add a note to the error.
    chain = _portable_chain(error, depth, linked)
    members = None
    if isinstance(error, BaseExceptionGroup) and depth < _DEEPEST:
        members = [_portable(member, depth + 1, linked) for member in error.exceptions]
    try:
        pickled = _pickled(error) if members is None else _pickled_group(error, members)
    except Exception as reason:  # any class may fail in any way when it is rebuilt
        _note_failure(error, reason)
        pickled = None
    text = type(error).__name__
    with suppress(Exception):
        text += f": {error}"
    place = {name: vars(error)[name] for name in _OF_THE_PLACE if name in vars(error)}
    return _Portable(pickled, text, getattr(error, "__notes__", ()), place, chain)


def _portable_chain(error: BaseException, depth: int, linked: set[int]) -> tuple[Any, ...]:
    cause = _portable_link(error, error.__cause__, depth, linked)
    context = None
    if error.__context__ is not error.__cause__:
        context = _portable_link(error, error.__context__, depth, linked)
    return cause, context, error.__suppress_context__


def _portable_link(
    error: BaseException, link: BaseException | None, depth: int, linked: set[int]
) -> _Portable | None:
    # Once each, as in a traceback: there may be cycles, and many ways to one error.
    if link is None or id(link) in linked:
        return None
    if depth >= _DEEPEST:
        error.add_note("(the errors behind this one stayed in the worker: they are too many)")
        return None
    linked.add(id(link))
    return _portable(link, depth + 1, linked)


class _Portable:
    """Unpickles as an error. This must not fail: a class may be missing in the parent."""

    def __init__(self, *facts: Any) -> None:
        self._facts = facts

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, self._facts


def _arrived(
    pickled: bytes | None,
    text: str,
    notes: Sequence[str],
    place: dict[str, Any],
    chain: tuple[Any, ...],
) -> Any:
    error = _without_chain(pickled, text, notes)
    # Not by pickle: a class that says how it is pickled may leave out what was added to an object.
    vars(error).update(place)
    cause, context, is_context_hidden = chain
    error.__cause__, error.__context__ = cause, cause if context is None else context
    error.__suppress_context__ = is_context_hidden
    return error


def _without_chain(pickled: bytes | None, text: str, notes: Sequence[str]) -> Any:
    error, failure = RuntimeError(text), None
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception as reason:
            failure = reason
    if notes:
        vars(error)["__notes__"] = [*notes]
    if failure is not None:
        _note_failure(error, failure)
    return error


def _note_failure(error: BaseException, reason: Exception) -> None:
    error.add_note(f"(the error itself could not be sent from the worker: {reason!r:.200})")


def _pickled(error: BaseException) -> bytes:
    with suppress(Exception):
        pickled = dumps(error, None)
        copy = pickle.loads(pickled)
        if type(copy) is type(error) and str(copy) == str(error):
            return pickled
    pickled = dumps(_Rebuilt(error), None)
    pickle.loads(pickled)
    return pickled


def _pickled_group(error: Any, members: list[_Portable]) -> bytes:
    pickled = dumps(_Rebuilt(error, (error.message, members)), None)
    pickle.loads(pickled)
    return pickled


class _Rebuilt:
    """Unpickles as the error: its class, and those of its arguments and attributes that can be."""

    def __init__(self, error: BaseException, arguments: Sequence[Any] | None = None) -> None:
        arguments = list(error.args if arguments is None else arguments)
        for place, argument in enumerate(arguments):
            if reason := _obstacle(argument):
                arguments[place] = repr(argument)
                _note_loss(error, f"argument {place}", "its repr stands for it", reason)
        state = {}
        for name, value in list(vars(error).items()):
            if reason := _obstacle(value):
                _note_loss(error, f"attribute {name!r}", "it is missing here", reason)
            else:
                state[name] = value
        self._facts = type(error), tuple(arguments), state, _fields(error)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_anew, self._facts


def _fields(error: BaseException) -> dict[str, Any]:
    """What an error holds beside ``args`` and ``__dict__``, such as an OSError its file name."""
    if isinstance(error, BaseExceptionGroup):
        return {}  # its members are sent on their own
    fields: dict[str, Any] = {}
    for base in type(error).__mro__:
        for name, member in vars(base).items():
            # Pickle leaves out ``obj`` of an AttributeError as well, which may be of any size.
            if isinstance(member, MemberDescriptorType) and name != "obj":
                value = getattr(error, name, None)
                if value is not None and not _obstacle(value):
                    fields.setdefault(name, value)
    return fields


def _obstacle(value: Any) -> Exception | None:
    """The error of pickling a value, or None."""
    try:
        pickle.loads(dumps(value, None))
    except Exception as reason:  # any object may fail in any way
        return reason
    return None


def _note_loss(error: BaseException, part: str, instead: str, reason: Exception) -> None:
    error.add_note(f"({part} of the error stayed in the worker, and {instead}: {reason!s:.200})")


def _made_anew(
    kind: type[BaseException],
    arguments: tuple[Any, ...],
    state: dict[str, Any],
    fields: dict[str, Any],
) -> Any:
    builtin: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    error = builtin.__new__(kind, *arguments)
    with suppress(Exception):  # it may have been given other arguments than these
        builtin.__init__(error, *arguments)
    error.args = arguments
    for name, value in fields.items():
        with suppress(Exception):  # one that cannot be written
            setattr(error, name, value)
    vars(error).update(state)
    return error
