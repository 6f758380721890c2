"""Cut pipelines: the small datasets of the scenarios, and the files that one of them reads.

Chunks hold two elements and segments two chunks, so that a few elements take every path.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import keepset as ks

COUNT = 20
RIGHT = tuple(range(COUNT))
SMALL: dict[str, Any] = {"chunk_bytes": 16, "segment_bytes": 40}


def xs(elements: Any) -> tuple[int, ...]:
    return tuple(int(element["x"]) for element in elements)


def numbers(count: int) -> ks.Dataset:
    return ks.Dataset.range(count).map(lambda x: {"x": x})


def pipeline(place: Path, fingerprint: str = "f", **options: Any) -> ks.Dataset:
    return numbers(COUNT).snapshot(place, fingerprint=fingerprint, **SMALL, **options)


# The files lie beside the folders that are cut off, and are the same for all of them.


def file_names(place: Path) -> list[Path]:
    return sorted((place.parent.parent / "files").iterdir())


def make_files(place: Path) -> None:
    files = place.parent.parent / "files"
    files.mkdir()
    for number in range(4):
        (files / f"{number}.txt").write_text(str(number))


def touch_files(place: Path) -> None:
    """Let only their content say that the files are what they were."""
    for path in file_names(place):
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000_000))


def number_in(name: bytes) -> dict[str, int]:
    return {"x": int(Path(os.fsdecode(name)).read_text())}


def of_files(place: Path) -> ks.Dataset:
    pattern = str(place.parent.parent / "files" / "*.txt")
    names = ks.Dataset.list_files(pattern, shuffle=False)
    return names.map(number_in).snapshot(place, **SMALL)
