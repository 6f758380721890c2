r"""Regular expressions in the syntax of RE2, run by Python's ``re``.

What RE2 refuses is refused: look-around, references back, possessive repetition. ``$`` is the very
end of a text, ``.`` is one character; ``\d``, ``\w``, ``\s`` and ``\b`` are those of ASCII.
``[[:alpha:]]``, ``\pL``, ``\Q...\E``, ``\z`` and ``\x{...}`` are there. Not covered are scripts
(``\p{Greek}``), ``\C`` and the flag ``U``. A byte that is no UTF-8 is a character by itself.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from typing import Final

from keepset.errors import InvalidArgumentError, NotCoveredError

_REFUSED: Final = re.compile(r"\(\?(?:[=!>#(]|<[=!]|P=|P>)")
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


@lru_cache(256)
def pattern_of(source: bytes) -> re.Pattern[str]:
    """A pattern of Python's for one of RE2's.

    Example:
        >>> pattern_of(b"[[:punct:]]$").sub("", "what?!")
        'what?'

    Raises:
        InvalidArgumentError: It is not one that RE2 takes.
    """
    text = decoded(source)
    try:
        return re.compile(_Reader(text).translated(), re.ASCII)
    except (re.error, OverflowError, IndexError) as error:
        raise _invalid(text, str(error)) from error


def replaced(pattern: re.Pattern[str], rewrite: bytes, text: bytes, *, everywhere: bool) -> bytes:
    """A text with matches replaced; ``\\\\1`` is the first group, ``\\\\0`` the whole match."""
    source, template = decoded(text), _template(pattern, decoded(rewrite))
    if template is None:
        return text
    made: list[str] = []
    at, last = 0, -1
    while at <= len(source) and (match := pattern.search(source, at)):
        made.append(source[at : match.start()])
        if match.start() == match.end() == last:
            # Nothing right behind a match is none of its own: one character further.
            made.append(source[last : last + 1])
            at = last + 1
            continue
        made += [match[part] or "" if isinstance(part, int) else part for part in template]
        at = last = match.end()
        if not everywhere:
            break
    return "".join([*made, source[at:]]).encode("utf-8", "surrogateescape")


@lru_cache(256)
def _template(pattern: re.Pattern[str], rewrite: str) -> tuple[str | int, ...] | None:
    """The pieces of a replacement; None, as TensorFlow leaves texts alone, if a group lacks."""
    made: list[str | int] = []
    for part in re.findall(r"\\.|\\|[^\\]+", rewrite, re.DOTALL):
        if part[0] != "\\":
            made.append(part)
        elif part[1:].isdigit():
            if int(part[1:]) > pattern.groups:
                return None
            made.append(int(part[1:]))
        elif part[1:] == "\\":
            made.append("\\")
        else:
            break  # as RE2, which writes what stands before
    return tuple(made)


def decoded(text: bytes) -> str:
    """UTF-8, where each byte that is none stands for itself."""
    return text.decode("utf-8", "surrogateescape")


def _invalid(text: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Invalid pattern: {text!r:.80}, error: {reason}; patterns are those of RE2"
    )


class _Reader:
    """Goes through a pattern once and writes it anew."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._out = text, 0, list[str]()
        self._has_lines = re.match(r"\(\?[a-z]*m", text) is not None

    def translated(self) -> str:
        while self._at < len(self._text):
            self._step()
        return "".join(self._out)

    def _step(self) -> None:
        char = self._text[self._at]
        if char == "\\":
            self._out.append(self._escape(in_class=False))
        elif char == "[":
            self._class()
        elif char == "(":
            self._group()
        elif char == "$":
            self._out.append("$" if self._has_lines else r"\Z")
            self._at += 1
        else:
            if char == "+" and self._out and self._out[-1] in ("*", "+", "?", "}"):
                raise _invalid(self._text, f"bad repetition operator: {self._out[-1]}+")
            self._out.append(char)
            self._at += 1

    def _group(self) -> None:
        rest = self._text[self._at :]
        if refused := _REFUSED.match(rest):
            raise _invalid(self._text, f"invalid perl operator: {refused[0]}")
        if re.match(r"\(\?<[A-Za-z_]", rest):
            self._out.append("(?P<")
            self._at += 3
            return
        self._out.append("(")
        self._at += 1

    def _escape(self, *, in_class: bool) -> str:
        text, at = self._text, self._at
        char = text[at + 1] if at + 1 < len(text) else ""
        self._at += 2
        if char in ("p", "P"):
            return self._category(char == "P", in_class=in_class)
        if char == "x" and text[self._at : self._at + 1] == "{":
            stop = text.index("}", self._at)
            code, self._at = int(text[self._at + 1 : stop], 16), stop + 1
            return re.escape(chr(code))
        if char == "Q" and not in_class:
            stop = text.find("\\E", self._at)
            stop = len(text) if stop < 0 else stop
            quoted, self._at = re.escape(text[self._at : stop]), stop + 2
            return quoted
        if char == "z" and not in_class:
            return r"\Z"
        if char == "C":
            raise NotCoveredError(r"\C, a single byte, is not covered; use . for a character")
        if char in "ZNuU" or (char.isdigit() and char != "0"):
            raise _invalid(text, f"invalid escape sequence: \\{char}")
        return f"\\{char}"

    def _class(self) -> None:
        text = self._text
        self._out.append("[")
        self._at += 1
        if text[self._at : self._at + 1] == "^":
            self._out.append("^")
            self._at += 1
        if text[self._at : self._at + 1] == "]":
            self._out.append(r"\]")
            self._at += 1
        while self._at < len(text) and text[self._at] != "]":
            self._out.append(self._class_item())
        if self._at >= len(text):
            raise _invalid(text, "missing ]")
        self._out.append("]")
        self._at += 1

    def _class_item(self) -> str:
        text = self._text
        if found := re.compile(r"\[:(\^?)(\w+):\]").match(text, self._at):
            self._at = found.end()
            if found[2] not in _POSIX:
                raise _invalid(text, f"invalid character class range: {found[0]}")
            return _outside(_POSIX[found[2]]) if found[1] else _POSIX[found[2]]
        char = text[self._at]
        if char == "\\":
            return self._escape(in_class=True)
        self._at += 1
        return f"\\{char}" if char in "[&~|" else char

    def _category(self, is_not: bool, *, in_class: bool) -> str:
        text = self._text
        if text[self._at : self._at + 1] == "{":
            stop = text.index("}", self._at)
            name, self._at = text[self._at + 1 : stop], stop + 1
        else:
            name, self._at = text[self._at : self._at + 1], self._at + 1
        if name.startswith("^"):
            name, is_not = name[1:], not is_not
        found = _category(name, is_not)
        return found if in_class else f"[{found}]"


def _outside(ranges: str) -> str:
    kept = re.compile(f"[^{ranges}]")
    return _ranges([code for code in range(256) if kept.match(chr(code))]) + r"\u0100-\U0010FFFF"


@lru_cache(64)
def _category(name: str, is_not: bool) -> str:
    """The characters of a general category of Unicode, as ranges."""
    if len(name) > 2:
        raise NotCoveredError(
            rf"\p{{{name}}}: scripts are not covered; use ranges such as [\x{{370}}-\x{{3FF}}]"
        )
    codes = range(sys.maxunicode + 1)
    return _ranges(
        [code for code in codes if unicodedata.category(chr(code)).startswith(name) != is_not]
    )


def _ranges(codes: list[int]) -> str:
    made, start = [], 0
    for place in range(1, len(codes) + 1):
        if place == len(codes) or codes[place] != codes[place - 1] + 1:
            made.append(f"\\U{codes[start]:08X}-\\U{codes[place - 1]:08X}")
            start = place
    return "".join(made)
