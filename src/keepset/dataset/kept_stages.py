"""The stages behind ``save`` and ``snapshot``, made of what a user passes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from keepset.codecs import normal_name
from keepset.core.dtypes import string
from keepset.core.fingerprint import Blind, Moment
from keepset.core.fingerprint.ignore import SEPARATOR
from keepset.core.node import Node
from keepset.core.spec import structure_and_leaves
from keepset.core.warn import warn_user
from keepset.dataset.loaded_stages import ReaderStage
from keepset.dataset.telling import tell
from keepset.errors import InvalidArgumentError
from keepset.snapshot.identity.pipeline_identity import Looks, unseeded_stages
from keepset.snapshot.identity.pipeline_identity import content_of_pipeline as content_of_pipeline
from keepset.snapshot.stage import SnapshotStage
from keepset.snapshot.writable import Writable
from keepset.storage import open_store

_FILE_ORDER = ("constant", "derived", "element", "")
_PREDICATES = {"filter", "take_while"}


def snapshot_stage(
    kind: type[Any],
    parent: Node,
    path: str | os.PathLike[str],
    *,
    compression: str | None,
    reader_func: Callable[[Any], Any] | None,
    shard_func: Callable[..., Any] | None,
    fingerprint: str | None,
    strict: bool,
    ignore: Sequence[str],
    num_shards: int | None,
    writable: bool,
    options: dict[str, Any],
    recipe: bool = True,
    **settings: Any,
) -> Node:
    """What keeps ``parent``, under its own fingerprint or a given one."""
    open_store(path, **options)  # a misspelt argument is one of the options, and an error at once
    if fingerprint is not None and (strict or ignore):
        name = "strict" if strict else "ignore"
        raise InvalidArgumentError(
            f"{name} is about the computed fingerprint, and fingerprint={fingerprint!r} takes its "
            "place; pass one of them"
        )
    kept = SnapshotStage(
        parent=parent,
        path=os.fspath(path),
        fingerprint=fingerprint,
        compression=normal_name(compression),
        shard_func=shard_func,
        strict=strict,
        ignore=tuple(ignore),
        store_options=options,
        reader=reader_func and ReaderStage(reader_func, num_shards, kind),
        tell=tell if recipe else None,
        **settings,
    )
    if fingerprint is None:
        _look_ahead(kept)
    return Writable(parent=kept) if writable else kept


def _look_ahead(stage: SnapshotStage) -> None:
    """Say now what the first pass would say: that something cannot be compared, or is not seen.

    The fingerprint itself is taken when a pass begins.
    """
    _warn_of_frozen_randomness(stage.parent)
    with Moment(light=True):
        facts = stage.identify(Looks(light=True), finds_blind=True).facts
    listed = {each.title for each in stage.parent.walk() if _gets_listed_names(each)}
    # A file that is always the same one comes first: it is the reason to warn.
    blind = sorted(facts.blind, key=lambda spot: (_cause(spot), _FILE_ORDER.index(spot.file)))
    for (title, label), spots in groupby(blind, key=_cause):
        first = next(spots)
        if first.file == "element" and title in listed:
            continue  # the files that the stages name count
        used = label.removeprefix("call ").removeprefix("use ")
        warn_user(
            f"{first.where} uses {used}, which the fingerprint of {stage.title} cannot see: "
            f"{first.remedy}; if its result is always the same, say so with ignore=[{label!r}]"
        )


def _gets_listed_names(node: Node) -> bool:
    """Whether all texts that the functions of a stage are given are names of ``list_files``."""
    return any(each.file_names is not None for each in node.walk()) and all(
        _yields_listed_names(parent) for parent in node.inputs
    )


def _yields_listed_names(node: Node) -> bool:
    if node.file_names is not None:
        return True
    if not node.inputs:
        known = node.known_spec()
        leaves = [] if known is None else structure_and_leaves(known[0])[1]
        return known is not None and not any(spec.dtype == string for spec in leaves)
    # What functions and readers yield is not what they are given; predicates let it pass.
    keeps = node.kind in _PREDICATES or not any(
        callable(getattr(node, field.name)) for field in fields(node)
    )
    is_reader = not (node.is_physical or type(node).__module__.startswith("keepset.nodes."))
    return keeps and not is_reader and all(map(_yields_listed_names, node.inputs))


def _cause(spot: Blind) -> tuple[str, str]:
    """The stage that uses something, and what it is."""
    return spot.where.partition(SEPARATOR)[0], spot.label


def _warn_of_frozen_randomness(node: Node) -> None:
    unseeded = [stage.title for stage in unseeded_stages(node)]
    if unseeded:
        warn_user(
            f"{', '.join(unseeded)} has no seed, and what it chooses is about to be kept for "
            "every later run; give it a seed, or move it behind the snapshot"
        )
