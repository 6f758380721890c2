"""Text from elsewhere, made safe to show."""

from __future__ import annotations


def printable(text: object) -> str:
    r"""Text in which everything that a terminal would obey is spelled out.

    Example:
        >>> print(printable("red \x1b[31m"))
        red \x1b[31m
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in str(text)
    )
