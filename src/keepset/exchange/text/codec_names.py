"""The names of encodings, as users write them and as Python spells them."""

from __future__ import annotations

import codecs
from typing import Final

from keepset.errors import InvalidArgumentError

UTF8: Final = ("utf-8", "utf-8-sig")


def codec_named(encoding: str) -> str:
    """The name of an encoding of text as Python spells it."""
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)  # a LookupError for those of bytes, such as base64
    except (LookupError, TypeError, UnicodeError) as error:
        raise InvalidArgumentError(
            f"encoding={encoding!r} is unknown; choose one that Python has, such as 'utf-8', "
            "'latin-1' or 'utf-16'"
        ) from error
    return codec.name


def encoding_name(encoding: str | None) -> str | None:
    """The name of an encoding as Python spells it, in which form a stage keeps it."""
    return None if encoding is None else codec_named(encoding)


def check_utf8(kind: str, encoding: str | None) -> None:
    """Refuse any other encoding than UTF-8, for formats that have no other."""
    if encoding is not None and codec_named(encoding) != UTF8[0]:
        raise InvalidArgumentError(
            f"encoding={encoding!r} cannot be that of {kind}, whose text is in UTF-8; pass "
            "encoding='utf-8' for str, or leave it out for bytes"
        )
