"""The identity of a pipeline: the fingerprints of its stages, as a tree that can be explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from keepset.core.fingerprint import (
    Facts,
    Ignore,
    combine,
    counting_versions,
    fingerprints_of_values,
    once,
    reaches_what_is_written,
)
from keepset.core.lineage import mask_of
from keepset.core.node import Node
from keepset.core.parameter import declared
from keepset.core.random import Randomness
from keepset.core.secrets import Mask
from keepset.errors import InvalidArgumentError
from keepset.nodes.cache import Cache
from keepset.nodes.repeat import Repeat
from keepset.snapshot.files.sources import FILES, Sources
from keepset.storage.files import Listing, look_at


class Identity:
    """What a pipeline is known by at one moment.

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


class Looks:
    """How the files that stages name stood when they were looked at, each once.

    To be held together with the stages, by whose ids it knows them.

    Args:
        light: Do not look: enough to find out whether the rest can be compared.
    """

    def __init__(self, *, light: bool = False) -> None:
        self._light = light
        self._listings: dict[int, Listing | None] = {}
        self._outside: dict[int, Any] = {}

    def files_of(self, node: Node) -> Listing | None:
        if id(node) not in self._listings:
            self._listings[id(node)] = None if self._light else files_of(node)
        return self._listings[id(node)]

    def outside_of(self, node: Node) -> Any:
        if id(node) not in self._outside:
            self._outside[id(node)] = None if self._light else node.outside
        return self._outside[id(node)]

    def of_local_files(self) -> Looks:
        """Those at files whose changes are noticed in another way."""
        local = Looks()
        local._listings = self._listings
        return local

    def forget(self) -> None:
        """Look again the next time."""
        self._listings.clear()
        self._outside.clear()


def identify(
    node: Node,
    shard_func: Callable[..., Any] | None = None,
    *,
    strict: bool = False,
    ignore: Sequence[str] = (),
    looks: Looks | None = None,
    spelled_out: bool = True,
    finds_blind: bool = False,
) -> Identity:
    """The identity of a snapshot of ``node``: a reader relies on the shards as well.

    Args:
        node: The last stage before the snapshot.
        shard_func: The function that names the shard of an element.
        strict: Whether the versions of libraries count.
        ignore: The names of variables that do not count, as ``explain`` prints them.
        looks: What is known of files already; they are looked at otherwise.
        spelled_out: Whether the facts describe what they were made from, or are digests only.
        finds_blind: Whether to look for what the fingerprint cannot see through.

    Raises:
        FingerprintError: Something has no content that could be compared.
        InvalidArgumentError: A name in ``ignore`` matches nothing, if ``finds_blind``.
    """
    left_out, walk = Ignore(ignore), _Walk(looks or Looks(), mask_of(node))
    make = walk.add(node)
    shards = None if shard_func is None else walk.note("shard_func", shard_func)
    # The versions of libraries are among what is spelled out.
    found = fingerprints_of_values(
        walk.values,
        ignore=left_out,
        spelled_out=spelled_out or strict,
        finds_blind=finds_blind,
    )
    # Names of calls are met only where they are looked for: when the stage is built.
    unused = [name for name in ignore if name not in left_out.used] if finds_blind else []
    if unused:
        raise InvalidArgumentError(
            f"ignore={unused!r} matches no variable that the stages before the snapshot use; write "
            "the names that ks.explain(ds, path) prints, such as 'global LOG_PATH'"
        )
    facts = make(found)
    if shards is not None:
        parts = [("shard_func", found[shards]), (facts.kind, facts)]
        facts = combine("snapshot", "snapshot", parts)
    identity = Identity(facts, walk.listings)
    return identity.strict() if strict else identity


def content_of_pipeline(node: Node) -> dict[str, Any]:
    """What a pipeline counts as where a function of another one uses it.

    The content of its files is not compared then: all that is known of how they stand counts.
    """
    while _is_passed_over(node, is_read_again=True):
        [node] = node.inputs
    content: dict[str, Any] = {"stage": node.kind}
    found = files_of(node)
    if found is not None:
        return content | {FILES: found.stamp}
    content |= dict(_parameters(node))
    if (outside := node.outside) is not None:
        content[FILES] = outside
    return content | {"inputs": [content_of_pipeline(each) for each in node.inputs]}


def _read_again(root: Node) -> set[Node]:
    """The stages that a pass over ``root`` may read more than once."""
    counts = Counter(root.walk())
    repeated = (inner for node in counts if isinstance(node, Repeat) for inner in node.walk())
    return {*repeated, *(node for node, count in counts.items() if count > 1)}


def _is_passed_over(node: Node, is_read_again: bool) -> bool:
    """Whether a stage has the identity of its parent.

    A cache that is read again gives what its parent gave the first time. Its parent alone may give
    another order then, or what functions with state of their own have come to.
    """
    return node.is_passed_over and not (is_read_again and isinstance(node, Cache))


def may_replay(node: Node) -> bool:
    """Whether a stage may give what is stored, so that those before it do not run."""
    return node.kind == "snapshot" and getattr(node, "mode", None) != "passthrough"


def uses_state_of(root: Node, inner: Node) -> bool:
    """Whether functions of stages behind ``inner`` reach what functions before it write."""
    before = set(inner.walk())
    behind = [node for node in root.walk() if node not in before]
    return reaches_what_is_written(values_of_stages(behind), values_of_stages(list(before)))


def values_of_stages(nodes: Sequence[Node]) -> list[tuple[str, Any]]:
    """The parameters of some stages that count, each with its name."""
    return [
        (f"{node.title} > {name}", value) for node in nodes for name, value in _parameters(node)
    ]


def unseeded_stages(node: Node) -> Iterator[Node]:
    """The stages that draw a seed of their own."""
    for each in node.walk():
        randomness = each.randomness
        if randomness is not None and randomness.known_seed is None and not each.opens_pipelines:
            yield each


def facts_of_stage(node: Node, ignore: Ignore | None = None) -> Facts:
    """The facts of a stage alone: its parameters, without files and without its inputs."""
    named = list(_parameters(node))
    values = [(f"{node.title} > {name}", value) for name, value in named]
    found = fingerprints_of_values(values, ignore=ignore, finds_blind=False)
    labels = [name for name, _ in named]
    return combine(node.kind, node.kind, zip(labels, found, strict=True))


def files_of(node: Node) -> Listing | None:
    """The files that a stage names, as they stand; None if it names none."""
    names = node.file_names
    return None if names is None else once(node, lambda: look_at(names))


class _Walk:
    """Collects what stages are made of, so that all of it is walked together.

    A function of one stage may write what one of another stage reads.
    """

    def __init__(self, looks: Looks, mask: Mask) -> None:
        self._looks, self._mask = looks, mask
        self.listings: list[Listing] = []
        self.values: list[tuple[str, Any]] = []
        self._again: set[Node] = set()

    def note(self, name: str, value: Any) -> int:
        """Add a value; the place at which its facts will be found."""
        self.values.append((name, value))
        return len(self.values) - 1

    def add(self, node: Node) -> Callable[[list[Facts]], Facts]:
        """Add a stage and all before it; makes its facts of those that were found."""
        self._again = _read_again(node)
        return self._add(node)

    def _add(self, node: Node) -> Callable[[list[Facts]], Facts]:
        while _is_passed_over(node, node in self._again):
            if node in self._again and may_replay(node):
                return self._add_read_again(node)
            [node] = node.inputs
        listing = self._looks.files_of(node)
        if listing is not None:
            self.listings.append(listing)
            files = Facts(listing.outline, FILES, str(listing))
            return lambda _: combine(node.kind, self._mask.text(node.title), [(FILES, files)])
        named = list(_parameters(node))
        if (outside := self._looks.outside_of(node)) is not None:
            named.append((FILES, outside))
        places = [(name, self.note(f"{node.title} > {name}", value)) for name, value in named]
        parents = [self._add(parent) for parent in node.inputs]

        def make(found: list[Facts]) -> Facts:
            labelled = [(name, found[place]) for name, place in places]
            for i, parent in enumerate(parents):
                facts = parent(found)
                label = facts.kind if len(parents) == 1 else f"input {i}, {facts.kind}"
                labelled.append((label, facts))
            return combine(node.kind, self._mask.text(node.title), labelled)

        return make

    def _add_read_again(self, node: Node) -> Callable[[list[Facts]], Facts]:
        """A snapshot that is read again: functions with own state would have gone on from there."""
        parent = self._add(node.inputs[0])

        def make(found: list[Facts]) -> Facts:
            facts = parent(found)
            if not facts.places:
                return facts
            return combine(node.kind, node.kind, [(facts.kind, facts)])

        return make


def _parameters(node: Node) -> Iterator[tuple[str, Any]]:
    """The parameters of a stage that count, and what they count as."""
    kind = type(node)
    if not kind.__module__.startswith("keepset."):
        # A stage of the user's own: its code says what the fields do, and its name is not ours.
        yield "class", kind
    for field in fields(node):
        if not field.init or not declared(field).identity:
            continue
        value = getattr(node, field.name)
        if node.kind == "from_generator" and (arguments := getattr(node, "args", None)):
            # They go by the names of the generator's parameters, which may be those of secrets.
            if field.name == "args":
                continue
            value = partial(value, *arguments) if field.name == "generator" else value
        if isinstance(value, Node) or _holds_nodes(value):
            continue
        if isinstance(value, Randomness):
            value = {"seed": value.known_seed, "rerandomize": value.rerandomize}
        yield field.name, value


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
