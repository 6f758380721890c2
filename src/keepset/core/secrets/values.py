"""Values: whether one text is hidden, and what is stored in its place."""

from __future__ import annotations

import hashlib
import re
from numbers import Number
from typing import Any, Final

from keepset.core.secrets.names import ALL, NONE, SURE, VAGUE

# What people call columns, classes and special tokens, and signs: no digest would protect it.
_ORDINARY: Final = re.compile(
    r"(?=.{1,24}\Z)_*[a-z]+(_[a-z]+)*_*|[<\[]/?[A-Za-z_]{1,14}[>\]]|.{1,3}|\W+", re.DOTALL
)
# What stands before a secret in a header, and is none.
SCHEME: Final = re.compile(
    r"(?:bearer|basic|token|digest|negotiate|ntlm|oauth|api[_-]?key|key|splunk|genieKey|bot"
    r"|sharedkey(?:lite)?|aws4-hmac-sha256|googlelogin|signature|hmac)",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(r"<secret sha256:[0-9a-f]{8}>")

_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_=~-]{16,}")
_HEX: Final = re.compile(r"[0-9a-f-]+|[0-9A-F-]+")
_SWITCH: Final = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")


def is_secret(value: Any, strength: int) -> bool:
    """Whether a single value that goes by a name of this strength is hidden."""
    if strength == ALL and is_number(value):
        return True
    if strength == NONE or not isinstance(value, str | bytes) or not len(value):
        return False
    text = decoded(value)
    if _PLACEHOLDER.fullmatch(text):
        return False
    if strength == VAGUE:
        return looks_random(text)
    return strength >= SURE or not (_ORDINARY.fullmatch(text) or SCHEME.fullmatch(text.strip()))


def is_number(value: Any) -> bool:
    """Whether a value is a single number. A truth value is none: a digest would not hide it."""
    return isinstance(value, Number) and not isinstance(value, bool)


def looks_random(text: str) -> bool:
    """Whether a text is one word in which letters and digits change too often to be a name.

    Example:
        >>> [looks_random(text) for text in ("Zq7xWv3TnB9kLm2R", "ImageNetTrain2012")]
        [True, False]
    """
    # The beginning of a longer text says enough.
    text = text[:256]
    if not _TOKEN.fullmatch(text):
        return False
    is_mixed = text != text.lower() and text != text.upper()
    if not is_mixed and not _HEX.fullmatch(text) and not text.rstrip("=").isalnum():
        return False  # parts such as layer3a_conv2b
    switches, letters = len(_SWITCH.findall(text)), sum(map(str.isalnum, text))
    return letters >= 12 and switches >= (letters - 1) * (0.4 if is_mixed else 0.25)


def looks_like_key(text: str) -> bool:
    """Whether a text looks random and is no digest: with letters of both sizes and digits."""
    is_mixed = text != text.lower() and text != text.upper() and not text.isalpha()
    return is_mixed and looks_random(text)


def keys_in(text: str) -> set[str]:
    """The words of a text that look like keys."""
    return {word for word in _TOKEN.findall(text) if looks_like_key(word)}


def placeholder(value: Any) -> str:
    """What is stored of a secret."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return f"<secret sha256:{hashlib.sha256(data).hexdigest()[:8]}>"


def placeholders_in(text: str) -> list[tuple[int, int]]:
    """Where secrets were hidden before."""
    if "<secret sha256:" not in text:
        return []
    return [found.span() for found in _PLACEHOLDER.finditer(text)]


def decoded(value: str | bytes) -> str:
    """A text for what may be one; ``encoded`` gives the same bytes again."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
