"""What a removal leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

from keepset.format.commit import commit_name
from keepset.format.log import Log
from keepset.storage import open_store


def only_the_removal_is_left(path: Path) -> bool:
    """Whether nothing is there but the commit that says that the snapshot was removed."""
    removal = Log(open_store(path)).state().removal
    files = [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    return removal is not None and files == [commit_name(removal.number)]


def silence(lease: Path) -> None:
    """Make a lease one that was last written long ago."""
    os.utime(lease, (0, 0))
