"""Codec: compression of one kind, inside Arrow's messages or around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.record import record


@record
class Codec:
    """Either Arrow itself compresses each buffer of a message, or a frame holds a whole message.

    Frames that follow each other decompress to what the messages were, one after another, so
    that ordinary tools open such a file. Neither direction holds the interpreter's lock.
    """

    name: str
    suffix: str
    arrow_name: str | None = None
    compress: Callable[[bytes | memoryview], bytes | bytearray] | None = None
    # What is in a frame, and how large that is said to be. No more memory is taken than for that,
    # whatever the frame says; damage, and anything that is larger, is a ValueError.
    decompress: Callable[[bytes | memoryview, int], Any] | None = None

    @property
    def is_framed(self) -> bool:
        return self.compress is not None


ARROW_CODECS = (
    Codec("NONE", ".arrow"),
    Codec("LZ4", ".arrow", arrow_name="lz4"),
    Codec("ZSTD", ".arrow", arrow_name="zstd"),
)
