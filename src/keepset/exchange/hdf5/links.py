"""The data sets of an HDF5 file, found without ever leaving the file.

A link may lead to another file, and so may a link to such a link. The library would open whatever
file is named there. Here, links are followed one by one, and those that lead out are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_paths import Path, joined, listed
from keepset.exchange.files.row_file import Place
from keepset.exchange.hdf5.library import h5py

# As many as the library itself follows.
_MOST_LINKS: Final = 16
_MOST_DEPTH: Final = 100


def object_at(file: Any, group: str, place: Place) -> Any:
    """The group or data set of this name."""
    found = _follow(file["/"], group, place, 0)
    if found is None:
        raise InvalidArgumentError(
            f"{place.name} has no group {group!r}; at its top there are "
            f"{listed(map(repr, file)) or 'none'}"
        )
    return found


def data_sets(
    group: Any, place: Place, is_wanted: Callable[[Path], bool]
) -> Iterator[tuple[Path, Any]]:
    """The data sets below a group, with their paths from there.

    What is not wanted, be it a group or a data set, is not opened: None stands for it.
    """
    return _walk(group, (), [group.id], place, is_wanted)


def _walk(
    group: Any, above: Path, ids: list[Any], place: Place, is_wanted: Callable[[Path], bool]
) -> Iterator[tuple[Path, Any]]:
    library = h5py()
    for name in group:
        path = (*above, name)
        if not is_wanted(path):
            yield path, None
            continue
        found = _child(group, name, place, 0)
        if found is None:
            raise _leads(place, joined(path), "to nothing")
        if isinstance(found, library.Dataset):
            yield path, found
        elif isinstance(found, library.Group):
            if found.id in ids or len(ids) > _MOST_DEPTH:
                raise _leads(place, joined(path), "back to where it is")
            yield from _walk(found, path, [*ids, found.id], place, is_wanted)


def _follow(group: Any, path: str, place: Place, links: int) -> Any:
    """What is at a path from a group; None if there is nothing."""
    found = group.file["/"] if path.startswith("/") else group
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if not isinstance(found, h5py().Group):
            return None
        found = _child(found, name, place, links)
    return found


def _child(group: Any, name: str, place: Place, links: int) -> Any:
    library = h5py()
    link = group.get(name, getlink=True)
    if link is None:
        return None
    if isinstance(link, library.HardLink):
        return group[name]
    if not isinstance(link, library.SoftLink):
        raise _leads(place, name, f"to another file, {getattr(link, 'filename', 'unknown')!r}")
    if links == _MOST_LINKS:
        raise _leads(place, name, "through too many others")
    return _follow(group, link.path, place, links + 1)


def _leads(place: Place, name: str, where: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{place.name} has a link {name!r} that leads {where}, and is not followed; choose others "
        "with columns=, or read that file itself"
    )
