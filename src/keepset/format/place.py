"""What else may be in the place of a file or a folder of a snapshot, as on a file system."""

from __future__ import annotations

from keepset.errors import CorruptSnapshotError
from keepset.storage import Store


def check_place(store: Store, name: str) -> None:
    """Raise if something else is in the place of an object, or of a folder: ``segments/``."""
    what = store.obstacle(name)
    if what is None:
        return
    where, place = f"{store.url}/{name}", f"{what} is in its place"
    mend = "restore the file from a copy, or drop it with `keepset verify --repair`"
    if name.endswith("/"):
        mend = "move it away, and put the folder there if there was one"
    raise CorruptSnapshotError(
        f"{where} cannot be read: {place}; {mend}", path=where
    ) from ValueError(place)
