"""Sizes in bytes, for people."""

from __future__ import annotations


def size_text(size_bytes: float) -> str:
    """A size for people: ``1.5 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"
