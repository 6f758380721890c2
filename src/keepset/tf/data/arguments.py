"""What code for TensorFlow passes to the methods of a dataset, as the library takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import PLAIN_SCALARS
from keepset.core.node import name_of
from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.data.frozen import frozen
from keepset.tf.data.specs import engine_spec
from keepset.tf.tensors.dtype import DType
from keepset.tf.tensors.elements import literals, tensored, untensored
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor


class OnTensors:
    """A user's function, called with tensors; what it gives is plain again."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise DtypeError(f"a function is needed, not {type(function).__name__}")
        self.function = frozen(function)
        self.__name__ = name_of(function)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) == 1:
            [argument] = arguments
            kind = type(argument)
            # The usual leaves without another call, which is a third of what they cost.
            if kind in PLAIN_SCALARS or (kind is np.ndarray and argument.dtype.kind != "O"):
                result = self.function(Tensor(argument))
            else:
                result = self.function(tensored(argument))
        else:
            result = self.function(*map(tensored, arguments))
        if type(result) is Tensor:
            return result._value
        # A list that a function returns is several components, as in TensorFlow.
        return untensored(tuple(result) if type(result) is list else result)

    def __keepset_fingerprint__(self) -> Any:
        return self.function


class Plain(OnTensors):
    """As its parent, for functions whose result is a Dataset or a number."""

    def __call__(self, *arguments: Any) -> Any:
        result = self.function(*map(tensored, arguments))
        return result._value if type(result) is Tensor else result


class Condition(OnTensors):
    """As its parent, for functions whose result is a bool; TensorFlow takes nothing for one."""

    def __call__(self, *arguments: Any) -> Any:
        result = self.function(*map(tensored, arguments))
        value = result._value if type(result) is Tensor else result
        if type(value) is np.bool_ or type(value) is bool:
            return value
        raise InvalidArgumentError(
            f"a predicate must return a single tf.bool, not {result!r:.80}; "
            "compare it, as in x != 0, or use tf.reduce_all"
        )


class Steady(OnTensors):
    """As its parent, for functions of a state, which keeps the dtypes that it begins with."""

    def __init__(self, function: Callable[..., Any], state: Any, is_first: bool) -> None:
        super().__init__(function)
        self._dtypes, self._is_first = _dtypes(state), is_first

    def __call__(self, *arguments: Any) -> Any:
        result = super().__call__(*arguments)
        if self._is_first and not (isinstance(result, tuple) and len(result) == 2):
            raise DtypeError(
                "scan_func must return two values, the new state and the output, and it returned "
                f"{type(result).__name__}"
            )
        found = _dtypes(result[0] if self._is_first else result)
        if found != self._dtypes:
            raise DtypeError(
                f"the state must keep its dtypes {_shown(self._dtypes)}, but the function made it "
                f"{_shown(found)}; begin with a state of that dtype, or use tf.cast"
            )
        return result


def _dtypes(state: Any) -> Any:
    if isinstance(state, Mapping):
        return {key: _dtypes(item) for key, item in state.items()}
    if isinstance(state, tuple):
        return tuple(map(_dtypes, state))
    return "string" if isinstance(state, bytes) else getattr(state, "dtype", type(state))


def _shown(dtypes: Any) -> str:
    return str(getattr(dtypes, "name", dtypes))


def number(given: Any) -> Any:
    """A whole number, however it is given; other kinds of value pass to what checks them."""
    if type(given) is int or given is None:
        return given
    if isinstance(given, Tensor):
        given = given._value
    if isinstance(given, list | tuple):
        return type(given)(map(number, given))
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        return given.tolist()
    if isinstance(given, str | bytes | float | np.floating | np.ndarray):
        raise DtypeError(f"{given!r:.60} is not a whole number; use int(...) or tf.cast")
    return given


def flag(given: Any) -> Any:
    return bool(given) if isinstance(given, Tensor) else given


def plain(given: Any) -> Any:
    """Tensors in an argument as arrays, numbers and ``bytes``, dtypes as NumPy's, and sizes."""
    kind = type(given)
    if kind is Tensor:
        return given._value
    if kind is tuple or kind is list:
        return kind(map(plain, given))
    if kind is dict:
        return {key: plain(item) for key, item in given.items()}
    if kind is TensorShape:
        return given.dims
    return given.core if kind is DType else given


def path(given: Any) -> Any:
    """A path as text."""
    given = plain(given)
    if isinstance(given, int | float | np.generic):
        raise DtypeError(f"a path must be text, not {given!r:.60}")
    return given.decode() if isinstance(given, bytes) else given


_NUMBERS: Final = [
    "args",
    "batch_size",
    "block_length",
    "buffer_size",
    "count",
    "cycle_length",
    "expected_cardinality",
    "index",
    "num_parallel_calls",
    "num_shards",
    "seed",
    "shift",
    "size",
    "start",
    "step",
    "stride",
    "window_size",
]
_FLAGS: Final = ["drop_remainder", "deterministic", "shuffle", "reshuffle_each_iteration"]
_FUNCTIONS: Final = ["reduce_func", "window_size_func", "element_length_func", "class_func"]
_CONVERTERS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(_NUMBERS, number),
    **dict.fromkeys(_FLAGS, flag),
    **dict.fromkeys(["path", "filename"], path),
    **dict.fromkeys(_FUNCTIONS, lambda given: given if given is None else Plain(given)),
    "map_func": Plain,
    "key_func": Plain,
    "predicate": Condition,
    "shard_func": lambda given: given if given is None else Plain(given),
    "tensors": literals,
    "output_signature": engine_spec,
    "element_spec": engine_spec,
}


def taking_tensors(method: Callable[..., Any], **converters: Callable[[Any], Any]) -> Any:
    """A method that takes tensors wherever it takes numbers, texts or paths.

    ``converters`` are for arguments that are not what their name says in other methods.
    """
    parameters = list(inspect.signature(method).parameters.values())
    names = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
    many = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), None)
    table = {name: converters.get(name) or _CONVERTERS.get(name, plain) for name in names}
    positional = [table[name] for name in names][1:] if many is None else []
    rest = _CONVERTERS.get(many or "", plain)

    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        converted = [
            (positional[place] if place < len(positional) else rest)(each)
            for place, each in enumerate(given)
        ]
        for name, each in named.items():
            named[name] = table.get(name, plain)(each)
        return method(self, *converted, **named)

    return call
