"""Plain data: large lists and dicts of nothing but plain values, hashed without a walk.

Annotations, vocabularies and tables that were read from JSON hold millions of numbers and texts. A
vertex for each would take minutes. Whether there is anything else among them is found out level by
level, and what they hold is written down by ``marshal``, both in C. Version 2 of its format has no
references, so the bytes depend on the values and their order alone, in every process.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Set
from itertools import chain, islice
from typing import Any

import xxhash

from keepset.core.fingerprint.facts import Facts, digest_of
from keepset.core.fingerprint.sketch import shortened

# Below this many values, people are told of each of them.
LARGE = 4096
_LARGEST = 20_000_000
_MAX_DEPTH = 100
# How often one container may be in others, on average, for their content to be written out.
_MOST_REPEATED = 8
# How many items of the outermost container are written down at a time.
_SLICE = 10_000
# How much is said to people.
_MAX_CHILDREN, _MAX_SHOWN = 100, 3

_NUMBERS = {int, float, bool, type(None), complex}
_CONTAINERS = {list, tuple, dict}
_PLAIN = _NUMBERS | _CONTAINERS | {str, bytes}
_MARSHAL_VERSION = 2


def is_deep(value: Any) -> bool:
    """Whether containers are nested too deep for this, or contain themselves."""
    return type(value) in _CONTAINERS and sum(1 for _ in _levels(value)) > _MAX_DEPTH


def large_plain_digest(value: Any) -> bytes | None:
    """128 bits of a large container of plain values; None for everything else."""
    if type(value) not in _CONTAINERS or not value or not _is_large_and_plain(value):
        return None
    state = xxhash.xxh3_128(type(value).__name__.encode())
    items = iter(_items(value))
    try:
        while piece := list(islice(items, _SLICE)):
            state.update(marshal.dumps(piece, _MARSHAL_VERSION))
    except ValueError:
        return None  # nested deeper than marshal goes
    return b"data" + state.digest()


def holds_any(value: Any, ids: Set[int]) -> bool:
    """Whether one of the containers inside large plain data is one of these."""
    if not ids:
        return False
    inside = (filter(_is_container, values) for values in _levels(value))
    return any(not ids.isdisjoint(map(id, containers)) for containers in inside)


def data_facts(
    value: Any, digest: bytes, own: bytes, shown: Callable[[str], str], depth: int = 0
) -> Facts:
    """What is said to people of large plain data: its size, and which part of it changed.

    Args:
        value: The container.
        digest: That of all of it.
        own: That of its own content.
        shown: Hides secrets in the name of an item.
        depth: How far inside the data it is.
    """
    kind, items = type(value).__name__, _items(value)
    text = f"{kind} of {len(items):,} item{'' if len(items) == 1 else 's'}"
    children: list[tuple[str, Facts]] = []
    if len(items) <= _MAX_CHILDREN and depth < _MAX_SHOWN:
        named = items if isinstance(value, dict) else enumerate(items)
        word = "key" if isinstance(value, dict) else "item"
        for name, item in named:
            inner = digest_of(marshal.dumps(item, _MARSHAL_VERSION))
            label = shown(f"{word} {shortened(repr(name))}")
            if type(item) in _CONTAINERS:
                children.append((label, data_facts(item, inner, inner, shown, depth + 1)))
            else:
                said = repr(item) if type(item) in _NUMBERS else f"a {type(item).__name__}"
                facts = Facts(inner.hex(), type(item).__name__, shortened(said), inner.hex())
                children.append((label, facts))
        # What is in the children is not its own; the order of a dict is.
        names = [name for name, _ in items] if isinstance(value, dict) else len(items)
        own = digest_of(kind.encode(), marshal.dumps(names, _MARSHAL_VERSION))
    return Facts(digest.hex(), kind, text, own.hex(), tuple(children))


def _is_container(value: Any) -> bool:
    return type(value) in _CONTAINERS


def _items(value: Any) -> list[Any]:
    # A copy: another thread may write it.
    return list(value.copy().items()) if isinstance(value, dict) else list(value)


def _is_large_and_plain(value: Any) -> bool:
    total = 0
    for values in _levels(value):
        total += len(values)
        if total >= _LARGEST or not set(map(type, values)) <= _PLAIN:
            return False
    return total >= LARGE


def _levels(value: Any) -> Iterator[list[Any]]:
    """All that is inside a container, then all that is inside that, to some depth."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        pairs = [_items(each) for each in level if type(each) is dict]
        others = [each for each in level if type(each) is not dict]
        pair_values = chain.from_iterable(chain.from_iterable(pairs))
        values = list(islice(chain(chain.from_iterable(others), pair_values), _LARGEST))
        if not values:
            return
        yield values
        level = [each for each in values if type(each) in _CONTAINERS]
        if not level:
            return
        if len(level) > _MOST_REPEATED * len(set(map(id, level))):
            break  # the same few again and again: a walk looks at each once
    yield [object()]  # very deep, or it contains itself
