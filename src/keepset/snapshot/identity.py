"""The identity of a pipeline: the fingerprints of its stages, as a tree that can be explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from keepset.core.fingerprint import Facts, combine, counting_versions, fingerprint_of_value, once
from keepset.core.fingerprint.facts import digest_of
from keepset.core.node import Node
from keepset.core.parameter import declared
from keepset.core.random import Randomness
from keepset.snapshot.files.sources import FILES, Sources
from keepset.storage.files import Listing, look_at


class Identity:
    """What a pipeline is known by.

    Attributes:
        facts: Those of its stages, in which files count by name and size.
        sources: The files that it names, if it names any, which count by how they stand.
    """

    def __init__(self, facts: Facts, listings: Sequence[Listing]) -> None:
        self.facts, self._listings = facts, tuple(listings)
        self.sources = Sources(facts.digest, self._listings) if listings else None

    @property
    def fingerprint(self) -> str:
        return self.facts.digest if self.sources is None else self.sources.fingerprint

    def strict(self) -> Identity:
        """The identity of the same pipeline, to which the versions of libraries belong."""
        return Identity(counting_versions(self.facts), self._listings)


def identify(node: Node, shard_func: Callable[..., Any] | None = None) -> Identity:
    """The identity of a snapshot of ``node``: a reader relies on the shards as well."""
    listings: list[Listing] = []
    facts = _facts_of(node, listings)
    if shard_func is not None:
        shards = fingerprint_of_value(shard_func, name="shard_func")
        facts = combine("snapshot", "snapshot", [("shard_func", shards), (facts.kind, facts)])
    return Identity(facts, listings)


def digest_of_pipeline(node: Node) -> str:
    """What a pipeline counts as where a function of another one uses it.

    Nobody compares the content of its files then: a new time counts as a change.
    """
    identity = identify(node)
    if identity.sources is None:
        return identity.facts.digest
    times = [bytes.fromhex(listing.times) for listing in identity.sources.listings]
    return digest_of(bytes.fromhex(identity.facts.digest), *times).hex()


def unseeded_stages(node: Node) -> Iterator[Node]:
    """The stages whose random choices nobody fixed."""
    for each in node.walk():
        randomness = each.randomness
        if randomness is not None and randomness.seed is None and not each.opens_pipelines:
            yield each


def facts_of_stage(node: Node) -> Facts:
    """The facts of a stage alone: its parameters, without files and without its inputs."""
    return combine(node.kind, node.kind, list(_parameters(node)))


def files_of(node: Node) -> Listing | None:
    """The files that a stage names, as they stand; None if it names none."""
    names = node.file_names
    return None if names is None else once(node, lambda: look_at(names))


def _facts_of(node: Node, listings: list[Listing]) -> Facts:
    """The facts of a stage and of all before it; the files they name are added to ``listings``."""
    while node.is_passed_over:
        [node] = node.inputs
    found = files_of(node)
    if found is not None:
        listings.append(found)
        files = Facts(found.outline, FILES, str(found))
        return combine(node.kind, node.title, [(FILES, files)])
    labelled = list(_parameters(node))
    if (outside := node.outside) is not None:
        labelled.append(("files", fingerprint_of_value(outside, name=f"{node.title} > files")))
    inputs = node.inputs
    for i, parent in enumerate(inputs):
        facts = _facts_of(parent, listings)
        labelled.append((facts.kind if len(inputs) == 1 else f"input {i}, {facts.kind}", facts))
    return combine(node.kind, node.title, labelled)


def _parameters(node: Node) -> Iterator[tuple[str, Facts]]:
    kind = type(node)
    if not kind.__module__.startswith("keepset."):
        # A stage of the user's own: its code says what the fields do, and its name is not ours.
        yield "class", fingerprint_of_value(kind, name=f"{node.title} > class")
    for field in fields(node):
        if not field.init or not declared(field).identity:
            continue
        value = getattr(node, field.name)
        if isinstance(value, Node) or _holds_nodes(value):
            continue
        if isinstance(value, Randomness):
            value = {"seed": value.known_seed, "rerandomize": value.rerandomize}
        yield field.name, fingerprint_of_value(value, name=f"{node.title} > {field.name}")


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
