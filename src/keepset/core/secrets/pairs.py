"""Pairs: secrets within a text that stand behind their names.

As in headers, JSON, YAML, INI files, environment files, connection strings, queries of URLs,
command lines and calls. A text for people may hold such a name too: "password: the one of the
server". Without quotes, plain words behind a name are therefore no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from keepset.core.secrets.holders import NAMING, VALUES, strength_of_named
from keepset.core.secrets.names import NONE, SURE, VAGUE, WEAK, may_name_secrets, strength_of_name
from keepset.core.secrets.values import SCHEME, is_secret, looks_random

Span = tuple[int, int]

# Brackets and items behind one name that are looked through, and letters of a header.
_MOST_ITEMS: Final = 1000
_MOST_LETTERS: Final = 1 << 16
# As many letters say what a value is.
_ENOUGH: Final = 300
# What is filled in later: %s, ${NAME}, <name>, {name}.
_TEMPLATE: Final = re.compile(
    r"%(?:\(\w*\))?[sdrif]\W*|\$\{[^}]*\}?|\$\(.*|\$[A-Za-z_]+|<[^<>]*>?|\{[^{}]*\}?|\.{3}|\*+",
    re.DOTALL,
)
_SIGNATURES: Final = ("sig", "signature")
# Parameters of URLs that are secret where their values look so.
_CODES: Final = ("code", "appid", "sid")


def pair_spans(text: str) -> Iterator[Span]:
    """Where the values of secret names stand in a text."""
    is_signed = "sig=" in text or "code=" in text or "appid=" in text or "sid=" in text
    if not is_signed and not may_name_secrets(text):
        return
    if ":" in text or "=" in text:
        yield from _Scan(text).spans()
    for found in _followed().finditer(text):
        # Behind an option, or in SQL: --password S, PASSWORD 'S'.
        strength = strength_of_name(found["name"])
        if strength < WEAK:
            continue
        for start, end in _value_at(text, found.end(), strength, _item()):
            value = text[start:end]
            # Behind --token only what looks so: a tokenizer has one as well.
            if looks_random(value) if strength < SURE else not _is_prose(value):
                yield start, end
    for found in _beside().finditer(text) if "value" in text.lower() else ():
        yield from _plain_unless_prose(text, found.end(), strength_of_named(found["name"]))
    for found in _tags().finditer(text):
        if _is_hidden(found["value"], strength_of_name(found["name"])):
            yield found.span("value")
    for found in _spoken().finditer(text):
        if looks_random(found["value"]):
            yield found.span("value")


class _Scan:
    """Goes once through the names in a text that have a colon or an equals sign behind them."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Where the last value ended, and the last bracket by the strength of its name: what stands
        # before that was looked at.
        self._done, self._closed = 0, {VAGUE: 0, WEAK: 0, SURE: 0}

    def spans(self) -> Iterator[Span]:
        for found in _assigned().finditer(self._text):
            strength = self._strength(found)
            if strength == NONE or found.start() < self._done:
                continue
            for start, end in self._values(found, strength):
                self._done = max(self._done, end)
                yield start, end

    def _values(self, found: re.Match[str], strength: int) -> Iterator[Span]:
        text, at = self._text, found.end()
        if text[at : at + 1] in ("[", "{", "("):
            if at >= self._closed[strength]:
                yield from self._bracketed(at, strength)
        elif _is_header(found):
            yield from _header(text, found)
        elif strength == SURE and (items := _list().match(text, at)):
            for item in _list_item().finditer(text, at, items.end()):
                yield from _plain_unless_prose(text, item.end(), strength)
        elif found["sep"] == "=":
            is_weak = _is_in_url(found) or strength != WEAK
            yield from _value_at(text, at, strength if is_weak else VAGUE, _tight())
        elif "=" in found["sep"]:
            yield from _plain_unless_prose(text, at, strength if strength == SURE else VAGUE)
        else:
            yield from _plain_unless_prose(text, at, strength)
            # As in a signature: password: str = "..."
            if typed := _annotation().match(text, at):
                yield from _plain_unless_prose(text, typed.end(), strength)

    def _strength(self, found: re.Match[str]) -> int:
        strength = min(strength_of_name(found["name"]), SURE)
        if strength == SURE or "=" not in found["sep"]:
            return strength
        last = re.split(r"[_.-]", found["name"].lower())[-1]
        if last in _SIGNATURES:
            return SURE if _is_in_url(found) else VAGUE
        return VAGUE if last in _CODES and _is_in_url(found) else strength

    def _bracketed(self, at: int, strength: int) -> Iterator[Span]:
        """The texts in a list or an object, but for the keys of the latter."""
        depth = 0
        for number, found in enumerate(_bracket_parts().finditer(self._text, at)):
            self._closed[strength] = found.end()
            if found[0] in ("[", "{", "("):
                depth += 1
            elif found[0] in ("]", "}", ")"):
                depth -= 1
            elif found["key"] is None:
                group = found.lastgroup or "plain"
                is_shown = group == "plain" and (_is_prose(found[0]) or strength != SURE)
                if not is_shown and _is_hidden(found[group], strength):
                    yield found.span(group)
            if depth <= 0 or number > _MOST_ITEMS:
                return


def _is_in_url(found: re.Match[str]) -> bool:
    return found.start() > 0 and found.string[found.start() - 1] in "?&#" and found["sep"] == "="


def _is_header(found: re.Match[str]) -> bool:
    is_named = found["name"].lower().endswith(("authorization", "cookie"))
    return is_named and found["sep"] == ":" and not found["close"]


def _header(text: str, found: re.Match[str]) -> Iterator[Span]:
    """The rest of the line, or of the quotes around it, without the scheme."""
    at, most = found.end(), found.end() + _MOST_LETTERS
    ends = ["\n"]
    if found.start() and text[found.start() - 1] in "'\"":
        ends.append(text[found.start() - 1])
    stops = [stop for end in ends if (stop := text.find(end, at, most)) >= 0]
    rest = text[at : min(stops, default=most)].rstrip()
    first, space, more = rest.partition(" ")
    # The beginning says what it is.
    if found["name"].lower().endswith("cookie"):
        is_hidden = "=" in rest or looks_random(rest)
    elif space and (first.isalpha() or SCHEME.fullmatch(first)):
        at += len(rest) - len(more.lstrip())
        rest = more.strip()
        is_one = " " not in rest and SCHEME.fullmatch(first) is not None
        is_hidden = is_one or not _is_prose(rest[:_ENOUGH])
    else:
        is_hidden = not _is_prose(rest[:_ENOUGH])
    if rest and is_hidden and not _TEMPLATE.fullmatch(rest):
        yield at, at + len(rest)


def _plain_unless_prose(text: str, at: int, strength: int) -> Iterator[Span]:
    """The value at a place, if it is hidden. Words without quotes may be a text for people."""
    if _quote().match(text, at) is None:
        plain = _item().match(text, at, at + _ENOUGH)
        if plain is None or _is_prose(plain[0]):
            return
        strength = VAGUE if strength == WEAK else strength
    yield from _value_at(text, at, strength, _item())


def _value_at(text: str, at: int, strength: int, plain: re.Pattern[str]) -> Iterator[Span]:
    """The value at a place, in quotes or as far as a pattern matches, if it is hidden."""
    quote = _quote().match(text, at)
    if quote is not None:
        start = quote.end()
        end = _end_of_quoted(text, start, quote["slashes"], quote["quote"])
        if _is_hidden(text[start:end], strength):
            yield start, end
        return
    # The beginning says whether it is hidden, so that values in values take linear time.
    found = plain.match(text, at, at + _ENOUGH)
    if found is not None and _is_hidden(found[0], strength):
        whole = plain.match(text, at)
        yield (whole or found).span()


def _end_of_quoted(text: str, start: int, slashes: str, quote: str) -> int:
    """Where a quoted text ends; a quote that is not closed ends with its line."""
    if slashes or len(quote) > 1:
        end = text.find(slashes + quote, start, start + (1 << 16))
        if end >= 0:
            return end
    inside = _inside(quote[0]).match(text, start)
    return inside.end() if inside else start


def _is_hidden(value: str, strength: int) -> bool:
    return not _TEMPLATE.fullmatch(value) and is_secret(value, min(strength, SURE))


def _is_prose(value: str) -> bool:
    """Whether there are only words."""
    return all(
        word.strip(",.;:!?()").replace("_", "").replace(".", "").isalpha() for word in value.split()
    )


# Compiling these takes longer than importing the rest of this file. The quantifiers that end with +
# never give back what they matched, so that none of them takes more than linear time.


@cache
def _assigned() -> re.Pattern[str]:
    """A name, and the sign between it and its value."""
    return re.compile(
        r"(?<![\w.-])-{0,2}(?P<name>[A-Za-z_][\w.-]*+)(?P<close>\\*+[\"']?+\]?+)"
        r"(?P<sep>[ \t]*+(?:=>|:=|==?|:)(?:(?<==)[ \t]+)?)[ \t]*+"
    )


@cache
def _followed() -> re.Pattern[str]:
    """An option and the space before its value, or a name and the space before a quoted value."""
    return re.compile(
        r"(?<![\w.-])(?:--?(?P<dashed>)|)(?P<name>[A-Za-z_][\w.-]*+)[ \t]++"
        r"(?(dashed)(?!-)|(?=[\"']))"
    )


@cache
def _beside() -> re.Pattern[str]:
    """A name and the key of its value: ``"name": "DB_PASSWORD", "value": "..."``, or in YAML."""
    quote, sign = r"\\{0,9}+[\"']?+", r"[ \t]{0,9}+[:=][ \t]{0,9}+"
    naming, values = "|".join(NAMING), "|".join(VALUES)
    return re.compile(
        rf"(?i)(?<!\w)(?:{naming}){quote}{sign}{quote}(?P<name>[\w.-]{{1,100}}+){quote}"
        rf"[ \t]{{0,9}}+,?+\s{{0,99}}+{quote}(?:{values}){quote}{sign}"
    )


@cache
def _tags() -> re.Pattern[str]:
    """``<password>...</password>``"""
    return re.compile(r"<(?P<name>[A-Za-z_][\w.-]*+)>(?P<value>[^<>\s]++)<")


@cache
def _spoken() -> re.Pattern[str]:
    """A secret that looks random behind its name, without any sign."""
    return re.compile(
        r"(?i)(?<![\w-])(?:password|passwd|passphrase|secret|token|bearer|apikey)[ \t]+"
        r"(?P<value>[\w+/=~-]{16,}+)"
    )


@cache
def _quote() -> re.Pattern[str]:
    return re.compile(r"(?:[bBrRuUfF]{1,2}(?=[\"']))?(?P<slashes>\\*)(?P<quote>\"\"\"|'''|[\"'])")


@cache
def _inside(quote: str) -> re.Pattern[str]:
    return re.compile(rf"(?:[^{quote}\\\n]|\\.)*+", re.DOTALL)


@cache
def _tight() -> re.Pattern[str]:
    """A value in a query or a connection string."""
    return re.compile(r"[^&;\s\"'{}#]++")


@cache
def _item() -> re.Pattern[str]:
    """A value in YAML or a header."""
    return re.compile(r"[^\s\"',;{}\[\]()]++")


@cache
def _list() -> re.Pattern[str]:
    """A list of YAML below its name."""
    return re.compile(r"(?:\r?\n[ \t]*+-[ \t]++[^\n]++){1,100}")


@cache
def _list_item() -> re.Pattern[str]:
    return re.compile(r"\n[ \t]*+-[ \t]++")


@cache
def _annotation() -> re.Pattern[str]:
    return re.compile(r"\w++(?:\[[^\]\n]{0,80}\])?(?:[ \t]*\|[ \t]*\w++){0,4}[ \t]*=[ \t]*")


@cache
def _bracket_parts() -> re.Pattern[str]:
    """Brackets and the items between them; those in an object may be keys."""
    escaped = r"\\++(?P<q>[\"'])(?P<escaped>[^\"'\\\n]*+)\\++(?P=q)"
    double, single = r"\"(?P<double>(?:[^\"\\\n]|\\.)*+)\"", r"'(?P<single>(?:[^'\\\n]|\\.)*+)'"
    plain = r"(?P<plain>[^\s,:\"'\\\[\](){}]++)"
    return re.compile(
        rf"[\[\](){{}}]|(?:{escaped}|{double}|{single}|{plain})(?P<key>[ \t]*+[:=])?+"
    )
