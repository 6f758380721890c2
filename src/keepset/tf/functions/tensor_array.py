"""TensorArray: tensors by number, which functions write one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.errors import OutOfRangeError
from keepset.tf.functions.arrangement import concat, split, stack, unstack
from keepset.tf.functions.arrays import zeros
from keepset.tf.tensors.conversion import Holder, dtype_of, int_of, ints_of, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor


class TensorArray:
    """As ``tf.TensorArray`` in eager mode, where writing changes the array itself.

    What nothing was written to reads as zeros.

    Example:
        >>> import keepset.tf as tf
        >>> found = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        >>> for i in range(3):
        ...     found = found.write(i, i * i)
        >>> found.stack().numpy().tolist()
        [0, 1, 4]
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: Any = None,
        clear_after_read: Any = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if size is None:
            raise InvalidArgumentError("a TensorArray needs a size; pass size=0, dynamic_size=True")
        self._dtype = as_dtype(dtype)
        self._items: list[Tensor | None] = [None] * int_of(size)
        self._read: set[int] = set()
        self._grows = bool(dynamic_size)
        self._clears = clear_after_read is None or bool(clear_after_read)
        self._infers = infer_shape
        self._shape = TensorShape(element_shape)

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        return self._grows

    @property
    def element_shape(self) -> TensorShape:
        return self._shape

    def size(self, name: str | None = None) -> Tensor:
        """How many there are, written or not."""
        return Tensor(np.int32(len(self._items)))

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with a tensor at a number, which it did not need to have before."""
        place, made = int_of(index), self._taken(value)
        if place < 0:
            raise OutOfRangeError(
                None, None, f"Writing to negative indices (index {place}) is not allowed."
            )
        if place >= len(self._items) and not self._grows:
            raise OutOfRangeError(
                None,
                None,
                f"Tried to write to index {place} but array is not resizeable and size is: "
                f"{len(self._items)}; pass dynamic_size=True",
            )
        self._check(made)
        self._items += [None] * (place + 1 - len(self._items))
        self._items[place] = made
        self._read.discard(place)
        return self

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The tensor at a number, once unless ``clear_after_read`` is False."""
        place = int_of(index)
        if not 0 <= place < len(self._items):
            raise OutOfRangeError(
                None,
                None,
                f"Tried to read from index {place} but array size is: {len(self._items)}",
            )
        if place in self._read:
            raise InvalidArgumentError(
                f"Could not read index {place} twice because it was cleared after a previous read; "
                "pass clear_after_read=False"
            )
        found = self._at(place)
        if self._clears:
            self._items[place] = None
            self._read.add(place)
        return found

    def stack(self, name: str | None = None) -> Tensor:
        """All of them along a new first axis."""
        return self._stacked(range(len(self._items)))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Some of them along a new first axis."""
        return self._stacked(ints_of(indices))

    def concat(self, name: str | None = None) -> Tensor:
        """All of them one after the other along their first axis."""
        found = [self._at(place) for place in range(len(self._items))]
        if any(not each.ndim for each in found):
            raise InvalidArgumentError("scalars cannot be concatenated; use stack()")
        return concat(found, 0) if found else self._stacked([])

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array with the tensors along the first axis, in place of what it had."""
        found = unstack(self._taken(value))
        if len(found) > len(self._items) and not self._grows:
            raise InvalidArgumentError(
                f"Cannot unstack {len(found)} tensors into a TensorArray of static size "
                f"{len(self._items)}; pass dynamic_size=True"
            )
        for each in found:
            self._check(each)
        self._items, self._read = list(found), set()
        return self

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the tensors along the first axis at the numbers given."""
        for place, each in zip(ints_of(indices), unstack(self._taken(value)), strict=False):
            self.write(place, each)
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with parts of a tensor of the lengths given along its first axis."""
        given, sizes = self._taken(value), ints_of(lengths)
        if sum(sizes) != len(given):
            raise InvalidArgumentError(
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(sizes)} and value's shape is: {given.shape}"
            )
        self._items, self._read = list(split(given, sizes)), set()
        return self

    def _taken(self, value: Any) -> Tensor:
        if isinstance(value, Holder) and dtype_of(value._value) != self._dtype:
            raise _other_dtype(self._dtype, dtype_of(value._value))
        try:
            return Tensor(value_of(value, self._dtype))
        except DtypeError as error:
            raise _other_dtype(self._dtype, dtype_of(value_of(value))) from error

    def _check(self, made: Tensor) -> None:
        """That a shape fits; the first one is that of all, if shapes are inferred."""
        if not self._infers and self._shape.rank is None:
            return
        if not self._shape.is_compatible_with(made.shape):
            raise InvalidArgumentError(
                f"Incompatible shape for value ({made.shape}), expected ({self._shape}); pass "
                "infer_shape=False where they differ"
            )
        if self._infers:
            self._shape = self._shape.merge_with(made.shape)

    def _at(self, place: int) -> Tensor:
        """The tensor at a number; zeros where there is none, of the shape of the others."""
        found = self._items[place]
        if found is None:
            if not self._shape.is_fully_defined():
                raise InvalidArgumentError(
                    f"nothing was written to index {place}, and the shape is not known that zeros "
                    "would have; write it, or pass element_shape"
                )
            found = zeros(self._shape, self._dtype)
        return found

    def _stacked(self, places: Sequence[int]) -> Tensor:
        found = [self._at(place) for place in places]
        sizes = self._shape.dims or []
        return stack(found) if found else zeros([0, *(n for n in sizes if n)], self._dtype)


def _other_dtype(own: DType, given: DType) -> DtypeError:
    return DtypeError(
        f"TensorArray dtype is {own.name} but Op is trying to write dtype {given.name}; use tf.cast"
    )


__all__ = ["TensorArray"]
