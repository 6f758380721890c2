"""Mutations of protobuf messages field by field: lengths, wire types, repetition, nesting."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.faults.bad_input import byte_mutations

_DEPTH = 6


class Field(NamedTuple):
    """A field of a message: its number, its wire type, and what it holds."""

    number: int
    kind: int
    value: int | bytes


def varint(value: int) -> bytes:
    value %= 1 << 64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def parse(data: bytes) -> list[Field] | None:
    """The fields of a message; None if these bytes are none."""
    fields, at = [], 0
    while at < len(data):
        key, at = _varint_at(data, at)
        number, kind = key >> 3, key & 7
        if at < 0 or number == 0:
            return None
        if kind == 0:
            value, at = _varint_at(data, at)
            if at < 0:
                return None
            fields.append(Field(number, kind, value))
            continue
        size = {1: 8, 5: 4}.get(kind, -1)
        if kind == 2:
            size, at = _varint_at(data, at)
        if size < 0 or at < 0 or at + size > len(data):
            return None
        fields.append(Field(number, kind, data[at : at + size]))
        at += size
    return fields


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at
    return 0, -1


def serialize(fields: list[Field], lie: int = 0) -> bytes:
    """The bytes of a message; ``lie`` is added to the length of its last part that has one."""
    parts = []
    last = max((n for n, field in enumerate(fields) if field.kind == 2), default=-1)
    for place, (number, kind, value) in enumerate(fields):
        parts.append(varint(number << 3 | kind))
        if isinstance(value, int):
            parts.append(varint(value))
        else:
            length = varint(len(value) + (lie if place == last else 0))
            parts += [length, value] if kind == 2 else [value]
    return b"".join(parts)


def mutated(data: bytes, choose: random.Random, depth: int = 0) -> bytes:
    """A message in which something was changed, at any depth."""
    fields = parse(data) if data else None
    if not fields or choose.random() < 0.1:
        return byte_mutations.mutated(data, choose)
    place = choose.randrange(len(fields))
    number, kind, value = fields[place]
    how = choose.random()
    if isinstance(value, bytes) and kind == 2 and depth < _DEPTH and how < 0.6:
        fields[place] = Field(number, kind, mutated(value, choose, depth + 1))
    elif isinstance(value, int) and how < 0.6:
        odd = choose.choice(byte_mutations.ODD_NUMBERS)
        fields[place] = Field(number, kind, choose.choice((odd, value + 1, value - 1)))
    elif how < 0.68:
        fields[place] = Field(choose.choice((1, 2, 3, 4, 5, 9, 19000, 2**28)), kind, value)
    elif how < 0.76:
        fields.insert(choose.randrange(len(fields) + 1), fields[place])
    elif how < 0.82:
        del fields[place]
    elif how < 0.88:
        wrapped = serialize([fields[place]])
        for _ in range(choose.choice((1, 3, 200))):
            wrapped = serialize([Field(number, 2, wrapped)])
        fields[place] = Field(number, 2, wrapped)
    elif how < 0.94:
        return serialize(fields, choose.choice((1, -1, 2**31, 2**62, 2**63)))
    else:
        fields[place] = Field(number, choose.choice((0, 1, 2, 3, 4, 5, 6, 7)), b"\0" * 8)
    return serialize(fields)
