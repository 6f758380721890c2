"""TensorShape: the sizes of a tensor's dimensions, of which some or all may be unknown."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any

Sizes = tuple[int | None, ...]


class TensorShape:
    """As ``tf.TensorShape``: sizes in a row, None for one that is not known, or nothing known.

    It equals lists and tuples of the same sizes.

    Example:
        >>> shape = TensorShape([28, None])
        >>> shape, str(shape), shape == [28, None], shape.rank, shape[0]
        (TensorShape([28, None]), '(28, None)', True, 2, 28)
        >>> TensorShape(None)
        TensorShape(None)
    """

    __slots__ = ("_sizes",)

    def __init__(self, dims: Any) -> None:
        self._sizes = _sizes_of(dims)

    @classmethod
    def known(cls, sizes: tuple[int, ...]) -> TensorShape:
        """As the constructor, for sizes that need no look."""
        shape = object.__new__(cls)
        shape._sizes = sizes
        return shape

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if that is unknown."""
        return None if self._sizes is None else len(self._sizes)

    @property
    def ndims(self) -> int | None:
        """As ``rank``."""
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The sizes; None if their number is unknown."""
        return None if self._sizes is None else list(self._sizes)

    def as_list(self) -> list[int | None]:
        """The sizes.

        Raises:
            ValueError: Their number is unknown.
        """
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def num_elements(self) -> int | None:
        """How many items such a tensor has; None if some size is unknown."""
        if self._sizes is None:
            return None
        known = [size for size in self._sizes if size is not None]
        return math.prod(known) if len(known) == len(self._sizes) else None

    def is_fully_defined(self) -> bool:
        """Whether all sizes are known."""
        return self._sizes is not None and None not in self._sizes

    def is_compatible_with(self, other: Any) -> bool:
        """Whether one tensor may have both shapes."""
        given = _as_shape(other)._sizes
        if self._sizes is None or given is None:
            return True
        pairs = zip(self._sizes, given, strict=False)
        return len(self._sizes) == len(given) and all(_may_be_same(a, b) for a, b in pairs)

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Whether every tensor of this shape has the other one as well."""
        if other._sizes is None:
            return True
        if self._sizes is None or len(self._sizes) != len(other._sizes):
            return False
        return all(b is None or a == b for a, b in zip(self._sizes, other._sizes, strict=True))

    def most_specific_common_supertype(self, others: Iterable[TensorShape]) -> TensorShape:
        """The narrowest shape that this one and the others have."""
        found = self
        for other in others:
            found = found.most_specific_compatible_shape(other)
        return found

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The narrowest shape that both have."""
        given = _as_shape(other)._sizes
        if self._sizes is None or given is None or len(self._sizes) != len(given):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._sizes, given, strict=True)])

    def merge_with(self, other: Any) -> TensorShape:
        """The shape of a tensor that has both.

        Raises:
            ValueError: No tensor can have both.
        """
        given = _as_shape(other)
        if self._sizes is None:
            return given
        if given._sizes is None:
            return self
        self.assert_same_rank(given)
        if not self.is_compatible_with(given):
            raise ValueError(f"Shapes {self} and {given} are not compatible")
        pairs = zip(self._sizes, given._sizes, strict=True)
        return TensorShape([b if a is None else a for a, b in pairs])

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of this shape, and those of another one behind them."""
        given = _as_shape(other)._sizes
        return TensorShape(None if self._sizes is None or given is None else self._sizes + given)

    def with_rank(self, rank: int) -> TensorShape:
        """The same shape, which must have so many dimensions."""
        return self.merge_with([None] * rank) if self._sizes is None else self._checked(rank)

    def _checked(self, rank: int) -> TensorShape:
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The same shape, which must have at least so many dimensions."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """The same shape, which must have at most so many dimensions."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError unless it may have so many dimensions."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError unless both may have as many dimensions."""
        given = _as_shape(other)
        if None not in (self.rank, given.rank) and self.rank != given.rank:
            raise ValueError(f"Shapes {self} and {given} must have the same rank")

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless one tensor may have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __len__(self) -> int:
        if self._sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._sizes)

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._sizes)

    def __getitem__(self, key: int | slice) -> Any:
        if self._sizes is None:
            return _part_of_unknown(key)
        found = self._sizes[key]
        return TensorShape(found) if isinstance(found, tuple) else found

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return _as_shape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == _as_shape(other)._sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __reduce__(self) -> tuple[type[TensorShape], tuple[Any]]:
        return TensorShape, (self.dims,)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        return "<unknown>" if self._sizes is None else str(self._sizes)


def _sizes_of(dims: Any) -> Sizes | None:
    if dims is None:
        return None
    if isinstance(dims, TensorShape):
        return dims._sizes
    if isinstance(dims, str | dict):
        raise TypeError(f"{dims!r} is not a shape; pass sizes, None where one is unknown")
    return tuple(map(_size, dims)) if hasattr(dims, "__iter__") else (_size(dims),)


def _size(value: Any) -> int | None:
    if value is None:
        return None
    try:
        size = operator.index(value)
    except TypeError as error:
        kind = type(value).__name__
        raise TypeError(f"a size is a whole number or None, not {value!r} ({kind})") from error
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def _as_shape(value: Any) -> TensorShape:
    return value if isinstance(value, TensorShape) else TensorShape(value)


def _may_be_same(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def _part_of_unknown(key: int | slice) -> Any:
    """What an index or a slice gives of which only its own length is known."""
    if not isinstance(key, slice):
        return None
    start, stop = key.start or 0, key.stop
    if key.step is not None or stop is None or start < 0 or stop < 0:
        return TensorShape(None)
    return TensorShape([None] * max(0, stop - start))
