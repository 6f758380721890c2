"""Commands: secrets on command lines, which are one text or a list of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

Span = tuple[int, int]

# What every such command has in it, in lower case.
COMMANDS: Final = ("curl", "sshpass", "mysql", "mariadb", "redis-cli")
# What ends a word of a line, and does not end one of a list.
_ENDS: Final = re.compile(r"[\s'\"]")


def command_spans(line: str) -> Iterator[Span]:
    """Where the secrets are that well-known commands get without the name of a secret."""
    lowered = line.lower()
    if any(each in lowered for each in COMMANDS):
        for pattern in _patterns():
            yield from (found.span("secret") for found in pattern.finditer(line))


def as_line(words: Sequence[str]) -> str:
    """The words of a list as one line, with as many letters, in which each is still one word."""
    return " ".join(_ENDS.sub("_", word) for word in words)


@cache
def _patterns() -> list[re.Pattern[str]]:
    before, word = r"\b[^\n]{0,200}?\s", r"(?P<secret>[^\s'\"]+)"
    login = r"(?P<secret>[^\s:'\"]+:[^\s'\"]+)"
    return [
        re.compile(rf"curl{before}(?:-[uU]|--user|--proxy-user)[= ]*['\"]?{login}"),
        re.compile(rf"sshpass\s+-p\s*['\"]?{word}"),
        # With a blank behind it, a database follows: the password is asked for.
        re.compile(rf"(?:mysql|mariadb)[\w-]{{0,20}}{before}-p['\"]?{word}"),
        re.compile(rf"redis-cli{before}-a\s+['\"]?{word}"),
    ]
