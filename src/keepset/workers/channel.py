"""Channel: objects between two processes, with arrays handed over in shared memory.

A message is a pickle whose array buffers travel out of band: through an anonymous shared file where
the system has those (no name, so nothing to leave behind), otherwise through the socket itself.
Both ends are processes of one user's one program; nothing here ever reads a file.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
from contextlib import suppress
from typing import Any, NamedTuple

from keepset.workers.pickling import dumps

_HEADER = struct.Struct("<QII")
_SIZE = struct.Struct("<Q")
_ALIGNMENT = 64


class UnreadableError(Exception):
    """An object that was sent cannot be made again where it arrived."""


class Unreadable(NamedTuple):
    """The answer to what could not be made again, and why."""

    reason: str


class Raised(NamedTuple):
    """The answer to a request whose function raised what is no error of an element."""

    error: BaseException


class Arena:
    """An anonymous shared file that grows as needed."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def view(self, size: int) -> memoryview:
        """At least ``size`` bytes of the shared memory."""
        if self._map is None or len(self._map) < size:
            self.release()
            if os.fstat(self.descriptor).st_size < size:
                os.ftruncate(self.descriptor, max(size * 2, 1 << 16))
            self._map = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return memoryview(self._map)

    def release(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

    def close(self) -> None:
        self.release()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def new_arena() -> Arena | None:
    """A new anonymous shared file, or None on systems without them."""
    if not hasattr(os, "memfd_create"):
        return None
    return Arena(os.memfd_create("keepset"))


class Channel:
    """One end of the connection: ``send`` and ``receive`` whole objects."""

    def __init__(self, connection: socket.socket, outgoing: Arena | None, incoming: Arena | None):
        self._socket, self._outgoing, self._incoming = connection, outgoing, incoming

    def send(self, value: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        body = dumps(value, buffers.append)
        parts = [buffer.raw() for buffer in buffers]
        sizes = b"".join(_SIZE.pack(part.nbytes) for part in parts)
        # Arrays without items have nothing to share, and an empty file cannot be mapped.
        shared = self._outgoing is not None and any(part.nbytes for part in parts)
        if shared:
            self._fill(parts)
        self._socket.sendall(_HEADER.pack(len(body), len(parts), shared) + sizes + body)
        if not shared:
            for part in parts:
                self._socket.sendall(part)

    def _fill(self, parts: list[memoryview]) -> None:
        assert self._outgoing is not None
        with self._outgoing.view(sum(_padded(part.nbytes) for part in parts)) as shared:
            offset = 0
            for part in parts:
                shared[offset : offset + part.nbytes] = part
                offset += _padded(part.nbytes)

    def receive(self) -> Any:
        """The next object; EOFError when the other side is gone.

        Raises:
            UnreadableError: It has arrived, and cannot be made again on this side.
        """
        length, count, shared = _HEADER.unpack(self._exactly(_HEADER.size))
        packed = self._exactly(count * _SIZE.size)
        sizes = [size for (size,) in _SIZE.iter_unpack(packed)]
        body = self._exactly(length)
        # Copied out at once: the sender reuses the memory for its next message.
        buffers = self._copied(sizes) if shared else [self._exactly(size) for size in sizes]
        try:
            return pickle.loads(body, buffers=buffers)
        except Exception as error:  # any object may fail in any way when it is rebuilt
            raise UnreadableError(f"{type(error).__name__}: {error}") from error

    def _copied(self, sizes: list[int]) -> list[memoryview]:
        assert self._incoming is not None
        total = sum(map(_padded, sizes))
        with self._incoming.view(total) as shared:
            own = memoryview(bytearray(shared[:total]))
        result, offset = [], 0
        for size in sizes:
            result.append(own[offset : offset + size])
            offset += _padded(size)
        return result

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view, got = memoryview(data), 0
        while got < count:
            received = self._socket.recv_into(view[got:])
            if not received:
                raise EOFError("the other process closed the connection")
            got += received
        return data

    def hang_up(self) -> None:
        """End the connection for both sides; a ``receive`` in another thread returns at once."""
        with suppress(OSError):  # the other side may be gone already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()
        for arena in (self._outgoing, self._incoming):
            if arena is not None:
                arena.close()


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
