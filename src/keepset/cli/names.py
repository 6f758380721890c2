"""Names of snapshots, with their fingerprints cut to a length that people can read."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Enough to tell one from another, and not too much to type behind --fingerprint.
_DIGITS, _DIGITS_OF_FILES = 12, 4
_FINGERPRINT = re.compile(r"([0-9a-f]{32})(-[0-9a-f]{16})?")


def short_names(names: Sequence[str]) -> dict[str, str]:
    """For each name the short one, where that leaves them different.

    Example:
        >>> short_names(["images/0123456789abcdef0123456789abcdef", "numbers"])
        {'images/0123456789abcdef0123456789abcdef': 'images/0123456789ab', 'numbers': 'numbers'}
    """
    short = {name: _short(name) for name in names}
    cut = list(short.values())
    return {name: text if cut.count(text) == 1 else name for name, text in short.items()}


def _short(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    match = _FINGERPRINT.fullmatch(last)
    if match is not None:
        last = match[1][:_DIGITS] + (match[2] or "")[: 1 + _DIGITS_OF_FILES]
    return folder + slash + last
