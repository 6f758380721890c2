"""The types of values, as ``tf.TypeSpec`` has them: of tensors, ragged tensors and sparse ones.

The engine has specs of its own, in :mod:`keepset.core.spec`; ``keepset.tf.data.specs`` leads from
one kind to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Self

from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor


class TypeSpec:
    """As ``tf.TypeSpec``: what all types have in common.

    ``_serialize`` gives the parts of a type, by which it is compared, printed and pickled.
    """

    __keepset_leaf__: ClassVar[bool] = True

    def _serialize(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def value_type(self) -> type:
        """The class of the values."""
        raise NotImplementedError

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """The type of one value."""
        raise NotImplementedError

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value may be of this type, or of another type and of this one."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            if not isinstance(other, self.value_type):
                return False
            other = self.from_value(other)
        return type(other) is type(self) and _all(_may_be, self._serialize(), other._serialize())

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every value of this type is of the other one as well."""
        return type(other) is type(self) and _all(_is_in, self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others: Iterable[Any]) -> Self | None:
        """The narrowest type of which all values of this type and the others are; or None."""
        parts: Any = self._serialize()
        for other in others:
            if type(other) is not type(self):
                return None
            parts = _joint(parts, other._serialize())
            if parts is _NONE:
                return None
        return type(self)(*parts)

    def most_specific_compatible_type(self, other: Any) -> Self:
        """As ``most_specific_common_supertype`` of one other type.

        Raises:
            ValueError: There is none.
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((type(self), repr(self._serialize())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()}"


class _ShapeAndDtype(TypeSpec):
    """What types of tensors of any kind have in common."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._shape = TensorShape(shape)
        self._dtype: DType = _dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype


class TensorSpec(_ShapeAndDtype):
    """As ``tf.TensorSpec``: the type of a tensor.

    Example:
        >>> import keepset.tf as tf
        >>> spec = tf.TensorSpec([None, 3], tf.int64)
        >>> spec
        TensorSpec(shape=(None, 3), dtype=tf.int64, name=None)
        >>> spec.is_compatible_with(tf.zeros([7, 3], tf.int64))
        True
    """

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        super().__init__(shape, dtype)
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def value_type(self) -> type:
        return Tensor

    @classmethod
    def from_value(cls, value: Any) -> Self:
        return cls(value.shape, value.dtype)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> Self:
        """The type of a tensor.

        Raises:
            ValueError: It is no tensor.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"`tensor` should be a tf.Tensor, but got type {type(tensor)}; "
                "tf.type_spec_from_value takes other values"
            )
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> Self:
        """The type of a tensor of the shape and dtype of another type."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor may be of this type, whatever the names are; arrays never are."""
        return (
            isinstance(spec_or_tensor, TensorSpec | Tensor)
            and self.dtype == spec_or_tensor.dtype
            and self.shape.is_compatible_with(spec_or_tensor.shape)
        )

    def is_subtype_of(self, other: Any) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.dtype == other.dtype
            and self.shape.is_subtype_of(other.shape)
            and (not self.name or self.name == other.name)
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.name

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


class SparseTensorSpec(_ShapeAndDtype):
    """As ``tf.SparseTensorSpec``.

    Example:
        >>> SparseTensorSpec([None, 3], "int64")
        SparseTensorSpec(TensorShape([None, 3]), tf.int64)
    """

    def __init__(self, shape: Any = None, dtype: Any = "float32") -> None:
        super().__init__(shape, dtype)

    @property
    def value_type(self) -> type:
        return SparseTensor

    @classmethod
    def from_value(cls, value: Any) -> Self:
        return cls(value.shape, value.dtype)

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype


class RaggedTensorSpec(_ShapeAndDtype):
    """As ``tf.RaggedTensorSpec``.

    Example:
        >>> RaggedTensorSpec([None, None], "int32")
        RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)
    """

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = "float32",
        ragged_rank: int | None = None,
        row_splits_dtype: Any = "int64",
        flat_values_spec: TensorSpec | None = None,
    ) -> None:
        super().__init__(shape, dtype if flat_values_spec is None else flat_values_spec.dtype)
        self._row_splits_dtype, self._flat_values_spec = (
            as_dtype(row_splits_dtype),
            flat_values_spec,
        )
        self._ragged_rank = _ragged_rank(self.shape.rank, ragged_rank)

    @property
    def ragged_rank(self) -> int:
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> TensorSpec | None:
        return self._flat_values_spec

    @property
    def value_type(self) -> type:
        return RaggedTensor if self.ragged_rank else Tensor

    @classmethod
    def from_value(cls, value: Any) -> Self:
        dtype = value.flat_values.dtype
        return cls(value.shape, dtype, value.ragged_rank, value.row_splits.dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        if not self.ragged_rank and isinstance(spec_or_value, TensorSpec | Tensor):
            return TensorSpec(self.shape, self.dtype).is_compatible_with(spec_or_value)
        return super().is_compatible_with(spec_or_value)

    def _serialize(self) -> tuple[Any, ...]:
        parts = self.shape, self.dtype, self.ragged_rank, self.row_splits_dtype
        return parts if self.flat_values_spec is None else (*parts, self.flat_values_spec)


def _ragged_rank(rank: int | None, given: int | None) -> int:
    if given is None:
        if rank is None:
            raise ValueError("Must specify ragged_rank or a shape with a known rank.")
        return rank - 1
    if not isinstance(given, int):
        raise TypeError(f"Argument `ragged_rank` must be an int, not {given!r:.60}")
    if rank is not None and given >= rank:
        raise ValueError(f"Argument `ragged_rank` ({given}) must be less than rank ({rank}).")
    return given


def _dtype(given: Any) -> Any:
    """A dtype of TensorFlow's, or that of NumPy where TensorFlow has none: that of dates."""
    try:
        return as_dtype(given)
    except TypeError:
        if getattr(given, "kind", "") in ("M", "m"):
            return given
        raise


def _may_be(one: Any, other: Any) -> bool:
    compatible = isinstance(one, TypeSpec | TensorShape | DType)
    return bool(one.is_compatible_with(other) if compatible else one == other)


def _is_in(one: Any, other: Any) -> bool:
    nested = isinstance(one, TypeSpec | TensorShape)
    return bool(one.is_subtype_of(other) if nested else one == other)


_NONE: Final = object()  # there is no type that holds both


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, TypeSpec | TensorShape):
        found = one.most_specific_common_supertype([other])
        return _NONE if found is None else found
    return one if one == other else _NONE


def _all(rule: Callable[[Any, Any], bool], one: Any, other: Any) -> bool:
    """Whether a rule holds for all parts of two structures, which must be nested alike."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_all(rule, one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_all(rule, *pair) for pair in pairs)
    return rule(one, other)


def _joint(one: Any, other: Any) -> Any:
    """Two structures in one, each part of which covers those of both; or ``_NONE``."""
    if not _all(lambda a, b: _common(a, b) is not _NONE, one, other):
        return _NONE
    if isinstance(one, dict):
        return {key: _joint(one[key], other[key]) for key in one}
    if isinstance(one, tuple):
        parts = [_joint(*pair) for pair in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    return _common(one, other)
