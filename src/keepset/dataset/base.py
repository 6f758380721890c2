"""BaseDataset: iterating, addressing and describing a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import State
from keepset.core.describe import count_text, describe, describe_html, spec_text, title_text
from keepset.core.element import to_element
from keepset.core.iterate import DatasetIterator, iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.run import look
from keepset.core.spec import Spec
from keepset.core.structure import structure_of
from keepset.errors import (
    CardinalityError,
    ElementIndexError,
    InvalidArgumentError,
    NotAddressableError,
)
from keepset.nodes.slice import Slice
from keepset.nodes.take import ALL, Skip, Take


class BaseDataset:
    """What every data set can do: be iterated, addressed and described."""

    __slots__ = ("__weakref__", "_node")

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node):
            raise InvalidArgumentError(
                "a Dataset is built by Dataset.range, from_tensor_slices, from_generator and such"
            )
        self._node = node

    def _then(self, node: Node) -> Self:
        """The data set with one more stage."""
        return type(self)(node)

    def __keepset_node__(self) -> Node:
        return self._node

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle  # takes longer to import than this package

        return _unpickle, (type(self), cloudpickle.dumps(self._node))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Fold all elements into one value: ``state = reduce_func(state, element)``.

        Example:
            >>> int(Dataset.range(5).reduce(0, lambda state, x: state + x))
            10
        """
        state = to_element(initial_state)
        structure = structure_of(state)
        for element in self:
            state = to_element(reduce_func(state, element))
            if structure_of(state) != structure:
                raise InvalidArgumentError(
                    f"the state of reduce must keep its structure {structure}, but it became "
                    f"{structure_of(state)}"
                )
        return state

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element of this data set; an error if there are none or more.

        Example:
            >>> int(Dataset.range(5).reduce(0, max)), int(Dataset.range(1).get_single_element())
            (4, 0)
        """
        with iterate(self._node) as iterator:
            found = [element for element, _ in zip(iterator, range(2), strict=False)]
        if len(found) != 1:
            amount = "none" if not found else "more"
            raise CardinalityError(
                f"get_single_element needs exactly one element, there are {amount}"
            )
        return found[0]

    def __iter__(self) -> DatasetIterator:
        return iterate(self._node)

    def iterate(self, state: State | None = None) -> DatasetIterator:
        """Iterate from the beginning, or from where another iterator stood: ``it.state()``.

        Example:
            >>> it = iter(Dataset.range(4))
            >>> next(it)
            np.int64(0)
            >>> [int(x) for x in Dataset.range(4).iterate(it.state())]
            [1, 2, 3]
        """
        return iterate(self._node, state)

    def as_numpy_iterator(self) -> DatasetIterator:
        """The same as ``iter``: elements are NumPy already."""
        return iterate(self._node)

    def __getitem__(self, index: Any) -> Any:
        """``ds[i]`` is one element, ``ds[a:b]`` a data set; an error where there is no jumping."""
        pick = self._node.pick
        if pick is not None and type(index) is int:
            length = self._node.cardinality()
            if 0 <= index < length:
                return pick(index)
        dataset = self._by_position()
        if isinstance(index, slice):
            return dataset._sliced(index)
        try:
            position = index.__index__()
        except AttributeError as error:
            raise InvalidArgumentError(
                f"a data set is indexed by an integer or a slice, not {type(index).__name__}; "
                "gather(indices) takes many"
            ) from error
        return dataset._gathered(np.array([position])).rows[0]

    def gather(self, indices: Any) -> list[Any]:
        """The elements at these positions, in this order, as a list.

        Example:
            >>> [int(x) for x in Dataset.range(100).gather([7, -1, 7])]
            [7, 99, 7]
        """
        dataset = self._by_position()
        wanted = np.asarray(indices)
        if wanted.size == 0:
            return []
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise InvalidArgumentError("gather takes a one-dimensional list of integers")
        return dataset._gathered(wanted.astype(np.int64)).rows

    def _gathered(self, wanted: Any) -> Chunk:
        length = self._node.cardinality()
        if length >= 0:
            positions = np.where(wanted < 0, wanted + length, wanted)
            outside = (positions < 0) | (positions >= length)
        else:
            positions, outside = wanted, wanted < 0
        if outside.any():
            raise ElementIndexError(
                f"position {wanted[outside][0]} is outside a data set of {count_text(length)}"
            )
        run = look(self._node)
        try:
            return self._node.gather(positions, run)
        finally:
            run.session.close()

    def _sliced(self, index: slice) -> Self:
        length = self._node.cardinality()
        if length < 0:
            start, step = index.start or 0, index.step or 1
            if start < 0 or step < 1 or (index.stop or 0) < 0:
                raise InvalidArgumentError("a data set without end can only be sliced forward")
            if step == 1:
                return self._stretch(start, ALL if index.stop is None else index.stop - start)
            length = index.stop if index.stop is not None else np.iinfo(np.int64).max // 2
        places = range(*index.indices(length))
        if places.step == 1:
            return self._stretch(places.start, len(places))
        return self._then(
            Slice(parent=self._node, start=places.start, step=places.step, count=len(places))
        )

    def _stretch(self, start: int, count: int) -> Self:
        ahead = Skip(parent=self._node, count=start)
        return self._then(Take(parent=ahead, count=max(ALL, count)))

    def _by_position(self) -> Self:
        """This data set, ready to give elements by position; an error says why it cannot."""
        node = self._node.addressable()
        obstacle = node.obstacle()
        if obstacle is not None:
            node = node.positional()
            obstacle = node.obstacle()
        if obstacle is None and node.cardinality() == UNKNOWN:
            obstacle = f"{node.title} does not know its length"
        if obstacle is not None:
            raise NotAddressableError(f"elements cannot be had by position: {obstacle}")
        return self if node is self._node else self._then(node)

    @property
    def element_spec(self) -> Spec:
        """The type of the elements; where nothing else can tell, the first element is run."""
        return self._node.spec()

    def cardinality(self) -> int:
        """The number of elements, ``INFINITE_CARDINALITY`` or ``UNKNOWN_CARDINALITY``."""
        return self._node.cardinality()

    def __len__(self) -> int:
        length = self._node.cardinality()
        if length == INFINITE:
            raise TypeError("the data set is infinite; take(count) makes it finite")
        if length == UNKNOWN:
            raise TypeError(
                "the length of the data set is unknown until it has run; "
                "assert_cardinality(n) states it"
            )
        return length

    def __bool__(self) -> bool:
        return True

    def describe(self) -> str:
        """The pipeline as text, the last stage first, with counts and specs.

        Example:
            >>> print(Dataset.range(10).batch(4).describe())
            batch(4)      3 elements  int64[?]
            range(0, 10)  10 elements  int64
        """
        return describe(self._node)

    def __repr__(self) -> str:
        node = self._node
        return f"<Dataset {title_text(node)}: {count_text(node.cardinality())}, {spec_text(node)}>"

    def _repr_html_(self) -> str:
        return describe_html(self._node)


def node_of(dataset: Any) -> Node:
    """The pipeline behind an argument that must be a data set."""
    if not isinstance(dataset, BaseDataset):
        raise InvalidArgumentError(f"a Dataset is needed, not {type(dataset).__name__}")
    return dataset._node


def _unpickle(kind: type[BaseDataset], data: bytes) -> BaseDataset:
    import cloudpickle

    return kind(cloudpickle.loads(data))
