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
from keepset.exchange.tensorflow.example import floats_of, integers_of
from keepset.exchange.tensorflow.example_layout import Span, Table, layout_of
from keepset.exchange.tensorflow.wire import BYTES, fields, varints_and_ends

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3
_KIND_NAMES: Final = {1: "string", 2: "float32", 3: "int64"}
_KINDS: Final = {name: kind for kind, name in _KIND_NAMES.items()}
# The first byte of a field that holds bytes: its number and its wire type.
_FIELD_1, _FIELD_2, _FIELD_3 = 0x0A, 0x12, 0x1A
# More entries than this are read one by one: each costs a step of all Examples together.
_MOST_ENTRIES: Final = 1 << 12
_FEW: Final = 4
# As many rows of one length are worth a look at whether they are written alike.
_MANY: Final = 16
_PADDING: Final = bytes(16)


class Lists(NamedTuple):
    """The lists of one key: those of row ``i`` are ``values[offsets[i] : offsets[i + 1]]``.

    ``is_there`` tells which rows have a list of any kind at all.
    """

    values: Array
    offsets: Array
    is_there: Array

    @property
    def lengths(self) -> Array:
        found: Array = np.diff(self.offsets)
        return found

    def only(self, rows: Array) -> Lists:
        """Those of some rows, in their order; the values of others must be none."""
        return Lists(self.values, _offsets(self.lengths[rows]), self.is_there[rows])


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
        if span.kind not in (0, _KINDS[dtype.name]):
            raise _wrong_kind(key, dtype, span.kind, int(rows[places[0]]))
        if not span.kind:
            counts = np.zeros(len(places), np.int64)
            values = np.zeros(0, storage_dtype(dtype))
        else:
            try:
                values, counts = table.values(span)
            except ValueError:
                return None  # it is told which row is damaged where they are read one by one
        is_there = np.full(len(places), span.kind != 0)
        found[key] = Lists(values, _offsets(counts), is_there)
    return _Part(rows[places], found)


def _walked(examples: list[bytes], rows: Array, wanted: Mapping[str, DType]) -> list[_Part]:
    """Rows that are written in different ways, gone through together; the oddest one by one."""
    walk = _Walk(examples, {key.encode(): number for number, key in enumerate(wanted)})
    while True:
        try:
            found = {
                key: walk.lists(number, key, dtype, rows)
                for number, (key, dtype) in enumerate(wanted.items())
            }
            break
        except _OddRowsError as error:
            walk.is_odd[error.rows] = True
    odd = np.flatnonzero(walk.is_odd)
    if not len(odd):
        return [_Part(rows, found)]
    usual = np.flatnonzero(~walk.is_odd)
    kept = {key: lists.only(usual) for key, lists in found.items()}
    rest = _one_by_one([examples[row] for row in odd.tolist()], wanted, rows[odd])
    return [_Part(rows[usual], kept), _Part(rows[odd], rest)]


class _Walk:
    """Where the lists of each key lie in the Examples, as far as these are written as usual."""

    def __init__(self, examples: Sequence[bytes], keys: Mapping[bytes, int]) -> None:
        self._joined = b"".join([*examples, _PADDING])
        self._octets = np.frombuffer(self._joined, np.uint8)
        count = len(examples)
        lengths = np.fromiter(map(len, examples), np.int64, count)
        ends = np.cumsum(lengths)
        self._keys = keys
        self.is_odd = np.zeros(count, bool)
        # Of each key and row: the kind of its list, or 0, and where that begins and ends.
        self._kinds = np.zeros((len(keys), count), np.int8)
        self._starts = np.zeros((len(keys), count), np.int64)
        self._stops = np.zeros((len(keys), count), np.int64)
        self._walk(ends - lengths, ends)

    def _walk(self, at: Array, ends: Array) -> None:
        """Go through the entries of all Examples, the first ones of all first."""
        rows = np.flatnonzero(ends > at)
        at, ends = at[rows], ends[rows]
        at, inner_ends, good = self._enter(at, ends, _FIELD_1)
        rows, at, ends = self._keep(good & (inner_ends == ends), rows, at, ends)
        for _ in range(_MOST_ENTRIES):
            going = at < ends
            if not going.all():
                rows, at, ends = rows[going], at[going], ends[going]
            if not len(rows):
                return
            rows, at, ends = self._entry(rows, at, ends)
        self.is_odd[rows] = True

    def _entry(self, rows: Array, at: Array, ends: Array) -> tuple[Array, Array, Array]:
        """Read one entry of each: a key, and a feature with one list or none."""
        at, entry_ends, good = self._enter(at, ends, _FIELD_1)
        key_at, key_ends, has_key = self._enter(at, entry_ends, _FIELD_1)
        list_at, feature_ends, has_feature = self._enter(key_ends, entry_ends, _FIELD_2)
        good &= has_key & has_feature & (feature_ends == entry_ends)
        is_empty = list_at == feature_ends
        kinds = self._octets[np.where(is_empty | ~good, len(self._octets) - 1, list_at)]
        start, list_ends, has_list = self._enter(list_at, feature_ends, None)
        is_known = (kinds == _FIELD_1) | (kinds == _FIELD_2) | (kinds == _FIELD_3)
        good &= is_empty | (has_list & is_known & (list_ends == feature_ends))
        if not good.all():
            self.is_odd[rows[~good]] = True
            keep = np.flatnonzero(good)
            rows, ends, entry_ends = rows[keep], ends[keep], entry_ends[keep]
            key_at, key_ends, kinds = key_at[keep], key_ends[keep], kinds[keep]
            start, list_ends, is_empty = start[keep], list_ends[keep], is_empty[keep]
        self._note(rows, key_at, key_ends, np.where(is_empty, 0, kinds >> 3), start, list_ends)
        return rows, entry_ends, ends

    def _note(
        self,
        rows: Array,
        key_at: Array,
        key_ends: Array,
        kinds: Array,
        starts: Array,
        stops: Array,
    ) -> None:
        """Remember the lists of keys that are wanted; of a key that comes twice, the last."""
        while len(rows):
            # Most Examples have their keys in one order: what the first one has, all have.
            key = self._joined[int(key_at[0]) : int(key_ends[0])]
            same = key_ends - key_at == len(key)
            if not same.all():
                places = np.flatnonzero(same)
                same[places] = self._are(key, key_at[places])
            else:
                same = self._are(key, key_at)
            number = self._keys.get(key)
            is_all = bool(same.all())
            if number is not None:
                here = slice(None) if is_all else same
                self._kinds[number, rows[here]] = kinds[here]
                self._starts[number, rows[here]] = starts[here]
                self._stops[number, rows[here]] = stops[here]
            if is_all:
                return
            left = ~same
            rows, key_at, key_ends = rows[left], key_at[left], key_ends[left]
            kinds, starts, stops = kinds[left], starts[left], stops[left]

    def _are(self, key: bytes, at: Array) -> Array:
        """Where the bytes of a key stand."""
        found = np.ones(len(at), bool)
        for place, octet in enumerate(key):
            found &= self._octets[at + place] == octet
        return found

    def _enter(self, at: Array, ends: Array, tag: int | None) -> tuple[Array, Array, Array]:
        """Where what is in a field begins and ends, and whether it is as it should be."""
        octets = self._octets
        last = len(octets) - 1
        here = np.minimum(at, last)
        good = (at < ends) & ((octets[here] == tag) if tag is not None else (octets[here] & 7 == 2))
        at = at + 1
        sizes = octets[np.minimum(at, last)].astype(np.int64)
        at = at + 1
        if (sizes >= 0x80).any():
            at, sizes, fits = self._long_sizes(at, sizes)
            good &= fits
        inner_ends = at + sizes
        good &= inner_ends <= ends
        return at, np.where(good, inner_ends, at), good

    def _long_sizes(self, at: Array, sizes: Array) -> tuple[Array, Array, Array]:
        """Sizes of more than one byte; no more than four, which is more than messages may have."""
        last = len(self._octets) - 1
        more = sizes >= 0x80
        sizes = sizes & 0x7F
        for place in range(1, 5):
            octet = self._octets[np.minimum(at, last)].astype(np.int64)
            sizes = np.where(more, sizes | (octet & 0x7F) << (7 * place), sizes)
            at = at + more
            more = more & (octet >= 0x80)
            if not more.any():
                break
        return at, sizes, ~more

    def _keep(self, good: Array, rows: Array, at: Array, ends: Array) -> tuple[Array, Array, Array]:
        if good.all():
            return rows, at, ends
        self.is_odd[rows[~good]] = True
        return rows[good], at[good], ends[good]

    def lists(self, number: int, key: str, dtype: DType, rows_outside: Array) -> Lists:
        """The lists of a key, of all rows; those of odd ones are empty."""
        kinds, starts, stops = self._kinds[number], self._starts[number], self._stops[number]
        wanted = _KINDS[dtype.name]
        wrong = np.flatnonzero((kinds != 0) & (kinds != wanted) & ~self.is_odd)
        if len(wrong):
            row = int(wrong[0])
            raise _wrong_kind(key, dtype, int(kinds[row]), int(rows_outside[row]))
        is_there = (kinds == wanted) & ~self.is_odd
        rows = np.flatnonzero(is_there & (stops > starts))
        counts = np.zeros(len(kinds), np.int64)
        if isinstance(dtype, StringType):
            values = self._strings(rows, starts[rows], stops[rows], counts)
        else:
            values = self._numbers(rows, starts[rows], stops[rows], counts, wanted)
        return Lists(values, _offsets(counts), is_there)

    def _numbers(self, rows: Array, starts: Array, stops: Array, counts: Array, kind: int) -> Array:
        at, ends, good = self._enter(starts, stops, _FIELD_1)
        good &= ends == stops
        if kind == _FLOAT_LIST:
            good &= (ends - at) % 4 == 0
        else:
            good &= (ends == at) | (self._octets[np.maximum(ends - 1, 0)] < 0x80)
        if not good.all():
            raise _OddRowsError(rows[~good])
        joined = self._sliced(at, ends)
        if kind == _FLOAT_LIST:
            counts[rows] = (ends - at) // 4
            return np.frombuffer(joined, "<f4")
        values, last = varints_and_ends(np.frombuffer(joined, np.uint8))
        counts[rows] = np.diff(np.searchsorted(last, _offsets(ends - at)))
        return values.view(np.int64)

    def _strings(self, rows: Array, starts: Array, stops: Array, counts: Array) -> Array:
        """One string of each row after another, until all have ended."""
        found: list[tuple[Array, Array, Array]] = []
        while len(rows):
            at, ends, good = self._enter(starts, stops, _FIELD_1)
            if not good.all():
                raise _OddRowsError(rows[~good])
            found.append((rows, at, ends))
            counts[rows] += 1
            going = ends < stops
            rows, starts, stops = rows[going], ends[going], stops[going]
        if not found:
            return np.zeros(0, object)
        owners, at, ends = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(found) > 1:
            order = np.argsort(owners, kind="stable")
            at, ends = at[order], ends[order]
        joined, values = self._joined, np.empty(len(at), object)
        spans = zip(at.tolist(), ends.tolist(), strict=True)
        values[:] = [joined[start:stop] for start, stop in spans]
        return values

    def _sliced(self, starts: Array, stops: Array) -> bytes:
        joined = self._joined
        spans = zip(starts.tolist(), stops.tolist(), strict=True)
        return b"".join([joined[start:stop] for start, stop in spans])


class _OddRowsError(Exception):
    """Rows whose lists are not written as usual."""

    def __init__(self, rows: Array) -> None:
        super().__init__("odd rows")
        self.rows = rows


def _offsets(counts: Array) -> Array:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _wrong_kind(key: str, dtype: DType, kind: int, row: int) -> ElementError:
    found = _KIND_NAMES.get(kind, f"kind {kind}")
    return ElementError(
        f"the feature {key!r} of Example {row} holds {found}, and {dtype.name} is wanted; change "
        "its description"
    )


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
            if kind not in (0, _KINDS[dtype.name]):
                raise _wrong_kind(key, dtype, kind, row)
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
    return Lists(values.astype(values.dtype, copy=False), _offsets(lengths), np.array(there, bool))


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
        if form == BYTES and number in _KIND_NAMES:
            # Of one that comes again, the lists are joined; another kind takes its place.
            payload = payload + item if number == kind else item
            kind = number
    if kind == _FLOAT_LIST:
        return kind, floats_of(payload)
    if kind == _INT64_LIST:
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
    offsets = _offsets(lengths)
    picked = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return Lists(values[picked], offsets, is_there)
