"""The stages behind ``save`` and ``snapshot``, made of what a user passes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from keepset.codecs import normal_name
from keepset.core.node import Node
from keepset.dataset.early_warnings import warn_early
from keepset.dataset.loaded_stages import ReaderStage
from keepset.dataset.telling import tell
from keepset.errors import InvalidArgumentError
from keepset.snapshot.identity.pipeline_identity import content_of_pipeline as content_of_pipeline
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
    ignore: Iterable[str],
    num_shards: int | None,
    writable: bool,
    options: dict[str, Any],
    recipe: bool = True,
    **settings: Any,
) -> Node:
    """What keeps ``parent``, under its own fingerprint or a given one."""
    open_store(path, **options)  # a misspelt argument is one of the options, and an error at once
    ignore = _names(ignore)
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
        ignore=ignore,
        store_options=options,
        reader=reader_func and ReaderStage(reader_func, num_shards, kind),
        tell=tell if recipe else None,
        **settings,
    )
    if fingerprint is None:
        warn_early(kept)
    return Writable(parent=kept) if writable else kept


def _names(ignore: Iterable[str]) -> tuple[str, ...]:
    """What is left out of the fingerprint; an iterator gives it only once."""
    if isinstance(ignore, Iterable) and not isinstance(ignore, str):
        names = tuple(ignore)
        if all(isinstance(name, str) for name in names):
            return names
    raise InvalidArgumentError(
        f"ignore is a list of names such as 'global SCALE', not {ignore!r:.60}; pass those that "
        "keepset.explain prints"
    )
