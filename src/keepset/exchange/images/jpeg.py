"""JPEG by libjpeg-turbo alone, where the extra is installed: Pillow's pixels in less time.

Only for pictures that are left as they are. Those that are resized go through Pillow's own memory
anyway, and what is gained on the way there is lost again.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from keepset.core.dtypes import Array
from keepset.core.optional_package import is_missing
from keepset.core.warn import warn_user

_COLORS: Final = {"RGB": "RGB", "L": "GRAY"}


def jpeg_pixels(data: bytes, image: Any) -> Array | None:
    """The pixels of a picture, of which Pillow has read no more than the beginning.

    None if Pillow has to go on: there is no extra, it is another format or in other colors, or
    something is wrong with the file, about which Pillow decides.
    """
    decoder = _decoder()
    if decoder is None or image.format != "JPEG" or image.mode not in _COLORS:
        return None
    try:
        pixels: Array = decoder.decode_jpeg(data, _COLORS[image.mode])
    except ValueError:
        return None
    return pixels


@cache
def _decoder() -> Any:
    try:
        import simplejpeg
    except ImportError as error:
        if not is_missing(error, "simplejpeg"):
            warn_user(
                f"simplejpeg is installed and cannot be imported: {error}; pictures are decoded by "
                "Pillow, in more time, until that is repaired or simplejpeg is uninstalled"
            )
        return None
    return simplejpeg
