"""GFile: a file that is read or written as a whole, here or in an object store."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from keepset.errors import InvalidArgumentError
from keepset.tf.error_names import translation
from keepset.tf.files.file_places import place_of
from keepset.tf.tensors.elements import untensored

_MODES = ("r", "w", "a", "r+", "w+", "a+")


class GFile:
    """As ``tf.io.gfile.GFile``. The file is opened when it is first read or written.

    What was written is there when the file is closed or flushed.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "") not in _MODES:
            raise InvalidArgumentError(f"mode {mode!r} is not one of {', '.join(_MODES)}")
        self._name, self._mode = os.fsdecode(untensored(name)), mode
        self._kind, self._is_binary = mode.replace("b", ""), "b" in mode
        self._stream: Any = None
        self._is_changed = self._is_read_first = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def _opened(self) -> Any:
        if self._stream is None:
            data = self._content()
            made: Any = io.BytesIO(data) if self._is_binary else io.StringIO(data.decode(), None)
            if self._kind[0] == "a":
                made.seek(0, io.SEEK_END)
            self._stream = made
        return self._stream

    def _content(self) -> bytes:
        store, file = place_of(self._name)
        if self._kind[0] == "w":
            self._is_changed = True  # it is there also if nothing is written
            return b""
        if self._kind[0] == "a" and not store.exists(file):
            return b""
        return store.read(file)

    def _readable(self) -> Any:
        if self._kind in ("w", "a"):
            raise PermissionError(f"{self._name}: File isn't open for reading; use mode 'r'")
        if self._kind == "w+" and self._stream is None:
            # As in TensorFlow, what was there can be read until something is written.
            self._kind, self._is_read_first = "r+", True
            try:
                return self._opened()
            finally:
                self._kind = "w+"
        return self._opened()

    @translation()
    def read(self, n: int = -1) -> Any:
        """The next ``n`` characters or bytes, or all that are left."""
        return self._readable().read(n)

    @translation()
    def readline(self) -> Any:
        return self._readable().readline()

    @translation()
    def readlines(self) -> list[Any]:
        return self._readable().readlines()  # type: ignore[no-any-return]

    @translation()
    def write(self, file_content: Any) -> None:
        """Write text, or bytes."""
        if self._kind == "r":
            raise PermissionError(f"{self._name}: File isn't open for writing; use mode 'w'")
        if self._is_read_first:
            self._stream, self._is_read_first = None, False
        stream, given = self._opened(), untensored(file_content)
        self._is_changed = True
        stream.write(given if self._is_binary else os.fsdecode(given))

    @translation()
    def seek(self, offset: int | None = None, whence: int = 0, position: Any = None) -> None:
        self._opened().seek(position if offset is None else offset, whence)

    @translation()
    def tell(self) -> int:
        return self._opened().tell()  # type: ignore[no-any-return]

    @translation()
    def size(self) -> int:
        store, file = place_of(self._name)
        return store.size(file)

    def seekable(self) -> bool:
        return True

    @translation()
    def flush(self) -> None:
        """Write out what was put in."""
        if self._stream is not None and self._is_changed:
            value = self._stream.getvalue()
            store, file = place_of(self._name)
            store.put(file, value if isinstance(value, bytes) else value.encode())
            self._is_changed = False

    @translation()
    def close(self) -> None:
        if self._kind[0] == "w":
            self._opened()
        self.flush()
        self._stream = None
        self._kind = "r" if self._kind[0] == "w" else self._kind

    def __iter__(self) -> Iterator[Any]:
        return iter(self._readable())

    def __next__(self) -> Any:
        return next(self._readable())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()

    def __del__(self) -> None:
        # Who writes to a file without closing it finds it written, as with files of Python.
        with suppress(Exception):  # at the end of a program no caller could catch it
            self.flush()
