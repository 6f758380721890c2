"""Mutations of plain bytes: cut, extended, spliced, flipped, and numbers replaced by odd ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

Mutation = Callable[[bytes, random.Random], bytes]

# At the edges of what fits into a few bits, and of what can be in memory.
ODD_NUMBERS: Final = (
    *(0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**24, 2**31 - 1, 2**31, 2**32 - 1),
    *(2**33, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1),
)
_WIDTHS: Final = (1, 2, 4, 8)


def flip(data: bytes, choose: random.Random) -> bytes:
    """Flip some bits."""
    out = bytearray(data)
    for _ in range(choose.choice((1, 1, 2, 8)) if out else 0):
        out[choose.randrange(len(out))] ^= 1 << choose.randrange(8)
    return bytes(out)


def overwrite(data: bytes, choose: random.Random) -> bytes:
    """Put bytes of one value over some of the bytes."""
    at = choose.randrange(len(data) + 1)
    length = choose.choice((1, 1, 4, 16, 100))
    filling = choose.choice((b"\0", b"\xff", b"\x7f", b"\x80", b"[", b'"', b"\n"))
    return data[:at] + (filling * length)[: len(data) - at] + data[at + length :]


def number(data: bytes, choose: random.Random) -> bytes:
    """Put an odd number where a number may be."""
    width = choose.choice(_WIDTHS)
    order = choose.choice(("little", "little", "big"))
    value = choose.choice(ODD_NUMBERS) % (1 << 8 * width)
    at = choose.randrange(max(1, len(data) - width + 1))
    if choose.random() < 0.5:
        at -= at % width
    made = value.to_bytes(width, "big" if order == "big" else "little")
    return data[:at] + made + data[at + width :]


def nudge(data: bytes, choose: random.Random) -> bytes:
    """Add a little to a number."""
    width = choose.choice(_WIDTHS)
    at = choose.randrange(max(1, len(data) - width + 1))
    value = int.from_bytes(data[at : at + width], "little") + choose.choice((-1, 1, -8, 8, 256))
    return data[:at] + (value % (1 << 8 * width)).to_bytes(width, "little") + data[at + width :]


def cut(data: bytes, choose: random.Random) -> bytes:
    """Leave out the end, the beginning, or something between."""
    start = choose.randrange(len(data) + 1)
    stop = choose.choice((len(data), len(data), min(len(data), start + choose.randrange(1, 32))))
    return data[start:] if choose.random() < 0.1 else data[:start] + data[stop:]


def extend(data: bytes, choose: random.Random) -> bytes:
    """Add bytes behind the end: noise, zeros, or what is there already."""
    more = choose.choice((choose.randbytes(17), bytes(64), data[:1000], data[-16:]))
    return data + more


def splice(data: bytes, choose: random.Random) -> bytes:
    """Copy a piece of the data to another place of it."""
    start, at = choose.randrange(len(data) + 1), choose.randrange(len(data) + 1)
    piece = data[start : start + choose.choice((1, 8, 64, 512))]
    stays = choose.random() < 0.5
    return data[:at] + piece + (data[at:] if stays else data[at + len(piece) :])


MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(flip, flip, overwrite, number, number, nudge, cut, extend, splice),
)


def mutated(data: bytes, choose: random.Random) -> bytes:
    """The data after one mutation or a few."""
    for _ in range(choose.choice((1, 1, 1, 2, 4))):
        data = choose.choice(MUTATIONS)(data, choose)
    return data
