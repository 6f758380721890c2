"""Walk: many Examples gone through together, one entry of each at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from keepset.core.dtypes import Array, DType, StringType
from keepset.exchange.tensorflow.example_lists import (
    FLOAT_LIST,
    KINDS,
    Lists,
    offsets_of,
    wrong_kind,
)
from keepset.exchange.tensorflow.wire import varints_and_ends

# The first byte of a field that holds bytes: its number and its wire type.
_FIELD_1, _FIELD_2, _FIELD_3 = 0x0A, 0x12, 0x1A
# More entries than this are read one by one: each costs a step of all Examples together.
_MOST_ENTRIES: Final = 1 << 12
_PADDING: Final = bytes(16)


class Walk:
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
        wanted = KINDS[dtype.name]
        wrong = np.flatnonzero((kinds != 0) & (kinds != wanted) & ~self.is_odd)
        if len(wrong):
            row = int(wrong[0])
            raise wrong_kind(key, dtype, int(kinds[row]), int(rows_outside[row]))
        is_there = (kinds == wanted) & ~self.is_odd
        rows = np.flatnonzero(is_there & (stops > starts))
        counts = np.zeros(len(kinds), np.int64)
        if isinstance(dtype, StringType):
            values = self._strings(rows, starts[rows], stops[rows], counts)
        else:
            values = self._numbers(rows, starts[rows], stops[rows], counts, wanted)
        return Lists(values, offsets_of(counts), is_there)

    def _numbers(self, rows: Array, starts: Array, stops: Array, counts: Array, kind: int) -> Array:
        at, ends, good = self._enter(starts, stops, _FIELD_1)
        good &= ends == stops
        if kind == FLOAT_LIST:
            good &= (ends - at) % 4 == 0
        else:
            good &= (ends == at) | (self._octets[np.maximum(ends - 1, 0)] < 0x80)
        if not good.all():
            raise OddRowsError(rows[~good])
        joined = self._sliced(at, ends)
        if kind == FLOAT_LIST:
            counts[rows] = (ends - at) // 4
            return np.frombuffer(joined, "<f4")
        try:
            values, last = varints_and_ends(np.frombuffer(joined, np.uint8))
        except ValueError:
            raise OddRowsError(rows) from None  # one by one, it is told which is damaged
        counts[rows] = np.diff(np.searchsorted(last, offsets_of(ends - at)))
        return values.view(np.int64)

    def _strings(self, rows: Array, starts: Array, stops: Array, counts: Array) -> Array:
        """One string of each row after another, until all have ended."""
        found: list[tuple[Array, Array, Array]] = []
        while len(rows):
            at, ends, good = self._enter(starts, stops, _FIELD_1)
            if not good.all():
                raise OddRowsError(rows[~good])
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


class OddRowsError(Exception):
    """Rows whose lists are not written as usual."""

    def __init__(self, rows: Array) -> None:
        super().__init__("odd rows")
        self.rows = rows
