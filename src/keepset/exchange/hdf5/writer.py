"""Writing HDF5 files: a data set for each leaf, and a group for each nested dict."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from typing import Any, BinaryIO, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.encoded import encoded_chunk
from keepset.core.spec import LeafSpec, Spec
from keepset.core.structure import structure_of
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_paths import Path, joined, leaf_paths
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.hdf5.library import h5py
from keepset.exchange.hdf5.new_column import new_column

COMPRESSIONS: Final = (None, "gzip", "lzf")
# From this version on, what describes the file has checksums; all programs of today read it.
_VERSIONS: Final = ("v108", "latest")
_PIECE_BYTES: Final = 1 << 20


def check_hdf5_arguments(compression: str | None, chunk_rows: int | None) -> None:
    """Refuse what cannot be meant, before anything runs."""
    h5py()
    if compression not in COMPRESSIONS:
        raise InvalidArgumentError(
            f"compression={compression!r} is unknown; choose 'gzip', 'lzf' or None"
        )
    if chunk_rows is not None and chunk_rows < 1:
        raise InvalidArgumentError(f"chunk_rows is {chunk_rows}; pass 1 or more")


class Hdf5Writer(RowWriter):
    """Writes each leaf of the elements to a data set, and nested dicts as groups."""

    def __init__(
        self,
        file: BinaryIO,
        spec: Spec,
        *,
        group: str,
        compression: str | None,
        chunk_rows: int | None,
    ) -> None:
        above = tuple(part for part in group.split("/") if part)
        leaves = [((*above, *path), number, leaf) for path, number, leaf in leaf_paths(spec)]
        _check_names(leaves)
        self._structure = structure_of(spec)
        self._out, self._target = file, _Target(file)
        self._file = h5py().File(self._target, "w", libver=_VERSIONS)
        self._is_open = True

        def make(name: str, dtype: Any, shape: tuple[int, ...], rows: int) -> Any:
            is_packed = compression is not None
            return self._file.create_dataset(
                name,
                (0, *shape),
                maxshape=(None, *(size or None for size in shape)),
                chunks=(chunk_rows or rows, *(max(1, size) for size in shape)),
                dtype=dtype,
                compression=compression,
                # Numbers whose bytes are sorted by their places are packed much better.
                shuffle=is_packed and not np.dtype(dtype).hasobject,
            )

        try:
            self._columns = [
                (new_column(leaf, joined(path), make, chunk_rows), number)
                for path, number, leaf in leaves
            ]
        except BaseException:
            self.close()
            raise

    def write(self, chunk: Chunk) -> None:
        if chunk.structure != self._structure:
            raise self._structure.difference(chunk.structure, 0)
        columns = encoded_chunk(chunk).columns
        for place, (column, number) in enumerate(self._columns):
            added = column.add(columns[number], len(chunk))
            self._columns[place] = added, number
        self._check()
        self._out.seek(0, os.SEEK_END)  # for those who ask how far it is

    def finish(self) -> None:
        for column, _ in self._columns:
            column.finish()
        self._file.flush()
        self._check()
        if any(column.leaves_space for column, _ in self._columns):
            self._pack()
        else:
            self._file.close()
        self._is_open = False
        self._target.check()

    def _check(self) -> None:
        """Raise the error that the file met, behind closing it: later it will be gone."""
        if self._target.has_failed:
            self._is_open = False
            with suppress(Exception):
                self._file.close()
            self._target.check()

    def _pack(self) -> None:
        """Leave out the space of data sets that are gone, which only a new file does."""
        folder = os.path.dirname(self._out.name) if isinstance(self._out.name, str) else None
        with tempfile.TemporaryFile(dir=folder) as packed:
            copy = _Target(packed)
            with h5py().File(copy, "w", libver=_VERSIONS) as target:
                for name in self._file:
                    self._file.copy(name, target)
            copy.check()
            self._file.close()
            self._out.seek(0)
            self._out.truncate()
            packed.seek(0)
            shutil.copyfileobj(packed, self._out, _PIECE_BYTES)

    def close(self) -> None:
        if self._is_open:
            # The library writes when it closes, which it must not do to a file that is gone; and
            # a file that it cannot close would bring the process down at its end.
            self._target.let_go()
            self._is_open = False
            with suppress(Exception):
                self._file.close()


def _check_names(leaves: list[tuple[Path, int, LeafSpec]]) -> None:
    if not leaves:
        raise unfit("", "it has no leaves")
    for path, _, _ in leaves:
        if not path:
            raise unfit(
                "", 'a data set needs a name; pass group="name", or make dicts of it with map'
            )
        if any(part == "." or not part for name in path for part in name.split("/")):
            raise unfit(joined(path), "its name means another place in HDF5; rename it with map")


class _Target:
    """A file for the library to write to, until it is let go of.

    The library ends the process, now or at its end, if a file fails under it. So what the disk does
    not take is held in memory, for as long as it takes to close the file, and ``check`` raises the
    error.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file
        self._error: OSError | None = None
        self._refused: list[tuple[int, bytes]] = []
        self._at = 0

    def let_go(self) -> None:
        """From now on, pretend."""
        self._file = None

    @property
    def has_failed(self) -> bool:
        return self._error is not None

    def check(self) -> None:
        """Raise the error that the file met."""
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + {0: 0, 1: self._at, 2: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        data = bytearray(max(0, self._size - self._at if size < 0 else size))
        del data[self.readinto(data) :]
        return bytes(data)

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        if self._file is None:
            return len(into)
        found = os.pread(self._file.fileno(), len(into), self._at)
        into[: len(found)] = found
        end = len(found)
        for at, data in self._refused:
            start, stop = max(at, self._at), min(at + len(data), self._at + len(into))
            if start < stop:
                into[start - self._at : stop - self._at] = data[start - at : stop - at]
                end = max(end, stop - self._at)
        self._at += end
        return end

    def write(self, data: Any) -> int:
        octets, done = memoryview(data).cast("B"), 0
        while self._file is not None and done < len(octets):
            try:
                done += os.pwrite(self._file.fileno(), octets[done:], self._at + done)
            except OSError as error:
                self._error = self._error or error
                self._refused.append((self._at + done, bytes(octets[done:])))
                break
        self._at += len(octets)
        return len(octets)

    def truncate(self, size: int | None = None) -> int:
        wanted = self._at if size is None else size
        if self._file is not None:
            try:
                os.ftruncate(self._file.fileno(), wanted)
            except OSError as error:
                self._error = self._error or error
        return wanted

    def flush(self) -> None:
        """Nothing waits to be written."""

    @property
    def _size(self) -> int:
        if self._file is None:
            return 0
        ends = [at + len(data) for at, data in self._refused]
        return max([os.fstat(self._file.fileno()).st_size, *ends])
