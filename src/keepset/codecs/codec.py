"""Codec: compression of one kind, inside Arrow's messages or around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Codec:
    """Either Arrow itself compresses each buffer of a message, or a frame holds a whole message.

    Frames that follow each other decompress to what the messages were, one after another, so
    that ordinary tools open such a file.
    """

    name: str
    suffix: str
    arrow_name: str | None = None
    compress: Callable[[bytes | memoryview], bytes] | None = None
    # Into a buffer of exactly the right size, so that a forged frame cannot ask for more; damage
    # is a ValueError.
    decompress_into: Callable[[bytes | memoryview, bytearray], int] | None = None

    @property
    def is_framed(self) -> bool:
        return self.compress is not None


ARROW_CODECS = (
    Codec("NONE", ".arrow"),
    Codec("LZ4", ".arrow", arrow_name="lz4"),
    Codec("ZSTD", ".arrow", arrow_name="zstd"),
)
