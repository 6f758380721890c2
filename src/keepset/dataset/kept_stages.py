"""The stages behind ``save`` and ``snapshot``, made of what a user passes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from keepset.codecs import normal_name
from keepset.core.fingerprint import facts_to_json
from keepset.core.node import Node
from keepset.dataset.loaded_stages import ReaderStage
from keepset.dataset.telling import tell
from keepset.errors import InvalidArgumentError
from keepset.snapshot.identity import digest_of_pipeline as digest_of_pipeline
from keepset.snapshot.identity import identify, unseeded_stages
from keepset.snapshot.stage import SnapshotStage
from keepset.snapshot.writable import Writable
from keepset.storage import open_store


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
    num_shards: int | None,
    writable: bool,
    options: dict[str, Any],
    recipe: bool = True,
    **settings: Any,
) -> Node:
    """What keeps ``parent``, under its own fingerprint or a given one."""
    facts = sources = None
    open_store(path, **options)  # a misspelt argument is one of the options, and an error at once
    if fingerprint is None:
        found = identify(parent, shard_func)
        if strict:
            found = found.strict()
        fingerprint, facts = found.fingerprint, facts_to_json(found.facts)
        sources = found.sources
        _warn_of_frozen_randomness(parent)
    elif strict:
        raise InvalidArgumentError(
            "strict counts library versions in the computed fingerprint; with a fingerprint of "
            "your own, put them in there"
        )
    kept = SnapshotStage(
        parent=parent,
        path=os.fspath(path),
        fingerprint=fingerprint,
        compression=normal_name(compression),
        shard_func=shard_func,
        facts=facts,
        strict=strict,
        sources=sources,
        store_options=options,
        reader=reader_func and ReaderStage(reader_func, num_shards, kind),
        tell=tell if recipe else None,
        **settings,
    )
    return Writable(parent=kept) if writable else kept


def _warn_of_frozen_randomness(node: Node) -> None:
    unseeded = [stage.title for stage in unseeded_stages(node)]
    if unseeded:
        warnings.warn(
            f"{', '.join(unseeded)} has no seed, and what it chooses is about to be kept for "
            "every later run; give it a seed, or move it behind the snapshot",
            stacklevel=4,
        )
