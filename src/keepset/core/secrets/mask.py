"""Mask: texts and plain values, without the secrets in them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from keepset.core.secrets.commands import Span, as_line, command_spans
from keepset.core.secrets.holders import strength_of_key
from keepset.core.secrets.names import NONE, SURE, VAGUE, WEAK, strength_of_name
from keepset.core.secrets.pairs import pair_spans
from keepset.core.secrets.shapes import shape_spans
from keepset.core.secrets.values import (
    decoded,
    encoded,
    is_secret,
    looks_random,
    placeholder,
    placeholders_in,
)

# Larger containers are never shown item by item, but for commands.
_MOST_ITEMS: Final = 100
# Of a list that may be a command, however long.
_MOST_WORDS: Final = 1000
# A shorter secret is part of too much else.
_SHORTEST: Final = 6
_PARSED: Final = ("SplitResult", "ParseResult", "SplitResultBytes", "ParseResultBytes")


class Mask:
    """Hides secrets in texts and plain values.

    Args:
        known: Texts that are secret elsewhere in the same document.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        # The longest first: one may contain another.
        self.known = tuple(sorted(set(known), key=lambda each: (-len(each), each)))
        self._forms = [form for each in self.known for form in _forms(each)]

    def spans(self, text: str) -> list[Span]:
        """Where the secrets in a text begin and end; they do not overlap."""
        found = list(_own_spans(text) if len(text) <= _SHORT else _spans(text))
        for each in self._forms:
            start = text.find(each)
            while start >= 0:
                found.append((start, start + len(each)))
                start = text.find(each, start + len(each))
        return _apart(found, placeholders_in(text)) if found else []

    def text(self, text: str) -> str:
        """The text, with a placeholder for each secret in it."""
        return with_placeholders(text, self.spans(text))

    def whole(self, value: Any, strength: int) -> Any:
        """A single value as text without secrets, however long; itself if it has none."""
        if is_secret(value, strength):
            return placeholder(value)
        text = decoded(value)
        shown = self.text(text)
        return value if shown == text else shown

    def value(self, value: Any, strength: int = NONE, depth: int = 4) -> Any:
        """A plain value or a container of such, without its secrets; itself if it has none."""
        if is_secret(value, strength):
            hidden = placeholder(value)
            return hidden.encode() if isinstance(value, bytes) else hidden
        kind = type(value)
        if kind in (str, bytes):
            # Only the beginning of a long text is ever shown.
            before = decoded(value[:4096])
            shown = self.text(before)
            if shown == before:
                return value
            return shown if kind is str else encoded(shown)
        if depth == 0 or kind not in (list, tuple, set, frozenset):
            return value
        words = _secrets_of_command(value) if kind in (list, tuple) else set()
        if len(value) > _MOST_ITEMS and not words:
            return value
        if words - set(self.known):
            return Mask({*self.known, *words}).value(value, strength, depth)
        inner = [self.value(item, strength, depth - 1) for item in value]
        if kind in (list, tuple):
            for i in range(1, len(value)):
                if (named := strength_after(value, i)) > strength:
                    inner[i] = self.value(value[i], named, depth - 1)
        if all(new is old for new, old in zip(inner, value, strict=True)):
            return value
        return kind(inner)


def spans_of_command(words: Sequence[str]) -> list[Span]:
    """Where the secrets are in the words of a command, with one letter between each two."""
    return _apart([*command_spans(as_line(words))], placeholders_in(" ".join(words)))


def _secrets_of_command(items: Sequence[Any]) -> set[str]:
    """The texts that are secret in a list of words, as ``subprocess`` takes it."""
    words = [decoded(item) if isinstance(item, str | bytes) else "" for item in items[:_MOST_WORDS]]
    line = " ".join(words)
    return {line[low:high] for low, high in spans_of_command(words) if high - low >= _SHORTEST}


def _forms(text: str) -> set[str]:
    """A text, and how it is written within the ``repr`` of others."""
    if text.isascii() and text.isprintable() and not set(text) & set("'\"\\"):
        return {text}
    shown = repr(text)[1:-1]
    in_bytes = repr(text.encode("utf-8", "replace"))[2:-1]
    return {text, shown, in_bytes, *(form.replace("'", "\\'") for form in (shown, in_bytes))}


def _spans(text: str) -> tuple[Span, ...]:
    """The secrets in a text that need not be known from elsewhere."""
    return (*shape_spans(text), *pair_spans(text))


# Names of variables and short values are looked at again with every fingerprint.
_SHORT: Final = 100
_own_spans = lru_cache(4096)(_spans)


def with_placeholders(text: str, spans: list[Span]) -> str:
    """The text, with a placeholder for each of some parts of it."""
    if not spans:
        return text
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], placeholder(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


def _apart(spans: list[Span], hidden: list[Span]) -> list[Span]:
    """The spans in order, those that overlap as one, without those that were hidden before."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif start < end:
            found.append((start, end))
    return [span for span in found if not _overlaps(span, hidden)] if hidden else found


def _overlaps(span: Span, others: list[Span]) -> bool:
    """Whether a span has letters in common with one of others, which are in order."""
    at = bisect_left(others, span)
    return (at < len(others) and others[at][0] < span[1]) or (
        at > 0 and span[0] < others[at - 1][1]
    )


def strength_of_pair(value: Any) -> int:
    """That of the name in a pair such as ``("Authorization", "Bearer ...")``."""
    if type(value) not in (list, tuple) or len(value) != 2:
        return NONE
    return strength_after(value, 1)


def strength_after(items: Any, number: int) -> int:
    """That of an item of a sequence, by the one before it: a name in a pair, or ``--password``."""
    if number < 1 or type(items) not in (list, tuple) or number >= len(items):
        return NONE
    before = items[number - 1]
    if type(before) not in (str, bytes) or len(before) > 100:
        return NONE
    name = decoded(before)
    # With a value in it, which may be hidden already, it does not name what follows.
    is_option = name.startswith("-") and not {"=", "<"} & set(name)
    if not is_option and (len(items) != 2 or type(before) is bytes):
        return NONE
    strength = strength_of_name(name)
    return strength if strength >= SURE else NONE


def secret_texts(value: Any, strength: int = NONE, depth: int = 4) -> set[str]:
    """The texts in a value that are secret by a name, and that nothing else may contain."""
    if isinstance(value, str | bytes):
        text = decoded(value)
        return {text} if len(text) >= _SHORTEST and is_secret(value, strength) else set()
    kind = type(value)
    if kind is re.Pattern:
        # Ordinary words in a pattern are looked for in other texts.
        return secret_texts(value.pattern, WEAK if strength >= SURE else min(strength, VAGUE))
    if _is_of(kind, "pathlib", "PurePath"):
        # A path to a secret is none, unless that is its name.
        return set().union(*(secret_texts(each, min(strength, VAGUE)) for each in value.parts))
    if _is_of(kind, "urllib.parse", *_PARSED):
        return _logins(decoded(value.netloc))
    is_dict = issubclass(kind, dict)
    if depth == 0 or (not is_dict and kind not in (list, tuple, set, frozenset)):
        return set()
    found = _secrets_of_command(value) if kind in (list, tuple) else set()
    # Not by its own methods: a class made of dict may do anything in them.
    if (dict.__len__(value) if is_dict else len(value)) > _MOST_ITEMS:
        return found
    # A copy: a memo may be filled by another thread meanwhile.
    items: list[tuple[Any, Any]]
    items = list(dict.items(value)) if is_dict else list(enumerate(list(value)))
    for name, item in items:
        own = NONE
        if not is_dict:
            own = strength_after(value, name)
        elif type(name) in (str, bytes):
            own = strength_of_key(value, name)
            # Of the keys of what holds secrets those are that look random: not 'user' or 'host'.
            found |= secret_texts(name, min(strength, VAGUE))
        if strength or own or not isinstance(item, str | bytes):
            found |= secret_texts(item, max(strength, own), depth - 1)
    return found


def has_secret_parts(kind: type) -> bool:
    """Whether to look for secrets in a value of a class: a mapping, a path or a parsed URL."""
    return issubclass(kind, dict) or (
        _is_of(kind, "pathlib", "PurePath") or _is_of(kind, "urllib.parse", *_PARSED)
    )


def _is_of(kind: type, module: str, *names: str) -> bool:
    """Whether a class is made of one of a module, which is not imported for this."""
    if kind.__module__ == "builtins" or module not in sys.modules:
        return False
    found = vars(sys.modules[module])
    return any(issubclass(kind, found.get(name, ())) for name in names)


def _logins(netloc: str) -> set[str]:
    """The user and the password in the parsed form of a URL."""
    start = len("x://")
    found = {netloc[low - start : high - start] for low, high in shape_spans(f"x://{netloc}")}
    return {
        each for each in found if len(each) >= _SHORTEST and (":" in each or looks_random(each))
    }
