"""Structure: the shape of a nested element, and the way between rows and leaves.

Leaves are ordered as in TensorFlow: dicts by sorted key, everything else in order, depth first.
``None`` is a structure without leaves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import starmap
from typing import Any

import numpy as np

from keepset.errors import ElementError


class _MisfitError(Exception):
    """Some of the elements that were looked at have another structure."""


_LEAF, _NONE, _TUPLE, _DICT, _RECORD = "leaf", "none", "tuple", "dict", "record"


def is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


class Structure:
    """How an element is nested: immutable, comparable, and fast over whole lists of rows.

    Example:
        >>> structure = structure_of({"b": (1, 2), "a": 3})
        >>> structure.leaves({"b": (10, 20), "a": 30})
        [30, 10, 20]
        >>> structure.build([1, 2, 3])
        {'b': (2, 3), 'a': 1}
    """

    __slots__ = ("_make", "children", "has_records", "keys", "kind", "num_leaves", "record")

    def __init__(
        self,
        kind: str,
        keys: tuple[Any, ...] = (),
        children: tuple[Structure, ...] = (),
        record: type | None = None,
    ) -> None:
        self.kind, self.keys, self.children, self.record = kind, keys, children, record
        self.num_leaves: int = 1 if kind == _LEAF else sum(c.num_leaves for c in children)
        self._make: Callable[..., Any] | None = None
        # Whether building an element calls a user's own class.
        self.has_records: bool = kind == _RECORD or any(c.has_records for c in children)

    @property
    def is_leaf(self) -> bool:
        return self.kind == _LEAF

    def leaves(self, element: Any) -> list[Any]:
        """The leaves of one element."""
        return [column[0] for column in self.columns([element])]

    def build(self, leaves: Sequence[Any]) -> Any:
        """The element with these leaves."""
        return next(iter(self.rows([[leaf] for leaf in leaves], 1)))

    def picker(self) -> Callable[[Sequence[Any], int], Any]:
        """A function of columns and a row that gives the element there.

        Elements that are not nested, which are most, come several times as fast as the others.
        """
        if self.kind == _LEAF:
            return lambda columns, row: columns[0][row]
        is_flat = all(child.kind == _LEAF for child in self.children)
        if is_flat and self.kind == _TUPLE:
            return lambda columns, row: tuple([column[row] for column in columns])
        if not is_flat or self.kind != _DICT:
            return lambda columns, row: self.build([column[row] for column in columns])
        order, places = self._written()
        match order, places:
            case (k,), _:
                return lambda columns, row: {k: columns[0][row]}
            case (k, m), (i, j):
                return lambda columns, row: {k: columns[i][row], m: columns[j][row]}
        pairs = list(zip(order, places, strict=True))
        return lambda columns, row: {key: columns[place][row] for key, place in pairs}

    def columns(self, rows: list[Any]) -> list[list[Any]]:
        """Transpose elements into one list per leaf; all must have this structure."""
        out: list[list[Any]] = []
        try:
            self._collect(rows, out)
        except _MisfitError:
            raise self.misfit(rows) from None
        return out

    def misfit(self, rows: Sequence[Any]) -> ElementError:
        """The error for the first of some elements that has another structure."""
        row, found = next(
            (row, found)
            for row, found in enumerate(map(structure_of, rows))
            if not self.may_hold(found)
        )
        return self.difference(found, row)

    def may_hold(self, other: Structure) -> bool:
        """Whether elements of another structure have everything that this one asks for."""
        if self.kind == _LEAF:
            return True
        return (
            self.kind == other.kind
            and self.keys == other.keys
            and len(self.children) == len(other.children)
            and (self.kind == _DICT or _same_record(self.record, other.record))
            and all(map(Structure.may_hold, self.children, other.children))
        )

    def difference(self, other: Structure, row: int | None = None, path: str = "") -> ElementError:
        """The error for an element of another structure, which says where they differ."""
        if self.kind == other.kind and self.keys == other.keys:
            keys = self.keys or range(len(self.children))
            for key, one, two in zip(keys, self.children, other.children, strict=False):
                if one != two:
                    return one.difference(two, row, f"{path}.{key}" if path else str(key))
        return ElementError(
            f"elements must all have one structure: {_words(self)} was expected, but this is "
            f"{_words(other)}{_missing_and_new(self, other)}; bring all elements to one structure "
            f"with map{_of_none(self, other)}",
            leaf=path,
            row=row,
        )

    def by_leaf(self, function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
        """What a function makes of the columns of each leaf; an error says which leaf it was."""
        out: list[Any] = []
        try:
            for arguments in zip(*columns, strict=True):
                out.append(function(*arguments))  # noqa: PERF401  # an error asks how many there are
        except ElementError as error:
            path = list(self.paths())[len(out)]
            error.leaf = ".".join(filter(None, [path, error.leaf])) or None
            raise
        return out

    def paths(self) -> Iterator[str]:
        """The path of each leaf in the order of the leaves; empty for an element that is one."""
        if self.kind == _LEAF:
            yield ""
        keys = self.keys or range(len(self.children))
        for key, child in zip(keys, self.children, strict=True):
            for path in child.paths():
                yield f"{key}.{path}" if path else str(key)

    def _collect(self, values: list[Any], out: list[list[Any]]) -> None:
        if self.kind == _LEAF:
            out.append(values)
            return
        self._check(values)
        if self.kind == _TUPLE:
            for i, child in enumerate(self.children):
                child._collect([value[i] for value in values], out)
        elif self.kind == _DICT:
            for key, child in zip(self.keys, self.children, strict=True):
                child._collect([value[key] for value in values], out)
        elif self.kind == _RECORD:
            for key, child in zip(self.keys, self.children, strict=True):
                child._collect([getattr(value, key) for value in values], out)

    def _check(self, values: list[Any]) -> None:
        wanted = {_TUPLE: tuple, _DICT: dict, _NONE: type(None)}.get(self.kind, self.record)
        fits = all(_same_record(kind, wanted) for kind in set(map(type, values)))
        if fits and self.kind == _TUPLE:
            fits = set(map(len, values)) <= {len(self.children)}
        elif fits and self.kind == _DICT:
            fits = all(value.keys() == values[0].keys() for value in values) and (
                not values or values[0].keys() == set(self.keys)
            )
        if not fits:
            raise _MisfitError

    def rows(self, columns: Sequence[Iterable[Any]], length: int) -> Iterable[Any]:
        """The ``length`` elements of one iterable per leaf, made one by one."""
        return self._build(iter(columns), length)

    def _build(self, columns: Iterator[Iterable[Any]], length: int) -> Iterable[Any]:
        if self.kind == _LEAF:
            return next(columns)
        if self.kind == _NONE:
            return [None] * length
        parts = [
            next(columns) if child.kind == _LEAF else child._build(columns, length)
            for child in self.children
        ]
        if self.kind == _TUPLE:
            return zip(*parts, strict=True) if parts else [()] * length
        if self.kind == _DICT:
            return self._dicts(parts, length)
        make = _constructor(self.record, self.keys)
        return starmap(make, zip(*parts, strict=True)) if parts else [make()] * length

    def _dicts(self, columns: list[Iterable[Any]], length: int) -> Iterable[dict[Any, Any]]:
        # Displays of a known length are three times as fast as dict(zip(...)), and most elements
        # have few keys.
        order, places = self._written()
        if order != self.keys:
            columns = [columns[place] for place in places]
        match order:
            case ():
                return ({} for _ in range(length))
            case (k,):
                return ({k: a} for a in columns[0])
            case (k, m):
                return ({k: a, m: b} for a, b in zip(*columns, strict=True))
            case (k, m, n):
                return ({k: a, m: b, n: c} for a, b, c in zip(*columns, strict=True))
            case _:
                return (dict(zip(order, row, strict=True)) for row in zip(*columns, strict=True))

    def shared_rows(self, columns: Sequence[Iterable[Any]], length: int) -> Iterable[Any]:
        """As ``rows``, safe for several threads where the columns are.

        ``zip`` and ``map`` take a leaf of each column in one step, which a generator does not; but
        generators are a tenth faster.
        """
        if self.kind == _LEAF:
            return columns[0]
        if not self.num_leaves:
            return list(self.rows(columns, length))
        if self.kind == _TUPLE and all(child.kind == _LEAF for child in self.children):
            return zip(*columns, strict=True)
        return map(self._maker(), *columns)

    def _maker(self) -> Callable[..., Any]:
        """A function of the leaves that makes the element."""
        if self._make is None:
            values: list[Any] = []
            text = self._display(iter(range(self.num_leaves)), values)
            self._make = _compile(text, self.num_leaves, len(values))(*values)
        return self._make

    def _display(self, leaves: Iterator[int], values: list[Any]) -> str:
        """An expression that makes the element of the variables ``a0``, ``a1`` and so on.

        Keys and classes are called ``k0``, ``k1`` and so on, and added to ``values``: nothing that
        a user writes gets into the text.
        """
        if self.kind == _LEAF:
            return f"a{next(leaves)}"
        if self.kind == _NONE:
            return "None"
        parts = [child._display(leaves, values) for child in self.children]
        if self.kind == _TUPLE:
            return f"({' '.join(part + ',' for part in parts)})"
        first = len(values)
        if self.kind == _RECORD:
            values.append(_constructor(self.record, self.keys))
            return f"k{first}({', '.join(parts)})"
        order, places = self._written()
        values.extend(order)
        pairs = [f"k{first + i}: {parts[place]}" for i, place in enumerate(places)]
        return f"{{{', '.join(pairs)}}}"

    def _written(self) -> tuple[tuple[Any, ...], Sequence[int]]:
        """The keys of a dict in the order in which they were written, and their places."""
        if not isinstance(self.record, tuple) or self.record == self.keys:
            return self.keys, range(len(self.keys))
        places = {key: place for place, key in enumerate(self.keys)}
        return self.record, [places[key] for key in self.record]

    def select(self, keys: Sequence[Any]) -> tuple[Structure, list[int]]:
        """This dict with some of its keys only, and the places of their leaves."""
        places: list[int] = []
        children: list[Structure] = []
        chosen: list[Any] = []
        first, wanted = 0, set(keys)
        for key, child in zip(self.keys, self.children, strict=True):
            if key in wanted:
                chosen.append(key)
                children.append(child)
                places += range(first, first + child.num_leaves)
            first += child.num_leaves
        written = tuple(key for key in self._written()[0] if key in wanted)
        kept = Structure(_DICT, tuple(chosen), tuple(children), written)  # type: ignore[arg-type]
        return kept, places

    def nest(self, inner: Iterator[Structure]) -> Structure:
        """This structure with another one in place of each leaf, in the order of the leaves."""
        if self.kind == _LEAF:
            return next(inner)
        children = tuple(child.nest(inner) for child in self.children)
        return Structure(self.kind, self.keys, children, self.record)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return (
            self.kind == other.kind
            and self.keys == other.keys
            and self.children == other.children
            and (self.kind == _DICT or _same_record(self.record, other.record))
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.children))

    def __reduce__(self) -> tuple[Any, ...]:
        return Structure, (self.kind, self.keys, self.children, self.record)

    def __repr__(self) -> str:
        if self.kind == _LEAF:
            return "*"
        if self.kind == _NONE:
            return "None"
        if self.kind == _TUPLE:
            return f"({', '.join(map(repr, self.children))}{',' * (len(self.children) == 1)})"
        pairs = list(zip(self.keys, self.children, strict=True))
        if self.kind == _DICT:
            return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
        name = getattr(self.record, "__name__", "record")
        return f"{name}({', '.join(f'{key}={child}' for key, child in pairs)})"


def _words(structure: Structure) -> str:
    return "a leaf" if structure.is_leaf else repr(structure)


def _missing_and_new(one: Structure, other: Structure) -> str:
    """Which keys differ, where both have some."""
    if one.kind != other.kind or one.kind != _DICT:
        return ""
    missing = [repr(key) for key in one.keys if key not in other.keys]
    new = [repr(key) for key in other.keys if key not in one.keys]
    facts = [f"without {', '.join(missing)}"] * bool(missing)
    return " (" + " and ".join(facts + [f"with {', '.join(new)}"] * bool(new)) + ")"


def _of_none(one: Structure, other: Structure) -> str:
    if _NONE not in (one.kind, other.kind):
        return ""
    return ", with a value such as NaN, -1 or b'' in place of None"


@lru_cache(maxsize=256)
def _compile(text: str, leaves: int, values: int) -> Callable[..., Callable[..., Any]]:
    """A function of keys and classes that returns a function of leaves, which gives ``text``."""
    outer = ", ".join(f"k{i}" for i in range(values))
    inner = ", ".join(f"a{i}" for i in range(leaves))
    make: Callable[..., Any] = eval(f"lambda {outer}: lambda {inner}: {text}")
    return make


LEAF = Structure(_LEAF)
NONE = Structure(_NONE)


def tuple_of(*children: Structure) -> Structure:
    return Structure(_TUPLE, (), children)


def structure_of(element: Any) -> Structure:
    """The structure of one element, or of a nested spec."""
    kind = type(element)
    if kind is np.ndarray or issubclass(kind, np.generic):
        return LEAF
    if element is None:
        return NONE
    if kind is tuple:
        return Structure(_TUPLE, (), tuple(map(structure_of, element)))
    if kind is dict:
        keys = _sorted_keys(element)
        # The written order rides along in ``record``, so that dicts come out as they went in.
        children = tuple(structure_of(element[key]) for key in keys)
        return Structure(_DICT, keys, children, tuple(element))  # type: ignore[arg-type]
    if _is_record(kind):
        fields = record_fields(kind)
        children = tuple(structure_of(getattr(element, field)) for field in fields)
        return Structure(_RECORD, fields, children, kind)
    return LEAF


def _is_record(kind: type) -> bool:
    return is_namedtuple(kind) or is_dataclass_element(kind)


def is_dataclass_element(kind: type) -> bool:
    """Whether a class is a user's dataclass (specs are dataclasses too, but they are leaves)."""
    return dataclasses.is_dataclass(kind) and not hasattr(kind, "__keepset_leaf__")


def record_fields(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(kind._fields)  # type: ignore[attr-defined]


def map_structure(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Apply ``function`` leaf by leaf to one or more elements of one structure."""
    structure = structure_of(first)
    leaves = [structure.leaves(element) for element in (first, *others)]
    return structure.build([function(*group) for group in zip(*leaves, strict=True)])


def _sorted_keys(mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(mapping))
    except TypeError:
        return tuple(sorted(mapping, key=lambda key: (type(key).__name__, repr(key))))


def _constructor(record: Any, fields: tuple[str, ...]) -> Callable[..., Any]:
    if is_namedtuple(record):
        return record  # type: ignore[no-any-return]
    return lambda *values: record(**dict(zip(fields, values, strict=True)))


def _same_record(one: Any, other: Any) -> bool:
    # Records are compared by name and fields: one read from a file has a class of its own.
    return one is other or (
        isinstance(one, type)
        and isinstance(other, type)
        and one.__name__ == other.__name__
        and _is_record(one)
        and _is_record(other)
        and record_fields(one) == record_fields(other)
    )
