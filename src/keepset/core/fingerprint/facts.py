"""Facts: what a fingerprint was made from, as a small tree that can be kept and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from keepset.core.fingerprint.blind import Blind
from keepset.core.record import record
from keepset.errors import FingerprintError


@record
class Facts:
    """The fingerprint of one thing, and what went into it.

    The tree is for people: it is cut where it grows too deep or too wide, and what occurs twice is
    spelled out once. The digest always counts everything.

    Attributes:
        digest: 128 bits in hex; equal for equal values, in every process and on every machine.
        kind: What sort of thing it is: ``"int"``, ``"function"``, ``"array"``.
        text: A short description.
        own: Hex digest of the thing without its children, so that one can tell which changed.
        children: What it consists of, by label: captured variables, globals, items, attributes.
        source: For the user's own functions, their source without comments and docstrings.
        versions: Of a whole result, the libraries that it refers to by name only.
        fixed: The digest without what the walked functions themselves write (own state).
        firm: The digest without own state and without library objects that may settle.
        blind: Of a whole result, what the walk met and cannot see through.
        moves: Whether it is own state.
        places: The stamps of what holds own state, and the names in it.
        state: What each of these holds, as a ``StateAt``.
        has_caches: Whether functions or properties in it hold results for later calls.
        counts_results: Whether values that caches hold count in it.
        leaves_out_results: Whether some do not, because they are as functions made them.

    The last nine belong to this process: they are neither stored nor compared.
    """

    digest: str
    kind: str
    text: str
    own: str = ""
    children: tuple[tuple[str, Facts], ...] = ()
    source: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    fixed: str = field(default="", compare=False, repr=False)
    firm: str = field(default="", compare=False, repr=False)
    blind: tuple[Blind, ...] = field(default=(), compare=False, repr=False)
    moves: bool = field(default=False, compare=False, repr=False)
    places: frozenset[Any] = field(default=frozenset(), compare=False, repr=False)
    state: Mapping[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    has_caches: bool = field(default=False, compare=False, repr=False)
    counts_results: bool = field(default=False, compare=False, repr=False)
    leaves_out_results: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Where no own state was found, leaving it out changes nothing.
        self.__dict__["fixed"] = self.fixed or self.digest
        self.__dict__["firm"] = self.firm or self.fixed


def digest_of(*parts: bytes) -> bytes:
    """128 bits of the parts, each counted with its length."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def combine(kind: str, text: str, children: Iterable[tuple[str, Facts]]) -> Facts:
    """The facts of something made of parts that have facts already, such as a pipeline stage.

    Example:
        >>> from keepset.core.fingerprint import fingerprint_of_value
        >>> size = fingerprint_of_value(32)
        >>> combine("batch", "batch(32)", [("batch_size", size)]).children[0][1].text
        '32'
    """
    children = tuple(children)
    versions: dict[str, str] = {}
    blind: dict[Blind, None] = {}
    places: frozenset[Any] = frozenset()
    state: dict[Any, Any] = {}
    for _, child in children:
        places |= child.places
        state.update(child.state)
        versions.update(child.versions)
        blind.update(dict.fromkeys(child.blind))
    own = digest_of(kind.encode())

    def digest(of_child: Callable[[Facts], str]) -> str:
        parts = [
            item
            for label, child in children
            for item in (label.encode(), bytes.fromhex(of_child(child)))
        ]
        return digest_of(b"combined", own, *parts).hex()

    return Facts(
        digest(lambda child: child.digest),
        kind,
        text,
        own.hex(),
        children,
        versions=dict(sorted(versions.items())),
        fixed=digest(lambda child: child.fixed),
        firm=digest(lambda child: child.firm),
        blind=tuple(blind),
        places=places,
        state=state,
        has_caches=any(child.has_caches for _, child in children),
        counts_results=any(child.counts_results for _, child in children),
        leaves_out_results=any(child.leaves_out_results for _, child in children),
    )


def counting_versions(facts: Facts) -> Facts:
    """The same facts, in which the versions of the libraries count, too."""
    versions = {f"version of {name}": text for name, text in facts.versions.items()}
    children = [
        (label, Facts(digest_of(b"version", text.encode()).hex(), "version", text))
        for label, text in versions.items()
    ]
    parts = [f"{label} {text}".encode() for label, text in versions.items()]

    def strict(digest: str) -> str:
        return digest_of(b"strict", bytes.fromhex(digest), *parts).hex()

    return replace(
        facts,
        digest=strict(facts.digest),
        fixed=strict(facts.fixed),
        firm=strict(facts.firm),
        children=(*facts.children, *children),
    )


def counts_versions(facts: Facts) -> bool:
    """Whether these are facts in which versions count."""
    return any(child.kind == "version" for _, child in facts.children)


def facts_to_json(facts: Facts) -> dict[str, Any]:
    """Plain data that :func:`facts_from_json` reads back."""
    data: dict[str, Any] = {"digest": facts.digest, "kind": facts.kind, "text": facts.text}
    if facts.own:
        data["own"] = facts.own
    if facts.children:
        data["children"] = [[label, facts_to_json(child)] for label, child in facts.children]
    if facts.source:
        data["source"] = facts.source
    if facts.versions:
        data["versions"] = dict(facts.versions)
    return data


def facts_from_json(data: Any) -> Facts:
    """Read what :func:`facts_to_json` made; anything else is a :class:`FingerprintError`."""
    try:
        texts = {key: data.get(key, "") for key in ("digest", "kind", "text", "own", "source")}
        children = [(label, facts_from_json(child)) for label, child in data.get("children", ())]
        versions = dict(data.get("versions", {}))
        strings = [
            *texts.values(),
            *versions,
            *versions.values(),
            *(label for label, _ in children),
        ]
        if not texts["digest"] or not all(isinstance(text, str) for text in strings):
            raise TypeError("a text is missing or is not a text")
    except (AttributeError, TypeError, ValueError) as error:
        raise FingerprintError(
            f"{data!r:.60} does not describe a fingerprint ({error}); read what facts_to_json gave"
        ) from error
    return Facts(**texts, children=tuple(children), versions=versions)


def moving_path(facts: Facts) -> list[str] | None:
    """The path to the first state that functions write themselves."""
    for label, child in facts.children:
        if child.moves:
            return [label]
        below = moving_path(child)
        if below is not None:
            return [label, *below]
    return None
