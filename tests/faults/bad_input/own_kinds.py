"""Keepset's own files: commits, segments of each codec, leases, record indexes, caches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.faults.bad_input import json_mutations
from tests.faults.bad_input.kind import Kind, in_files, read_some
from tests.faults.bad_input.own_files import mutate_chunk, mutate_commit
from tests.golden import make as golden

import keepset as ks
from keepset.snapshot.listing import list_snapshots
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.storage import open_store

CODECS: Final = (None, "LZ4", "ZSTD", "GZIP", "SNAPPY")
_GOLDEN: Final = Path(golden.__file__).parent / "format_v1"


def row(x: np.int64) -> Any:
    """An element with leaves of every kind that a segment has a way for."""
    return {
        "x": x,
        "s": b"y" * int(x),
        "v": np.zeros(int(x) % 3),
        "r": ks.Ragged([1, 2], [0, 1, 2]),
        "p": ks.Sparse([[0, int(x) % 4]], [5], (3, 4)),
        "t": np.array([b"", b"t%d" % x], object),
    }


def _saved(compression: str | None) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        ks.Dataset.range(12).map(row).save(folder / "plain", compression, chunk_bytes=400)
        sharded = ks.Dataset.range(12).map(lambda x: {"x": x})
        sharded.save(folder / "shards", compression, shard_func=lambda e: e["x"] ** 2 % 5)

    return make


def _read(folder: Path) -> None:
    each_of(
        lambda: read_some(ks.load(folder)),
        lambda: look(folder),
        lambda: list_snapshots(open_store(folder)),
        lambda: check_snapshot(open_store(Snapshot(folder).url)),
    )


def look(folder: Path) -> None:
    found = Snapshot(folder)
    for name in dir(Snapshot):
        if not name.startswith("__"):
            getattr(found, name)
    repr(found)


def each_of(*actions: Callable[[], Any]) -> None:
    """Do all of them, though one refuses; the first refusal is raised at the end."""
    refusals = []
    for action in actions:
        try:
            action()
        except ks.KeepsetError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]


def _golden(folder: Path) -> None:
    for variant in sorted(_GOLDEN.iterdir()):
        if list(variant.rglob("commits/*.json")):
            shutil.copytree(variant, folder / variant.name)


def _leased(folder: Path) -> None:
    ks.Dataset.range(5).save(folder / "lease" / "data")
    leases = folder / "lease" / "data" / "leases"
    leases.mkdir(exist_ok=True)
    facts = {
        "run": "0123456789abcdef",
        "host": "elsewhere",
        "boot": "x",
        "pid": 4321,
        "started": "99",
        "since": 1.0,
        "beat": 2.0,
    }
    (leases / "0123456789abcdef.json").write_text(json.dumps(facts))


def _read_leased(folder: Path) -> None:
    each_of(
        lambda: _read(folder / "data"),
        lambda: ks.Dataset.range(5).save(folder / "data"),
        lambda: list(ks.Dataset.range(4).snapshot(folder / "data" / "other")),
    )


def _indexed(folder: Path) -> None:
    (folder / "index").mkdir(parents=True)
    path = folder / "index" / "some.tfrecord"
    ks.Dataset.from_tensor_slices([b"a", b"bcd", b"", b"ef" * 20]).write_tfrecord(str(path))
    _ = ks.TFRecordDataset(str(path))[2]


def _cached(folder: Path) -> None:
    (folder / "cache").mkdir(parents=True)
    list(_cache(folder / "cache"))


def _cache(folder: Path) -> ks.Dataset:
    return ks.Dataset.range(6).map(row).cache(str(folder / "kept"))


KINDS: Final[dict[str, Kind]] = {
    **{
        f"segment, {codec}": Kind(
            _saved(codec), _read, (mutate_chunk,), victims="segments/*", raw_share=0.15
        )
        for codec in CODECS
    },
    "commit": Kind(
        _golden,
        _read,
        in_files(mutate_commit, pattern="commits/*.json"),
        victims="commits/*.json",
        raw_share=0.1,
        has_unfinished=True,
    ),
    "lease": Kind(
        _leased, _read_leased, in_files(json_mutations.mutated, pattern="leases/*"), "leases/*"
    ),
    "record index": Kind(
        _indexed,
        lambda folder: read_some(ks.TFRecordDataset(str(folder / "some.tfrecord"))),
        victims="*.keepset-index",
    ),
    "cache": Kind(_cached, lambda folder: read_some(_cache(folder))),
}
