"""Targets: the objects that the paths of a function's effects lead to, without running anything."""

from __future__ import annotations

import builtins
import collections
import functools
import importlib.util
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from keepset.core.fingerprint.class_attributes import has_class_attribute, is_a
from keepset.core.fingerprint.effects import ANY_KEY, Call, Effects, Path, Paths, in_order
from keepset.core.fingerprint.held_results import RESULT, held_results
from keepset.core.fingerprint.library_results import (
    calls_each,
    gives_tuples,
    gives_views,
    is_iterable,
    is_new,
    returns_items,
)
from keepset.core.fingerprint.origin import library_of
from keepset.core.fingerprint.reach import Imported
from keepset.core.fingerprint.stand_ins import (
    Dotted,
    Held,
    Inside,
    Made,
    Members,
    Namespace,
    identity,
    unlike,
)
from keepset.core.fingerprint.writers import (
    is_container,
    is_random_generator,
    is_tensor,
    made_generator,
)

Bindings = dict[str, list[Any]]

# Of larger containers, the members are not looked at one by one.
_MAX_MEMBERS = 200
_MAX_VALUES = 500
_MAX_DEPTH = 5
_MAX_LOOKED_UP = 1_000_000  # about five seconds
_MISSING = object()
# What a named tuple has for each of its fields.
_FIELD_OF_TUPLE = type(vars(collections.namedtuple("_Example", "field"))["field"])
# They write to what they belong to: `table.loc[0] = 1`.
_INDEXERS = {"at", "iat", "iloc", "loc"}
# Methods that give something new, of which at most the members are not.
_COPYING = {"__copy__", "__deepcopy__", "astype", "clone", "copy", "tolist"}
# What gives another path, called or not.
_PATHS_OF_PATH = {
    *("absolute", "expanduser", "joinpath", "parent", "relative_to", "resolve", "with_name"),
    *("with_segments", "with_stem", "with_suffix"),
}


def is_path_class(kind: type) -> bool:
    """Whether it is one of pathlib's, which is not imported for that: then there is none."""
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and issubclass(kind, pathlib.PurePath)


class Targets:
    """Looks paths up in the globals, cells and arguments of real functions.

    Attributes:
        arguments_of: What functions are given, for what they set attributes of new objects to;
            None if these are not looked at.
        looked_up: How much was looked up so far, which has an end: see ``has_given_up``.
    """

    def __init__(self, effects: Callable[[FunctionType], Effects | None]) -> None:
        self._effects = effects
        self.arguments_of: Callable[[FunctionType], Bindings] | None = None
        self.looked_up = 0
        # By the ids of sets of paths: the sets, so that the ids stay theirs, and their order.
        self._ordered: dict[int, tuple[Paths, list[Path]]] = {}
        # What calls return, by what runs with which arguments, which are kept for their ids.
        self._returns: dict[Any, tuple[Bindings, list[Any]]] = {}

    def values(
        self, function: FunctionType, path: Path, bindings: Bindings, depth: int = 0
    ) -> list[Any]:
        """What a path may stand for while ``function`` runs with these arguments."""
        if self.has_given_up:
            return []
        root, steps = path
        found = self._root(function, root, bindings, depth)
        for step in steps:
            found = unlike([inner for value in found for inner in self._step(value, step, depth)])
        self.looked_up += 1 + len(found)
        return found[:_MAX_VALUES]

    @property
    def has_given_up(self) -> bool:
        """Whether the functions are too large: nothing is found any more."""
        return self.looked_up > _MAX_LOOKED_UP

    def of_all(
        self, function: FunctionType, paths: Paths, bindings: Bindings, depth: int = 0
    ) -> list[Any]:
        if id(paths) not in self._ordered:
            self._ordered[id(paths)] = paths, in_order(paths)
        _, ordered = self._ordered[id(paths)]
        found = [each for path in ordered for each in self.values(function, path, bindings, depth)]
        return unlike(found)[:_MAX_VALUES]

    def callees(
        self, function: FunctionType, call: Call, bindings: Bindings
    ) -> list[tuple[FunctionType, Bindings]]:
        """The user's functions that a call runs, with what they are given."""
        arguments, keywords = self.given(function, call.arguments, call.keywords, bindings)
        called = self.values(function, call.path, bindings)
        return [pair for value in called for pair in self.runs(value, arguments, keywords)]

    def given(
        self,
        function: FunctionType,
        arguments: tuple[Paths, ...],
        keywords: tuple[tuple[str, Paths], ...],
        bindings: Bindings,
        depth: int = 0,
    ) -> tuple[list[list[Any]], dict[str, list[Any]]]:
        """The values of the arguments of a call; ``*`` and ``**`` are spelled out."""
        positional = [self.of_all(function, each, bindings, depth) for each in arguments]
        named: dict[str, list[Any]] = {}
        for name, paths in keywords:
            values = self.of_all(function, paths, bindings, depth)
            if name == "*":
                positional += _columns([each for each in values if isinstance(each, tuple)])
            elif name == "**":
                for each in values:
                    for key, item in each.items() if type(each) is dict else ():
                        named[key] = [*named.get(key, ()), item]
            else:
                named[name] = values
        return positional, named

    def bound(
        self,
        function: FunctionType,
        arguments: Sequence[list[Any]] = (),
        keywords: Mapping[str, list[Any]] = MappingProxyType({}),
    ) -> Bindings:
        """The parameters of a function with what is passed, and its defaults."""
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        result: Bindings = {}
        defaults = function.__defaults__ or ()
        # Decorators give functions of `*args` the defaults of others, which Python does not use.
        for name, default in zip(reversed(names), reversed(defaults), strict=False):
            result[name] = [default]
        for name, default in (function.__kwdefaults__ or {}).items():
            result[name] = [default]
        result.update(zip(names, map(list, arguments), strict=False))
        if code.co_flags & inspect.CO_VARARGS:
            name = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
            result[name] = _rows(arguments[code.co_argcount :])
        if code.co_flags & inspect.CO_VARKEYWORDS:
            at = code.co_argcount + code.co_kwonlyargcount
            name = code.co_varnames[at + bool(code.co_flags & inspect.CO_VARARGS)]
            known = code.co_varnames[:at]
            others = {key: values for key, values in keywords.items() if key not in known}
            result[name] = [dict(zip(others, row, strict=True)) for row in _rows(others.values())]
        result.update(keywords)
        return result

    def runs(
        self,
        value: Any,
        arguments: Sequence[list[Any]] = (),
        keywords: Mapping[str, list[Any]] = MappingProxyType({}),
    ) -> list[tuple[FunctionType, Bindings]]:
        """The user's function that a partial, a method or an object runs, with what is bound."""
        for _ in range(_MAX_DEPTH):
            if is_a(value, MethodType):
                value, arguments = value.__func__, [[value.__self__], *arguments]
            elif is_a(value, functools.partial):
                keywords = {**{name: [each] for name, each in value.keywords.items()}, **keywords}
                value, arguments = value.func, [*([item] for item in value.args), *arguments]
            elif is_a(value, functools._lru_cache_wrapper):
                value = value.__wrapped__
            elif is_a(value, type):
                value, arguments = in_class(value, "__init__"), [[Made(value)], *arguments]
            elif not is_a(value, FunctionType | types.BuiltinFunctionType):
                call = in_class(type(value), "__call__")
                if not isinstance(call, FunctionType):
                    return []
                value, arguments = call, [[value], *arguments]
            else:
                break
        if is_a(value, FunctionType) and self._effects(value) is not None:
            return [(value, self.bound(value, arguments, keywords))]
        return []

    def _root(self, function: FunctionType, root: Any, bindings: Bindings, depth: int) -> list[Any]:
        match root:
            case ("param", name):
                return bindings.get(name, [])
            case ("global", name):
                found = function.__globals__.get(name, getattr(builtins, name, _MISSING))
                return [] if found is _MISSING else [found]
            case ("free", name):
                at = function.__code__.co_freevars.index(name)
                try:
                    return [(function.__closure__ or ())[at].cell_contents]
                except (ValueError, IndexError):
                    return []
            case ("import", imported):
                return [_imported(imported, function.__globals__)]
            case ("globals",):
                return [Namespace(function.__globals__)]
            case ("call", path, arguments, keywords) if depth < _MAX_DEPTH:
                return self._results(function, path, arguments, keywords, bindings, depth + 1)
        return []

    def _results(
        self,
        function: FunctionType,
        path: Path,
        arguments: tuple[Paths, ...],
        keywords: tuple[tuple[str, Paths], ...],
        bindings: Bindings,
        depth: int,
    ) -> list[Any]:
        results: list[Any] = []
        for called in self.values(function, path, bindings, depth):
            if isinstance(called, Members):
                results.append(called)  # a method of something new
                continue
            if isinstance(called, Held):
                results.append(Held(called.owner, called.name, is_result=True))
                continue
            given, named = self.given(function, arguments, keywords, bindings, depth)
            results += self._result(called, given, named, depth)
        return unlike(results)[:_MAX_VALUES]

    def _result(
        self, called: Any, given: list[list[Any]], named: dict[str, list[Any]], depth: int
    ) -> list[Any]:
        """What a call may return."""
        if isinstance(called, Made):
            return [called, *_items(called, given)]
        if called is functools.partial:
            return _partials(given, named)
        if isinstance(called, type) and called is not map:
            return [Made(called), *_items(called, given)]
        if kind := made_generator(called):
            return [Made(kind)]
        returned: list[Any] = []
        runs = self.runs(called, given, named)
        for inner, bound in runs:
            returned += self._of_run(inner, bound, depth)
        cached = _unbound(called)
        if isinstance(cached, functools._lru_cache_wrapper):
            return [*held_results(cached), *self._held(cached, RESULT, cached, returned)]
        if runs:
            return returned
        if called is map and depth < _MAX_DEPTH:
            columns = [list(map(_members, each)) for each in given[1:]]
            rows = [[inner for found in each for inner in found] for each in columns]
            made = [
                self._result(each, rows, {}, depth + 1) for found in given[:1] for each in found
            ]
            return [Members((each,)) for found in made for each in found]
        return _items(called, given)

    def passed_on(
        self, called: Any, arguments: list[list[Any]], keywords: dict[str, list[Any]]
    ) -> list[tuple[FunctionType, Bindings]]:
        """The user's functions that a library is given, with what it may call them with."""
        found: list[tuple[FunctionType, Bindings]] = []
        every = [*arguments, *keywords.values()]
        functions = unlike([each for values in every for each in values if _is_code(each)])
        if not functions:
            return found
        columns = [[inner for each in values for inner in _members(each)] for values in every]
        pool = unlike([each for column in columns for each in column])
        for function in functions:
            given = columns[1:] if calls_each(called) else [pool, pool]
            found += self.runs(function, given, {})
        return found

    def _step(self, value: Any, step: tuple[Any, ...], depth: int) -> list[Any]:
        if isinstance(value, Inside):
            return [value]
        if isinstance(value, Held):
            return self._of_held(value, step)
        match step:
            case ("attr", name):
                return self._attribute(value, name, depth)
            case ("item", key):
                return self._item(value, key, depth)
            case ("each",):
                return self._each(value, depth)
            case ("members",):
                return [Members(value)]
            case ("held", key):
                return [Members((value,), key)]
            case ("pairs",):
                return [Members((Members(value, 1),))]
            case ("added",):
                is_new = isinstance(value, Members)
                return [Members(value)] if is_new or is_iterable(value) else []
            case ("slice",):
                return [value] if is_tensor(value) else [Members(value)]
            case ("view",):
                return [value] if is_tensor(value) else []
            case ("type",):
                return [value.kind if isinstance(value, Made) else type(value)]
            case ("joined",):
                is_path = isinstance(value, Made) or is_path_class(type(value))
                return [value] if is_path else []
        return []

    def _of_held(self, value: Held, step: tuple[Any, ...]) -> list[Any]:
        """What is inside of it changes with it; its methods are those of its class."""
        inside = Held(value.owner, value.name, is_result=value.is_result)
        if step[0] in ("members", "pairs", "added"):
            return [Members(inside)]
        if step[0] == "held":
            return [Members((value,), step[1])]
        if step[0] == "attr" and step[1] in _COPYING and value.kind is None:
            return [Members(inside)]
        if step[0] != "attr" or value.kind is None:
            return [inside]
        found = in_class(value.kind, step[1])
        return [MethodType(found, value)] if isinstance(found, FunctionType) else [inside]

    def _attribute(self, value: Any, name: str, depth: int) -> list[Any]:
        if isinstance(value, Dotted):
            return [Dotted(f"{value.name}.{name}")]
        if name in _PATHS_OF_PATH:
            kind = value.kind if isinstance(value, Made) else type(value)
            if is_path_class(kind):
                return [Made(kind)]
        if isinstance(value, Made):
            if name == "__class__":
                return [value.kind]
            # What a new object has of its class; its own attributes are not there yet.
            found = _plain(in_class(value.kind, name), value.kind)
            return [*found, *self._to_be_set(value.kind, name, depth)]
        if isinstance(value, Members):
            return [value]  # a method of something new, which returns more of it
        if isinstance(value, Namespace):
            return []
        if name == "__dict__":
            return [Namespace(value)]
        if name == "__class__":
            return [type(value)]
        if isinstance(value, ModuleType):
            found = vars(value).get(name, _MISSING)
            return [Dotted(f"{value.__name__}.{name}") if found is _MISSING else found]
        if is_a(value, type):
            return _plain(in_class(value, name), value)
        own = _own_dict(value)
        found = in_class(type(value), name)
        if isinstance(found, functools.cached_property):
            returned = self._returned(found.func, value, depth)
            held = self._held(value, name, found.func, returned)
            return [*([own[name]] if name in own else []), *held]
        if name in own:
            return [own[name]]
        table = registered(value, name)
        if table is not None:
            return [table[name]]
        return self._class_attribute(value, name, depth)

    def _to_be_set(self, kind: type, name: str, depth: int) -> list[Any]:
        """What methods of a class set an attribute of a new object to."""
        if self.arguments_of is None or depth >= _MAX_DEPTH:
            return []
        found: list[Any] = []
        for base in kind.__mro__:
            for method in vars(base).values():
                effects = self._effects(method) if type(method) is FunctionType else None
                if effects is None or not effects.parameters:
                    continue
                own = (("param", effects.parameters[0]), ())
                for path, stored, values in effects.stores:
                    if stored == name and path == own:
                        given = self.arguments_of(method)
                        found += self.of_all(method, values, given, depth + 1)
        return unlike(found)

    def _class_attribute(self, value: Any, name: str, depth: int) -> list[Any]:
        found = in_class(type(value), name)
        if isinstance(found, FunctionType):
            return [MethodType(found, value)]
        if name in _INDEXERS and library_of(type(value)) in ("pandas", "xarray"):
            return [value]
        if isinstance(found, property):
            return self._returned(found.fget, value, depth)
        if isinstance(found, _FIELD_OF_TUPLE):
            return [found.__get__(value, type(value))]
        if isinstance(found, types.MemberDescriptorType):
            try:
                return [found.__get__(value, type(value))]
            except AttributeError:
                return []
        if isinstance(found, types.MethodDescriptorType):
            # Some methods of C types, those of patterns for one, crash if no type is given.
            return [found.__get__(value, type(value))]
        if isinstance(value, np.ufunc) or is_random_generator(value):
            return [getattr(value, name)] if hasattr(type(value), name) else []
        return _plain(found, type(value))

    def _item(self, value: Any, key: Any, depth: int) -> list[Any]:
        if isinstance(value, Namespace):
            return [] if key == ANY_KEY else _in_namespace(value, key)
        if isinstance(value, Members):
            return _members(value.container) if _may_be(value.key, key) else []
        if isinstance(value, np.ndarray):
            # A row or a field is a view; what an array of numbers picks is a copy.
            is_row = isinstance(key, int) and value.ndim > 1
            return [value] if is_row or isinstance(key, str) else []
        own = in_class(type(value), "__getitem__")
        if isinstance(own, FunctionType):
            return self._returned(own, value, depth)
        if key == ANY_KEY:
            return _members(value)
        try:
            if isinstance(value, MappingProxyType):
                return [value[key]]
            if isinstance(value, dict):
                return [dict.__getitem__(value, key)] if key in value else []
            if isinstance(value, list | tuple | collections.deque) and isinstance(key, int):
                return [value[key]]
        except (LookupError, TypeError):
            return []
        return []

    def _each(self, value: Any, depth: int) -> list[Any]:
        own = in_class(type(value), "__iter__")
        if isinstance(own, FunctionType):
            made = self._returned(own, value, depth)
            return [inner for each in made if each is not value for inner in _members(each)]
        return _members(value)

    def _held(self, owner: Any, name: str, function: Any, returned: list[Any]) -> list[Any]:
        """What a cache holds of what a function returns: new objects become the cache's."""
        function = getattr(function, "__wrapped__", function)
        effects = self._effects(function) if isinstance(function, FunctionType) else None
        others = [each for each in returned if not isinstance(each, Made)]
        if effects is not None and self._returns_state(function, effects, 0):
            return [*others, Held(owner, name, FunctionType)]
        if effects is not None and effects.returns_plain:
            return others
        kinds: list[type | None] = [each.kind for each in returned if isinstance(each, Made)]
        return [*others, *(Held(owner, name, kind) for kind in kinds or [None])]

    def _returns_state(self, function: FunctionType, effects: Effects, depth: int) -> bool:
        """Whether a function, or one that it calls, returns a function that changes what it has."""
        if effects.returns_state or depth >= _MAX_DEPTH:
            return effects.returns_state
        return any(
            inner is not function
            and (found := self._effects(inner)) is not None
            and self._returns_state(inner, found, depth + 1)
            for call in effects.calls
            for inner, _ in self.callees(function, call, {})
        )

    def _returned(self, function: Any, owner: Any, depth: int) -> list[Any]:
        """What a method of the user's returns for its owner."""
        if not isinstance(function, FunctionType) or depth >= _MAX_DEPTH:
            return []
        return self._of_run(function, self.bound(function, [[owner]]), depth + 1)

    def _of_run(self, function: FunctionType, bindings: Bindings, depth: int) -> list[Any]:
        """What a function returns."""
        effects = self._effects(function)
        if effects is None or not effects.returns:
            return []
        given = ((name, *map(identity, found)) for name, found in bindings.items())
        key = id(function), depth, *given
        known = self._returns.get(key)
        if known is None:
            found = self.of_all(function, effects.returns, bindings, depth)
            known = self._returns[key] = bindings, found
        return known[1]


def _items(called: Any, given: list[list[Any]]) -> list[Any]:
    """What one of Python's own functions may return of what it is given."""
    kind = called.kind if isinstance(called, Made) else called
    if not returns_items(kind):
        return []
    if (called is max or called is min) and len(given) > 1:
        return [value for values in given for value in values]  # it returns one of them
    owner = getattr(called, "__self__", None)
    found: list[Any] = []
    for i, values in enumerate([*given, [owner] if is_iterable(owner) else []]):
        for value in values:
            if isinstance(value, np.ndarray) and not gives_views(kind):
                continue
            if not (isinstance(value, np.ndarray | Members | Held | Inside) or is_iterable(value)):
                continue
            if gives_tuples(kind):
                key = {"zip": i, "enumerate": 1}.get(kind.__name__, ANY_KEY)
                found.append(Members((Members(value, key),)))
                continue
            found.append(Members(value))
            if isinstance(called, Made) or not is_new(kind):
                found += _members(value)
    return found[:_MAX_VALUES]


def _partials(given: list[list[Any]], named: dict[str, list[Any]]) -> list[Any]:
    """The partials that a call makes: as many as it takes for each value to be in one of them."""
    named = {name: values for name, values in named.items() if values}
    rows = _rows([*given[1:], *named.values()])
    at = len(given) - 1
    return [
        functools.partial(each, *row[:at], **dict(zip(named, row[at:], strict=True)))
        for values in given[:1]
        for each in values
        if callable(each)
        for row in rows
    ][:_MAX_VALUES]


def _is_code(value: Any) -> bool:
    return isinstance(value, FunctionType | MethodType | functools.partial)


def _unbound(called: Any) -> Any:
    """The function behind methods and partials."""
    for _ in range(_MAX_DEPTH):
        if isinstance(called, MethodType):
            called = called.__func__
        elif isinstance(called, functools.partial):
            called = called.func
    return called


def _may_be(known: Any, key: Any) -> bool:
    """Whether two keys may be the same: that under which an item is, and one asked for."""
    if ANY_KEY in (known, key):
        return True
    if isinstance(known, int) and isinstance(key, int) and (known < 0) != (key < 0):
        return True  # counted from both ends
    return bool(known == key)


def _columns(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """What each place of some tuples holds."""
    count = max(map(len, rows), default=0)
    return [[row[i] for row in rows if i < len(row)] for i in range(count)]


def _rows(columns: Iterable[list[Any]]) -> list[tuple[Any, ...]]:
    """Tuples of arguments: as many as it takes for each value to be in one of them."""
    filled = [column or [None] for column in columns]
    count = max(map(len, filled), default=1)
    return [tuple(column[i % len(column)] for column in filled) for i in range(count)]


def _plain(found: Any, owner: type) -> list[Any]:
    if found is _MISSING:
        return []
    if isinstance(found, staticmethod):
        return [found.__func__]
    if isinstance(found, classmethod):
        return [MethodType(found.__func__, owner)]
    return [found]


def in_class(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return _MISSING


def _own_dict(value: Any) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def registered(value: Any, name: str) -> dict[str, Any] | None:
    """The table of a torch module in which an attribute is held; None for everything else."""
    if not has_class_attribute(type(value), "register_buffer"):
        return None
    tables = (_own_dict(value).get(table) for table in ("_buffers", "_parameters", "_modules"))
    return next((each for each in tables if isinstance(each, dict) and name in each), None)


def _in_namespace(namespace: Namespace, key: Any) -> list[Any]:
    owner = namespace.owner
    held = owner if isinstance(owner, dict) else _own_dict(owner)
    found = held.get(key, _MISSING) if isinstance(key, str) else _MISSING
    return [] if found is _MISSING else [found]


def _members(value: Any) -> list[Any]:
    if isinstance(value, Members):
        return _members(value.container)
    if isinstance(value, Held | Inside):
        return [Held(value.owner, value.name)] if isinstance(value, Held) else [value]
    if isinstance(value, np.ndarray):
        return [value] if value.ndim > 1 else []
    if isinstance(value, MappingProxyType):
        value = dict(value)
    if not is_container(value) and not isinstance(value, tuple | frozenset):
        return []
    if len(value) > _MAX_MEMBERS:
        return [Inside(value)]
    members = dict.values(value) if isinstance(value, dict) else iter(value)
    try:
        return list(itertools.islice(members, _MAX_MEMBERS))
    except RuntimeError:
        return [Inside(value)]  # another thread has changed it


def _imported(imported: Imported, namespace: dict[str, Any]) -> Any:
    """What an import inside a function binds; libraries are not loaded for that."""
    try:
        dots = "." * imported.level
        package = namespace.get("__package__") or ""
        name = importlib.util.resolve_name(dots + imported.module, package)
    except ImportError:
        return Dotted(imported.module)
    module = sys.modules.get(name)
    if module is None:
        return Dotted(".".join(filter(None, (name, imported.attribute))))
    if imported.attribute is None:
        return module
    found = vars(module).get(imported.attribute, _MISSING)
    if found is _MISSING:
        found = sys.modules.get(f"{name}.{imported.attribute}", _MISSING)
    return Dotted(f"{name}.{imported.attribute}") if found is _MISSING else found
