"""The identity of a pipeline: the fingerprints of its stages, as a tree that can be explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from keepset.core.fingerprint import Facts, combine, fingerprint_of_value
from keepset.core.node import Node
from keepset.core.random import Randomness
from keepset.nodes.cache import Cache
from keepset.nodes.flat_map import FlatMap
from keepset.nodes.group_by_window import GroupByWindow
from keepset.nodes.interleave import Interleave
from keepset.nodes.prefetch import Prefetch
from keepset.nodes.with_options import WithOptions
from keepset.snapshot.stage import SnapshotStage

# Stages and parameters that change how elements are computed, and not which.
_PHYSICAL_STAGES = (Prefetch, WithOptions, Cache, SnapshotStage)
# Stages whose randomness is only for the pipelines that their functions open.
_OPENING = (FlatMap, Interleave, GroupByWindow, SnapshotStage)
_PHYSICAL_PARAMETERS = {"name", "parallelism", "wrap", "log_warning"}


def facts_of(node: Node) -> Facts:
    """The facts of a stage and of all before it."""
    while isinstance(node, _PHYSICAL_STAGES):
        node = node.parent
    labelled = [(label, facts) for label, facts in _parameters(node)]
    inputs = node.inputs
    for i, parent in enumerate(inputs):
        facts = facts_of(parent)
        labelled.append((facts.kind if len(inputs) == 1 else f"input {i}, {facts.kind}", facts))
    return combine(node.kind, node.title, labelled)


def snapshot_facts(node: Node, shard_func: Callable[..., Any] | None) -> Facts:
    """The facts of a snapshot of ``node``: a reader relies on the shards as well."""
    facts = facts_of(node)
    if shard_func is None:
        return facts
    shards = fingerprint_of_value(shard_func, name="shard_func")
    return combine("snapshot", "snapshot", [("shard_func", shards), (facts.kind, facts)])


def unseeded_stages(node: Node) -> Iterator[Node]:
    """The stages whose random choices nobody fixed."""
    for each in node.walk():
        randomness = each.randomness
        if randomness is not None and randomness.seed is None and not isinstance(each, _OPENING):
            yield each


def _parameters(node: Node) -> Iterator[tuple[str, Facts]]:
    for field in fields(node):
        if field.name in _PHYSICAL_PARAMETERS or not field.init:
            continue
        value = getattr(node, field.name)
        if isinstance(value, Node) or _holds_nodes(value):
            continue
        if isinstance(value, Randomness):
            value = {"seed": value.seed, "rerandomize": value.rerandomize}
        yield field.name, fingerprint_of_value(value, name=f"{node.title} > {field.name}")


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
