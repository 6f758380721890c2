"""TFRecord files as a data set of bytes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array, string
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import (
    CorruptRecordError,
    CorruptRecordWarning,
    ElementError,
    InvalidArgumentError,
)
from keepset.exchange.files.file_names import store_of
from keepset.exchange.files.unlisted_files import unlisted_files
from keepset.exchange.tensorflow.compression import NONE, compression_named, pieces_of, sniff
from keepset.exchange.tensorflow.masked_crc import masked_crc
from keepset.exchange.tensorflow.record_index import index_of
from keepset.exchange.tensorflow.record_scan import FRAME_BYTES, HEAD_BYTES
from keepset.exchange.tensorflow.records import RecordReader
from keepset.storage import Store, path_text
from keepset.storage.private_url import private_url

POLICIES: Final = ("error", "skip", "stop")
_REMEDY: Final = 'restore the file from a copy, or read what is sound with on_corrupt="skip"'
_SPEC: Final = TensorSpec((), string)


@stage
class TfrecordDataset(Node):
    """The records of the files that ``parent`` names, one file after another.

    ``is_indexed`` if they are to be had by position, which takes an index of each file.
    """

    parent: Node = upstream()
    # Known from each file: a wrong one is an error and changes no element.
    compression_type: str | None = parameter(default=None, identity=False)
    on_corrupt: str = "error"
    # Where the index is and whether there is one: the records are the same.
    index_dir: str | None = parameter(default=None, identity=False, recipe=False)
    # Credentials and endpoints: the files count by what their store says of them.
    store_options: Any = parameter(default=None, identity=False, recipe=False)
    is_indexed: bool = parameter(default=False, identity=False, recipe=False)

    # What is read ahead of the consumer is only bytes of a file.
    is_live: ClassVar[bool] = False

    def __post_init__(self) -> None:
        compression_named(self.compression_type)
        if self.on_corrupt not in POLICIES:
            raise InvalidArgumentError(
                f"on_corrupt={self.on_corrupt!r} is unknown; choose one of "
                f"{', '.join(map(repr, POLICIES))}"
            )

    @property
    def outside(self) -> Any:
        return unlisted_files(self.parent, self.store_options)

    def cursor(self, run: Run) -> Cursor:
        return _TfrecordCursor(self, self.parent.cursor(run.input(0)))

    @property
    def reads_to_count(self) -> bool:
        return self.is_indexed and "_starts" not in self.__dict__

    def cardinality(self) -> int:
        return int(self._starts[-1]) if self.is_indexed else UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return _SPEC

    def obstacle(self) -> str | None:
        if self.is_indexed:
            return None
        if self._names is None:
            return f"{self.title} does not know its files before it runs"
        if self.on_corrupt != "error":
            return f"{self.title} leaves out what is damaged, and so does not know its length"
        found = self.__dict__.get("_compressed")
        if found is None:
            return f"{self.title} has no index of its files"
        return (
            f"{self.title} reads {private_url(found[0])}, which is compressed with {found[1]}; "
            "write it uncompressed, or keep it with save(path), and load(path)"
        )

    @cached_property
    def _compressed(self) -> tuple[str, str] | None:
        """A file that is compressed, and how; None if there is none."""
        for name, (store, file) in zip(self._known_names, self._stores, strict=True):
            if compression := sniff(store, file):
                return name, compression
        return None

    @cached_property
    def _addressable(self) -> Node:
        is_known = self._names is not None and self.on_corrupt == "error"
        if self.is_indexed or not is_known or self._compressed is not None:
            return self
        return TfrecordDataset(
            parent=self.parent,
            compression_type=self.compression_type,
            on_corrupt=self.on_corrupt,
            index_dir=self.index_dir,
            store_options=self.store_options,
            is_indexed=True,
            name=self.name,
        )

    def gather(self, indices: Array, run: Run) -> Chunk:
        files = np.searchsorted(self._starts, indices, side="right") - 1
        rows = np.empty(len(indices), object)
        for number in np.unique(files).tolist():
            places = np.flatnonzero(files == number)
            wanted = indices[places] - self._starts[number]
            rows[places] = self._records(number, wanted)
        return Chunk.from_columns(LEAF, [rows], len(indices))

    def _records(self, number: int, wanted: Array) -> list[bytes]:
        """Some records of one file."""
        starts, name = self._indexes[number], self._known_names[number]
        store, file = self._stores[number]
        spans = list(zip(starts[wanted].tolist(), starts[wanted + 1].tolist(), strict=True))
        view = self._views[number]
        if view is not None:
            frames = [view[start:stop] for start, stop in spans]
        else:
            ranges = [(start, stop - start) for start, stop in spans]
            frames = [memoryview(found) for found in store.read_ranges(file, ranges)]
        return [
            _payload(frame, name, record, start)
            for frame, record, (start, _) in zip(frames, wanted.tolist(), spans, strict=True)
        ]

    @property
    def _names(self) -> list[bytes] | None:
        """The files, if they are known before anything runs."""
        named = self.parent.file_names
        if named is not None:
            return named
        tensors = getattr(self.parent, "tensors", None)
        if isinstance(tensors, np.ndarray) and tensors.dtype == object and tensors.ndim == 1:
            names: list[bytes] = tensors.tolist()
            return names
        return None

    @cached_property
    def _known_names(self) -> list[str]:
        return [path_text(os.fsdecode(name)) for name in self._names or []]

    @cached_property
    def _indexes(self) -> list[Array]:
        return [index_of(name, self.index_dir, self.store_options) for name in self._known_names]

    @cached_property
    def _starts(self) -> Array:
        """Before which record each file begins, and the number of all records."""
        counts = [len(index) - 1 for index in self._indexes]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def _stores(self) -> list[tuple[Store, str]]:
        return [store_of(name, self.store_options) for name in self._known_names]

    @cached_property
    def _views(self) -> list[memoryview | None]:
        return [store.view(file) for store, file in self._stores]


def _payload(frame: memoryview, name: str, record: int, byte: int) -> bytes:
    data = frame[HEAD_BYTES:-4].tobytes()
    is_sound = (
        len(frame) >= FRAME_BYTES
        and int.from_bytes(frame[:8], "little") == len(data)
        and masked_crc(data) == int.from_bytes(frame[-4:], "little")
    )
    if not is_sound:
        shown = private_url(name)
        raise CorruptRecordError(
            f"{shown}: record {record} at byte {byte} fails its checksum; restore the file from a "
            "copy",
            path=shown,
            record=record,
            byte=byte,
        )
    return data


class _TfrecordCursor(Cursor):
    def __init__(self, node: TfrecordDataset, parent: Cursor) -> None:
        self._node, self._parent = node, parent
        self._before: State = {}  # where the parent was before the file that is open
        self._reader: RecordReader | None = None
        self._name = ""
        self._is_plain = False
        self._damaged: list[CorruptRecordError] = []

    def read(self, max_rows: int) -> Chunk:
        while self._reader is not None or self._open():
            assert self._reader is not None
            try:
                found = self._reader.read(max_rows)
            except CorruptRecordError as error:
                self._note(error)
                continue
            if len(found):
                rows = np.empty(len(found), object)
                rows[:] = found.pieces
                return Chunk.from_columns(LEAF, [rows], len(found))
            self._finish_file()
        return EMPTY

    def _open(self) -> bool:
        """Go on to the next file."""
        self._before = self._parent.state()
        chunk = self._parent.read(1)
        if not len(chunk):
            return False
        self._reader = self._reader_of(chunk.rows[0])
        return True

    def _reader_of(
        self, name: Any, record: int = 0, byte: int = 0, is_lost: bool = False
    ) -> RecordReader:
        if not isinstance(name, bytes | str):
            raise ElementError(
                f"TFRecordDataset needs names of files, and one is a {type(name).__name__}"
            )
        node, name = self._node, path_text(os.fsdecode(name))
        self._name = private_url(name)
        store, file = store_of(name, node.store_options)
        asked, found = compression_named(node.compression_type), sniff(store, file)
        if asked not in (NONE, found) and store.size(file):
            raise InvalidArgumentError(
                f"{self._name} is {f'compressed with {found}' if found else 'not compressed'}, "
                f"and compression_type={node.compression_type!r} was asked for; leave it out, it "
                "is known from the file"
            )
        self._is_plain = found == NONE
        pieces = pieces_of(store, file, found, byte if self._is_plain else 0)
        reader = RecordReader(
            pieces,
            self._name,
            as_bytes=True,
            remedy=_REMEDY,
            first=record if self._is_plain else 0,
            offset=byte if self._is_plain else 0,
            is_lost=is_lost and self._is_plain,
        )
        if not self._is_plain:
            reader.advance_to(record)
        return reader

    def _note(self, error: CorruptRecordError) -> None:
        """Do as the user wants about damage."""
        if self._node.on_corrupt == "error":
            raise error
        self._damaged.append(error)
        if self._node.on_corrupt == "stop":
            self._finish_file()

    def _finish_file(self) -> None:
        assert self._reader is not None
        self._reader.close()
        self._reader = None
        damaged, self._damaged = self._damaged, []
        if damaged:
            places = "place" if len(damaged) == 1 else "places"
            what = "left out" if self._node.on_corrupt == "skip" else "and nothing behind it read"
            warnings.warn(
                f"{self._name}: damaged in {len(damaged)} {places}, {what}; the first: "
                f"{damaged[0]}",
                CorruptRecordWarning,
                stacklevel=2,
            )

    def state(self) -> State:
        if self._reader is None:
            return {"parent": self._parent.state(), "record": None, "byte": 0}
        place = {"record": self._reader.record, "byte": self._reader.offset}
        # Only behind damage: the search for the next record may take long and be needless.
        lost = {"is_lost": True} if self._reader.is_lost else {}
        return {"parent": self._before, **place, **lost}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        if state["record"] is None:
            return
        self._before = self._parent.state()
        chunk = self._parent.read(1)
        if len(chunk):
            self._reader = self._reader_of(
                chunk.rows[0], state["record"], state["byte"], state.get("is_lost", False)
            )

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._parent.close()
