"""Mutations of JSON: values of other types, huge numbers, NaN, nesting, keys that come twice."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, Final

ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, -1, 0, 1, 2, 7, 1.5, -0.0, float("nan"), float("inf"), "", [], {}),
    *([0], [[]], [None], {"a": 1}, {"": None}, [{}], "0", "9", "1", "x" * 50, "\0", "é", "\udc80"),
    *(2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400),
    *("../../etc/passwd", "/etc/passwd", "segments/../../x", "int64", "float128", "object", "O"),
    *("1e999", "NaN", "2026-01-01", "$dtype", "__class__", "a.b", "a\nb"),
)
# In place of a text or a number of the document, to be written into it as it stands.
_RAW: Final = ("[" * 500 + "]" * 500, '{"a":' * 300 + "1" + "}" * 300, "1" * 5000, "-", "1e99999")
_PLACEHOLDER: Final = "@raw@"


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places of a JSON value, each as a container and a key."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        yield from places_in(value[key])


def mutate_value(document: Any, choose: random.Random) -> Any:
    """Change a value somewhere within a document; the document itself if nothing is in it."""
    places = list(places_in(document))
    if not places or choose.random() < 0.01:
        return choose.choice(ODD_VALUES)
    container, key = choose.choice(places)
    old, how = container[key], choose.random()
    if how < 0.08:
        del container[key]
    elif how < 0.16 and type(old) is int:
        container[key] = old + choose.choice((-1, 1, 2, 8, 64))
    elif how < 0.24:
        other, from_key = choose.choice(places)
        container[key] = copy.deepcopy(other[from_key]) if from_key != key else old
    elif how < 0.32:
        container[key] = [old] if choose.random() < 0.5 else {"a": old}
    elif how < 0.36 and isinstance(old, list):
        container[key] = old * choose.choice((2, 50))
    elif how < 0.40 and isinstance(old, dict):
        old[choose.choice(("", "a", "$dict", "format", "name", "x\0"))] = None
    elif how < 0.44:
        container[key] = str(old)[:1000]
    elif how < 0.48:
        container[key] = _PLACEHOLDER
    else:
        container[key] = choose.choice(ODD_VALUES)
    return document


def to_text(document: Any, choose: random.Random, **options: Any) -> str:
    """A document as JSON, perhaps with what no program writes: keys twice, nesting, long digits."""
    try:
        text = json.dumps(document, **options)
    except (ValueError, RecursionError):  # a document that was put into itself
        text = "[" * 2000
    text = text.replace(f'"{_PLACEHOLDER}"', choose.choice(_RAW))
    if choose.random() < 0.05 and text.startswith("{") and len(text) > 2:
        text = '{"format":1,"number":0,"stages":[],"x":1,' + text[1:]
    return text


def mutated(data: bytes, choose: random.Random) -> bytes:
    """JSON in which some values were changed; other bytes as they are."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    for _ in range(choose.choice((1, 1, 2))):
        document = mutate_value(document, choose)
    return to_text(document, choose).encode("utf-8", "surrogatepass")
