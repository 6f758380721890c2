"""File arguments: where the names of the files come from that functions open.

Files that ``list_files`` names count. So a function that opens exactly what that stage gives it
needs no warning, and one that opens a file next to it (``name.replace("im", "lab")``) does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.effects import ANY_KEY, Call, Effects, Path, Paths
from keepset.core.fingerprint.targets import Bindings, Targets, is_path_class

CONSTANT, ELEMENT, DERIVED = "constant", "element", "derived"

_NAMES = {"file", "filename", "filepath", "filepath_or_buffer", "fname", "fp", "io", "path", "uri"}
# Methods that give the same name in another form, and attributes that give a part of it.
_SAME_NAME = {"absolute", "as_posix", "decode", "encode", "item", "numpy", "resolve", "tolist"}
_PARTS_OF_NAME = {"anchor", "drive", "name", "parent", "parents", "parts", "root", "stem", "suffix"}
_CONVERTERS = (str, bytes, os.fspath, os.fsdecode, os.fsencode)
_CHANGING_STEPS = {"added", "held", "joined", "slice", "type"}
_ROUNDS, _MAX_DEPTH = 3, 5


class FileArguments:
    """Knows of the functions of one stage what they pass to each other.

    Args:
        functions: Those that the stage runs.
        owners: The name of the parameter that stands for the object, of those that are methods.
        effects: What a function does; None for those of libraries.
        targets: Finds the objects that paths lead to.
        bound: What the parameters of a function stand for, as far as that is known.
    """

    def __init__(
        self,
        functions: Iterable[FunctionType],
        owners: dict[int, str],
        effects: Callable[[FunctionType], Effects | None],
        targets: Targets,
        bound: Callable[[FunctionType], Bindings],
    ) -> None:
        self._owners, self._effects = owners, effects
        self._targets, self._bound = targets, bound
        # Functions that another one calls with what does not depend on the elements.
        self._called_with_constants: set[int] = set()
        # Parameters that get something made of an element by another function.
        self._derived: set[tuple[int, str]] = set()
        self._follow_calls(list(functions))

    def origin(self, function: FunctionType, call: Call, names: Paths | None = None) -> str:
        """Whether a call opens a file that is always the same, the element itself or made of it.

        Args:
            function: The one that makes the call.
            call: What opens the file.
            names: Where the name of the file comes from; otherwise it is an argument.
        """
        if self._is_constant(function, call.depends):
            return CONSTANT
        names = _name_argument(call) if names is None else names
        return ELEMENT if self._are_verbatim(function, names) else DERIVED

    def _follow_calls(self, functions: list[FunctionType]) -> None:
        for _ in range(_ROUNDS):
            known = len(self._called_with_constants) + len(self._derived)
            for function in functions:
                effects = self._effects(function)
                for call in effects.calls if effects is not None else ():
                    self._follow(function, call)
            if len(self._called_with_constants) + len(self._derived) == known:
                break

    def _follow(self, function: FunctionType, call: Call) -> None:
        if call.is_empty:
            return
        is_constant = self._is_constant(function, call.depends)
        for inner, _ in self._targets.callees(function, call, self._bound(function)):
            if is_constant:
                self._called_with_constants.add(id(inner))
                continue
            names = self._parameters(inner)
            derived = [
                name
                for name, paths, constant in _passed(call, names)
                if constant == ANY_KEY and self._is_derived(function, paths)
            ]
            self._derived.update((id(inner), name) for name in derived)

    def _parameters(self, function: FunctionType) -> tuple[str, ...]:
        effects = self._effects(function)
        names = effects.parameters if effects is not None else ()
        return names[1:] if id(function) in self._owners else names

    def _is_constant(self, function: FunctionType, depends: frozenset[str]) -> bool:
        if id(function) in self._called_with_constants:
            return "*" not in depends
        defaults = {*self._targets.bound(function), self._owners.get(id(function), "")}
        return not depends - defaults

    def _is_derived(self, function: FunctionType, paths: Paths) -> bool:
        outside = {"global", "free", "import"}
        is_made = any(step[0] in ("added", "held") for _, steps in paths for step in steps)
        if paths and not is_made and all(root[0] in outside for root, _ in paths):
            return False
        return not self._are_verbatim(function, paths)

    def _are_verbatim(self, function: FunctionType, paths: Paths, depth: int = 0) -> bool:
        return bool(paths) and all(self._is_verbatim(function, path, depth) for path in paths)

    def _is_verbatim(self, function: FunctionType, path: Path, depth: int) -> bool:
        """Whether a path leads to what the function is given, or to a member of it, unchanged."""
        root, steps = path
        if any(step[0] in _CHANGING_STEPS or step[-1] in _PARTS_OF_NAME for step in steps):
            return False
        if root[0] == "param":
            is_owner = root[1] == self._owners.get(id(function))
            return not is_owner and (id(function), root[1]) not in self._derived
        if root[0] != "call" or depth >= _MAX_DEPTH:
            return False
        (base, callee_steps), arguments, keywords = root[1], root[2], root[3]
        if callee_steps and callee_steps[-1][-1] in _SAME_NAME:
            return self._is_verbatim(function, (base, callee_steps[:-1]), depth + 1)
        if not arguments or any(arguments[1:]) or any(paths for _, paths in keywords):
            return False
        given = self._are_verbatim(function, arguments[0], depth + 1)
        called = self._targets.values(function, root[1], self._bound(function))
        return given and bool(called) and all(self._keeps_name(each, depth) for each in called)

    def _keeps_name(self, called: Any, depth: int) -> bool:
        """Whether a function returns what it is given, in whatever form."""
        if any(called is each for each in _CONVERTERS):
            return True
        if is_a(called, type):
            return is_path_class(called)
        if is_a(called, FunctionType) and (effects := self._effects(called)) is not None:
            return self._are_verbatim(called, effects.returns, depth + 1)
        return _is_as_text(called)


def _is_as_text(called: Any) -> bool:
    """Whether it is one of the functions by which scripts for TensorFlow turn bytes into text."""
    compat = sys.modules.get("keepset.tf.compat")
    return any(called is getattr(compat, name, None) for name in ("as_str", "as_text", "as_bytes"))


def _name_argument(call: Call) -> Paths:
    if call.arguments:
        return call.arguments[0]
    return next((paths for name, paths in call.keywords if name in _NAMES), frozenset())


def _passed(call: Call, names: tuple[str, ...]) -> Iterable[tuple[str, Paths, Any]]:
    """The parameters that a call fills, where their values come from, and what is constant."""
    for i, (name, paths) in enumerate(zip(names, call.arguments, strict=False)):
        yield name, paths, call.constants[i] if i < len(call.constants) else ANY_KEY
    modes = dict(call.modes)
    for name, paths in call.keywords:
        if name in ("*", "**"):
            yield from ((each, frozenset(), ANY_KEY) for each in names)
        else:
            yield name, paths, modes.get(name, ANY_KEY)
