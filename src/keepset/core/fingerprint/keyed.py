"""Keyed: containers without the items under some of their keys, which functions write."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Set
from typing import Any

from keepset.core.fingerprint.plain import ORDER, token
from keepset.core.fingerprint.sketch import Part

_MAPPINGS = (dict, OrderedDict, Counter)


def is_mapping(value: Any) -> bool:
    """Whether items of this value can be left out by their keys."""
    return type(value) in _MAPPINGS


def is_list(value: Any) -> bool:
    """Whether items of this value can be left out by their places."""
    return type(value) is list


def without_keys(value: Any, keys: Set[Any]) -> Any:
    """A copy of a container without the items under these keys; a list keeps its length."""
    if isinstance(value, list):
        return [None if i in keys else item for i, item in enumerate(list(value))]
    kept = type(value)()
    for key, item in list(value.items()):
        if key not in keys:
            kept[key] = item
    return kept


def is_item_of(part: Part, container: Any, keys: Set[Any]) -> bool:
    """Whether a part of a container is an item under one of these keys, or the order of all."""
    if isinstance(container, list):
        return part.label.removeprefix("item ") in map(str, keys)
    # A key that is new is in the order, too.
    return part.label == ORDER or part.tag in {b"key" + (token(key) or b"") for key in keys}
