"""The h5py package: how to come by it, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keepset.core.optional_package import optional_package
from keepset.errors import KeepsetError, StorageError
from keepset.exchange.files.range_file import open_to_read
from keepset.exchange.files.row_file import Place
from keepset.storage import LocalStore


def h5py() -> Any:
    """The package, which is an extra."""
    return optional_package("h5py", "HDF5 files need h5py", "hdf5")


def open_hdf5(place: Place) -> Any:
    """Open a file to read."""
    library = h5py()
    file = open_to_read(place)
    if isinstance(place.store, LocalStore):
        # It is there and may be read. The library does the rest better by itself.
        file.close()
        with damage_of(place):
            return library.File(place.store.object_url(place.file), "r")
    with damage_of(place):
        return library.File(file, "r")


@contextmanager
def damage_of(place: Place, name: str = "it", row: int = 0) -> Iterator[None]:
    """Whatever a damaged file makes go wrong in the library is an error that names the file."""
    try:
        yield
    except KeepsetError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, BlockingIOError):
            raise StorageError(
                f"{place.name} is being written by another program ({reason}); read it when that "
                "has closed it",
                url=place.name,
            ) from error
        place.raise_shortage(error)
        raise place.damaged(f"{name} is damaged ({reason})", record=row) from error
