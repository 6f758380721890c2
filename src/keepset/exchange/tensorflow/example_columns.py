"""The lists of many Examples at once: one column of values for each key that is wanted.

Those of one length that are written alike are one table. The others are walked through together,
one entry of each at a time, by NumPy: their lengths and the order of their keys may differ. Those
that are written in an unusual way, such as with lists that are not packed, are read one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.dtypes import Array, DType, StringType, storage_dtype
from keepset.errors import ElementError
from keepset.exchange.tensorflow.example_layout import Span, Table, layout_of
from keepset.exchange.tensorflow.example_lists import (
    FLOAT_LIST,
    INT64_LIST,
    KIND_NAMES,
    KINDS,
    Lists,
    offsets_of,
    wrong_kind,
)
from keepset.exchange.tensorflow.example_walk import OddRowsError, Walk
from keepset.exchange.tensorflow.value_lists import floats_of, integers_of
from keepset.exchange.tensorflow.wire import BYTES, fields

_FEW: Final = 4
# As many rows of one length are worth a look at whether they are written alike.
_MANY: Final = 16


def lists_of(examples: Sequence[bytes], wanted: Mapping[str, DType]) -> dict[str, Lists]:
    """The lists of some keys.

    Raises:
        ElementError: An Example is damaged, or has a list of another kind than is wanted.
    """
    if len(examples) < _FEW:
        return _one_by_one(examples, wanted)
    parts: list[_Part] = []
    left = np.ones(len(examples), bool)
    for rows in _of_one_length(examples):
        part = _alike([examples[row] for row in rows.tolist()], rows, wanted)
        if part is not None:
            parts.append(part)
            left[part.rows] = False
    rest = np.flatnonzero(left)
    if len(rest):
        parts += _walked([examples[row] for row in rest.tolist()], rest, wanted)
    if len(parts) == 1:
        return parts[0].lists
    return {key: _merged([(part.rows, part.lists[key]) for part in parts]) for key in wanted}


class _Part(NamedTuple):
    """The lists of some rows."""

    rows: Array
    lists: dict[str, Lists]


def _of_one_length(examples: Sequence[bytes]) -> list[Array]:
    """The rows of each length that many have, if these are a good part of all."""
    lengths = np.fromiter(map(len, examples), np.int64, len(examples))
    if (lengths == lengths[0]).all():
        return [np.arange(len(examples))]
    sizes, counts = np.unique(lengths, return_counts=True)
    frequent = counts >= _MANY
    if 4 * counts[frequent].sum() < len(examples):
        return []
    return [np.flatnonzero(lengths == size) for size in sizes[frequent].tolist()]


def _alike(examples: list[bytes], rows: Array, wanted: Mapping[str, DType]) -> _Part | None:
    """The rows that are written as the first one; None if these are few."""
    spans = layout_of(examples[0])
    if spans is None:
        return None
    table = Table(examples, spans)
    found: dict[str, Lists] = {}
    places = np.flatnonzero(table.fits)
    if len(places) < _FEW:
        return None
    for key, dtype in wanted.items():
        span = spans.get(key.encode(), Span(0, []))
        if span.kind not in (0, KINDS[dtype.name]):
            raise wrong_kind(key, dtype, span.kind, int(rows[places[0]]))
        if not span.kind:
            counts = np.zeros(len(places), np.int64)
            values = np.zeros(0, storage_dtype(dtype))
        else:
            try:
                values, counts = table.values(span)
            except ValueError:
                return None  # it is told which row is damaged where they are read one by one
        is_there = np.full(len(places), span.kind != 0)
        found[key] = Lists(values, offsets_of(counts), is_there)
    return _Part(rows[places], found)


def _walked(examples: list[bytes], rows: Array, wanted: Mapping[str, DType]) -> list[_Part]:
    """Rows that are written in different ways, gone through together; the oddest one by one."""
    walk = Walk(examples, {key.encode(): number for number, key in enumerate(wanted)})
    while True:
        try:
            found = {
                key: walk.lists(number, key, dtype, rows)
                for number, (key, dtype) in enumerate(wanted.items())
            }
            break
        except OddRowsError as error:
            walk.is_odd[error.rows] = True
    odd = np.flatnonzero(walk.is_odd)
    if not len(odd):
        return [_Part(rows, found)]
    usual = np.flatnonzero(~walk.is_odd)
    kept = {key: lists.only(usual) for key, lists in found.items()}
    rest = _one_by_one([examples[row] for row in odd.tolist()], wanted, rows[odd])
    return [_Part(rows[usual], kept), _Part(rows[odd], rest)]


def _one_by_one(
    examples: Sequence[bytes], wanted: Mapping[str, DType], rows: Array | None = None
) -> dict[str, Lists]:
    """The same, by a reader that takes every form that protobuf allows."""
    parts: dict[str, list[Any]] = {key: [] for key in wanted}
    there: dict[str, list[bool]] = {key: [] for key in wanted}
    for number, data in enumerate(examples):
        row = number if rows is None else int(rows[number])
        try:
            features = all_features(data)
        except (ValueError, UnicodeDecodeError) as error:
            raise ElementError(f"Example {row} is damaged: {error}") from error
        for key, dtype in wanted.items():
            kind, values = features.get(key.encode(), (0, None))
            if kind not in (0, KINDS[dtype.name]):
                raise wrong_kind(key, dtype, kind, row)
            there[key].append(kind != 0)
            parts[key].append(values if kind else [])
    return {key: _lists(parts[key], there[key], dtype) for key, dtype in wanted.items()}


def _lists(parts: list[Any], there: list[bool], dtype: DType) -> Lists:
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    if isinstance(dtype, StringType):
        values = np.empty(int(lengths.sum()), object)
        values[:] = [item for part in parts for item in part]
    else:
        kept = [part for part in parts if len(part)]
        values = np.concatenate(kept) if kept else np.zeros(0, dtype)
    return Lists(values, offsets_of(lengths), np.array(there, bool))


def all_features(data: bytes) -> dict[bytes, tuple[int, Any]]:
    """Every feature of an Example: the kind of its list, or 0, and its values."""
    found: dict[bytes, tuple[int, Any]] = {}
    for field, kind, features in fields(data):
        if field != 1 or kind != BYTES:
            continue
        for number, inner, entry in fields(features):
            if number != 1 or inner != BYTES:
                continue
            key, value = b"", b""
            for part, form, item in fields(entry):
                if form == BYTES and part in (1, 2):
                    key, value = (item, value) if part == 1 else (key, value + item)
            found[key] = feature_values(value)
    return found


def feature_values(data: bytes) -> tuple[int, Any]:
    """The kind of a feature's list, or 0, and its values."""
    kind, payload = 0, b""
    for number, form, item in fields(data):
        if form == BYTES and number in KIND_NAMES:
            # Of one that comes again, the lists are joined; another kind takes its place.
            payload = payload + item if number == kind else item
            kind = number
    if kind == FLOAT_LIST:
        return kind, floats_of(payload)
    if kind == INT64_LIST:
        return kind, integers_of(payload)
    return kind, [value for field, form, value in fields(payload) if (field, form) == (1, BYTES)]


def _merged(parts: Sequence[tuple[Array, Lists]]) -> Lists:
    """The lists of all rows, of which some were read in one way and some in another."""
    rows = np.concatenate([part for part, _ in parts])
    place = np.argsort(rows, kind="stable")
    lengths = np.concatenate([lists.lengths for _, lists in parts])[place]
    is_there = np.concatenate([lists.is_there for _, lists in parts])[place]
    values = np.concatenate([lists.values for _, lists in parts])
    bases = np.cumsum([0, *(len(lists.values) for _, lists in parts[:-1])])
    firsts = [lists.offsets[:-1] + base for (_, lists), base in zip(parts, bases, strict=True)]
    starts = np.concatenate(firsts)[place]
    offsets = offsets_of(lengths)
    picked = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return Lists(values[picked], offsets, is_there)
