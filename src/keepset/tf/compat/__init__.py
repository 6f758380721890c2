"""``tf.compat``: older names of the same."""

from __future__ import annotations

from typing import Any

from keepset.tf.compat import v1
from keepset.tf.not_covered import not_covered

__all__ = [
    "as_bytes",
    "as_text",
    "v1",
]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    return (
        bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)
    )


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    return (
        bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else str(bytes_or_text)
    )


__getattr__ = not_covered("tf.compat")
