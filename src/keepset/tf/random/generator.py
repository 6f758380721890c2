"""Generator: random numbers out of a state that the program holds."""

from __future__ import annotations

import enum
import os
import threading
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.errors import UnimplementedError
from keepset.tf.random import draws
from keepset.tf.random.philox import Stream
from keepset.tf.tensors.conversion import cast_numbers, int_of, value_of
from keepset.tf.tensors.tensor import Tensor, wrapped

_MASK = 2**64 - 1


class Algorithm(enum.Enum):
    """The algorithms by name; on a CPU there is Philox alone."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


class Generator:
    """As ``tf.random.Generator``, with TensorFlow's numbers for the same state.

    Example:
        >>> import keepset.tf as tf
        >>> g = tf.random.Generator.from_seed(1)
        >>> g.uniform([2]).numpy(), g.state.numpy()
        (array([0.78749514, 0.3906511 ], dtype=float32), array([513,   0,   0]))
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        self._lock = threading.Lock()
        if copy_from is not None:
            state, alg = copy_from.state, copy_from.algorithm
        if state is None or alg is None:
            raise InvalidArgumentError("a state and its algorithm are needed; use from_seed(1)")
        draws.check_algorithm(alg)
        self._stream = _stream_of(state)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """One that draws the same numbers each time."""
        return cls(state=create_rng_state(seed, "philox" if alg is None else alg), alg="philox")

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        return cls(state=[*_whole(counter), *_whole(key)], alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """One that draws other numbers each time."""
        drawn = np.frombuffer(os.urandom(24), np.int64)
        return cls(state=drawn, alg="philox" if alg is None else alg)

    @property
    def state(self) -> Tensor:
        """The two parts of the counter, and the key."""
        stream = self._stream
        parts = stream.counter & _MASK, stream.counter >> 64, stream.key
        return Tensor(np.array(parts, np.uint64).astype(np.int64))

    @property
    def key(self) -> Tensor:
        return self.state[2]

    @property
    def algorithm(self) -> int:
        return Algorithm.PHILOX.value

    def reset(self, state: Any) -> None:
        self._stream = _stream_of(state)

    def reset_from_seed(self, seed: Any) -> None:
        self.reset(create_rng_state(seed, "philox"))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        self.reset([*_whole(counter), *_whole(key)])

    def skip(self, delta: Any) -> Tensor:
        """Leave numbers out; the state before is returned."""
        before = self.state
        self._take("", int_of(delta) * 256)
        return before

    def _take(self, operation: str, blocks: int, kinds: str = "") -> Stream:
        with self._lock:
            stream = self._stream
            self._stream = stream.skip(blocks)
            return stream

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Numbers between two bounds, the upper one left out."""
        return draws.uniform(self._take, shape, minval, maxval, dtype, full=True)

    def uniform_full_int(
        self, shape: Any, dtype: Any = "uint64", name: str | None = None
    ) -> Tensor:
        """Whole numbers of all their bits."""
        return draws.uniform(self._take, shape, None, None, dtype, full=True)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Numbers around a mean."""
        return draws.normal(self._take, shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Numbers within two deviations of a mean."""
        return draws.normal(self._take, shape, mean, stddev, dtype, truncated=True)

    def make_seeds(self, count: Any = 1) -> Tensor:
        """Seeds for stateless functions, as columns."""
        keys = self.uniform_full_int([int_of(count)], "int64").numpy()
        return wrapped(np.stack([keys, np.zeros_like(keys)]))

    def split(self, count: Any = 1) -> list[Generator]:
        """Generators whose numbers have nothing to do with each other."""
        keys = self.uniform_full_int([int_of(count)], "int64").numpy()
        return [Generator(state=[0, 0, key], alg="philox") for key in keys.tolist()]

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (None, self.state.numpy(), "philox")

    def __keepset_fingerprint__(self) -> Any:
        return self.state.numpy()


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state that a generator begins with for a seed."""
    draws.check_algorithm(alg)
    if isinstance(seed, int):
        parts = [seed >> 64 * place & _MASK for place in range(3)]
        return wrapped(np.array(parts, np.uint64).astype(np.int64))
    given = _whole(seed)[:3]
    return wrapped(np.array([0] * (3 - len(given)) + given, np.int64))


def _whole(given: Any) -> list[int]:
    value = value_of(given)
    if type(value) is bytes:
        raise UnimplementedError(f"a seed is of whole numbers, not {given!r:.80}")
    numbers: list[int] = np.ravel(cast_numbers(value, np.dtype(np.int64))).tolist()
    return numbers


def _stream_of(state: Any) -> Stream:
    parts = [part & _MASK for part in _whole(state)]
    if len(parts) < 3:
        raise InvalidArgumentError(f"a state has 3 numbers, not {len(parts)}; use from_seed")
    return Stream(parts[2], parts[0] | parts[1] << 64)


_global: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator of the program, which begins with other numbers each time."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    _global[:] = [generator]


__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
]
