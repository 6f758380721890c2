"""Functions that no worker process can be sent: which of their variables stands in the way."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from keepset.errors import InvalidArgumentError, ResultError
from keepset.workers.pickling import dumps

_DEEPEST: Final = 12
# Of a large container, more are not looked at to find the culprit.
_MOST_PARTS: Final = 1000


def unsendable(value: Any, title: str, error: Exception) -> InvalidArgumentError:
    """The error for a value that cannot be pickled, which names what is in the way."""
    labels, culprit = _blamed(value)
    what, *inner = labels or ["its function"]
    within = ", ".join(inner) or "it"
    return InvalidArgumentError(
        f"{title} runs in worker processes, and {what} cannot be sent to one: {within} is a "
        f"{type(culprit).__name__}, which cannot be pickled ({error}); make it inside the "
        'function, or run the stage in threads, with executor="thread"'
    )


def not_rebuilt(title: str, reason: str) -> InvalidArgumentError:
    """The error for a value that was sent, and that a worker cannot make again."""
    return InvalidArgumentError(
        f"{title} runs in worker processes, and what it needs cannot be sent to one: there, "
        f"rebuilding it failed with {reason}; modules and names must be found by importing them, "
        "which those made at run time are not: make it inside the function, put it into a file "
        'that can be imported, or run the stage in threads, with executor="thread"'
    )


def not_received(title: str, reason: str) -> ResultError:
    """The error for a result that a worker has sent, and that cannot be made again here."""
    return ResultError(
        f"{title} runs in worker processes, and a result of its function cannot be received: "
        f"rebuilding it failed with {reason}; return arrays, or instances of classes that the "
        'program can import, too, or run the stage in threads, with executor="thread"'
    )


def unsent_text(title: str, variables: Sequence[str]) -> str:
    """A warning that workers compute with other variables, as these cannot be sent to them."""
    first, more = variables[0], f" (and {len(variables) - 1} more)" if len(variables) > 1 else ""
    return (
        f"{title} runs in worker processes, where {first}{more} is not what it is here: workers "
        "import modules anew, and it cannot be pickled; set it where the module is imported, make "
        'it inside the function, or run the stage in threads, with executor="thread"'
    )


def _blamed(value: Any) -> tuple[list[str], Any]:
    """The names on the way to what cannot be pickled, the variable first, and that value."""
    labels: list[str] = []
    for _ in range(_DEEPEST):
        found = next((pair for pair in _some_parts(value) if not _can_be_pickled(pair[1])), None)
        if found is None:
            break
        label, value = found
        if label:
            labels.append(label)
    return labels, value


def _can_be_pickled(value: Any) -> bool:
    try:
        dumps(value, lambda buffer: None)
    except Exception:  # any object may fail in any way
        return False
    return True


def _some_parts(value: Any) -> Iterator[tuple[str, Any]]:
    for number, pair in enumerate(_parts(value)):
        if number == _MOST_PARTS:
            return
        yield pair


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value holds, each with a name for people; empty for what they never see."""
    if isinstance(value, FunctionType):
        yield from _variables(value)
    elif isinstance(value, MethodType):
        yield "its object", value.__self__
        yield "", value.__func__
    elif isinstance(value, functools.partial):
        yield from _parts([value.func, *value.args])
        yield from ((f"the argument {name!r}", item) for name, item in value.keywords.items())
    elif isinstance(value, dict):
        yield from ((f"the entry {key!r:.40}", item) for key, item in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (("", item) for item in value)
    else:
        is_ours = type(value).__module__.startswith("keepset.")
        for name, item in _attributes(value):
            yield "" if is_ours else f"the attribute {name!r}", item


def _variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function captures, uses by global names, and has for defaults."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell that nothing was put into yet
            yield f"the variable {name!r}", cell.cell_contents
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield f"the global {name!r}", function.__globals__[name]
    yield from (("a default argument", item) for item in function.__defaults__ or ())
    keywords = (function.__kwdefaults__ or {}).items()
    yield from ((f"the default of {name!r}", item) for name, item in keywords)
    yield from ((f"the attribute {name!r}", item) for name, item in vars(function).items())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in [*getattr(value, "__dict__", ()), *slots]:
        with suppress(AttributeError):
            yield name, getattr(value, name)
