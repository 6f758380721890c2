"""Difference: where two fingerprints part, as deep down as can be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from keepset.core.fingerprint.facts import Facts
from keepset.core.fingerprint.plain import ORDER
from keepset.core.record import record

ABSENT = "(absent)"

# What the content of an object is called, which has no name of its own.
_CONTENT = {"content", "items", "state"}


@record
class Difference:
    """One thing that changed: where, what it was and what it is now.

    Example:
        >>> print(Difference("map(decode) > global MEAN", "0.5", "0.25"))
        map(decode) > global MEAN: 0.5 -> 0.25

    Attributes:
        path: The way to what changed.
        old: What it was.
        new: What it is.
        old_source: The normalised source of a function that it was.
        new_source: The normalised source of a function that it is.
        is_order: Whether the keys of a mapping, or members or fields, are in another order.
        is_all: Whether nothing but the order of them changed.
    """

    path: str
    old: str
    new: str
    old_source: str = ""
    new_source: str = ""
    moves: bool = False  # written by the functions of the pipeline, so seldom the reason
    is_order: bool = False
    is_all: bool = True

    def __str__(self) -> str:
        if self.is_order:
            last = self.path.rpartition(" > ")[2]
            name = last.partition(" ")[2] or last
            only = "only " if self.is_all else ""
            return f"{self.path}: {only}the order of {name} changed (built from a set? sort it)"
        if self.old == self.new:
            return f"{self.path}: {self.new} has changed"
        return f"{self.path}: {self.old} -> {self.new}"

    def source_diff(self) -> str:
        """A unified diff of the normalised sources; empty unless both are known and differ."""
        if not self.old_source or not self.new_source:
            return ""
        import difflib

        lines = difflib.unified_diff(
            self.old_source.splitlines(), self.new_source.splitlines(), "old", "new", "", "", 2, ""
        )
        return "\n".join(lines)


def differences(old: Facts, new: Facts, *, name: str = "") -> list[Difference]:
    """What changed between two fingerprints: empty exactly when their digests are equal.

    Args:
        old: The facts that were kept.
        new: The facts of now.
        name: What the path of each difference starts with, such as ``"map(decode)"``.
    """
    return _Comparison(old, new).run((name,) if name else ())


class _Comparison:
    def __init__(self, old: Facts, new: Facts) -> None:
        self._roots = (old, new)
        # What occurs twice is spelled out once: these find the place.
        self._full_old, self._full_new = _spelled_out(old), _spelled_out(new)
        self._seen: set[tuple[str, str]] = set()

    def run(self, path: tuple[str, ...]) -> list[Difference]:
        old, new = self._roots
        if old.digest == new.digest:
            return []
        changed = self._compare(old, new, path) or [_difference(path, old, new)]
        return sorted(changed, key=lambda each: each.moves)

    def _compare(self, old: Facts, new: Facts, path: tuple[str, ...]) -> list[Difference]:
        if old.digest == new.digest or (old.digest, new.digest) in self._seen:
            return []
        self._seen.add((old.digest, new.digest))
        old = self._full_old.get(old.digest, old)
        new = self._full_new.get(new.digest, new)
        if old.kind != new.kind:
            return [_difference(path, old, new)]
        changed = [_difference(path, old, new)] if old.own != new.own else []
        ours, theirs = _numbered(old), _numbered(new)
        for key in chain(ours, (key for key in theirs if key not in ours)):
            if key[0] == ORDER:
                continue
            inner = (*path, key[0])
            if key in ours and key in theirs:
                parts = self._compare(ours[key], theirs[key], inner)
                moves = ours[key].moves or theirs[key].moves
                changed += [replace(part, moves=True) for part in parts] if moves else parts
            elif old.own == new.own:
                # Otherwise the change of the thing itself says why a part came or went.
                changed.append(_difference(inner, ours.get(key), theirs.get(key)))
        order = (ORDER, 0)
        if order in ours and order in theirs:
            was, now = ours[order], theirs[order]
            if not changed:
                changed += self._compare(was, now, (*path, ORDER))
            elif old.own == new.own and _have_same_keys(ours, theirs) and not was.children:
                # A key that came or went is another order in any case.
                others = self._compare(was, now, (*path, ORDER))
                changed += [replace(each, is_all=False) for each in others]
        # Parts that were seen elsewhere explain it; else it was in what the tree leaves out.
        explained = changed or any(
            (ours[key].digest, theirs[key].digest) in self._seen
            for key in ours.keys() & theirs.keys()
        )
        return changed if explained else [_difference(path, old, new)]


def changed_versions(old: Facts, new: Facts) -> list[Difference]:
    """The libraries whose version is not what it was; they count only in strict fingerprints."""
    names = sorted(old.versions.keys() | new.versions.keys())
    pairs = [(name, old.versions.get(name), new.versions.get(name)) for name in names]
    return [
        Difference(f"version of {name}", was, now)
        for name, was, now in pairs
        if was is not None and now is not None and was != now
    ]


def _difference(path: tuple[str, ...], old: Facts | None, new: Facts | None) -> Difference:
    if old is not None and new is not None and old.kind == new.kind == ORDER and len(path) > 1:
        named = path[:-1]
        while len(named) > 1 and named[-1] in _CONTENT:
            named = named[:-1]
        return Difference(" > ".join(named), old.text, new.text, is_order=True)
    where = " > ".join(path) or (new or old or Facts("", "", "")).kind
    if old is None or new is None:
        return Difference(where, old.text if old else ABSENT, new.text if new else ABSENT)
    return Difference(where, old.text, new.text, old.source, new.source)


def _numbered(facts: Facts) -> dict[tuple[str, int], Facts]:
    """The children by label and, where a label occurs more than once, by its occurrence."""
    result: dict[tuple[str, int], Facts] = {}
    counts: dict[str, int] = {}
    for label, child in facts.children:
        counts[label] = counts.get(label, -1) + 1
        result[label, counts[label]] = child
    return result


def _have_same_keys(
    ours: dict[tuple[str, int], Facts], theirs: dict[tuple[str, int], Facts]
) -> bool:
    """Whether two mappings have the same keys; not known of those that are hashed in one go."""
    return ours.keys() == theirs.keys() and not any(label in _CONTENT for label, _ in ours)


def _spelled_out(root: Facts) -> dict[str, Facts]:
    return {facts.digest: facts for facts in _walk(root) if facts.children or facts.source}


def _walk(facts: Facts) -> Iterator[Facts]:
    yield facts
    for _, child in facts.children:
        yield from _walk(child)
