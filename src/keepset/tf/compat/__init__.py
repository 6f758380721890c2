"""``tf.compat``: older names of the same."""

from __future__ import annotations

import os
import sys
from typing import Any

from keepset.tf.compat import v1
from keepset.tf.not_covered import not_covered

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "path_to_str",
    "v1",
]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    return bytes(_text(bytes_or_text))


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    return bytes(_text(bytes_or_text)).decode(encoding)


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Bytes as text, and anything else as ``str`` shows it."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path as text."""
    return as_text(os.fspath(path)) if hasattr(path, "__fspath__") else path


def _text(given: Any) -> Any:
    if isinstance(given, bytes | bytearray):
        return given
    raise TypeError(f"Expected binary or unicode string, got {given!r:.60}")


def __getattr__(name: str) -> Any:
    if name == "v2":  # it is the whole of tf, which imports this module
        return sys.modules["keepset.tf"]
    return not_covered("tf.compat")(name)
