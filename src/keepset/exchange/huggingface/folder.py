"""Folders that ``datasets.Dataset.save_to_disk`` wrote, read without the ``datasets`` package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.node import stage
from keepset.errors import InvalidArgumentError, NoFilesError, ObjectMissingError
from keepset.exchange.arrow.file import ReadArrow
from keepset.exchange.arrow.leaves import is_unicode
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.source import arrow_damage
from keepset.exchange.files.grouped_rows import GroupedRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.huggingface.features import Features, parse_features
from keepset.exchange.huggingface.rows import HfRows
from keepset.format.message import is_compressed
from keepset.storage import Store, open_store

_STATE: Final = "state.json"
_INFO: Final = "dataset_info.json"
_SPLITS: Final = "dataset_dict.json"
_MARK: Final = b"\xff\xff\xff\xff"  # before each message of a stream
_END_BYTES: Final = 8  # of the message that says that there are no more
_CHUNK_BYTES: Final = 1 << 20
_MOST_ROWS: Final = 8192


class SavedFolder(NamedTuple):
    """What a folder holds: the names of its Arrow files, in order, and the features."""

    files: list[str]
    features: Features


def saved_folder(folder: str, split: str | None, options: dict[str, Any]) -> SavedFolder:
    """Look at a folder, or at the one of a split.

    Raises:
        NoFilesError: It is no such folder.
        InvalidArgumentError: It has splits and none was chosen, or none of this name.
    """
    store, place = open_store(folder, **options), folder.rstrip("/") or "/"
    splits = _json(store, _SPLITS, place, is_needed=False)
    if splits is not None:
        listed = splits.get("splits", [])
        if not isinstance(listed, list):
            raise InvalidArgumentError(f"{place}/{_SPLITS} names no splits; save again")
        names = [str(name) for name in listed]
        if split not in names:
            known = ", ".join(map(repr, names)) or "none"
            remedy = "say which one, such as" if split is None else f"there is no {split!r}; pass"
            raise InvalidArgumentError(
                f"{place} holds a DatasetDict with the splits {known}; {remedy} "
                f"split={(names or ['train'])[0]!r}"
            )
        store, place = store.sub(f"{split}/"), f"{place}/{split}"
    elif split is not None:
        raise InvalidArgumentError(f"{place} holds one data set without splits; leave out split=")
    state = _json(store, _STATE, place, is_needed=True)
    info = _json(store, _INFO, place, is_needed=True)
    files = [f"{place}/{name}" for name in _file_names(state, place)]
    return SavedFolder(files, parse_features(info.get("features") or {}, f"{place}/{_INFO}"))


def _json(store: Store, name: str, place: str, *, is_needed: bool) -> Any:
    try:
        text = store.read(name)
    except ObjectMissingError as error:
        if not is_needed:
            return None
        raise NoFilesError(
            f"{place} has no {name}, and so is no folder that datasets.Dataset.save_to_disk wrote; "
            "files of Arrow or Parquet alone are read by read_arrow and read_parquet"
        ) from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"{place}/{name} is no JSON ({error}); restore it from a copy, or save again"
        ) from error
    if not isinstance(found, dict):
        raise InvalidArgumentError(f"{place}/{name} holds no object; save again")
    return found


def _file_names(state: dict[str, Any], place: str) -> list[str]:
    files = state.get("_data_files")
    # One without rows has a file as well, which says what they would be.
    is_sound = isinstance(files, list) and all(isinstance(each, dict) for each in files)
    if not files or not is_sound:
        raise InvalidArgumentError(f"{place}/{_STATE} names no files of data; save again")
    names = [each.get("filename") for each in files]
    odd = next((n for n in names if not isinstance(n, str) or not n or "/" in n or "\\" in n), "")
    if odd != "":
        raise InvalidArgumentError(
            f"{place}/{_STATE} names the file {odd!r}, which is not in the folder; save again"
        )
    return names


@stage
class ReadHf(ReadArrow):
    """The rows of each file; ``features`` say what Hugging Face has in columns, by their names.

    Attributes:
        class_names: What the labels stand for, if they are numbers of names.
    """

    features: Any = None
    class_names: tuple[str, ...] | None = None

    def open_file(self, place: Place) -> RowFile:
        view = place.store.view(place.file)
        if view is not None and bytes(view[:4]) == _MARK and not _is_compressed(view):
            return _MappedRows(place, self, view)
        return super().open_file(place)

    def rows_of(self, schema: pa.Schema, place: Place) -> ArrowRows:
        with arrow_damage(place):
            return HfRows(  # type: ignore[return-value]  # it has the same face
                schema,
                self.features or {},
                columns=self.columns,
                missing=self.missing,
                types=self.types,
                where=place.name,
                is_str=None if self.encoding is None else is_unicode,
            )


class _MappedRows(GroupedRows):
    """The rows of a stream in memory, or mapped into it; each batch is checked when it is used."""

    def __init__(self, place: Place, node: ReadHf, view: memoryview) -> None:
        with arrow_damage(place):
            source = pa.BufferReader(pa.py_buffer(view))
            reader = pa.ipc.open_stream(source)
            self._batches = list(_batches(reader, source, place))
        rows = node.rows_of(reader.schema, place)
        super().__init__(place, rows, [batch.num_rows for batch in self._batches])
        self._are_sound = [False] * len(self._batches)

    def read_group(self, number: int) -> pa.Table:
        return pa.Table.from_batches([self._batch(number)])

    def _batch(self, number: int) -> pa.RecordBatch:
        batch = self._batches[number].select(self.rows.names)
        if not self._are_sound[number]:
            batch.validate(full=True)
            self._are_sound[number] = True
        return batch

    def chunks(self, start: int) -> Iterator[Chunk]:
        for number in range(self.group_of(start), len(self._batches)):
            first = int(self.starts[number])
            with arrow_damage(self.place):
                batch = self._batch(number)
            step = _step(batch)
            for at in range(max(0, start - first), batch.num_rows, step):
                yield self.rows.chunk(batch.slice(at, step), first + at)


def _is_compressed(view: memoryview) -> bool:
    """Whether the first batch of a stream is, so that its numbers do not lie in the file."""
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(pa.py_buffer(view))):
            if message.type == "record batch":
                return is_compressed(_MARK + bytes(4) + bytes(message.metadata))
    except (pa.ArrowException, OSError, ValueError):
        pass  # whoever reads it will see
    return False


def _batches(reader: Any, source: Any, place: Place) -> Iterator[pa.RecordBatch]:
    """All batches of a stream, of which only the places are looked at."""
    while True:
        before = source.tell()
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            if source.tell() - before < _END_BYTES:
                # A cut between two batches looks like an end; the writer says where that is.
                raise place.damaged("its end is missing") from None
            return
        if batch.num_rows < 0:
            raise place.damaged("a number of rows is negative")
        yield batch


def _step(batch: pa.RecordBatch) -> int:
    """How many rows make about a megabyte."""
    row_bytes: int = batch.nbytes // max(1, batch.num_rows)
    return max(1, min(_MOST_ROWS, _CHUNK_BYTES // max(1, row_bytes)))
