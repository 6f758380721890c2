"""JAX: elements as trees of ``jax.Array``, on their way to the devices ahead of their use."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import jax
import numpy as np

from keepset.core.cursor import State
from keepset.core.dtypes import Array, DType, StringType, string
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE, Node
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import (
    DatasetSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    Spec,
    structure_and_leaves,
)
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError, InvalidArgumentError

_NOT_NUMBERS = "bring it to numbers with map, or leave it out with select"
_UNEVEN = "use padded_batch, or map(lambda x: x.to_dense()) for a Sparse"


class JaxData:
    """A pipeline for JAX. Each ``iter`` is a pass of its own, as over the data set itself."""

    def __init__(self, node: Node, sharding: Any, prefetch: int) -> None:
        if prefetch < 0:
            raise InvalidArgumentError(f"prefetch must be 0 or more, not {prefetch}")
        known = node.known_spec()
        if known is not None:
            check_spec(known[0])
        self._node, self._sharding = node, sharding
        # A source that waits for the world outside is never read ahead of need.
        self._prefetch = prefetch if node.may_run_ahead else 0

    def __iter__(self) -> JaxIterator:
        return self.iterate()

    def iterate(self, state: State | None = None) -> JaxIterator:
        """Iterate from the beginning, or from where another iterator stood: ``it.state()``."""
        return JaxIterator(self._node, _Devices(self._sharding), self._prefetch, state)

    def __len__(self) -> int:
        length = self._node.cardinality()
        if length < 0:
            kind = "is infinite" if length == INFINITE else "has an unknown length"
            raise TypeError(f"the pipeline {kind}; take(n) or assert_cardinality(n) gives a length")
        return length


class JaxIterator(Iterator[Any]):
    """Gives elements whose transfer began some elements ago, so that it need not be waited for."""

    def __init__(self, node: Node, devices: _Devices, prefetch: int, state: State | None) -> None:
        self._elements = iterate(node, state)
        self._devices, self._prefetch = devices, prefetch
        self._place = self._elements.state()
        self._ahead: deque[tuple[Any, State]] = deque()
        self._error: BaseException | None = None
        self._ended = False

    def __next__(self) -> Any:
        self._read_ahead()
        if self._ahead:
            element, self._place = self._ahead.popleft()
            return element
        error, self._error = self._error, None
        if error is not None:
            self._place = self._elements.state()
            raise error
        raise StopIteration

    def _read_ahead(self) -> None:
        """Have one element ready, and the next ones on their way."""
        while not self._ended and len(self._ahead) <= self._prefetch:
            try:
                element = self._devices.put(next(self._elements))
            except StopIteration:
                self._ended = True
            except BaseException as error:
                # It belongs behind the elements that are ready.
                self._error, self._ended = error, True
            else:
                self._ahead.append((element, self._elements.state()))

    def state(self) -> State:
        """Where the consumer stands, as JSON: pass it to ``iterate`` to go on from here."""
        return self._place

    def close(self) -> None:
        """Stop, and let go of threads, processes and files."""
        self._ended = True
        self._ahead.clear()
        self._elements.close()

    def __enter__(self) -> JaxIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Devices:
    """Puts elements where they belong: all leaves alike, or each as a tree of shardings says."""

    def __init__(self, sharding: Any) -> None:
        self._sharding = sharding
        self._is_tree = isinstance(sharding, dict | tuple | list)

    def put(self, element: Any) -> Any:
        structure = structure_of(element)
        leaves = [host_array(leaf) for leaf in structure.leaves(element)]
        if self._sharding is None:
            return structure.build(jax.device_put(leaves))
        places = self._places(structure)
        try:
            return structure.build(_put(leaves, places))
        except ValueError as error:
            raise ElementError(
                f"arrays of the shapes {[leaf.shape for leaf in leaves]} do not fit the sharding: "
                f"{error}; batches need a size that the devices divide: batch(n, "
                "drop_remainder=True)"
            ) from error

    def _places(self, structure: Structure) -> list[Any]:
        if not self._is_tree:
            return [self._sharding] * structure.num_leaves
        if structure_of(self._sharding) != structure:
            raise InvalidArgumentError(
                f"sharding is nested as {structure_of(self._sharding)}, but elements as "
                f"{structure}; pass one sharding for all leaves, or one for each"
            )
        return structure.leaves(self._sharding)


def _put(leaves: list[Array], places: list[Any]) -> Any:
    if all(getattr(place, "is_fully_addressable", True) for place in places):
        return jax.device_put(leaves, places)
    # Devices of other processes get their parts from there.
    pairs = zip(leaves, places, strict=True)
    return [jax.make_array_from_process_local_data(place, leaf) for leaf, place in pairs]


def host_array(leaf: Any) -> Array:
    """A leaf as JAX will have it, while it is still in the memory of the host."""
    if isinstance(leaf, Ragged | Sparse):
        raise ElementError(f"JAX has no counterpart of a {type(leaf).__name__}; {_UNEVEN}")
    if isinstance(leaf, bytes | str):
        check_dtype(string)
    if not isinstance(leaf, np.ndarray | np.generic):
        raise ElementError(f"JAX has no counterpart of a {type(leaf).__name__}; {_NOT_NUMBERS}")
    array = np.asarray(leaf)
    check_dtype(array.dtype)
    wanted = jax.dtypes.canonicalize_dtype(array.dtype)
    if wanted == array.dtype:
        return array
    if array.dtype.kind in "iu":
        _check_range(array, wanted)
    return array.astype(wanted)


def _check_range(array: Array, wanted: np.dtype[Any]) -> None:
    bounds = np.iinfo(wanted)
    if array.size and (array.min() < bounds.min or array.max() > bounds.max):
        raise ElementError(
            f"JAX has {array.dtype} as {wanted}, and {array.max()} does not fit into that; use "
            "smaller numbers, or jax.config.update('jax_enable_x64', True)"
        )


def check_dtype(dtype: DType) -> None:
    """Refuse what is no number to JAX."""
    if isinstance(dtype, StringType) or dtype.hasobject:
        raise ElementError(f"JAX has no strings; {_NOT_NUMBERS}")
    if dtype.kind in "mM":
        raise ElementError(
            f"JAX has no dtype {dtype.name}; count its units with "
            'map(lambda x: x.astype("int64")), or leave it out with select'
        )
    if dtype.char in "gG":
        raise ElementError(f"JAX has no dtype {dtype.name}; bring it to float64 with map")


def check_spec(spec: Spec) -> None:
    """Refuse elements that JAX has no counterpart for, as far as their spec tells."""
    for leaf in structure_and_leaves(spec)[1]:
        if isinstance(leaf, DatasetSpec):
            raise ElementError("JAX has no counterpart of nested data sets; use flat_map")
        if isinstance(leaf, RaggedTensorSpec | SparseTensorSpec):
            raise ElementError(f"JAX has no counterpart of {leaf}; {_UNEVEN}")
        check_dtype(leaf.dtype)
