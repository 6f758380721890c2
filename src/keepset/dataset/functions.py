"""The functions beside the methods: ``save``, ``load``, ``snapshot`` and ``explain``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keepset.dataset import Dataset
from keepset.dataset.base import node_of

if TYPE_CHECKING:
    from keepset.snapshot.explaining import Explanation


def save(
    dataset: Dataset,
    path: str | os.PathLike[str],
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    *,
    format: str = "keepset",
    progress: bool | None = None,
    **options: Any,
) -> None:
    """Keep all elements of a data set under ``path``; see :meth:`Dataset.save`.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp()
        >>> save(Dataset.range(3), path)
        >>> len(load(path))
        3
    """
    dataset.save(path, compression, shard_func, format=format, progress=progress, **options)


def load(
    path: str | os.PathLike[str],
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[[Any], Any] | None = None,
    wait: bool = False,
    *,
    fingerprint: str | None = None,
    num_shards: int | None = None,
    verify: bool = True,
    writable: bool = False,
    partial: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    **options: Any,
) -> Dataset:
    """The data set that was kept under ``path``; see :meth:`Dataset.load`."""
    return Dataset.load(
        path,
        element_spec,
        compression,
        reader_func,
        wait,
        fingerprint=fingerprint,
        num_shards=num_shards,
        verify=verify,
        writable=writable,
        partial=partial,
        cache_dir=cache_dir,
        cache_bytes=cache_bytes,
        **options,
    )


def snapshot(
    path: str | os.PathLike[str],
    compression: str | None = "AUTO",
    reader_func: Callable[[Any], Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
    **options: Any,
) -> Callable[[Dataset], Dataset]:
    """A snapshot for :meth:`Dataset.apply`; the options are those of :meth:`Dataset.snapshot`.

    Example:
        >>> import tempfile
        >>> ds = Dataset.range(3).apply(snapshot(tempfile.mkdtemp()))
        >>> [int(x) for x in ds]
        [0, 1, 2]
    """

    def apply(dataset: Dataset) -> Dataset:
        return dataset.snapshot(path, compression, reader_func, shard_func, **options)

    return apply


def explain(dataset: Dataset, path: str | os.PathLike[str], **options: Any) -> Explanation:
    """Say whether what is kept at ``path`` would be replayed for a pipeline, and if not, why.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp()
        >>> _ = list(Dataset.range(5).batch(2).snapshot(path))
        >>> explain(Dataset.range(5).batch(2), path).hit
        True
        >>> explain(Dataset.range(5).batch(3), path).hit
        False
    """
    from keepset.snapshot.explaining import explain_node

    explanation = explain_node(node_of(dataset), path, options)
    return explanation
