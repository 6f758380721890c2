"""A client of buckets that holds every buffer it is given, and notices if one is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import obstore


class _HoldingWriter:
    """Holds what is written until it is closed, as a slow network would; then compares it."""

    def __init__(self, client: Any, key: str, **options: Any) -> None:
        self._upload = _OPEN_WRITER(client, key, **options)
        self._held: list[tuple[memoryview, bytes]] = []

    def write(self, data: Any) -> None:
        self._held.append((memoryview(data), bytes(data)))

    def close(self) -> None:
        for view, copy in self._held:
            assert view == copy, "a buffer was filled again while the store still held it"
            self._upload.write(copy)
        self._upload.close()

    def __exit__(self, *error: Any) -> None:
        self._held.clear()
        self._upload.__exit__(*error)


_OPEN_WRITER, _PUT = obstore.open_writer, obstore.put


@contextmanager
def holding() -> Iterator[None]:
    """While this lasts, every buffer is held as long as obstore might hold it, and compared."""
    put: list[tuple[memoryview, bytes]] = []

    def put_and_hold(client: Any, key: str, data: Any, **options: Any) -> Any:
        put.append((memoryview(data), bytes(data)))
        return _PUT(client, key, put[-1][1], **options)

    with (
        mock.patch.object(obstore, "open_writer", _HoldingWriter),
        mock.patch.object(obstore, "put", put_and_hold),
    ):
        yield
    for view, copy in put:
        assert view == copy, "what was put was changed afterwards, and a store may still hold it"
