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

    def finish(self) -> None:
        for column, _ in self._columns:
            column.finish()
        if any(column.leaves_space for column, _ in self._columns):
            self._pack()
        else:
            self._file.close()
        self._is_open = False

    def _pack(self) -> None:
        """Leave out the space of data sets that are gone, which only a new file does."""
        folder = os.path.dirname(self._out.name) if isinstance(self._out.name, str) else None
        with tempfile.TemporaryFile(dir=folder) as packed:
            with h5py().File(packed, "w", libver=_VERSIONS) as target:
                for name in self._file:
                    self._file.copy(name, target)
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
    """A file for the library to write to, until it is let go of."""

    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file

    def let_go(self) -> None:
        """From now on, pretend."""
        self._file = None

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset if self._file is None else self._file.seek(offset, whence)

    def tell(self) -> int:
        return 0 if self._file is None else self._file.tell()

    def read(self, size: int = -1) -> bytes:
        return bytes(max(0, size)) if self._file is None else self._file.read(size)

    def readinto(self, buffer: Any) -> int:
        if self._file is None:
            return len(buffer)
        return int(self._file.readinto(buffer))  # type: ignore[attr-defined]

    def write(self, data: Any) -> int:
        return len(data) if self._file is None else int(self._file.write(data))

    def truncate(self, size: int | None = None) -> int:
        return size or 0 if self._file is None else self._file.truncate(size)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()
