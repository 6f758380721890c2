"""Strings of elements as people read them: text in quotes, or bytes where they are no text."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np

_UNLIMITED = 1 << 30


def string_text(value: bytes | str, most: int | None = None) -> str:
    r"""A string in double quotes, or as ``b'...'`` where it is not valid UTF-8.

    Everything that a terminal would obey is spelled out.

    Args:
        value: What is stored, or the text that was made of it.
        most: Cut it there, and say how long it is.

    Example:
        >>> print(string_text("café".encode()), string_text("a\tb"), string_text(b"\xff"))
        "café" "a\tb" b'\xff'
    """
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            value = value.decode()
    cut = value[:most]
    shown = repr(cut) if isinstance(cut, bytes) else '"' + "".join(map(_escaped, cut)) + '"'
    if len(cut) == len(value):
        return shown
    return f"{shown}... {len(value):,} {'bytes' if isinstance(value, bytes) else 'characters'}"


def strings_text(array: Any, most: int | None = None, **options: Any) -> str:
    """An array of strings on one line, with the options of ``np.array2string``.

    Example:
        >>> print(strings_text(np.array([b"one", b"two"], object)))
        ["one" "two"]
    """

    def item(value: Any) -> str:
        return string_text(value, most) if isinstance(value, bytes | str) else repr(value)

    text = np.array2string(
        np.asarray(array, object), formatter={"all": item}, max_line_width=_UNLIMITED, **options
    )
    return re.sub(r"\n\s*", " ", text)


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else char.encode("unicode_escape").decode()
