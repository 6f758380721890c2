"""Converting between kinds of files, which an interruption does not begin anew."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from keepset.codecs import AUTO, normal_name
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.fingerprint.facts import digest_of
from keepset.dataset import Dataset
from keepset.dataset.base import node_of
from keepset.dataset.tensorflow_files import TFRecordDataset
from keepset.errors import InvalidArgumentError, SnapshotMissingError
from keepset.exchange.files.file_names import file_names, is_local, store_of
from keepset.exchange.files.whole_run import chunks_of
from keepset.exchange.tensorflow.compression import compression_named
from keepset.exchange.tensorflow.infer_features import infer_features
from keepset.exchange.tensorflow.saved_files import METADATA
from keepset.exchange.tensorflow.saving import save_tensorflow
from keepset.exchange.tensorflow.write_tfrecord import shard_names, write_tfrecord
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.opening import snapshots_below
from keepset.storage import Store, open_store, path_text
from keepset.storage.regular_file import kind_of

KINDS: Final = ("keepset", "tensorflow", "tfrecord")
_RECORDS: Final = re.compile(
    r".*(\.tfrecords?|\.tfrec)(\.gz|\.gzip|\.zlib|\.snappy)?", re.IGNORECASE
)


class Converted(NamedTuple):
    """What is at the target, and whether it was there before."""

    elements: int
    was_there: bool = False


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    to: str,
    *,
    compression: str | None = None,
    features: Mapping[str, Any] | None = None,
    raw: bool = False,
    num_shards: int | None = None,
    fingerprint: str | None = None,
    progress: bool | None = None,
    options: dict[str, Any] | None = None,
) -> Converted:
    """Write what is at one place to another in another form.

    Args:
        source: A data set that Keepset or TensorFlow kept, a TFRecord file, or a pattern of them.
        target: Where to write.
        to: ``"keepset"``, ``"tensorflow"`` or ``"tfrecord"``.
        compression: As the kind of the target has them.
        features: Of a TFRecord file: what its Examples hold; by default this is found out.
        raw: Of a TFRecord file: to take records as the bytes that they are.
        num_shards: How many TFRecord files to write.
        fingerprint: Which one, where ``source`` holds several snapshots.
        progress: Whether to show how far it is; by default if standard error is a terminal.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> Dataset.range(5).save(f"{folder}/kept")
        >>> convert(f"{folder}/kept", f"{folder}/for-tensorflow", "tensorflow").elements
        5
    """
    if to not in KINDS:
        raise InvalidArgumentError(f"to={to!r} is unknown; choose one of {', '.join(KINDS)}")
    if num_shards is not None and to != "tfrecord":
        raise InvalidArgumentError(f"--shards is for tfrecord, and not for {to}; leave it out")
    given, shards = options or {}, num_shards or 1
    path = path_text(target)
    if to != "keepset":
        _check_free(path, to, shards, given)
    ds = _opened(path_text(source), features, raw, fingerprint, given)
    if to == "keepset":
        return _keep(ds, path, compression, progress, given)
    identity = digest_of(
        _digest(ds).encode(),
        to.encode(),
        compression_named(compression).encode(),
    ).hex()
    if to == "tensorflow":
        elements = save_tensorflow(
            node_of(ds),
            path,
            compression=compression,
            progress=progress,
            options=given,
            resume_as=identity if is_local(path) else None,
        )
        return Converted(elements)
    resume_as = identity if is_local(path) and shards == 1 else None
    written = write_tfrecord(
        node_of(ds),
        path,
        compression_type=compression,
        num_shards=shards,
        progress=progress,
        options=given,
        resume_as=resume_as,
    )
    return Converted(written.elements)


def _opened(
    source: str,
    features: Mapping[str, Any] | None,
    raw: bool,
    fingerprint: str | None,
    options: dict[str, Any],
) -> Dataset:
    if _RECORDS.fullmatch(source) is None and not os.path.isfile(source):
        if features is not None or raw:
            named = "--raw" if raw else "features"
            raise InvalidArgumentError(f"{named} is for TFRecord files, not {source!r}")
        if is_local(source) and not os.path.isdir(source):
            what = f"is {kind_of(os.stat(source))}" if os.path.exists(source) else "does not exist"
            raise SnapshotMissingError(
                f"{source} {what}; name a folder that a dataset was written to, or TFRecord files"
            )
        return Dataset.load(source, fingerprint=fingerprint, **options)
    names = file_names(source, options)
    records = TFRecordDataset(names, **options)
    if raw:
        return records
    described = features if features is not None else infer_features(names[0], **options)
    return records.parse_example(described)


def _check_free(path: str, to: str, num_shards: int, options: dict[str, Any]) -> None:
    """An error if something is in the place of a file, or of a dataset that TensorFlow loads."""
    wanted = [f"{path}/{METADATA}"] if to == "tensorflow" else shard_names(path, num_shards)
    for name in wanted:
        store, file = store_of(name, options)
        if store.exists(file):
            what = f"{path} holds a dataset" if to == "tensorflow" else f"{name} is there"
            raise InvalidArgumentError(
                f"{what} already; convert to another path, or remove it first"
            )


def _keep(
    ds: Dataset, path: str, compression: str | None, progress: bool | None, options: dict[str, Any]
) -> Converted:
    """Keep it as a snapshot does, so that what was kept before an interruption counts."""
    store = open_store(path, **options)
    name = f"converted-{_digest(ds)[:16]}"
    others = [each for each in snapshots_below(store) if each != name]
    if others:
        raise InvalidArgumentError(
            f"{store.url} holds {', '.join(others) if others != [''] else 'a dataset'} already; "
            "convert to another path, or remove it first with `keepset rm`"
        )
    was_there = False
    if snapshots_below(store):
        was_there = _check_compression(store.sub(f"{name}/"), compression)
    kept = ds.snapshot(
        path,
        compression,
        fingerprint=name,
        on_write_error="raise",
        progress=progress,
        **options,
    )
    for _ in chunks_of(node_of(kept)):
        pass
    return Converted(len(Dataset.load(path, **options)), was_there)


def _check_compression(store: Store, compression: str | None) -> bool:
    """Whether a snapshot is complete; an error if it is compressed in another way than asked."""
    found = Snapshot.of(store)
    asked = None if compression is None else normal_name(compression)
    if asked not in (None, AUTO) and found.codecs not in ([], [asked]):
        state = "these elements" if found.is_complete else "a part of these elements"
        raise InvalidArgumentError(
            f"{store.url} holds {state} already, with the compression {', '.join(found.codecs)}; "
            f"convert to another path, or remove it first with `keepset rm` for {asked}"
        )
    return found.is_complete


def _digest(ds: Dataset) -> str:
    """What the source is known by, its files by how they stand."""
    return fingerprint_of_value(ds).digest
