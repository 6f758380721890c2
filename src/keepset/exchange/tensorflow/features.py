"""Feature descriptions: what to make of the lists of an Example, as TensorFlow names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from keepset.core.dtypes import DType, StringType, as_dtype
from keepset.core.record import record
from keepset.core.spec import as_shape
from keepset.errors import InvalidArgumentError

_DTYPES: Final = ("float32", "int64", "string")


def feature_dtype(dtype: Any) -> DType:
    """One of the three dtypes that an Example can hold."""
    found = as_dtype(dtype)
    if found.name not in _DTYPES:
        raise InvalidArgumentError(
            f"an Example holds {', '.join(_DTYPES)}, not {found.name}; parse one of these and "
            "convert it with map"
        )
    return found


def _sizes(shape: Any) -> tuple[int, ...]:
    sizes = as_shape(shape)
    if sizes is None or None in sizes:
        raise InvalidArgumentError(f"a feature of fixed length needs a whole shape, not {shape!r}")
    return tuple(size for size in sizes if size is not None)


@record
class FixedLenFeature:
    """Values of one shape. Without a ``default_value`` they must be there.

    Example:
        >>> FixedLenFeature([2], "float32")
        FixedLenFeature(shape=(2,), dtype=dtype('float32'), default_value=None)
    """

    __keepset_recipe__ = ("shape", "dtype", "default_value")

    shape: Any
    dtype: Any
    default_value: Any

    def __init__(self, shape: Any, dtype: Any, default_value: Any = None) -> None:
        object.__setattr__(self, "shape", _sizes(shape))
        object.__setattr__(self, "dtype", feature_dtype(dtype))
        default = None if default_value is None else _default(default_value, self)
        object.__setattr__(self, "default_value", default)


def _default(value: Any, feature: FixedLenFeature) -> Any:
    if isinstance(feature.dtype, StringType):
        given = np.array(value, object)
        texts = [v.encode() if isinstance(v, str) else v for v in given.ravel().tolist()]
        found = np.empty(given.shape, object)
        found.reshape(-1)[:] = texts
    else:
        found = np.asarray(value, feature.dtype)
    if found.size != int(np.prod(feature.shape)):
        raise InvalidArgumentError(
            f"default_value must have the whole shape {feature.shape}, not {found.shape}"
        )
    return found.reshape(feature.shape)


@record
class VarLenFeature:
    """Any number of values, as a Sparse."""

    __keepset_recipe__ = ("dtype",)

    dtype: Any

    def __init__(self, dtype: Any) -> None:
        object.__setattr__(self, "dtype", feature_dtype(dtype))


@record
class FixedLenSequenceFeature:
    """Any number of rows of one shape."""

    __keepset_recipe__ = ("shape", "dtype", "allow_missing", "default_value")

    shape: Any
    dtype: Any
    allow_missing: bool
    default_value: Any

    def __init__(
        self, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None
    ) -> None:
        object.__setattr__(self, "shape", _sizes(shape))
        object.__setattr__(self, "dtype", feature_dtype(dtype))
        object.__setattr__(self, "allow_missing", bool(allow_missing))
        object.__setattr__(self, "default_value", default_value)


@record
class SparseFeature:
    """Values whose places are other features of the same Example."""

    __keepset_recipe__ = ("index_key", "value_key", "dtype", "size", "already_sorted")

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool

    def __init__(
        self, index_key: Any, value_key: str, dtype: Any, size: Any, already_sorted: bool = False
    ) -> None:
        keys = (index_key,) if isinstance(index_key, str) else tuple(index_key)
        sizes = (size,) if isinstance(size, int | np.integer) else tuple(size)
        if len(keys) != len(sizes):
            raise InvalidArgumentError(
                f"SparseFeature needs a size for each index key: {len(keys)} keys, {len(sizes)} "
                "sizes"
            )
        object.__setattr__(self, "index_key", keys)
        object.__setattr__(self, "value_key", value_key)
        object.__setattr__(self, "dtype", feature_dtype(dtype))
        object.__setattr__(self, "size", tuple(int(each) for each in sizes))
        object.__setattr__(self, "already_sorted", bool(already_sorted))


@record
class _Partition:
    __keepset_recipe__ = ("key",)

    key: str

    is_uniform: ClassVar[bool] = False


@record
class RowSplits(_Partition):
    """Where rows begin, and the end."""


@record
class RowLengths(_Partition):
    """How long each row is."""


@record
class RowStarts(_Partition):
    """Where each row begins."""


@record
class RowLimits(_Partition):
    """Where each row ends."""


@record
class ValueRowIds(_Partition):
    """The row of each value."""


@record
class UniformRowLength:
    """Rows of one length."""

    __keepset_recipe__ = ("length",)

    length: int


@record
class RaggedFeature:
    """Values in rows of different lengths; other features tell where the rows are."""

    __keepset_recipe__ = ("dtype", "value_key", "partitions", "row_splits_dtype")

    dtype: Any
    value_key: str | None
    partitions: tuple[Any, ...]
    row_splits_dtype: Any
    validate: bool

    RowSplits: ClassVar[type] = RowSplits
    RowLengths: ClassVar[type] = RowLengths
    RowStarts: ClassVar[type] = RowStarts
    RowLimits: ClassVar[type] = RowLimits
    ValueRowIds: ClassVar[type] = ValueRowIds
    UniformRowLength: ClassVar[type] = UniformRowLength

    def __init__(
        self,
        dtype: Any,
        value_key: str | None = None,
        partitions: Any = (),
        row_splits_dtype: Any = np.int32,
        validate: bool = False,
    ) -> None:
        parts = tuple(UniformRowLength(p) if isinstance(p, int) else p for p in partitions)
        for part in parts:
            if not isinstance(part, _Partition | UniformRowLength):
                raise InvalidArgumentError(
                    f"{part!r:.60} is no partition; use RaggedFeature.RowSplits(key) and such"
                )
        object.__setattr__(self, "dtype", feature_dtype(dtype))
        object.__setattr__(self, "value_key", value_key)
        object.__setattr__(self, "partitions", parts)
        object.__setattr__(self, "row_splits_dtype", np.dtype(row_splits_dtype))
        object.__setattr__(self, "validate", bool(validate))

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """The lengths of the innermost rows, as far as all have one length: they are not ragged."""
        sizes: list[int] = []
        for part in reversed(self.partitions):
            if not isinstance(part, UniformRowLength):
                break
            sizes.insert(0, int(part.length))
        return tuple(sizes)


FeatureDescription: TypeAlias = (
    FixedLenFeature | VarLenFeature | FixedLenSequenceFeature | SparseFeature | RaggedFeature
)
_INTEGERS: Final = np.dtype(np.int64)


def check_features(features: Any) -> dict[str, FeatureDescription]:
    """A user's description, if it is one."""
    if not isinstance(features, Mapping) or not features:
        raise InvalidArgumentError(
            "features must be a dict of names and descriptions such as FixedLenFeature(shape, "
            f"dtype), not {features!r:.60}"
        )
    for key, feature in features.items():
        if not isinstance(key, str) or not isinstance(feature, FeatureDescription):
            raise InvalidArgumentError(
                f"{key!r}: {feature!r:.80} is no feature; use FixedLenFeature, VarLenFeature, "
                "FixedLenSequenceFeature, RaggedFeature or SparseFeature"
            )
    return dict(features)


def wanted_keys(features: Mapping[str, FeatureDescription]) -> dict[str, DType]:
    """The keys that have to be read, each with the dtype that it must have."""
    wanted: dict[str, DType] = {}
    for name, feature in features.items():
        for key, dtype in _keys_of(name, feature):
            if wanted.setdefault(key, dtype) != dtype:
                raise InvalidArgumentError(
                    f"the feature {key!r} is asked for as {wanted[key].name} and as {dtype.name}"
                )
    return wanted


def _keys_of(name: str, feature: FeatureDescription) -> list[tuple[str, DType]]:
    if isinstance(feature, SparseFeature):
        indices: list[tuple[str, DType]] = [(key, _INTEGERS) for key in feature.index_key]
        return [*indices, (feature.value_key, feature.dtype)]
    if isinstance(feature, RaggedFeature):
        keys = [part.key for part in feature.partitions if isinstance(part, _Partition)]
        return [(feature.value_key or name, feature.dtype), *((key, _INTEGERS) for key in keys)]
    return [(name, feature.dtype)]
