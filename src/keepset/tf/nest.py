"""``tf.nest``: functions over the leaves of nested structures.

Lists are structures here, and so are tuples, named tuples, dicts (in the order of their keys) and
their views, classes of ``attrs``, and dataclasses with ``__tf_flatten__``. None is a leaf.
``tf.data`` itself takes lists for tensors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

from keepset.core.structure import is_namedtuple
from keepset.tf.composites.ragged_tensor import RaggedTensor, part_of
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.not_covered import not_covered

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]

_VIEWS: Any = KeysView | ItemsView | ValuesView


def is_nested(structure: Any) -> bool:
    """Whether something has leaves rather than being one."""
    return _children(structure, False) is not None


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves from left to right, dicts in the order of their keys.

    Args:
        structure: Anything; what is not nested is a leaf.
        expand_composites: Whether ragged and sparse tensors are taken apart as well.

    Example:
        >>> flatten([1, {"b": 2, "a": (3, 4)}])
        [1, 3, 4, 2]
    """
    children = _children(structure, expand_composites)
    if children is None:
        return [structure]
    return [leaf for child in children for leaf in flatten(child, expand_composites)]


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """A function of the leaves of one or more structures that are alike.

    Example:
        >>> map_structure(lambda x, y: x + y, {"a": [1, 2]}, {"a": [10, 20]})
        {'a': [11, 22]}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r:.60}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    leaves = [flatten(each, expand) for each in structure]
    made = [func(*group) for group in zip(*leaves, strict=True)]
    return pack_sequence_as(structure[0], made, expand)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Leaves put into a structure.

    Example:
        >>> pack_sequence_as([0, {"b": 0, "a": 0}], [1, 2, 3])
        [1, {'b': 3, 'a': 2}]
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack value {flat_sequence!r:.60} into a structure, but found "
            f"incompatible type `{type(flat_sequence).__name__}` instead; pass a list of leaves"
        )
    leaves = list(flat_sequence)
    count = len(flatten(structure, expand_composites))
    if count != len(leaves):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had "
            f"{len(leaves)} items.  Structure: {structure!r:.80}"
        )
    return _built(structure, iter(leaves), expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Nothing, if two structures are nested alike.

    Raises:
        ValueError: They have other leaves or keys.
        TypeError: Their sequences are of other types, unless ``check_types`` is False.
    """
    first, second = (_children(each, expand_composites) for each in (nest1, nest2))
    if first is None and second is None:
        return
    if first is None or second is None or len(first) != len(second):
        raise ValueError(_unlike(nest1, nest2, "one has other elements than the other"))
    if isinstance(nest1, Mapping) and isinstance(nest2, Mapping):
        if set(nest1) != set(nest2):
            raise ValueError(_unlike(nest1, nest2, "the dictionaries have other keys"))
    elif check_types and not _same_type(nest1, nest2):
        raise TypeError(_unlike(nest1, nest2, "they are of different types"))
    for one, other in zip(first, second, strict=True):
        assert_same_structure(one, other, check_types, expand_composites)


def _unlike(nest1: Any, nest2: Any, reason: str) -> str:
    return (
        "The two structures don't have the same nested structure.\n\n"
        f"First structure: type={type(nest1).__name__} str={nest1!s:.80}\n\n"
        f"Second structure: type={type(nest2).__name__} str={nest2!s:.80}\n\n"
        f"More specifically: {reason}"
    )


def _same_type(one: Any, other: Any) -> bool:
    if is_namedtuple(type(one)) and is_namedtuple(type(other)):
        return type(one).__name__ == type(other).__name__ and one._fields == other._fields
    return type(one) is type(other)


def _children(structure: Any, expand: bool) -> Sequence[Any] | None:
    """The elements of a structure in their order; None for a leaf."""
    kind = type(structure)
    if kind is list or kind is tuple:
        return structure  # type: ignore[no-any-return]
    if isinstance(structure, Mapping):
        return [structure[key] for key in _keys(structure)]
    if isinstance(structure, _VIEWS):
        return list(structure)
    if isinstance(structure, RaggedTensor):
        return [structure.flat_values, *structure.nested_row_splits] if expand else None
    if isinstance(structure, SparseTensor):
        parts = [structure.indices, structure.values, structure.dense_shape]
        return parts if expand else None
    if hasattr(kind, "__attrs_attrs__"):
        return [getattr(structure, each.name) for each in kind.__attrs_attrs__]
    if hasattr(kind, "__tf_flatten__"):
        return list(structure.__tf_flatten__()[1])
    is_text = isinstance(structure, str | bytes | bytearray | memoryview)
    return structure if isinstance(structure, Sequence) and not is_text else None


def _keys(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError as error:
        raise TypeError(f"nest only supports dicts with sortable keys: {error}") from error


def _built(structure: Any, leaves: Iterator[Any], expand: bool) -> Any:
    children = _children(structure, expand)
    if children is None:
        return next(leaves)
    return _like(structure, [_built(child, leaves, expand) for child in children])


def _like(structure: Any, parts: list[Any]) -> Any:
    """A structure of the same type with other elements."""
    kind = type(structure)
    if kind is list:
        return parts
    if isinstance(structure, Mapping):
        found = dict(zip(_keys(structure), parts, strict=True))
        pairs = [(key, found[key]) for key in structure]
        if isinstance(structure, defaultdict):
            return kind(structure.default_factory, pairs)
        return kind(pairs)
    if isinstance(structure, RaggedTensor):
        made: Any = parts[0]
        for splits in reversed(parts[1:]):  # which a function may have changed
            made = RaggedTensor(part_of(made), splits._value)
        return made
    if isinstance(structure, SparseTensor):
        return SparseTensor(*parts)
    if is_namedtuple(kind) or hasattr(kind, "__attrs_attrs__"):
        return kind(*parts)
    if hasattr(kind, "__tf_unflatten__"):
        return kind.__tf_unflatten__(structure.__tf_flatten__()[0], tuple(parts))
    if isinstance(structure, range | _VIEWS):
        return parts
    return kind(parts)


__getattr__ = not_covered("tf.nest")
