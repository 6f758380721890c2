"""Writers: which methods and functions of Python and NumPy change what they are given."""

from __future__ import annotations

import array
import collections
import collections.abc
import contextvars
import functools
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from keepset.core.fingerprint.origin import is_library_function, library_of, module_name

_CONTAINERS = (list, dict, set, collections.deque, bytearray, array.array)
_LIKE_CONTAINERS = (
    collections.abc.MutableMapping,
    collections.abc.MutableSequence,
    collections.abc.MutableSet,
)
_MUTATORS = {
    *("__delitem__", "__iadd__", "__iand__", "__imul__", "__ior__", "__isub__", "__setitem__"),
    *("add", "append", "appendleft", "byteswap", "clear", "difference_update", "discard", "extend"),
    *("extendleft", "frombytes", "fromlist", "insert", "intersection_update", "move_to_end", "pop"),
    *("popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "sort", "subtract"),
    *("symmetric_difference_update", "update"),
}
_ARRAY_MUTATORS = {
    *("__delitem__", "__iadd__", "__imul__", "__isub__", "__itruediv__", "__setitem__"),
    *("fill", "itemset", "partition", "put", "resize", "setfield", "sort"),
}
_STREAM_MUTATORS = {"read", "readline", "readlines", "seek", "truncate", "write", "writelines"}
# Functions that write one of their arguments, by the argument's number.
_FUNCTIONS = {
    "builtins": {"next": 0},
    "bisect": {"insort": 0, "insort_left": 0, "insort_right": 0},
    "heapq": {
        **dict.fromkeys(("heapify", "heappop", "heappush", "heappushpop", "heapreplace"), 0),
        **dict.fromkeys(("_heapify_max", "_heappop_max", "_heapreplace_max"), 0),
    },
    "numpy": dict.fromkeys(
        ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"), 0
    ),
    "numpy.random": {"shuffle": 0},
    "operator": dict.fromkeys(
        ("delitem", "iadd", "iand", "iconcat", "imul", "ior", "isub", "itruediv", "setitem"), 0
    ),
    "random": {"shuffle": 0},
}
_FUNCTION = types.FunctionType
_CALLABLES = (
    types.BuiltinFunctionType,
    types.FunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
)
_CYTHON = "cython_function_or_method"  # each library brings a class of this name
# Where the objects that hashlib makes come from.
_HASHES = {"_hashlib", "_blake2", "_md5", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512"}
# What draws numbers from a random generator.
_DRAWING = {
    *("choice", "gauss", "integers", "normal", "permutation", "rand", "randint", "randn", "random"),
    *("sample", "shuffle", "standard_normal", "uniform"),
}
# Of a generator that is made in place, `Random(seed).shuffle(LIST)`, the class is known.
_SHUFFLING = {"Generator.shuffle", "Random.shuffle", "RandomState.shuffle"}
# What asks a random generator for its state moves nothing.
_ASKING = {"bit_generator", "get_state", "getstate", "spawn", "seed_seq", "state"}


def is_random_generator(value: Any) -> bool:
    """Whether asking this value for numbers changes it."""
    return _is_generator_class(type(value))


def _is_generator_class(kind: type) -> bool:
    # A module that is not loaded has made no generator.
    if "random" in sys.modules and issubclass(kind, sys.modules["random"].Random):
        return True
    if "numpy.random" in sys.modules and issubclass(
        kind, np.random.Generator | np.random.RandomState | np.random.BitGenerator
    ):
        return True
    home = module_name(kind)
    is_known = home.partition(".")[0] == "torch" or home == "keepset.tf.random.generator"
    return kind.__name__ == "Generator" and is_known


def made_generator(function: Any) -> type | None:
    """The class of the generators that a function of NumPy makes."""
    random = sys.modules.get("numpy.random")
    return np.random.Generator if random and function is random.default_rng else None


def is_global_generator(value: Any) -> bool:
    """Whether this is the generator behind the functions of ``np.random``."""
    return "numpy.random" in sys.modules and value is np.random.mtrand._rand


def is_container(value: Any) -> bool:
    """Whether this is one of Python's containers that can be changed, or derived from one."""
    return isinstance(value, _CONTAINERS)


def is_container_class(kind: type) -> bool:
    """Whether objects of a class can be changed by ``+=`` and its kind."""
    return issubclass(kind, (*_CONTAINERS, *_LIKE_CONTAINERS, np.ndarray))


def class_method_writes(kind: type | None, name: str) -> bool:
    """Whether a method changes an object, of which at most the class is known."""
    if kind is None:
        return name in _MUTATORS | _ARRAY_MUTATORS | _DRAWING
    if _is_generator_class(kind):
        return name not in _ASKING
    return is_container_class(kind) and name in _MUTATORS | _ARRAY_MUTATORS


def is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        library_of(type(value)) == "torch" and hasattr(type(value), "data_ptr")
    )


def method_writes(value: Any, name: str) -> bool:
    """Whether calling a method that comes with Python or a library changes the value itself."""
    if is_random_generator(value):
        return name not in _ASKING and not name.startswith("__")
    if isinstance(value, np.ndarray):
        return name in _ARRAY_MUTATORS
    if is_tensor(value):
        return name.endswith("_") and not name.endswith("__")
    if type(value).__module__ in _HASHES:
        return name == "update"
    if isinstance(value, io.StringIO | io.BytesIO):
        return name in _STREAM_MUTATORS and not isinstance(_own_method(value, name), _FUNCTION)
    if isinstance(value, contextvars.ContextVar):
        return name in ("set", "reset")
    if name not in _MUTATORS or not (is_container(value) or isinstance(value, _LIKE_CONTAINERS)):
        return False
    # A method of the user's own says itself what it writes.
    found = _own_method(value, name)
    if isinstance(found, types.FunctionType):
        return is_library_function(found)
    return found is not None


def _own_method(value: Any, name: str) -> Any:
    return next((vars(kind)[name] for kind in type(value).__mro__ if name in vars(kind)), None)


def written_arguments(function: Any, name: str = "") -> Iterator[int]:
    """The numbers of the arguments that a function of a library writes.

    Of a library that is not loaded yet, the full ``name`` of the function is known and no more.
    """
    if name:
        module, _, last = name.rpartition(".")
        if last in _FUNCTIONS.get(module, {}):
            yield _FUNCTIONS[module][last]
        return
    known = _known_functions().get(id(function))
    if known is not None and known[0] is function:
        yield known[1]
        return
    if not isinstance(function, _CALLABLES) and type(function).__name__ != _CYTHON:
        return
    owner, name = getattr(function, "__self__", None), function.__name__
    is_generator = is_random_generator(owner) or function.__qualname__ in _SHUFFLING
    if (isinstance(owner, np.ufunc) and name == "at") or (is_generator and name == "shuffle"):
        yield 0
    elif isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        kind = function.__objclass__
        if (issubclass(kind, _CONTAINERS) and name in _MUTATORS) or (
            issubclass(kind, np.ndarray) and name in _ARRAY_MUTATORS
        ):
            yield 0


def _known_functions() -> dict[int, tuple[Any, int]]:
    return _functions_of(tuple(name for name in _FUNCTIONS if name in sys.modules))


@functools.cache
def _functions_of(modules: tuple[str, ...]) -> dict[int, tuple[Any, int]]:
    found: dict[int, tuple[Any, int]] = {}
    for module in modules:
        for name, argument in _FUNCTIONS[module].items():
            function = getattr(sys.modules[module], name, None)
            if function is not None:
                found[id(function)] = function, argument
    return found
