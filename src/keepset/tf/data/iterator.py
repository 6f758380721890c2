"""``tf.data.Iterator`` and ``tf.experimental.Optional``: elements one by one."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

from keepset.core.cursor import State
from keepset.core.iterate import DatasetIterator, iterate
from keepset.core.node import Node
from keepset.core.spec import Spec, spec_of
from keepset.errors import InvalidArgumentError
from keepset.tf.error_names import translated, translation
from keepset.tf.errors import OutOfRangeError
from keepset.tf.tensors.elements import tensored, untensored

NumpyIterator = DatasetIterator


class Iterator(map):  # type: ignore[type-arg]  # of tensors, made at the speed of ``map``
    """The elements of a dataset as tensors; it knows where it stands.

    Example:
        >>> import keepset.tf as tf
        >>> ds = tf.data.Dataset.range(3)
        >>> it = iter(ds)
        >>> it.get_next().numpy()
        np.int64(0)
        >>> state = it.state()
        >>> [int(x) for x in it]
        [1, 2]
        >>> it.restore(state)
        >>> int(next(it)), it.get_next_as_optional().has_value().numpy()
        (1, np.True_)
    """

    _node: Node
    _elements: DatasetIterator
    _again: Any  # in place of itself, once it was restored

    @classmethod
    def over(cls, node: Node, state: State | None = None) -> Iterator:
        """An iterator over the elements of a pipeline, from a state on."""
        with translation():
            elements = iterate(node, state, translated)
        made = cls(tensored, elements)
        made._node, made._elements = node, elements
        return made

    @property
    def element_spec(self) -> Spec:
        return self._node.spec()

    def get_next(self, name: str | None = None) -> Any:
        """The next element; an OutOfRangeError at the end."""
        for element in self:
            return element
        raise OutOfRangeError("End of sequence")

    def get_next_as_optional(self) -> Optional:
        """The next element, or an Optional without a value at the end."""
        for element in self:
            return Optional(element, self._node)
        return Optional(_NOTHING, self._node)

    def state(self) -> State:
        """Where it stands, as JSON; see :class:`keepset.DatasetIterator`."""
        return self._elements.state()

    def restore(self, state: State) -> None:
        """Go on from a state that an iterator over the same pipeline gave."""
        again = Iterator.over(self._node, state)
        self._elements.close()
        self._elements, self._again = again._elements, again
        self.__class__ = _RestoredIterator

    def close(self) -> None:
        """Stop, and let go of threads, processes and files."""
        self._elements.close()

    def __enter__(self) -> Iterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _RestoredIterator(Iterator):
    """An iterator that was moved to another place: what it was made with is over."""

    def __next__(self) -> Any:
        return next(self._again)


@dataclass(frozen=True)
class IteratorSpec:
    """The type of an iterator: that of its elements."""

    element_spec: Any


_NOTHING = object()


class Optional:
    """As ``tf.experimental.Optional``: a value that may not be there."""

    def __init__(self, value: Any, node: Node | None = None) -> None:
        self._value, self._node = value, node

    @classmethod
    def from_value(cls, value: Any) -> Optional:
        return cls(tensored(untensored(value)))

    @classmethod
    def empty(cls, element_spec: Any) -> Optional:
        made = cls(_NOTHING)
        made._spec = element_spec
        return made

    _spec: Any = None

    def has_value(self, name: str | None = None) -> Any:
        return tensored(untensored(self._value is not _NOTHING))

    def get_value(self, name: str | None = None) -> Any:
        if self._value is _NOTHING:
            raise InvalidArgumentError("The given optional does not have a value.")
        return self._value

    @property
    def element_spec(self) -> Any:
        if self._node is not None:
            return self._node.spec()
        return spec_of(untensored(self._value)) if self._spec is None else self._spec


def get_next_as_optional(iterator: Iterator) -> Optional:
    """As ``iterator.get_next_as_optional()``."""
    return iterator.get_next_as_optional()
