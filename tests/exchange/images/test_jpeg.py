"""The quicker decoder gives what Pillow gives, whatever the picture, or leaves it to Pillow."""

from __future__ import annotations

import io
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from PIL import Image

from keepset.exchange.images import jpeg
from keepset.exchange.images.pictures import PixelFormat


def picture(mode: str, seed: int, size: tuple[int, int]) -> Image.Image:
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (5, 4, 3), np.uint8))
    return coarse.resize(size, Image.Resampling.BICUBIC).convert(mode)


def encoded(image: Image.Image, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def both_ways(data: bytes, form: PixelFormat, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What comes of it with the decoder and without."""
    found: list[Any] = []
    for decoder in (jpeg._decoder, lambda: None):
        with monkeypatch.context() as patch:
            patch.setattr(jpeg, "_decoder", decoder)
            try:
                found.append(form.decode(data))
            except ValueError as error:
                found.append(str(error))
    return found


@hypothesis.given(
    st.sampled_from(["RGB", "L", "CMYK"]),
    st.sampled_from([1, 3, 4]),
    st.tuples(st.integers(1, 70), st.integers(1, 70)),
    st.integers(1, 95),
    st.sampled_from([0, 1, 2]),
    st.booleans(),
    st.integers(1, 8),
)
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_pixels_are_those_of_pillow(
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    channels: int,
    size: tuple[int, int],
    quality: int,
    subsampling: int,
    progressive: bool,
    orientation: int,
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(
        picture(mode, quality, size),
        quality=quality,
        subsampling=subsampling,
        progressive=progressive,
        exif=exif,
    )
    one, other = both_ways(data, PixelFormat(channels=channels), monkeypatch)
    assert one.flags.writeable
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert (one == other).all()


def test_the_decoder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(picture("RGB", 0, (40, 30)))
    image = Image.open(io.BytesIO(data))
    pixels = jpeg.jpeg_pixels(data, image)
    assert pixels is not None
    assert pixels.shape == (30, 40, 3)


@pytest.mark.parametrize("damage", ["cut", "turned", "behind"])
def test_about_what_is_damaged_pillow_decides(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(picture("RGB", 1, (64, 48)))
    for at in range(2, len(data), 37):
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        damaged = {"cut": data[:at], "turned": flipped, "behind": data + b"more" * at}[damage]
        one, other = both_ways(damaged, PixelFormat(), monkeypatch)
        assert type(one) is type(other)
        assert one == other if isinstance(one, str) else (one == other).all()
