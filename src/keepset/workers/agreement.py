"""Agreement: whether a worker process computes with what its parent has.

Functions of modules arrive by name, and the worker imports those modules anew. So it walks what it
has got as the parent does. Variables of modules that differ are sent and set; what differs after
that is reported, and is not to be stored under the parent's fingerprint.
"""

from __future__ import annotations

import linecache
import pickle
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from keepset.core.fingerprint.difference import Difference, differences
from keepset.core.fingerprint.facts import Facts
from keepset.core.fingerprint.module_variables import Uses, Variable, Walked, walked
from keepset.core.fingerprint.value import fingerprints_of_values
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
                for (module, name), value in pickle.loads(self._variables).items():
                    setattr(import_module(module), name, value)
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
        thorough: Whether large arrays are compared.
    """

    def __init__(self, values: Named, *, travels: bool, thorough: bool) -> None:
        self._values, self._sent = values, values if travels else None
        self._thorough = thorough
        self._lock = threading.Lock()
        self._ours: Walked | None = None
        self._was_walked = False
        self._variables = b""
        self.differences: list[Difference] = []

    def reach(self, ask: Ask) -> None:
        """Compare with the worker that ``ask`` asks."""
        with self._lock:
            ours = self._walked()
        if ours is None:
            return
        theirs = self._compare(ask, ours, self._variables)
        if theirs is not None and theirs.digest != ours.uses.digest:
            with self._lock:
                self._variables = self._variables or _together(ours.values)
            theirs = self._compare(ask, ours, self._variables)
        if (theirs is None or theirs.digest != ours.uses.digest) and not self.differences:
            self.differences = self._explained(ask, ours, theirs)

    def _walked(self) -> Walked | None:
        if not self._was_walked:
            self._was_walked = True
            with suppress(Exception):  # of objects that cannot be looked at: nothing is compared
                self._ours = walked(self._values, thorough=self._thorough)
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


def _together(values: dict[Variable, Any]) -> bytes:
    """All variables in one pickle, so that what two of them share is one object there, too.

    Those that are the same in the worker go along: a table may hold the object that another
    variable stands for. What cannot be pickled stays behind, and is reported if it differs.
    """
    with suppress(Exception):  # any object may fail in any way
        return dumps(values, None)
    sendable = {}
    for variable, value in values.items():
        with suppress(Exception):
            dumps(value, None)
            sendable[variable] = value
    return dumps(sendable, None)


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
