"""RangeFile: a file in any store, to read and to seek in, for libraries that want such a thing."""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from typing import Any, BinaryIO, Final, cast

from keepset.exchange.files.row_file import Place
from keepset.storage import LocalStore
from keepset.storage.failures import reading
from keepset.storage.regular_file import open_regular

# A request to a bucket takes as long as a megabyte or so does.
BLOCK_BYTES: Final = 1 << 20
# Formats keep what describes them in a few places, and come back to those again and again.
_MOST_BLOCKS: Final = 16


def open_to_read(place: Place) -> BinaryIO:
    """The file itself if it is on a disk, otherwise a ``RangeFile``."""
    if isinstance(place.store, LocalStore):
        path = place.store.object_url(place.file)
        with reading(path):
            return open_regular(path)
    return cast(BinaryIO, RangeFile(place))


class RangeFile(io.RawIOBase):
    """A file that cannot be written to, of which only the blocks that are wanted are fetched.

    The blocks that were used last stay in memory. It is used by one thread at a time.

    Attributes:
        most_blocks: How many blocks, of a megabyte each, are kept; more for those who read in many
            places by turns.
    """

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._size = place.store.size(place.file)
        self.most_blocks = _MOST_BLOCKS
        self._at = 0
        self._blocks: OrderedDict[int, memoryview] = OrderedDict()

    @property
    def name(self) -> str:
        return self._place.name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check_open()
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._check_open()
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}
        if whence not in starts:
            raise ValueError(f"whence={whence} is none of {', '.join(map(str, starts))}")
        at = starts[whence] + offset
        if at < 0:
            raise ValueError(f"byte {at} lies before the beginning of {self.name}")
        self._at = at
        return at

    def read(self, size: int | None = -1, /) -> bytes:
        self._check_open()
        left = max(0, self._size - self._at)
        count = left if size is None or size < 0 else min(size, left)
        return b"".join(self._take(count))

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        self._check_open()
        target = memoryview(buffer).cast("B")
        done = 0
        for part in self._take(min(len(target), max(0, self._size - self._at))):
            target[done : done + len(part)] = part
            done += len(part)
        return done

    def close(self) -> None:
        self._blocks.clear()
        super().close()

    def _take(self, count: int) -> list[memoryview]:
        """So many bytes from here on, which are there; and go on behind them."""
        if not count:
            return []
        start, self._at = self._at, self._at + count
        if count >= BLOCK_BYTES * self.most_blocks:
            # More than is kept, so that it would only drive out what is.
            return [memoryview(self._fetch([(start, count)])[0])]
        first, last = start // BLOCK_BYTES, (start + count - 1) // BLOCK_BYTES
        blocks = self._wanted(range(first, last + 1))
        blocks[-1] = blocks[-1][: start + count - last * BLOCK_BYTES]
        blocks[0] = blocks[0][start - first * BLOCK_BYTES :]
        return blocks

    def _wanted(self, numbers: range) -> list[memoryview]:
        missing = [number for number in numbers if number not in self._blocks]
        starts = [number * BLOCK_BYTES for number in missing]
        ranges = [(start, min(BLOCK_BYTES, self._size - start)) for start in starts]
        found = self._fetch(ranges) if ranges else []
        for number, block in zip(missing, found, strict=True):
            # A copy: what is fetched together may be one piece of memory, which none could leave.
            self._blocks[number] = memoryview(bytes(block))
        for number in numbers:
            self._blocks.move_to_end(number)
        blocks = [self._blocks[number] for number in numbers]
        while len(self._blocks) > self.most_blocks:
            self._blocks.popitem(last=False)
        return blocks

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[memoryview | bytes]:
        return self._place.store.read_ranges(self._place.file, ranges)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"{self.name} is closed")
