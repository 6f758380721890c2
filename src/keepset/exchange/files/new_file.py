"""NewFile: a file that takes its name when it is whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final

from keepset.exchange.files.file_names import is_local, store_of
from keepset.storage.durable import sync_folder
from keepset.storage.failures import writing
from keepset.storage.regular_file import file_to_replace
from keepset.storage.store import TEMPORARY
from keepset.storage.unknown_option import unknown_options

_PIECE_BYTES: Final = 8 << 20


@contextmanager
def new_file(name: str, options: dict[str, Any] | None = None) -> Iterator[BinaryIO]:
    """A file to write to, read from and seek in; under ``name`` if nothing goes wrong within.

    What was there before stays until then. What goes to a bucket is written to the local disk
    first, since most formats go back to fill in what they learn at the end.
    """
    if not is_local(name):
        with tempfile.TemporaryFile() as file:
            yield file
            _upload(file, name, options)
        return
    if options:
        raise unknown_options(options, f"{name!r} is a local path, which takes no options")
    # Errors within are the caller's: they need not be about this file.
    with writing(name):
        path = file_to_replace(name)
        folder = os.path.dirname(path)
        temporary = os.path.join(folder, TEMPORARY + os.urandom(8).hex())
        os.makedirs(folder, exist_ok=True)
        local = open(temporary, "x+b")  # noqa: SIM115  # closed below
    try:
        yield local
        with writing(name):
            local.flush()
            os.fsync(local.fileno())
            local.close()
            os.replace(temporary, path)
            sync_folder(folder)
    except BaseException:
        with suppress(OSError):  # of what is left to write, for which there may be no room
            local.close()
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _upload(file: BinaryIO, name: str, options: dict[str, Any] | None) -> None:
    store, target = store_of(name, options)
    file.seek(0)
    with store.writer(target) as writer:
        while piece := file.read(_PIECE_BYTES):
            writer.write(piece)
