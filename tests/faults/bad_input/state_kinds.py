"""States of iterators and loaders, as JSON in files of the user's."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.faults.bad_input import json_mutations
from tests.faults.bad_input.kind import MOST_ELEMENTS, Kind, in_files

import keepset as ks
from keepset.adapters.shares import Shares
from keepset.core.iterate import iterate
from keepset.storage.regular_file import open_regular

_TAKEN: Final = 5


def pipelines() -> dict[str, ks.Dataset]:
    """Pipelines with stages whose states have values of every sort."""
    numbers = ks.Dataset.range(30)
    odd = ks.Dataset.range(20).filter(lambda x: x % 2 == 1)
    return {
        "shuffled": numbers.shuffle(8, seed=1).batch(3),
        "anywhere": numbers.shuffle(ks.GLOBAL, seed=1).shard(2, 1),
        "interleaved": ks.Dataset.range(5).interleave(lambda x: ks.Dataset.range(4), 3),
        "scanned": numbers.scan(np.int64(0), lambda total, x: (total + x, total)),
        "zipped": ks.Dataset.zip(numbers, odd),
        "unbatched": numbers.batch(4).unbatch().repeat(2),
        "grouped": numbers.group_by_window(lambda x: x % 2, lambda key, rows: rows.batch(2), 2),
        "parallel": numbers.map(lambda x: x, 2, deterministic=False).prefetch(2),
        "sampled": ks.Dataset.sample_from_datasets([numbers, odd], seed=3).concatenate(odd),
        "rebatched": numbers.map(lambda x: x % 7).unique().batch(2).rebatch(3),
        "cached": numbers.cache().take(20).enumerate(),
    }


def _noted(folder: Path) -> None:
    for name, ds in pipelines().items():
        it = iter(ds)
        list(islice(it, _TAKEN))
        _write(folder / f"{name}, iterator", it.state())
        it.close()
        _write(folder / f"{name}, loader", Shares(ds._node).state(0, _TAKEN))


def _write(folder: Path, state: Any) -> None:
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps(state))


def _read(folder: Path) -> None:
    try:
        with open_regular(str(folder / "state.json")) as file:
            state = json.load(file)
    except (OSError, ValueError, RecursionError):
        return  # what is no JSON, or no file, is the user's to notice
    name, _, reader = folder.name.partition(", ")
    node = pipelines()[name]._node
    if reader == "iterator":
        list(islice(iterate(node, state), MOST_ELEMENTS))
    else:
        shares = Shares(node)
        number, taken = shares.restore(state)
        for chunk in shares.chunks(number, taken):
            list(chunk.rows)


KINDS: Final[dict[str, Kind]] = {
    "state": Kind(_noted, _read, in_files(json_mutations.mutated), raw_share=0.1),
}
