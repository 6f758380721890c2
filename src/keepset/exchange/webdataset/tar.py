"""Tar archives as streams: their files one behind the other, and the headers to write them.

Written by hand, because Python's reader takes an archive that was cut between two files for a whole
one, and spends several times as long on each file.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

BLOCK: Final = 512
_ZEROS: Final = bytes(BLOCK)
# An archive ends with two blocks of zeros, and is filled up to a multiple of this.
_RECORD: Final = 20 * BLOCK
_FILES: Final = (b"0", b"\0", b"7")
_LONG_NAME, _EXTENDED, _SPARSE = b"L", b"x", b"S"
# Longer names, and notes of this size, are not those of anybody's files.
_MOST_NOTE_BYTES: Final = 1 << 20


class TarError(ValueError):
    """What is wrong with an archive, and at which byte."""

    def __init__(self, message: str, byte: int = 0) -> None:
        super().__init__(message)
        self.byte = byte


class TarFile(NamedTuple):
    """A file of an archive: its name, its content, and the byte where its header begins."""

    name: bytes
    content: bytes | memoryview
    byte: int


class _Feed:
    """Bytes that come in pieces, taken in other ones; a copy is made only across two pieces."""

    def __init__(self, pieces: Iterable[memoryview]) -> None:
        self._pieces, self._piece, self._at = iter(pieces), memoryview(b""), 0
        self.byte = 0

    def take(self, count: int) -> bytes | memoryview:
        """So many bytes, or fewer at the end."""
        got = self._some(count)
        if len(got) == count:
            return got
        parts, left = [got], count - len(got)
        while left and len(got := self._some(left)):
            parts.append(got)
            left -= len(got)
        return b"".join(parts)

    def _some(self, count: int) -> memoryview:
        while self._at == len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return memoryview(b"")
            self._piece, self._at = piece, 0
        got = self._piece[self._at : self._at + count]
        self._at += len(got)
        self.byte += len(got)
        return got


def files_of(pieces: Iterable[memoryview]) -> Iterator[TarFile]:
    """The regular files of an archive, in order; contents are views of the pieces where they can.

    Raises:
        TarError: A header fails its checksum, or the archive has no end.
    """
    feed = _Feed(pieces)
    notes: dict[str, bytes] = {}
    while True:
        begin = feed.byte
        header = feed.take(BLOCK)
        if len(header) < BLOCK:
            raise TarError("it ends before the archive does", begin)
        if header == _ZEROS:
            return _check_end(feed)
        _check_sum(header, begin)
        kind = bytes(header[156:157])
        size = int(notes.pop("size", b"-1"))
        size = _number(header[124:136], begin) if size < 0 else size
        if kind in (_LONG_NAME, _EXTENDED) and size > _MOST_NOTE_BYTES:
            raise TarError(f"the name of a file takes {size} bytes", begin)
        content = feed.take(size)
        padding = feed.take(-size % BLOCK)
        if len(content) < size or len(padding) < -size % BLOCK:
            raise TarError("it ends within a file", begin)
        if kind == _LONG_NAME:
            notes["path"] = bytes(content).rstrip(b"\0")
        elif kind == _EXTENDED:
            notes |= _extended(bytes(content), begin)
        elif kind == _SPARSE or any(note.startswith("GNU.sparse") for note in notes):
            raise TarError("it holds a sparse file, which is not read; pack it anew", begin)
        else:
            name = notes.get("path") or _name(header)
            notes = {}
            if kind in _FILES and not name.endswith(b"/"):
                yield TarFile(name, content, begin)


def _check_sum(header: bytes | memoryview, begin: int) -> None:
    """An error unless the sum of all bytes, with its own field as blanks, is what it says."""
    said = bytes(header[148:156])
    found = sum(header) - sum(said) + 8 * ord(" ")
    if _number(said, begin) != found:
        raise TarError("the header of a file fails its checksum", begin)


def _number(field: bytes | memoryview, begin: int) -> int:
    """A number in octal digits, or in binary if it is marked so."""
    data = bytes(field)
    if data[0] & 0x80:
        return int.from_bytes(bytes([data[0] & 0x7F]) + data[1:], "big")
    digits = data.strip(b" \0") or b"0"
    if digits.strip(b"01234567"):
        raise TarError("the header of a file is damaged", begin)
    return int(digits, 8)


def _name(header: bytes | memoryview) -> bytes:
    name = bytes(header[:100]).partition(b"\0")[0]
    if header[257:263] == b"ustar\0":
        prefix = bytes(header[345:500]).partition(b"\0")[0]
        return prefix + b"/" + name if prefix else name
    return name


def _extended(content: bytes, begin: int) -> dict[str, bytes]:
    """Notes such as ``30 path=a/long/name``, of which each says its own length."""
    notes: dict[str, bytes] = {}
    while content.strip(b"\0"):
        length, _, _ = content.partition(b" ")
        try:
            end = int(length)
            key, is_there, value = content[len(length) + 1 : end - 1].partition(b"=")
            if not is_there or content[end - 1 : end] != b"\n":
                raise ValueError(length)
            if key == b"size":
                int(value)
            notes[key.decode()] = value
        except ValueError as error:
            raise TarError("the notes about a file are damaged", begin) from error
        content = content[end:]
    return notes


def _check_end(feed: _Feed) -> None:
    begin = feed.byte
    if feed.take(BLOCK) != _ZEROS:
        raise TarError("it ends within its end: only one block of zeros is there", begin)
    while len(rest := feed.take(_RECORD)):
        if bytes(rest).strip(b"\0"):
            raise TarError("there is more behind its end, as if two archives were joined", begin)
        if len(rest) % BLOCK:
            raise TarError("its last block is not whole", begin)


def head_of(name: str, size: int) -> bytes:
    """The header of a file, without anything that differs from one day or one user to another."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.PAX_FORMAT)


def padding_of(size: int) -> bytes:
    """What fills up the last block of a file."""
    return bytes(-size % BLOCK)


def end_of(written: int) -> bytes:
    """What ends an archive of which so much was written."""
    return bytes(2 * BLOCK + -(written + 2 * BLOCK) % _RECORD)
