"""Agreement: whether a worker process computes with what its parent has.

Functions of modules arrive by name, and the worker imports those modules anew. So it walks what it
has got as the parent does. Variables of modules and attributes of their classes are sent and set if
something differs; what differs after that is reported, and is not to be stored under the parent's
fingerprint.
"""

from __future__ import annotations

import linecache
import pickle
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from types import FunctionType
from typing import Any

from keepset.core.fingerprint.difference import Difference, differences
from keepset.core.fingerprint.facts import Facts
from keepset.core.fingerprint.module_variables import Uses, Variable, Walked, walked
from keepset.core.fingerprint.origin import function_behind
from keepset.core.fingerprint.value import fingerprints_of_values
from keepset.errors import FingerprintError
from keepset.workers.pickling import dumps

Named = Sequence[tuple[str, Any]]
Ask = Callable[["Question"], Any]


class Question:
    """What a parent asks its worker about ``values``, or about those of the worker's function."""

    def __init__(self, values: Named | None) -> None:
        self._values = values

    def of(self, compute: Any) -> Named:
        values: Named = compute.values() if self._values is None else self._values
        return values

    def answer(self, compute: Any) -> Any:
        raise NotImplementedError


class Compare(Question):
    """What the values come to in the worker, once some variables were set there."""

    def __init__(
        self,
        values: Named | None,
        thorough: bool,
        sources: dict[str, list[str]],
        variables: bytes,
    ) -> None:
        super().__init__(values)
        self._thorough, self._sources, self._variables = thorough, sources, variables

    def answer(self, compute: Any) -> Uses | None:
        for file, lines in self._sources.items():
            # Without a time, as this is the text of what was loaded, whatever the file holds now.
            linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
        if self._variables:
            with suppress(Exception):  # then they differ, and that is reported
                _set(*pickle.loads(self._variables))
        try:
            return walked(self.of(compute), thorough=self._thorough).uses
        except Exception:  # objects may fail in any way when they are looked at
            return None


class Describe(Question):
    """What the values are made of in the worker."""

    def answer(self, compute: Any) -> list[Facts]:
        return _described(self.of(compute))


class Agreement:
    """Brings workers to what this process has, and notes what they cannot be brought to.

    Args:
        values: What their functions are.
        travels: Whether the values are sent with each question; else workers have them.
        thorough: Whether large arrays are compared as a whole, and not by a sample.
    """

    def __init__(self, values: Named, *, travels: bool, thorough: bool) -> None:
        self._values, self._sent = values, values if travels else None
        self._thorough = thorough
        self._lock = threading.Lock()
        self._ours: Walked | None = None
        self._was_walked = False
        self._failure = ""
        self._variables = b""
        self._behind: list[Variable] = []  # those that cannot be pickled
        self.differences: list[Difference] = []
        self.unsent: list[str] = []  # variables that differ because they cannot be sent

    def reach(self, ask: Ask) -> None:
        """Compare with the worker that ``ask`` asks."""
        with self._lock:
            ours = self._walked()
        if ours is None:
            if self._failure and not self.differences:
                found = f"unknown ({self._failure})"
                self.differences = [Difference("the function", "as in the program", found)]
            return
        theirs = self._compare(ask, ours, self._variables)
        # Functions come last: one that was not replaced differs if a variable that it uses does.
        for also_functions in (False, True):
            if theirs is None or theirs.digest == ours.uses.digest:
                break
            with self._lock:
                if not also_functions and not self._variables:
                    self._variables = self._packed(ours, theirs, frozenset())
                elif also_functions and (replaced := _replaced(ours, theirs)):
                    self._variables = self._packed(ours, theirs, replaced)
            theirs = self._compare(ask, ours, self._variables)
        if (theirs is None or theirs.digest != ours.uses.digest) and not self.differences:
            self.differences = self._explained(ask, ours, theirs)
            self.unsent = [] if theirs is None else self._missing(ours, theirs)

    def _packed(self, ours: Walked, theirs: Uses, replaced: frozenset[Variable]) -> bytes:
        values = {
            variable: value
            for variable, value in ours.values.items()
            if variable in replaced or not _is_attribute(variable) or not _is_method(value)
        }
        # An attribute that the program has deleted hides no longer what the class inherits.
        gone = [
            variable
            for variable in theirs.variables
            if variable not in ours.uses.variables and _holder(variable) in ours.classes
        ]
        packed, self._behind = _together(values, gone, replaced)
        return packed

    def _missing(self, ours: Walked, theirs: Uses) -> list[str]:
        """What differs in the worker because it cannot be pickled."""
        return [
            f"{'.'.join(variable)} (a {type(ours.values[variable]).__name__})"
            for variable in _differing(ours.uses, theirs)
            if variable in self._behind
        ]

    def _walked(self) -> Walked | None:
        if not self._was_walked:
            self._was_walked = True
            try:
                self._ours = walked(self._values, thorough=self._thorough)
            except FingerprintError:
                pass  # a user has named the snapshot because of that, or there is none
            # Objects may fail in any way when they are looked at. What cannot be compared may
            # differ, and is not stored.
            except Exception as error:
                self._failure = f"it could not be compared: {type(error).__name__}: {error}"
        return self._ours

    def _compare(self, ask: Ask, ours: Walked, variables: bytes) -> Uses | None:
        answer: Uses | None = ask(Compare(self._sent, self._thorough, ours.sources, variables))
        return answer

    def _explained(self, ask: Ask, ours: Walked, theirs: Uses | None) -> list[Difference]:
        found: list[Difference] = []
        for here, there in zip(_described(self._values), ask(Describe(self._sent)), strict=False):
            found += [each for each in differences(here, there, name="") if not each.moves]
        names = [] if theirs is None else _differing(ours.uses, theirs)
        plain = [Difference(".".join(name), "as in the program", "another") for name in names]
        return found or plain or [Difference("the function", "as in the program", "another")]


def _set(values: dict[Variable, Any], gone: Sequence[Variable]) -> None:
    for (module, name), value in values.items():
        holder, last = _found(module, name)
        if isinstance(holder, type):
            # As the attribute is in the parent, whatever the metaclass did when it was set there.
            if vars(holder).get(last, holder) is not value:
                type.__setattr__(holder, last, value)
        else:
            setattr(holder, last, value)
    for module, name in gone:
        holder, last = _found(module, name)
        type.__delattr__(holder, last)


def _found(module: str, name: str) -> tuple[Any, str]:
    """The module or the class that holds a variable, and the last part of its name."""
    holder: Any = import_module(module)
    *path, last = name.split(".")
    for step in path:
        holder = vars(holder)[step]
    return holder, last


def _is_attribute(variable: Variable) -> bool:
    return "." in variable[1]


def _holder(variable: Variable) -> Variable:
    return variable[0], variable[1].rpartition(".")[0]


def _is_method(value: Any) -> bool:
    """Whether the worker has its own, made by the module, which uses the module's variables."""
    return hasattr(type(value), "__get__")


def _replaced(ours: Walked, theirs: Uses) -> frozenset[Variable]:
    """Functions and methods that differ, and are not those that their names stood for."""
    return frozenset(
        variable
        for variable in _differing(ours.uses, theirs)
        if variable in ours.values
        and _is_method(ours.values[variable])
        and not _is_original(variable, function_behind(ours.values[variable]))
    )


def _is_original(variable: Variable, function: Any) -> bool:
    # Not by the names of the function, which functools.wraps copies from the one it replaces.
    return (
        isinstance(function, FunctionType)
        and function.__code__.co_qualname == variable[1]
        and function.__globals__.get("__name__") == variable[0]
    )


def _together(
    values: dict[Variable, Any], gone: Sequence[Variable], replaced: frozenset[Variable]
) -> tuple[bytes, list[Variable]]:
    """All variables in one pickle, so that what two of them share is one object there, too.

    Those that are the same in the worker go along: a table may hold the object that another
    variable stands for. What cannot be pickled stays behind, and is returned.
    """
    functions = [function_behind(values[variable]) for variable in replaced]
    by_value = {
        id(function)
        for function in functions
        if isinstance(function, FunctionType)
        and function.__qualname__ != function.__code__.co_qualname
    }
    with suppress(Exception):  # any object may fail in any way
        return dumps((values, gone), None, by_value), []
    sendable = {}
    for variable, value in values.items():
        with suppress(Exception):
            dumps(value, None, by_value)
            sendable[variable] = value
    behind = [variable for variable in values if variable not in sendable]
    return dumps((sendable, gone), None, by_value), behind


def _differing(ours: Uses, theirs: Uses) -> list[Variable]:
    return [
        variable
        for variable, digest in ours.variables.items()
        if theirs.variables.get(variable) != digest
    ]


def _described(values: Named) -> list[Facts]:
    try:
        return fingerprints_of_values(values, finds_blind=False)
    except Exception:  # what cannot be compared is not described either
        return []
