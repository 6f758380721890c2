"""What the system tells about itself in small files."""

from __future__ import annotations


def system_text(path: str) -> str:
    """The text of such a file, such as ``/proc/self/stat``."""
    with open(path) as file:
        return file.read()
