"""Specs: the type of an element. ``TensorSpec``, ``RaggedTensorSpec``, ``SparseTensorSpec``.

A nested element has a nested spec of the same structure, with a spec object at each leaf.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Sequence
from copy import copy
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np

from keepset.core.dtypes import DType, as_dtype, dtype_name, dtype_of, string, text
from keepset.core.ragged import Ragged
from keepset.core.record import record
from keepset.core.sparse import Sparse
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError, InvalidArgumentError

Shape: TypeAlias = tuple[int | None, ...] | None
Spec: TypeAlias = Any  # a LeafSpec, or a nested structure of them

_UNTYPED = np.dtype(np.float64)  # what NumPy makes of a list without items


def as_shape(shape: Any) -> Shape:
    """Read a shape: a sequence of sizes (None or -1 where unknown), or None for unknown rank."""
    if shape is None:
        return None
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    try:
        return tuple(None if size is None or int(size) == -1 else int(size) for size in sizes)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{shape!r} is not a shape; pass sizes or None") from error


@record
class LeafSpec:
    """What the three kinds of leaf have in common: a shape and a dtype."""

    __keepset_leaf__: ClassVar[bool] = True

    shape: Shape
    dtype: DType

    # Of their own, because specs of single elements are compared; they hold nothing but fields.

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.shape, self.dtype))

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value (or everything of another spec) may stand where this spec is promised."""
        other = spec_or_value if isinstance(spec_or_value, LeafSpec) else spec_of(spec_or_value)
        return (
            type(other) is type(self)
            and other.dtype == self.dtype
            and _shapes_fit(self.shape, other.shape)
        )

    def most_specific_common_supertype(
        self, others: LeafSpec | Sequence[LeafSpec]
    ) -> LeafSpec | None:
        """The narrowest spec that covers this and the others, or None if there is none."""
        given = [others] if isinstance(others, LeafSpec) else list(others)
        if any(type(o) is not type(self) or o.dtype != self.dtype for o in given):
            return None
        shape = reduce(common_shape, [other.shape for other in given], self.shape)
        return self.with_shape(shape)

    def with_shape(self, shape: Shape) -> LeafSpec:
        """The same spec with another shape."""
        changed = copy(self)
        object.__setattr__(changed, "shape", shape)
        return changed

    def with_dtype(self, dtype: DType) -> LeafSpec:
        """The same spec with another dtype."""
        changed = copy(self)
        object.__setattr__(changed, "dtype", dtype)
        return changed

    def batched(self, size: int | None) -> LeafSpec:
        """The spec of several such leaves stacked along a new first dimension."""
        return self.with_shape(None if self.shape is None else (size, *self.shape))

    def unbatched(self) -> LeafSpec:
        """The spec of one row of such a leaf."""
        if self.shape == ():
            raise ElementError(f"{self} is a scalar and has no rows to take apart")
        return self.with_shape(None if self.shape is None else self.shape[1:])


@record
class TensorSpec(LeafSpec):
    """The type of an array, a scalar (``shape=()``) or a string.

    Example:
        >>> spec = TensorSpec([None, 3], "float32")
        >>> spec
        TensorSpec(shape=(None, 3), dtype=float32)
        >>> spec.is_compatible_with(np.zeros((7, 3), np.float32))
        True
    """

    name: str | None

    def __init__(self, shape: Any = None, dtype: Any = np.float32, name: str | None = None) -> None:
        object.__setattr__(self, "shape", as_shape(shape))
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "name", name)

    @classmethod
    def from_tensor(cls, value: Any, name: str | None = None) -> TensorSpec:
        """The spec of an array, scalar or string."""
        spec = spec_of(value)
        return cls(spec.shape, spec.dtype, name)

    def with_shape(self, shape: Shape) -> TensorSpec:
        return TensorSpec(shape, self.dtype)

    def has_shape(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape has the promised one."""
        promised = self.shape
        if promised is None or promised == shape:
            return True
        if len(promised) != len(shape):
            return False
        return all(p is None or p == size for p, size in zip(promised, shape, strict=True))

    def most_specific_common_supertype(
        self, others: LeafSpec | Sequence[LeafSpec]
    ) -> LeafSpec | None:
        given = [others] if isinstance(others, LeafSpec) else list(others)
        joint = super().most_specific_common_supertype(given)
        if joint is None or any(getattr(other, "name", None) != self.name for other in given):
            return joint
        return TensorSpec(joint.shape, joint.dtype, self.name)

    def __repr__(self) -> str:
        named = f", name={self.name!r}" if self.name is not None else ""
        return f"TensorSpec(shape={self.shape}, dtype={dtype_name(self.dtype)}{named})"


@record
class RaggedTensorSpec(LeafSpec):
    """The type of a :class:`keepset.Ragged`.

    Example:
        >>> RaggedTensorSpec([None, None], "int32")
        RaggedTensorSpec(shape=(None, None), dtype=int32, ragged_rank=1, row_splits_dtype=int64)
    """

    ragged_rank: int
    row_splits_dtype: np.dtype[Any]

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = np.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = np.int64,
    ) -> None:
        sizes = as_shape(shape)
        if ragged_rank is None:
            if sizes is None:
                raise InvalidArgumentError("RaggedTensorSpec needs a shape or a ragged_rank")
            ragged_rank = len(sizes) - 1
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "ragged_rank", int(ragged_rank))
        object.__setattr__(self, "row_splits_dtype", np.dtype(row_splits_dtype))

    def most_specific_common_supertype(
        self, others: LeafSpec | Sequence[LeafSpec]
    ) -> LeafSpec | None:
        given = [others] if isinstance(others, LeafSpec) else list(others)
        mine = (self.ragged_rank, self.row_splits_dtype)
        for other in given:
            if not isinstance(other, RaggedTensorSpec):
                return None
            if (other.ragged_rank, other.row_splits_dtype) != mine:
                return None
        return super().most_specific_common_supertype(given)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        other = spec_or_value if isinstance(spec_or_value, LeafSpec) else spec_of(spec_or_value)
        return (
            super().is_compatible_with(other)
            and isinstance(other, RaggedTensorSpec)
            and other.ragged_rank == self.ragged_rank
            and other.row_splits_dtype == self.row_splits_dtype
        )

    @property
    def open_shape(self) -> Shape:
        """The shape, whose ragged dimensions are open also where no row has had an item."""
        if self.shape is None:
            return None
        ragged = range(1, self.ragged_rank + 1)
        return tuple(
            None if i in ragged and not size else size for i, size in enumerate(self.shape)
        )

    def batched(self, size: int | None) -> LeafSpec:
        shape = None if self.shape is None else (size, None, *self.shape[1:])
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank + 1, self.row_splits_dtype)

    def unbatched(self) -> LeafSpec:
        shape = None if self.shape is None else self.shape[1:]
        if self.ragged_rank == 1:
            return TensorSpec(shape, self.dtype)
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank - 1, self.row_splits_dtype)

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec(shape={self.shape}, dtype={dtype_name(self.dtype)}, "
            f"ragged_rank={self.ragged_rank}, row_splits_dtype={self.row_splits_dtype.name})"
        )


@record
class SparseTensorSpec(LeafSpec):
    """The type of a :class:`keepset.Sparse`."""

    def __init__(self, shape: Any = None, dtype: Any = np.float32) -> None:
        object.__setattr__(self, "shape", as_shape(shape))
        object.__setattr__(self, "dtype", as_dtype(dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec(shape={self.shape}, dtype={dtype_name(self.dtype)})"


@record
class DatasetSpec(LeafSpec):
    """The type of an element that is itself a data set, as ``window`` gives them."""

    element_spec: Any

    def __init__(self, element_spec: Any) -> None:
        object.__setattr__(self, "shape", ())
        object.__setattr__(self, "dtype", string)
        object.__setattr__(self, "element_spec", element_spec)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        other = spec_or_value if isinstance(spec_or_value, LeafSpec) else spec_of(spec_or_value)
        return isinstance(other, DatasetSpec)

    def most_specific_common_supertype(
        self, others: LeafSpec | Sequence[LeafSpec]
    ) -> LeafSpec | None:
        given = [others] if isinstance(others, LeafSpec) else list(others)
        return self if all(other == self for other in given) else None

    def __hash__(self) -> int:
        return hash(repr(self.element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r})"


def spec_of(element: Any) -> Spec:
    """The exact spec of one element."""
    structure = structure_of(element)
    return structure.build([_leaf_spec(leaf) for leaf in structure.leaves(element)])


def stored_leaf_spec(leaf: Any) -> LeafSpec:
    """The spec of one leaf for a file, by which a Ragged without items can be told from others.

    In ``spec_of`` the lengths of rows stay open. Here those of the innermost ones are 0 if none has
    an item, so that the spec of several leaves still says that there is none in any.
    """
    spec = _leaf_spec(leaf)
    if isinstance(leaf, Ragged) and leaf.dtype == _UNTYPED and not len(leaf.flat_values):
        shape = list(leaf.shape)
        shape[leaf.ragged_rank] = 0
        return spec.with_shape(tuple(shape))
    return spec


def _leaf_spec(leaf: Any) -> LeafSpec:
    if isinstance(leaf, LeafSpec):
        return leaf
    if isinstance(leaf, Ragged):
        # Row lengths of one example say nothing about the next one, so they stay open.
        return RaggedTensorSpec(leaf.shape, leaf.dtype, leaf.ragged_rank, leaf.row_splits.dtype)
    if isinstance(leaf, Sparse):
        return SparseTensorSpec(leaf.shape, leaf.dtype)
    if isinstance(leaf, bytes):
        return TensorSpec((), string)
    if isinstance(leaf, np.ndarray | np.generic):
        return TensorSpec(leaf.shape, dtype_of(leaf))
    if isinstance(leaf, str):
        return TensorSpec((), text)
    if hasattr(leaf, "__keepset_node__"):
        return DatasetSpec(leaf.__keepset_node__().spec())
    raise ElementError(f"a value of type {type(leaf).__name__} is not an element's leaf")


def with_open_rows(spec: Spec) -> Spec:
    """A spec for people of one from a file: rows may have any length, also where all were empty."""
    return map_spec(
        lambda leaf: leaf.with_shape(leaf.open_shape) if type(leaf) is RaggedTensorSpec else leaf,
        spec,
    )


def check_spec(spec: Any) -> Spec:
    """Make sure that a user's nested spec has a spec object at every leaf."""
    structure = structure_of(spec)
    for leaf in structure.leaves(spec):
        if not isinstance(leaf, LeafSpec):
            raise InvalidArgumentError(
                f"{leaf!r} is not a spec; write TensorSpec(shape, dtype), RaggedTensorSpec or "
                "SparseTensorSpec at each leaf"
            )
    return spec


def map_spec(function: Any, spec: Spec) -> Spec:
    """Apply ``function`` to each leaf of a nested spec."""
    structure = structure_of(spec)
    return structure.build([function(leaf) for leaf in structure.leaves(spec)])


def is_compatible(spec: Spec, element: Any) -> bool:
    """Whether an element (or a nested spec) fits under ``spec``."""
    structure = structure_of(spec)
    if structure_of(element) != structure:
        return False
    pairs = zip(structure.leaves(spec), structure.leaves(element), strict=True)
    return all(leaf.is_compatible_with(value) for leaf, value in pairs)


def common_supertype(specs: Iterable[Spec]) -> Spec:
    """The narrowest nested spec that covers all of ``specs``; an error if there is none."""
    return reduce(_common_pair, specs)


def _common_pair(one: Spec, other: Spec) -> Spec:
    structure, found = structure_of(one), structure_of(other)
    if found != structure:
        raise structure.difference(found)
    pairs = zip(structure.leaves(one), structure.leaves(other), strict=True)
    leaves = [joint_leaf(a, b) for a, b in pairs]
    if None in leaves:
        place = leaves.index(None)
        a, b = structure.leaves(one)[place], structure.leaves(other)[place]
        path = list(structure.paths())[place]
        advice = mixing_advice(a, b)
        reason = f"no common type for {a} and {b}{'; ' + advice if advice else ''}"
        raise ElementError(reason, leaf=path)
    return structure.build(leaves)


def joint_leaf(one: LeafSpec, other: LeafSpec) -> LeafSpec | None:
    """The narrowest spec that covers the leaves of both; None if there is none.

    Arrays without a dtype of their own take that of the others.
    """
    if type(one) is type(other):
        if is_untyped(one):
            one = one.with_dtype(other.dtype)
        elif is_untyped(other):
            other = other.with_dtype(one.dtype)
    return one.most_specific_common_supertype(other)


def is_untyped(spec: LeafSpec) -> bool:
    """Whether a spec is that of an array without items that NumPy has made floats, as of a list.

    That of a Ragged says so only if :func:`stored_leaf_spec` has made it.
    """
    return (
        type(spec) in (TensorSpec, RaggedTensorSpec) and spec.shape is not None and 0 in spec.shape
    ) and spec.dtype == _UNTYPED


def mixing_advice(one: Spec, other: Spec) -> str:
    """What to do about leaves of two dtypes, where that is special; empty where it is not."""
    specs = [spec for spec in (one, other) if isinstance(spec, TensorSpec)]
    dtypes = {spec.dtype for spec in specs}
    filled = [spec.dtype for spec in specs if 0 not in (spec.shape or ())]
    if len(dtypes) == 2 and len(filled) == 1 and isinstance(filled[0], np.dtype):
        return f"make the empty array one of that dtype: np.array([], {dtype_name(filled[0])!r})"
    if dtypes != {string, text}:
        return ""
    return (
        "text is str in one and bytes in the other: pass encoding= to both readers, or to neither"
    )


def common_shape(one: Shape, other: Shape) -> Shape:
    """The narrowest shape that covers both: None where sizes differ, no rank where ranks do."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def _shapes_fit(promised: Shape, given: Shape) -> bool:
    if promised is None or given is None:
        return True
    return len(promised) == len(given) and all(
        a is None or b is None or a == b for a, b in zip(promised, given, strict=True)
    )


def spec_to_json(spec: Spec) -> Any:
    """Plain JSON for a nested spec; :func:`spec_from_json` reads it back."""
    if spec is None:
        return None
    if isinstance(spec, LeafSpec):
        return _leaf_to_json(spec)
    structure = structure_of(spec)
    if structure.kind == "tuple":
        return {"tuple": [spec_to_json(item) for item in spec]}
    if structure.kind == "dict":
        return {"dict": [[_stored_key(key), spec_to_json(item)] for key, item in spec.items()]}
    assert isinstance(structure.record, type)
    fields = [[key, spec_to_json(getattr(spec, key))] for key in structure.keys]
    return {"record": structure.record.__name__, "fields": fields}


def _stored_key(key: Any) -> Any:
    """A key of a dict that JSON gives back as it was."""
    if type(key) in (str, int, float, bool, type(None)):
        return key
    raise ElementError(
        f"the key {key!r:.60} of type {type(key).__name__} cannot be stored; use strings or whole "
        "numbers of Python as the keys of dicts"
    )


def _leaf_to_json(spec: LeafSpec) -> dict[str, Any]:
    if isinstance(spec, DatasetSpec):
        return {"dataset": spec_to_json(spec.element_spec)}
    shape = None if spec.shape is None else list(spec.shape)
    facts: dict[str, Any] = {"shape": shape, "dtype": dtype_name(spec.dtype)}
    if isinstance(spec, RaggedTensorSpec):
        splits = spec.row_splits_dtype.name
        return {"ragged": facts | {"ragged_rank": spec.ragged_rank, "row_splits_dtype": splits}}
    if isinstance(spec, SparseTensorSpec):
        return {"sparse": facts}
    if isinstance(spec, TensorSpec) and spec.name is not None:
        facts["name"] = spec.name
    return {"tensor": facts}


def spec_from_json(value: Any) -> Spec:
    """Read what :func:`spec_to_json` wrote. Records come back as named tuples."""
    match value:
        case None:
            return None
        case {"tensor": {"shape": shape, "dtype": dtype, **rest}}:
            return TensorSpec(shape, dtype, rest.get("name"))  # type: ignore[arg-type]
        case {"ragged": {"shape": shape, "dtype": dtype, "ragged_rank": rank, **rest}}:
            return RaggedTensorSpec(shape, dtype, rank, rest.get("row_splits_dtype", np.int64))
        case {"sparse": {"shape": shape, "dtype": dtype}}:
            return SparseTensorSpec(shape, dtype)
        case {"dataset": inner}:
            return DatasetSpec(spec_from_json(inner))
        case {"tuple": [*items]}:
            return tuple(map(spec_from_json, items))
        case {"dict": [*pairs]}:
            return {key: spec_from_json(item) for key, item in pairs}
        case {"record": str(name), "fields": [*pairs]}:
            record = namedtuple(name, [key for key, _ in pairs])  # type: ignore[misc]
            return record(*(spec_from_json(item) for _, item in pairs))
    raise InvalidArgumentError(f"{value!r:.80} is not a spec in JSON")


def structure_and_leaves(spec: Spec) -> tuple[Structure, list[LeafSpec]]:
    structure = structure_of(spec)
    return structure, structure.leaves(spec)
