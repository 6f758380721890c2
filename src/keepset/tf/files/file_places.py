"""Where a file is, for what reads or writes it whole."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from keepset.exchange.files.file_names import is_local, store_of
from keepset.storage import Store


def place_of(name: str) -> tuple[Store, str]:
    """The store that holds a file, and the file's name in it; a folder is an error."""
    if is_local(name):
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name).st_mode):
                raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", name)
    return store_of(name, None)
