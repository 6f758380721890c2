"""Frames: what goes in comes out, other tools read it, and damage takes no memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import cramjam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.codecs import CODECS, Codec

FRAMED = [codec for codec in CODECS.values() if codec.is_framed]
framed = pytest.mark.parametrize("codec", FRAMED, ids=lambda codec: codec.name)

OTHERS: dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], Any]]] = {
    "GZIP": (gzip.compress, gzip.decompress),
    "SNAPPY": (cramjam.snappy.compress, cramjam.snappy.decompress),
}


def packed(codec: Codec, data: bytes) -> bytes:
    assert codec.compress is not None
    return bytes(codec.compress(data))


def unpacked(codec: Codec, data: bytes, size: int) -> bytes:
    assert codec.decompress is not None
    return bytes(codec.decompress(memoryview(data), size))


@framed
@given(data=st.binary(max_size=2000))
def test_what_goes_in_comes_out(codec: Codec, data: bytes) -> None:
    assert unpacked(codec, packed(codec, data), len(data)) == data


@framed
@given(data=st.binary(max_size=2000))
def test_other_tools_read_and_write_the_same(codec: Codec, data: bytes) -> None:
    compress, decompress = OTHERS[codec.name]
    assert bytes(decompress(packed(codec, data))) == data
    assert unpacked(codec, bytes(compress(data)), len(data)) == data


def test_members_of_any_level_and_with_a_name_are_read() -> None:
    data = b"a member of a gzip file " * 1000
    for level in range(10):
        pack = zlib.compressobj(level, wbits=31)
        assert unpacked(CODECS["GZIP"], pack.compress(data) + pack.flush(), len(data)) == data
    members = [bytes(cramjam.gzip.compress(data, level=6))]  # as files of earlier versions have it
    # A header with a file's name.
    members.append(b"\x1f\x8b\x08\x08" + members[0][4:10] + b"name\0" + members[0][10:])
    for member in members:
        assert gzip.decompress(member) == data
        assert unpacked(CODECS["GZIP"], member, len(data)) == data


@framed
def test_a_frame_that_holds_more_than_was_said_is_an_error(codec: Codec) -> None:
    frame = packed(codec, bytes(1 << 20))
    for size in (0, 1, 1000, (1 << 20) - 1):
        with pytest.raises(ValueError, match=r"\w"):
            unpacked(codec, frame, size)


@framed
def test_a_frame_that_holds_less_gives_that(codec: Codec) -> None:
    assert unpacked(codec, packed(codec, b"short"), 1000) == b"short"


@framed
def test_every_cut_is_an_error_or_less(codec: Codec) -> None:
    data = np.random.default_rng(0).integers(0, 4, 300, np.uint8).tobytes()
    frame = packed(codec, data)
    for end in range(len(frame)):
        try:
            found = unpacked(codec, frame[:end], len(data))
        except ValueError:
            continue
        assert len(found) < len(data)


def smooth_images() -> bytes:
    generator = np.random.default_rng(0)
    coarse = generator.integers(0, 200, (64, 8, 8, 3), np.uint8)
    images = coarse.repeat(8, axis=1).repeat(8, axis=2)
    return (images + generator.integers(0, 64, images.shape, np.uint8) // 60).tobytes()


def features() -> bytes:
    return np.random.default_rng(0).standard_normal(1 << 17, np.float32).tobytes()


def text() -> bytes:
    generator = np.random.default_rng(0)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(generator.choice(list(letters), n)) for n in generator.integers(1, 9, 2000)]
    return " ".join(generator.choice(words, 60_000, p=_zipf(len(words)))).encode()


def _zipf(n: int) -> Any:
    weights = 1 / np.arange(1, n + 1)
    return weights / weights.sum()


@pytest.mark.parametrize("make", [smooth_images, features, text])
def test_gzip_is_about_as_small_as_zlib_makes_it(make: Callable[[], bytes]) -> None:
    data = make()
    assert len(packed(CODECS["GZIP"], data)) <= 1.1 * len(zlib.compress(data, 6))
