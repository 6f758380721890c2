"""Files for Arrow to read: where they lie if they are on a disk, piece by piece if not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from keepset.errors import KeepsetError
from keepset.exchange.files.range_file import RangeFile
from keepset.exchange.files.row_file import Place


def arrow_input(place: Place) -> Any:
    """An Arrow file over a file in any store."""
    view = place.store.view(place.file)
    if view is not None:
        return pa.BufferReader(pa.py_buffer(view))
    return pa.PythonFile(RangeFile(place), mode="r")


@contextmanager
def arrow_damage(place: Place) -> Iterator[None]:
    """What Arrow says about contents that it cannot read becomes an error that names the file."""
    try:
        yield
    except KeepsetError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        place.raise_shortage(error)
        raise place.damaged(error) from error
