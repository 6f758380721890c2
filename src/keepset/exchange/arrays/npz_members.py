"""The members of a ``.npz`` file: arrays that lie in a zip file as they are, or compressed."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, cast

import numpy as np
from isal import isal_zlib

from keepset.core.cached import cached_property
from keepset.core.dtypes import Array
from keepset.errors import InvalidArgumentError, KeepsetError
from keepset.exchange.arrays.npy_header import ArrayPlace, Header, read_header
from keepset.exchange.arrays.raw_rows import MappedRows, RawRows, RemoteRows, array_in
from keepset.exchange.files.range_file import RangeFile, open_to_read
from keepset.exchange.files.row_file import Place

_ENDING: Final = ".npy"
_LOCAL_HEAD: Final = struct.Struct("<4s22xHH")
_LOCAL_MAGIC: Final = b"PK\x03\x04"
_ENCRYPTED: Final = 1
_PIECE_BYTES: Final = 1 << 20


class OpenNpz:
    """A zip file of arrays, by their names. It is open only while something is read from it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._file: BinaryIO | None = None
        self._zip: zipfile.ZipFile | None = None

    @cached_property
    def _infos(self) -> dict[str, zipfile.ZipInfo]:
        # Of two members of one name the later one counts, as for NumPy.
        infos = {info.filename: info for info in self._opened()[0].infolist()}
        arrays = (name for name in infos if name.endswith(_ENDING))
        return {name.removesuffix(_ENDING): infos[name] for name in arrays}

    def _opened(self) -> tuple[zipfile.ZipFile, BinaryIO]:
        if self._file is None:
            self._file = open_to_read(self._place)
        if self._zip is None:
            with damage_of(self._place):
                self._zip = zipfile.ZipFile(self._file)
            if isinstance(self._file, RangeFile):
                # Members are read by turns, and each wants blocks of its own.
                self._file.most_blocks += 2 * len(self._zip.filelist)
        return self._zip, self._file

    @property
    def names(self) -> list[str]:
        return list(self._infos)

    def header(self, name: str) -> Header:
        """What a member says of its array."""
        info, where = self._infos[name], ArrayPlace(self._place, name)
        if info.flag_bits & _ENCRYPTED:
            raise InvalidArgumentError(f"{where.title} is encrypted; save it without a password")
        with damage_of(self._place), self.stream(info) as stream:
            header = read_header(stream, where)
        if header.problem is None and header.size_bytes != info.file_size:
            raise where.damaged(f"has {info.file_size} bytes, and {header.size_bytes} are needed")
        return header

    def rows(self, name: str, header: Header) -> RawRows:
        """The rows of a member."""
        info, where = self._infos[name], ArrayPlace(self._place, name)
        if info.compress_type != zipfile.ZIP_STORED:
            return _MemberStream(self, info, header, where)
        offset = self._offset(info, where)
        view = self._place.store.view(self._place.file)
        if view is None:
            start = self._bytes(offset, header.start)
            return _CheckedRows(RemoteRows(where, header, offset), start, info.CRC, where)
        member = view[offset : offset + info.file_size]
        mapped = MappedRows(array_in(member, header, where))
        if not header.has_rows_together:
            return _CheckedRows(mapped, b"", info.CRC, where, whole=member)
        return _CheckedRows(mapped, member[: header.start], info.CRC, where)

    def stream(self, info: zipfile.ZipInfo) -> BinaryIO:
        """A member from its beginning, unpacked."""
        return cast(BinaryIO, self._opened()[0].open(info))

    def _offset(self, info: zipfile.ZipInfo, where: ArrayPlace) -> int:
        """Where a member's own bytes begin, behind its head."""
        with damage_of(self._place):
            head = self._bytes(info.header_offset, _LOCAL_HEAD.size)
            magic, name_bytes, extra_bytes = _LOCAL_HEAD.unpack(head)
        if magic != _LOCAL_MAGIC:
            raise where.damaged("does not begin where the list of members says")
        return info.header_offset + _LOCAL_HEAD.size + int(name_bytes) + int(extra_bytes)

    def _bytes(self, offset: int, count: int) -> bytes:
        file = self._opened()[1]
        file.seek(offset)
        return file.read(count)

    def close(self) -> None:
        """Let go of the file, until something more is read."""
        if self._zip is not None:
            self._zip.close()
        if self._file is not None:
            self._file.close()
        self._zip = self._file = None


class _CheckedRows(RawRows):
    """Rows whose checksum is compared when all of them were read from first to last.

    Args:
        head: What precedes the rows.
        whole: All that the checksum is of, if the rows do not follow each other in it.
    """

    def __init__(
        self,
        rows: RawRows,
        head: memoryview | bytes,
        crc: int,
        where: ArrayPlace,
        *,
        whole: memoryview | None = None,
    ) -> None:
        self.shape, self.dtype = rows.shape, rows.dtype
        self._rows, self._wanted, self._where, self._whole = rows, crc, where, whole
        self._head = self._crc = isal_zlib.crc32(head)
        self._read = 0
        if not rows.shape[0]:
            self._check()

    def read(self, start: int, stop: int) -> Array:
        rows = self._rows.read(start, stop)
        if not start:
            self._crc, self._read = self._head, 0
        if start == self._read:
            if rows.nbytes and self._whole is None:
                self._crc = isal_zlib.crc32(rows.reshape(-1).view(np.uint8).data, self._crc)
            self._read = stop
            if stop == self.shape[0]:
                self._check()
        return rows

    def _check(self) -> None:
        crc = self._crc if self._whole is None else isal_zlib.crc32(self._whole)
        if crc != self._wanted:
            raise self._where.damaged("fails its checksum")

    def gather(self, rows: Array) -> Array:
        return self._rows.gather(rows)

    def close(self) -> None:
        self._rows.close()


class _MemberStream(RawRows):
    """The rows of a compressed member, which can only be read from its beginning."""

    obstacle = "which is compressed"

    def __init__(
        self, opened: OpenNpz, info: zipfile.ZipInfo, header: Header, where: ArrayPlace
    ) -> None:
        if not header.has_rows_together:
            raise InvalidArgumentError(
                f"{where.title} is compressed and has its columns together (Fortran order), so "
                "that its first row is known when all is unpacked; save it with np.savez, or with "
                "np.ascontiguousarray"
            )
        self.shape, self.dtype = header.shape, header.dtype
        self._opened, self._info, self._start, self._where = opened, info, header.start, where
        self._stream: BinaryIO | None = None
        self._at = 0  # in the bytes of the member

    def read(self, start: int, stop: int) -> Array:
        with damage_of(self._where.place):
            self._go_to(self._start + start * self.row_bytes)
            data = self._bytes((stop - start) * self.row_bytes)
            if stop == self.shape[0]:
                # At its end the checksum is compared.
                self._go_to(self._info.file_size)
                self._bytes(1)
        count = math.prod(self.shape[1:]) * (stop - start) * self.dtype.itemsize
        if len(data) != count:
            raise self._where.damaged("ends too early", record=start)
        return np.ndarray((stop - start, *self.shape[1:]), self.dtype, data)

    def _go_to(self, byte: int) -> None:
        if self._stream is None or byte < self._at:
            self.close()
            self._stream, self._at = self._opened.stream(self._info), 0
        while self._at < byte and self._bytes(min(_PIECE_BYTES, byte - self._at)):
            pass

    def _bytes(self, count: int) -> bytes:
        assert self._stream is not None
        data = self._stream.read(count)
        self._at += len(data)
        return data

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


@contextmanager
def damage_of(place: Place) -> Iterator[None]:
    """Whatever a zip file that is damaged makes go wrong is an error that names it."""
    try:
        yield
    except KeepsetError:
        raise
    except Exception as error:
        place.raise_shortage(error)
        reason = str(error) or type(error).__name__
        raise place.damaged(f"it is no sound .npz file ({reason})") from error
