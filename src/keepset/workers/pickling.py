"""Pickling: functions, cached ones and cached properties by value; sentinels of modules by name.

A worker imports the modules of the user anew. A sentinel that came to it by value would be another
object than the one that its module has.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Final

from keepset.core.fingerprint.origin import is_library_class, is_library_module

# What lru_cache sets itself.
_OF_THE_CACHE = {"__wrapped__", "cache_parameters"}

# The name of a module, and a name in it.
Place = tuple[str, str]


def dumps(
    value: Any,
    keep_buffer: Callable[[pickle.PickleBuffer], Any] | None,
    by_value: Collection[int] = (),
) -> bytes:
    """Pickle a value; what belongs to the main script or to no module goes by value.

    So do the functions with the ids ``by_value``, which have a name that stands for another one
    where it is looked up.
    """
    with io.BytesIO() as file:
        pickler = _pickler()(file, protocol=5, buffer_callback=keep_buffer)
        pickler.ids_by_value = by_value
        pickler.dump(value)
        return file.getvalue()


@functools.cache
def _pickler() -> Any:
    import cloudpickle  # takes longer to import than this package

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        ids_by_value: Collection[int] = ()

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._sentinels = _Sentinels()

        def reducer_override(self, value: Any) -> Any:
            if type(value) is FunctionType and id(value) in self.ids_by_value:
                return self._dynamic_function_reduce(value)
            if type(value) is functools._lru_cache_wrapper and not _has_a_name(value):
                return self._cached(value)
            if _is_sentinel(value) and (places := self._sentinels.places_of(value)):
                return _found, (type(value), places)
            if type(value) is functools.cached_property:
                # Without its lock, which Python has here before 3.12.
                state = {k: v for k, v in vars(value).items() if k != "lock"}
                return functools.cached_property, (value.func,), state
            return super().reducer_override(value)

        def _cached(self, value: Any) -> Any:
            function, settings = value.__wrapped__, value.cache_parameters()
            given = {k: v for k, v in vars(value).items() if k not in _OF_THE_CACHE}
            if type(function) is not FunctionType:
                return _cache, (function, settings), given
            # In two parts, as a recursive function leads back to its cache: first an empty
            # function in a cache, then what it uses.
            make, arguments, state, _, _, fill = self._dynamic_function_reduce(function)
            made = make, arguments, settings
            return _cache_of_made, made, (fill, state, given), None, None, _fill

    return Pickler


def _has_a_name(value: Any) -> bool:
    """Whether a worker finds it by importing its module."""
    name = getattr(value, "__module__", None)
    found = sys.modules.get(name) if isinstance(name, str) and name != "__main__" else None
    path = getattr(value, "__qualname__", "")
    if not isinstance(path, str):  # a proxy, which answers for every attribute with more proxies
        return False
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is value


def _is_sentinel(value: Any) -> bool:
    """Whether a value is an object without content, which is known by its identity alone."""
    kind = type(value)
    if kind is object:
        return True
    if is_library_class(kind) or not all(map(_may_be_of_sentinels, kind.__mro__)):
        return False
    own = getattr(value, "__dict__", None)
    return own is None or (type(own) is dict and not own)


def _may_be_of_sentinels(kind: type) -> bool:
    """Whether a class adds neither content nor ways to compare or to copy its objects."""
    if kind is object:
        return True
    held = vars(kind)
    has_slots = any(isinstance(item, MemberDescriptorType) for item in held.values())
    return not has_slots and not is_library_class(kind) and _RULES.isdisjoint(held)


# What a class defines whose objects are more than their identity.
_RULES: Final = {"__eq__", "__getstate__", "__reduce__", "__reduce_ex__", "__getnewargs__"} | {
    "__getnewargs_ex__"
}


class _Sentinels:
    """Where the sentinels of the user's modules are, looked up once for each pickle."""

    def __init__(self) -> None:
        self._places: dict[int, list[Place]] | None = None

    def places_of(self, value: Any) -> list[Place]:
        """The modules and the names in them that stand for a sentinel."""
        if self._places is None:
            self._places = {}
            for name, module in list(sys.modules.items()):
                if name != "__main__" and isinstance(module, ModuleType):
                    self._add(name, module)
        return self._places.get(id(value), [])

    def _add(self, name: str, module: ModuleType) -> None:
        if vars(module).get("__file__") is None or is_library_module(module):
            return
        assert self._places is not None
        for inner, item in list(vars(module).items()):
            if _is_sentinel(item):
                self._places.setdefault(id(item), []).append((name, inner))


def _found(kind: type, places: list[Place]) -> Any:
    """The sentinel that a module has here under one of some names, or else a new one.

    A name may stand for another object here, because the program has bound it anew: one that has
    further names, or is not of this class.
    """
    for module, name in places:
        namespace = vars(import_module(module))
        found = namespace.get(name)
        if type(found) is kind and _is_sentinel(found):
            names = [(module, each) for each, item in namespace.items() if item is found]
            if set(names) <= set(places):
                return found
    made: Any = object.__new__(kind)
    for module, name in places:
        # The program has added it since: what is sent later finds this one.
        vars(import_module(module)).setdefault(name, made)
    return made


def _cache(function: Callable[..., Any], settings: dict[str, Any]) -> Any:
    return functools.lru_cache(**settings)(function)


def _cache_of_made(make: Callable[..., Any], arguments: Any, settings: dict[str, Any]) -> Any:
    return _cache(make(*arguments), settings)


def _fill(cached: Any, state: tuple[Callable[..., Any], Any, dict[str, Any]]) -> None:
    fill, inner, given = state
    fill(cached.__wrapped__, inner)
    functools.update_wrapper(cached, cached.__wrapped__)
    vars(cached).update(given)
