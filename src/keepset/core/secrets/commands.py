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
    if not any(each in lowered for each in COMMANDS):
        return
    for command, option in _patterns():
        at = 0
        while (found := command.search(line, at)) is not None:
            at = found.end()
            # The next one of the same command, such as that of --proxy-user, counts from there.
            while (found := option.match(line, at)) is not None:
                yield found.span("secret")
                at = found.end()


def as_line(words: Sequence[str]) -> str:
    """The words of a list as one line, with as many letters, in which each is still one word."""
    return " ".join(_ENDS.sub("_", word) for word in words)


@cache
def _patterns() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """What each command is called, and its options up to the next secret."""
    before, word = r"[^\n]{0,200}?\s", r"(?P<secret>[^\s'\"]+)"
    login = r"(?P<secret>[^\s:'\"]+:[^\s'\"]+)"
    # Flags without a value may stand before that of the login: -sSu.
    flags = r"[#0-46aBfgGiIjJklLMnNOpqRsSvVZ]{0,20}"
    patterns = [
        (r"curl\b", rf"{before}(?:-{flags}[uU]|--user|--proxy-user)[= ]*['\"]?{login}"),
        (r"sshpass", rf"\s+-p\s*['\"]?{word}"),
        # With a blank behind it, a database follows: the password is asked for.
        (r"(?:mysql|mariadb)", rf"{before}-p['\"]?{word}"),
        (r"redis-cli\b", rf"{before}-a\s+['\"]?{word}"),
    ]
    return [(re.compile(command), re.compile(option)) for command, option in patterns]
