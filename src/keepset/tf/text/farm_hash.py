"""Hashes of strings, exactly as TensorFlow computes them for buckets.

FarmHash64 is the published ``farmhashna::Hash64``, SipHash is SipHash-2-4, and ``murmur64`` is the
MurmurHash64A with the seed of TensorFlow's ``Hash64``.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 64) - 1
_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F


def farm_hash64(text: bytes) -> int:
    """The fingerprint of FarmHash, which never changes.

    Example:
        >>> farm_hash64(b"keepset") % 1000
        748
    """
    size = len(text)
    if size <= 16:
        return _up_to_16(text, size)
    if size <= 32:
        return _up_to_32(text, size)
    if size <= 64:
        return _up_to_64(text, size)
    return _longer(text, size)


def _word(text: bytes, place: int) -> int:
    return int.from_bytes(text[place : place + 8], "little")


def _half(text: bytes, place: int) -> int:
    return int.from_bytes(text[place : place + 4], "little")


def _turned(value: int, shift: int) -> int:
    value &= _MASK
    return ((value >> shift) | (value << (64 - shift))) & _MASK


def _mixed(value: int) -> int:
    return value ^ (value >> 47)


def _joined(one: int, two: int, factor: int) -> int:
    one, two = one & _MASK, two & _MASK
    first = _mixed(((one ^ two) * factor) & _MASK)
    second = _mixed(((two ^ first) * factor) & _MASK)
    return (second * factor) & _MASK


def _up_to_16(text: bytes, size: int) -> int:
    if size >= 8:
        factor = _K2 + size * 2
        a, b = _word(text, 0) + _K2, _word(text, size - 8)
        c = _turned(b, 37) * factor + a
        d = (_turned(a, 25) + b) * factor
        return _joined(c, d, factor)
    if size >= 4:
        return _joined(size + (_half(text, 0) << 3), _half(text, size - 4), _K2 + size * 2)
    if size:
        y = text[0] + (text[size >> 1] << 8)
        z = size + (text[size - 1] << 2)
        return (_mixed(((y * _K2) ^ (z * _K0)) & _MASK) * _K2) & _MASK
    return _K2


def _up_to_32(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(text, 0) * _K1, _word(text, 8)
    c, d = _word(text, size - 8) * factor, _word(text, size - 16) * _K2
    first = _turned(a + b, 43) + _turned(c, 30) + d
    return _joined(first, a + _turned(b + _K2, 18) + c, factor)


def _up_to_64(text: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(text, 0) * _K2, _word(text, 8)
    c, d = _word(text, size - 8) * factor, _word(text, size - 16) * _K2
    y = _turned(a + b, 43) + _turned(c, 30) + d
    z = _joined(y, a + _turned(b + _K2, 18) + c, factor)
    e, f = _word(text, 16) * factor, _word(text, 24)
    g, h = (y + _word(text, size - 32)) * factor, (z + _word(text, size - 24)) * factor
    return _joined(_turned(e + f, 43) + _turned(g, 30) + h, e + _turned(f + a, 18) + g, factor)


def _weak(text: bytes, place: int, a: int, b: int) -> tuple[int, int]:
    """Two numbers of 32 bytes and two seeds."""
    w, x, y, z = (_word(text, place + step) for step in (0, 8, 16, 24))
    a = (a + w) & _MASK
    b = _turned(b + a + z, 21)
    c = a
    a = (a + x + y) & _MASK
    b = (b + _turned(a, 44)) & _MASK
    return (a + z) & _MASK, (b + c) & _MASK


def _longer(text: bytes, size: int) -> int:
    seed = 81
    x, y = seed, (seed * _K1 + 113) & _MASK
    z = (_mixed((y * _K2 + 113) & _MASK) * _K2) & _MASK
    v = w = (0, 0)
    x = (x * _K2 + _word(text, 0)) & _MASK
    last = size - 64
    for place in range(0, (size - 1) // 64 * 64, 64):
        x = (_turned(x + y + v[0] + _word(text, place + 8), 37) * _K1) & _MASK
        y = (_turned(y + v[1] + _word(text, place + 48), 42) * _K1) & _MASK
        x ^= w[1]
        y = (y + v[0] + _word(text, place + 40)) & _MASK
        z = (_turned(z + w[0], 33) * _K1) & _MASK
        v = _weak(text, place, v[1] * _K1, x + w[0])
        w = _weak(text, place + 32, z + w[1], y + _word(text, place + 16))
        z, x = x, z
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + ((size - 1) & 63), w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    x = _turned(x + y + v[0] + _word(text, last + 8), 37) * factor
    y = _turned(y + v[1] + _word(text, last + 48), 42) * factor
    x ^= w[1] * 9
    y = y + v[0] * 9 + _word(text, last + 40)
    z = _turned(z + w[0], 33) * factor
    v = _weak(text, last, (v[1] * factor) & _MASK, (x + w[0]) & _MASK)
    w = _weak(text, last + 32, (z + w[1]) & _MASK, (y + _word(text, last + 16)) & _MASK)
    z, x = x, z
    one = _joined(v[0], w[0], factor) + _mixed(y & _MASK) * _K0 + z
    return _joined(one, _joined(v[1], w[1], factor) + x, factor)


def murmur64(text: bytes) -> int:
    """What ``tf.strings.to_hash_bucket`` counts by."""
    factor, size = 0xC6A4A7935BD1E995, len(text)
    found = 0xDECAFCAFFE ^ ((size * factor) & _MASK)
    for place in range(0, size - size % 8, 8):
        word = (_word(text, place) * factor) & _MASK
        word = ((word ^ (word >> 47)) * factor) & _MASK
        found = ((found ^ word) * factor) & _MASK
    if size % 8:
        found = ((found ^ _word(text, size - size % 8)) * factor) & _MASK
    found = (_mixed(found) * factor) & _MASK
    return _mixed(found)


def sip_hash(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 of a string under a key of two numbers."""
    one, two = (each & _MASK for each in key)
    state = [
        one ^ 0x736F6D6570736575,
        two ^ 0x646F72616E646F6D,
        one ^ 0x6C7967656E657261,
        two ^ 0x7465646279746573,
    ]
    size = len(text)
    whole = size - size % 8
    words = [_word(text, place) for place in range(0, whole, 8)]
    words.append(_word(text, whole) | ((size & 0xFF) << 56))
    for word in words:
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _MASK, (c + d) & _MASK
        b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
        a, c = _turned(a, 32), (c + b) & _MASK
        a = (a + d) & _MASK
        b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
        c = _turned(c, 32)
    state[:] = a, b, c, d
