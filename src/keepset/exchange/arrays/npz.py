"""NumPy's ``.npz`` files: several arrays with as many rows each, in a zip file."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
import zipfile
from contextlib import suppress
from typing import Any, BinaryIO, Final

from keepset.core.chunk import Chunk
from keepset.core.node import stage
from keepset.core.spec import Spec
from keepset.core.structure import structure_of
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_paths import (
    Path,
    check_lengths,
    chosen_members,
    field_paths,
    joined,
    leaf_paths,
    nested,
)
from keepset.exchange.arrays.column_source import ArrayColumn, Fields
from keepset.exchange.arrays.columns_file import ColumnFiles, ColumnsFile
from keepset.exchange.arrays.npy import NpyWriter
from keepset.exchange.arrays.npy_header import ArrayPlace, Header
from keepset.exchange.arrays.npz_members import OpenNpz
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.files.row_file import Place, RowFile

_PIECE_BYTES: Final = 1 << 20
# Arrays begin at multiples of this, so that they can be used where they lie in the file.
_ALIGNMENT: Final = 64
# What the head of a member takes beside its name: a fixed part, room for long sizes, and the head
# of the field that moves the array.
_HEAD_BYTES: Final = 30 + 20 + 4
_PADDING_ID: Final = 0xD935


@stage
class ReadNpz(ColumnFiles):
    """The rows of the arrays in each file."""

    def open_file(self, place: Place) -> RowFile:
        opened = OpenNpz(place)
        try:
            return NpzRows(opened, self.columns, place)
        finally:
            # What is mapped needs it no more, and what is unpacked opens it again.
            opened.close()


class NpzRows(ColumnsFile):
    """Dicts of the rows of a file's arrays."""

    def __init__(self, opened: OpenNpz, columns: tuple[Any, ...] | None, place: Place) -> None:
        self._opened = opened
        headers: dict[Path, Header] = {}

        def fields_of(path: Path) -> list[Path]:
            headers[path] = opened.header(joined(path))
            return field_paths(headers[path].dtype)

        members = [tuple(name.split("/")) for name in opened.names]
        wanted = chosen_members(members, fields_of, columns, place.name)
        found = {path: headers[path] for path, _ in wanted}
        check_lengths({joined(p): h.problem or h.shape[0] for p, h in found.items()}, place.name)
        sources = [
            (path, _column(opened, path, headers[path], fields, place)) for path, fields in wanted
        ]
        super().__init__(nested(sources, place.name))

    def close(self) -> None:
        super().close()
        self._opened.close()


def _column(
    opened: OpenNpz, path: Path, header: Header, fields: Fields, place: Place
) -> ArrayColumn:
    where = ArrayPlace(place, joined(path))
    try:
        return ArrayColumn(opened.rows(joined(path), header), fields, where)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{where.title}: {error}") from error


class NpzWriter(RowWriter):
    """Writes each leaf of the elements as an array; they are put into one file at the end."""

    def __init__(self, file: BinaryIO, spec: Spec, *, compressed: bool) -> None:
        self._file, self._compressed = file, compressed
        self._structure = structure_of(spec)
        self._spools: dict[str, BinaryIO] = {}
        self._writers: list[tuple[NpyWriter, int]] = []
        paths = leaf_paths(spec)
        if not paths:
            raise unfit("", "it has no leaves")
        # Beside the file, where there is room for it; what goes to a bucket has no such place.
        folder = os.path.dirname(file.name) if isinstance(file.name, str) else None
        try:
            for path, number, leaf in paths:
                # NumPy calls an array without a name so.
                name = joined(path) or "arr_0"
                spool = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed at the end
                self._spools[name] = spool
                self._writers.append((NpyWriter(spool, leaf, name), number))
        except BaseException:
            self.close()
            raise

    def write(self, chunk: Chunk) -> None:
        if chunk.structure != self._structure:
            raise self._structure.difference(chunk.structure, 0)
        for writer, number in self._writers:
            writer.add(chunk.columns[number], len(chunk))

    def finish(self) -> None:
        for writer, _ in self._writers:
            writer.finish()
        with zipfile.ZipFile(self._file, "w") as archive:
            for name, spool in self._spools.items():
                self._add(archive, name, spool)
                spool.close()

    def _add(self, archive: zipfile.ZipFile, name: str, spool: BinaryIO) -> None:
        info = zipfile.ZipInfo(f"{name}.npy")
        info.external_attr = 0o600 << 16
        if self._compressed:
            info.compress_type = zipfile.ZIP_DEFLATED
        head = self._file.tell() + _HEAD_BYTES + len(info.filename.encode())
        padding = -head % _ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        spool.seek(0)
        with archive.open(info, "w", force_zip64=True) as member:
            shutil.copyfileobj(spool, member, _PIECE_BYTES)

    def close(self) -> None:
        for spool in self._spools.values():
            with suppress(OSError):  # of what is left to write, for which there may be no room
                spool.close()
