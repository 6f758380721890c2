"""Codecs: how chunks are compressed. ``codec_named`` finds one, ``best_codec`` chooses one."""

from __future__ import annotations

from keepset.codecs.codec import ARROW_CODECS, Codec
from keepset.codecs.gzip import GZIP
from keepset.codecs.snappy import SNAPPY
from keepset.errors import InvalidArgumentError

__all__ = ["AUTO", "CODECS", "Codec", "codec_named", "normal_name"]

AUTO = "AUTO"
CODECS: dict[str, Codec] = {codec.name: codec for codec in (*ARROW_CODECS, GZIP, SNAPPY)}
# Kept as gzip frames: the same algorithm, and files that gunzip opens.
_OTHER_NAMES = {"ZLIB": "GZIP", "": "NONE"}


def normal_name(compression: str | None) -> str:
    """The name of a codec as it is recorded, or ``AUTO``; an error for one that nobody knows."""
    name = "NONE" if compression is None else str(compression).upper()
    name = _OTHER_NAMES.get(name, name)
    if name != AUTO and name not in CODECS:
        known = ", ".join(f'"{known}"' for known in (*CODECS, "ZLIB", AUTO) if known != "NONE")
        raise InvalidArgumentError(
            f"there is no compression {compression!r}; choose None or one of {known}"
        )
    return name


def codec_named(name: str) -> Codec:
    """The codec under the name that a file records."""
    return CODECS[name]
