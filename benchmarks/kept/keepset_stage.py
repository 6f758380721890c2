"""Keepset's ``snapshot`` behind a map, found again by a fresh process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import keepset as ks
from kept.jobs import Build, Start
from kept.workloads import data_folder

DISTRIBUTIONS = ("keepset", "numpy", "pyarrow")

_ROWS = 100_000


def _twice(x: Any) -> Any:
    return x * 2


def _first(n: int) -> Start:
    folder = data_folder() / "stage"
    kept = ks.Dataset.range(_ROWS).map(_twice).snapshot(folder)
    if not folder.exists():
        for _ in kept:
            pass

    def start() -> Iterator[Any]:
        return islice(kept, n)

    return start


KEPT: dict[str, Build] = {"W5 elements": _first}
