"""WebDataset archives: tar files whose members are grouped into samples by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

import numpy as np

from keepset.core.chunk import Chunk, chunk_of_columns
from keepset.core.dtypes import string
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.errors import CorruptRecordError, ElementError, KeepsetError
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import Place, RowFile, selected_columns
from keepset.exchange.images.pictures import PixelFormat
from keepset.exchange.tensorflow.compression import pieces_of
from keepset.exchange.text.lines import compression_of
from keepset.exchange.webdataset.entries import (
    KEY,
    check_entry,
    decode_entry,
    ending_of,
    entry_spec,
)
from keepset.exchange.webdataset.tar import TarError, TarFile, files_of
from keepset.nodes.parallel_rows import ParallelRowStage
from keepset.nodes.row_loop import Step
from keepset.storage.private_url import private_url

# Where a sample is from, for messages; the entry is gone when the sample is decoded.
ORIGIN: Final = "__url__"
_CHUNK_BYTES: Final = 1 << 20
_MOST_SAMPLES: Final = 1024
_STRING: Final = TensorSpec((), string)
# The key is all up to the first dot of the last part; what begins with a dot has none.
_NAME: Final = re.compile(rb"((?:.*/)?[^./][^./]*)\.([^/]*)", re.DOTALL)
# What WebDataset keeps for notes about an archive.
_NOTES: Final = re.compile(rb"__[^/]*__(?:/|$)")


@stage
class ReadWebdataset(FileRows):
    """The samples of archives, each entry as bytes; with ``has_origin``, the archive as well."""

    has_origin: bool = False

    def open_file(self, place: Place) -> RowFile:
        return _Archive(place, self.columns, self.has_origin)


class _Sample:
    """The files of one sample, and the byte where the first of them begins."""

    def __init__(self, key: bytes, files: Iterator[tuple[str, TarFile]]) -> None:
        self.key = key
        self.entries: dict[str, bytes | memoryview] = {}
        self.byte = -1
        self.twice: str | None = None
        for entry, file in files:
            self.byte = file.byte if self.byte < 0 else self.byte
            self.twice = entry if entry in self.entries else self.twice
            self.entries[entry] = file.content


class _Archive(RowFile):
    def __init__(self, place: Place, columns: tuple[Any, ...] | None, has_origin: bool) -> None:
        self._place, self._has_origin, self._takes_all = place, has_origin, columns is None
        self._names = self._columns(columns)
        self.spec: Spec = None
        if self._names is not None:
            names = [ORIGIN, *self._names] if has_origin else self._names
            self.spec = dict.fromkeys(names, _STRING)

    def _columns(self, columns: tuple[Any, ...] | None) -> list[str] | None:
        """The entries that are wanted; None if there is no sample to know them from."""
        first = next(self._samples(), None)
        if first is None:
            return None
        wanted = None if columns is None else tuple(c for c in columns if c != ORIGIN)
        return selected_columns([KEY, *first.entries], wanted, self._place.name)

    def chunks(self, start: int) -> Iterator[Chunk]:
        waiting: list[_Sample] = []
        size = number = 0
        try:
            for number, sample in enumerate(self._samples()):
                if number < start:
                    continue
                self._check(sample, number)
                waiting.append(sample)
                size += sum(map(len, sample.entries.values()))
                if size >= _CHUNK_BYTES or len(waiting) >= _MOST_SAMPLES:
                    yield self._chunk(waiting)
                    waiting, size = [], 0
        except KeepsetError:
            # What came before the damage is sound.
            if waiting:
                yield self._chunk(waiting)
            raise
        if waiting:
            yield self._chunk(waiting)

    def _chunk(self, samples: list[_Sample]) -> Chunk:
        columns: dict[str, Any] = {}
        if self._has_origin:
            columns[ORIGIN] = _column([self._place.name.encode("utf-8", "replace")] * len(samples))
        for name in self._names or ():
            keys = name == KEY
            columns[name] = _column([s.key if keys else bytes(s.entries[name]) for s in samples])
        return chunk_of_columns(columns, len(samples))

    def _check(self, sample: _Sample, number: int) -> None:
        """An error unless a sample has the entries that all others have."""
        where = f"{self._place.name}: sample {number}, {sample.key.decode(errors='replace')!r},"
        if sample.twice is not None:
            raise CorruptRecordError(
                f"{where} has {sample.twice!r} twice; give each file of an archive its own name",
                path=self._place.name,
                record=number,
                byte=sample.byte,
            )
        wanted = [name for name in self._names or () if name != KEY]
        missing = [name for name in wanted if name not in sample.entries]
        more = [name for name in sample.entries if name not in wanted] if self._takes_all else []
        if missing or more:
            what = f"has no {missing[0]!r}" if missing else f"has {more[0]!r}"
            raise ElementError(
                f"{where} {what}, unlike the first sample; all elements must have the same "
                "entries: choose those that all samples have with columns=[...]"
            )

    def _samples(self) -> Iterator[_Sample]:
        for key, files in groupby(self._files(), key=lambda named: named[0]):
            yield _Sample(key, ((entry, file) for _, entry, file in files))

    def _files(self) -> Iterator[tuple[bytes, str, TarFile]]:
        """Each file with its key and its entry."""
        place = self._place
        try:
            compression = compression_of(place.store, place.file, None)
            for file in files_of(pieces_of(place.store, place.file, compression)):
                named = _NAME.fullmatch(file.name)
                if named is None or _NOTES.match(file.name):
                    continue
                entry = named[2].decode(errors="replace").lower()
                if entry not in (KEY, ORIGIN):
                    yield named[1], entry, file
        except TarError as error:
            raise place.damaged(error, byte=error.byte) from error
        except ValueError as error:
            if isinstance(error, KeepsetError):
                raise
            raise place.damaged(error) from error


def _column(values: list[bytes]) -> Any:
    column = np.empty(len(values), object)
    column[:] = values
    return column


@stage
class DecodeSamples(ParallelRowStage):
    """The samples of archives with their entries decoded: all of them, or those of ``entries``."""

    size: tuple[int, int] | None = None
    channels: int = 3
    entries: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        PixelFormat(self.size, self.channels)  # an error if there are no such pixels

    def steps(self, run: Run) -> list[Step]:
        decoder = _Decoder(PixelFormat(self.size, self.channels), self.entries)
        return [Step("convert", decoder, self.title)]

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        pixels, specs = PixelFormat(self.size, self.channels), {}
        for entry in spec(self.parent):
            if entry == ORIGIN:
                continue
            is_plain = entry == KEY or not _is_decoded(entry, self.entries)
            if not is_plain:
                check_entry(entry, self.parent.title)
            found = _STRING if is_plain else entry_spec(entry, pixels)
            specs[entry] = must_run() if found is None else found
        return specs

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        parent = self.parent.project((ORIGIN, *keys))
        return None if parent is None else self.replaced(parent=parent)


def _is_decoded(entry: str, entries: tuple[str, ...] | None) -> bool:
    return entries is None or entry in entries or ending_of(entry) in entries


class _Decoder:
    """Decodes a sample; it may travel to another process."""

    def __init__(self, pixels: PixelFormat, entries: tuple[str, ...] | None) -> None:
        self._pixels, self._entries = pixels, entries

    def __call__(self, sample: dict[str, Any]) -> dict[str, Any]:
        return {
            entry: value if entry == KEY else self._decoded(entry, value, sample)
            for entry, value in sample.items()
            if entry != ORIGIN
        }

    def _decoded(self, entry: str, value: bytes, sample: dict[str, Any]) -> Any:
        if not _is_decoded(entry, self._entries):
            return value
        check_entry(entry, sample[ORIGIN].decode())
        try:
            return decode_entry(entry, value, self._pixels)
        except ValueError as error:
            name = private_url(sample[ORIGIN].decode())
            key = sample.get(KEY, b"").decode(errors="replace")
            what = f"{name}: {entry!r} of the sample {key!r} cannot be read: {error}"
            if isinstance(error, ElementError):
                raise ElementError(f"{what}; read its bytes with decode=[...]") from error
            raise CorruptRecordError(
                f"{what}; restore the file from a copy, or leave such samples out with "
                'on_corrupt="skip"',
                path=name,
            ) from error
