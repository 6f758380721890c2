"""Methods that keep a data set on disk, or give back one that was kept.

What they do is in ``kept_stages``, ``loaded_stages`` and ``saving``, which are imported when one of
them is first called: it is half of the library, and those who keep nothing need not wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from keepset.dataset.arguments import positive
from keepset.dataset.base import BaseDataset
from keepset.dataset.telling import tell
from keepset.errors import InvalidArgumentError
from keepset.snapshot.writing.sizes import CHUNK_BYTES, SEGMENT_BYTES

if TYPE_CHECKING:
    from types import ModuleType


def kept_stages() -> ModuleType:
    """The module that does the work."""
    import keepset.dataset.kept_stages as module

    return module


def loaded_stages() -> ModuleType:
    """As ``kept_stages``, for those who only read."""
    import keepset.dataset.loaded_stages as module

    return module


class Keeping(BaseDataset):
    """``save``, ``load`` and what goes with them."""

    __slots__ = ()

    def __keepset_fingerprint__(self) -> dict[str, Any]:
        content: dict[str, Any] = kept_stages().content_of_pipeline(self._node)
        return content

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: None = None,
        *,
        format: str = "keepset",
        progress: bool | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        recipe: bool = True,
        **options: Any,
    ) -> None:
        """Keep all elements under ``path``, so that :meth:`load` gives them back.

        Saving again adds a new version, which takes the place of the old one only when it is
        whole.

        Args:
            path: A folder, or the url of an object store such as ``s3://bucket/name``.
            compression: None, ``"LZ4"``, ``"ZSTD"``, ``"GZIP"``, ``"SNAPPY"`` or ``"AUTO"``.
            shard_func: Called with each element, gives the number of the shard that it belongs to.
            checkpoint_args: Taken for the sake of ``tf.data`` and not used.
            format: ``"keepset"``, or ``"tensorflow"`` for what ``tf.data.Dataset.load`` reads.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            chunk_bytes: About how much is read, checked and decompressed at once.
            segment_bytes: About how large a file grows.
            recipe: Whether to store the recipe of the pipeline beside the elements. Secrets are
                never part of it.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> path = tempfile.mkdtemp()
            >>> Dataset.range(5).save(path)
            >>> [int(x) for x in Dataset.load(path)]
            [0, 1, 2, 3, 4]
        """
        if format not in ("keepset", "tensorflow"):
            raise InvalidArgumentError(
                f"format {format!r} is unknown; choose 'keepset' or 'tensorflow'"
            )
        if format == "tensorflow":
            from keepset.exchange.tensorflow.saving import save_tensorflow

            save_tensorflow(
                self._node,
                path,
                compression=compression,
                shard_func=shard_func,
                progress=progress,
                options=options,
            )
            return
        from keepset.snapshot.writing.saving import save_node

        save_node(
            self._node,
            path,
            compression=compression,
            shard_func=shard_func,
            progress=progress,
            chunk_bytes=positive(chunk_bytes, "chunk_bytes"),
            segment_bytes=positive(segment_bytes, "segment_bytes"),
            options=options,
            tell=tell if recipe else None,
        )

    @classmethod
    def load(
        cls,
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
    ) -> Self:
        """The data set that was kept under ``path``. Only the path is needed.

        What TensorFlow saved (``Dataset.save``, ``snapshot``, ``distributed_save``) is read too.

        Args:
            path: Where it was saved, or the path of a snapshot.
            element_spec: An error is raised if it is not that of the elements.
            compression: An error is raised if it is not the one that was used.
            reader_func: Gets a data set of data sets, one per shard, and returns a data set.
            wait: Whether to wait for a writer that is still at work.
            fingerprint: Which one, where the path holds several snapshots.
            num_shards: How many data sets ``reader_func`` gets if there was no ``shard_func``.
            verify: Whether every chunk is compared with its checksum the first time it is read.
            writable: Whether arrays are copies that may be changed in place; what comes out is
                read-only otherwise.
            partial: Whether to read the elements that are there of what TensorFlow did not finish.
            cache_dir: For an object store: a local folder that keeps what was read, for the next
                time and for other processes.
            cache_bytes: How much that folder may take, 10 GiB by default; what was used longest
                ago goes first.
            options: For an object store: credentials, endpoint and such.
        """
        node = loaded_stages().load_stage(
            cls,
            path,
            element_spec=element_spec,
            compression=compression,
            reader_func=reader_func,
            wait=wait,
            fingerprint=fingerprint,
            num_shards=num_shards,
            verify=verify,
            writable=writable,
            partial=partial,
            options=loaded_stages().with_cache(path, options, cache_dir, cache_bytes),
        )
        return cls(node)

    def snapshot(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "AUTO",
        reader_func: Callable[[Any], Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        *,
        mode: str = "auto",
        fingerprint: str | None = None,
        strict: bool = False,
        ignore: Iterable[str] = (),
        on_pending: str = "passthrough",
        on_write_error: str = "warn",
        resume: bool = True,
        pending_snapshot_expiry_seconds: float = 60.0,
        num_shards: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        writable: bool = False,
        recipe: bool = True,
        progress: bool | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        **options: Any,
    ) -> Self:
        """Keep what the stages so far give while it is first consumed, and replay it ever after.

        A first pass that was interrupted goes on where it stopped. If the stages before it change
        in what they compute, they are run again.

        Args:
            path: A folder, or the url of an object store such as ``s3://bucket/name``.
            compression: None, ``"LZ4"``, ``"ZSTD"``, ``"GZIP"``, ``"SNAPPY"``, or ``"AUTO"``,
                which looks at the data.
            reader_func: Gets a data set of data sets, one per shard, and returns a data set.
            shard_func: Called with each element, gives the number of the shard that it belongs to.
            mode: ``"auto"``, or ``"read"`` (never compute), ``"write"`` (compute again) or
                ``"passthrough"`` (neither keep nor read).
            fingerprint: A name of your own for the data, in place of the computed one.
            strict: Whether a new version of a library that the functions use counts as a change.
            ignore: Variables that do not count, by the names that :func:`keepset.explain` prints,
                such as ``"global LOG_PATH"``.
            on_pending: What to do while another process writes: ``"passthrough"`` computes
                without keeping, ``"wait"`` waits, ``"follow"`` reads along, ``"error"`` raises.
            on_write_error: What to do if elements cannot be stored, because the disk is full,
                locked or out of reach. What may pass is tried again for up to a minute; then
                ``"warn"`` goes on without storing, and ``"raise"`` raises the error.
            resume: Whether to go on with an interrupted pass rather than to start over.
            pending_snapshot_expiry_seconds: How long a writer on another machine may be silent
                before it is taken for dead.
            num_shards: How many data sets ``reader_func`` gets if there is no ``shard_func``.
            chunk_bytes: About how much is read, checked and decompressed at once.
            segment_bytes: About how large a file grows.
            writable: Whether arrays are copies that may be changed in place; what comes out is
                read-only otherwise.
            recipe: Whether to store the recipe of the pipeline beside the elements. Secrets are
                never part of it.
            progress: Whether a first pass shows a line that moves. By default it does on a
                terminal and in a notebook, after two seconds, unless ``KEEPSET_PROGRESS=0``.
            cache_dir: For an object store: a local folder that keeps what was read, for the next
                time and for other processes.
            cache_bytes: How much that folder may take, 10 GiB by default; what was used longest
                ago goes first.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> ds = Dataset.range(3).map(lambda x: x * x).snapshot(tempfile.mkdtemp())
            >>> [int(x) for x in ds], [int(x) for x in ds]
            ([0, 1, 4], [0, 1, 4])
        """
        node = kept_stages().snapshot_stage(
            type(self),
            self._node,
            path,
            compression=compression,
            reader_func=reader_func,
            shard_func=shard_func,
            mode=mode,
            fingerprint=fingerprint,
            strict=strict,
            ignore=ignore,
            on_pending=on_pending,
            on_write_error=on_write_error,
            resume=resume,
            expiry_s=pending_snapshot_expiry_seconds,
            num_shards=num_shards,
            writable=writable,
            recipe=recipe,
            progress=progress,
            chunk_bytes=positive(chunk_bytes, "chunk_bytes"),
            segment_bytes=positive(segment_bytes, "segment_bytes"),
            options=loaded_stages().with_cache(path, options, cache_dir, cache_bytes),
        )
        return self._then(node)
