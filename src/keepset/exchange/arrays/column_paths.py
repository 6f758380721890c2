"""Columns by their paths: names such as ``features/x``, and the nested dicts that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from keepset.core.spec import LeafSpec, Spec
from keepset.core.structure import structure_of
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.arrays.column_source import Fields

T = TypeVar("T")
Path: TypeAlias = tuple[str, ...]

# Of names that a message lists.
_MOST_NAMES = 20


def joined(path: Path) -> str:
    return "/".join(path)


def field_paths(dtype: np.dtype[Any]) -> list[Path]:
    """The paths of all fields of a type; one that is empty, if it has none."""
    if dtype.subdtype is not None:
        dtype = dtype.subdtype[0]
    if dtype.names is None:
        return [()]
    return [(name, *rest) for name in dtype.names for rest in field_paths(dtype[name])]


def fields_at(paths: Iterable[Path]) -> Fields:
    """The tree that paths of fields make."""
    tree: dict[str, Any] = {}
    for path in paths:
        if not path:
            return None
        below = tree
        for name in path[:-1]:
            below = below.setdefault(name, {})
        below[path[-1]] = None
    return tree


def chosen_members(
    members: Iterable[Path],
    fields_of: Callable[[Path], list[Path]],
    columns: tuple[Any, ...] | None,
    where: str,
) -> list[tuple[Path, Fields]]:
    """The members of a file that are wanted, each with its wanted fields, in their order.

    A column is the path of a member, of a group of them, or of a field. Members that nobody asks
    for are not looked at.
    """
    found = [
        (member, field)
        for member in members
        for field in (fields_of(member) if may_hold(joined(member), columns) else [()])
    ]
    names = [joined((*member, *field)) for member, field in found]
    for column in () if columns is None else columns:
        if not any(is_within(name, column) for name in names):
            raise InvalidArgumentError(
                f"{where} has no {column!r}; there are {listed(map(repr, names))}"
            )
    wanted: dict[Path, list[Path]] = {}
    for (member, field), name in zip(found, names, strict=True):
        if columns is None or any(is_within(name, column) for column in columns):
            wanted.setdefault(member, []).append(field)
    if not wanted:
        raise InvalidArgumentError(
            f"{where} has nothing to read" if columns is None else "columns=[] leaves nothing"
        )
    return [(member, fields_at(fields)) for member, fields in wanted.items()]


def may_hold(name: str, columns: tuple[Any, ...] | None) -> bool:
    """Whether a member is wanted, or a part of it."""
    if columns is None or not name:
        return True
    return any(is_within(name, column) or is_within(str(column), name) for column in columns)


def is_within(name: str, column: Any) -> bool:
    """Whether a path is that of a column, or of a part of it."""
    return name == column or name.startswith(f"{column}/")


def listed(names: Iterable[str]) -> str:
    """Names for a message, which may be many."""
    every = list(names)
    more = len(every) - _MOST_NAMES
    shown = ", ".join(every[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def nested(pairs: Iterable[tuple[Path, T]], where: str) -> dict[str, Any]:
    """Nested dicts with these values at these paths."""
    tree: dict[str, Any] = {}
    for path, value in pairs:
        below = tree
        for name in path[:-1]:
            below = below.setdefault(name, {})
            if not isinstance(below, dict):
                break
        if not isinstance(below, dict) or path[-1] in below:
            raise InvalidArgumentError(
                f"{where} has {joined(path)!r} in the place of another of its arrays; choose some "
                "of them with columns="
            )
        below[path[-1]] = value
    return tree


def check_lengths(lengths: Mapping[str, int | str], where: str) -> None:
    """An error if columns do not all have as many rows as the first; texts say why one has none."""
    if len(set(lengths.values())) < 2 and not any(isinstance(n, str) for n in lengths.values()):
        return
    facts = (
        f"{name!r} ({rows if isinstance(rows, str) else f'{rows} rows'})"
        for name, rows in lengths.items()
    )
    raise InvalidArgumentError(
        f"{where} has arrays that are not columns of one table: {listed(facts)}; choose those that "
        "belong together with columns=[...]"
    )


def leaf_paths(spec: Spec) -> list[tuple[Path, int, LeafSpec]]:
    """The path of each leaf, its number among the leaves and its spec, as they were written.

    Items of tuples are called as ``numpy.savez`` does: ``arr_0``, ``arr_1`` and so on.
    """
    structure = structure_of(spec)
    leaves = structure.leaves(spec)
    numbers = structure.build(range(len(leaves)))
    found = [(path, number, leaves[number]) for path, number in _paths(numbers)]
    names = [joined(path) for path, _, _ in found]
    for name in names:
        if names.count(name) > 1 or any(is_within(other, name) for other in names if other != name):
            raise ElementError(f"two entries of the element are called {name!r}; rename one")
    return found


def _paths(numbers: Any) -> list[tuple[Path, int]]:
    if isinstance(numbers, int):
        return [((), numbers)]
    if numbers is None:
        return []
    if isinstance(numbers, dict):
        items = list(numbers.items())
    elif isinstance(numbers, tuple) and not hasattr(numbers, "_fields"):
        items = [(f"arr_{i}", item) for i, item in enumerate(numbers)]
    else:
        items = [(name, getattr(numbers, name)) for name in structure_of(numbers).keys]
    for key, _ in items:
        if not isinstance(key, str) or not key or "\0" in key:
            raise ElementError(f"an entry of the element is called {key!r}; only texts are names")
    return [((key, *rest), number) for key, item in items for rest, number in _paths(item)]
