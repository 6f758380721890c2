"""Writes the golden files. Run once for each version of the format, from the project's folder:

    python -m tests.golden.make

What is there already is left as it is: files that were written must be read for ever, so they are
never written again. See README.md.
"""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
from tests.golden.plain import plain

import keepset as ks
from keepset.core.spec import common_supertype, spec_of, spec_to_json
from keepset.format import commit
from keepset.format.layout import Layout
from keepset.format.log import Log
from keepset.format.version import FORMAT_VERSION
from keepset.snapshot.files.sources import TABLE, FileTable, read_table
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.snapshot.writing import first_pass, recorder
from keepset.storage import Store, open_store
from keepset.storage.file_hashes import HASH_BYTES
from keepset.storage.files import Listing

FOLDER = Path(__file__).parent / f"format_v{FORMAT_VERSION}"
NOON = 1_767_268_800.0  # the first of January 2026, in Greenwich

Point = namedtuple("Point", ["x", "y"])

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *("M8[D]", "M8[s]", "M8[ns]", "m8[us]", "m8[25s]"),
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"),
)


# The elements:


def of(rows: list[Any]) -> ks.Dataset:
    def generate() -> Iterator[Any]:
        yield from rows

    return ks.Dataset.from_generator(generate)


def strings(*items: bytes) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


def numbers(dtype: str, count: int) -> Any:
    """Some numbers of a dtype, the last of them an odd one where there are odd ones."""
    known = np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)
    array = (np.arange(count) % 2 if known.itemsize == 1 else np.arange(count)).astype(known)
    if known.kind == "f":
        array[-1] = np.nan
    if known.kind in "mM":
        array[-1] = "NaT"
    return array


def every_dtype(i: int) -> Any:
    """A number and an array of each dtype, half of which are of a known shape."""
    fixed, varying = DTYPES[::2], DTYPES[1::2]
    return {
        **{dtype: (numbers(dtype, 4)[i], numbers(dtype, 4).reshape(2, 2)) for dtype in fixed},
        **{dtype: (numbers(dtype, 4)[i], numbers(dtype, i + 1)) for dtype in varying},
    }


def every_kind(i: int) -> Any:
    return {
        "text": b"t\0" * i,
        "texts": strings(b"", b"\xff\0", b"a" * i),
        "some texts": strings(*[b"x"] * i),
        "any rank": np.zeros((1,) * i, np.int16) if i else np.int16(7),
        "two unknown": np.arange(6 * i, dtype=np.float32).reshape(2 * i, 3),
        "no item": np.zeros((0, 3), np.uint8),
        "ragged": ks.Ragged([1.5, -2.5, 3.5], [0, i, 3]),
        "deep": ks.Ragged(ks.Ragged(strings(b"a", b"", b"c\0"), [0, 1, 3]), [0, 2]),
        "sparse": ks.Sparse([[0, i]], [5], (3, 4)),
        "record": Point(np.int8(i), {"inner": (np.float64(i), None)}),
        "empty": (),
        "dotted.name": np.int8(1),
        "dotted": {"name": np.int8(2)},
    }


def mixed(x: np.int64) -> Any:
    i = int(x)
    return {"x": x, "v": np.full(i % 3, x, np.float32), "s": b"s" * (i % 4), "p": (x * x,)}


def mixture(count: int = 12) -> ks.Dataset:
    return ks.Dataset.range(count).map(mixed)


# The saves:


def save_dtypes(path: Path) -> None:
    of([every_dtype(i) for i in range(3)]).save(path)


def save_kinds(path: Path) -> None:
    of([every_kind(i) for i in range(3)]).save(path)


def save_text(path: Path) -> None:
    """Strings that are ``str``, of each kind of leaf, some without items."""
    words = ["", "zo\u00eb \0", "\U0001f389" * 2]
    spec = {
        "text": ks.TensorSpec([], ks.text),
        "texts": ks.TensorSpec([2], ks.text),
        "some": ks.TensorSpec([None], ks.text),
        "any rank": ks.TensorSpec(None, ks.text),
        "ragged": ks.RaggedTensorSpec([None, None], ks.text),
        "sparse": ks.SparseTensorSpec([None], ks.text),
    }
    rows = [
        {
            "text": word,
            "texts": [word, "a"],
            "some": [word] * i,
            "any rank": word if i else [[word]],
            "ragged": ks.Ragged.from_rows([[word] * n for n in range(i + 2)]),
            "sparse": ks.Sparse([[i]], [word], [4]),
        }
        for i, word in enumerate(words)
    ]
    ks.Dataset.from_generator(lambda: iter(rows), output_signature=spec).save(path)


def save_none(path: Path) -> None:
    mixture().save(path, None, chunk_bytes=100, segment_bytes=1500)


def save_lz4(path: Path) -> None:
    mixture().save(path, "LZ4", chunk_bytes=100)


def save_zstd(path: Path) -> None:
    mixture().save(path, "ZSTD", chunk_bytes=100)


def save_gzip(path: Path) -> None:
    mixture().save(path, "GZIP", chunk_bytes=100)


def save_snappy(path: Path) -> None:
    mixture().save(path, "SNAPPY", chunk_bytes=100)


def save_wide(path: Path) -> None:
    """Offsets of 64 bits, which only elements of gigabytes need."""
    spec = common_supertype([spec_of(mixed(np.int64(i))) for i in range(5)])
    with mock.patch.object(recorder, "Layout", lambda spec: Layout(spec, wide=True)):
        ks.Dataset.range(5).map(mixed, output_signature=spec).save(path)


def save_single(path: Path) -> None:
    ks.Dataset.range(5).save(path)


def save_nothing_in_it(path: Path) -> None:
    of([None] * 3).save(path)


def save_empty(path: Path) -> None:
    ks.Dataset.range(0).save(path)


def save_shards_in_turn(path: Path) -> None:
    mixture().save(path, shard_func=lambda e: e["x"] % 3, chunk_bytes=100)


def save_shards_anyhow(path: Path) -> None:
    mixture().save(path, shard_func=lambda e: e["x"] ** 2 % 7, chunk_bytes=100)


def save_three_versions(path: Path) -> None:
    for count in (3, 5, 4):
        mixture(count).save(path)


def save_after_a_collection(path: Path) -> None:
    """The old version is gone, its commit is not; and a run is fenced."""
    save_three_versions(path)
    gc(path)


def save_without_its_oldest_commit(path: Path) -> None:
    save_three_versions(path)
    (path / "commits" / "00000000.json").unlink()


def save_repaired(path: Path) -> None:
    save_none(path)
    damage(open_store(path), 1)
    repair(open_store(path))


# The snapshots:


def pipeline(path: Path, **options: Any) -> ks.Dataset:
    options = {"fingerprint": "golden", "chunk_bytes": 100, **options}
    return mixture().snapshot(path, **options)


def snapshot_complete(path: Path) -> None:
    """With a fingerprint of its own, and what an unseeded shuffle drew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        list(mixture().shuffle(5).snapshot(path, chunk_bytes=100))


def snapshot_unfinished(path: Path) -> None:
    """Three appends, of which the elements of the first fit a narrower spec."""
    for stop in (1, 5, 9):
        list(pipeline(path).take(stop))


def snapshot_begun_anew(path: Path) -> None:
    list(pipeline(path).take(6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        list(pipeline(path, mode="write"))


def snapshot_fenced(path: Path) -> None:
    list(pipeline(path).take(6))
    with open_store(path / "golden").writer("segments/0123456789abcdef-0.arrow") as orphan:
        orphan.write(b"left behind")
    gc(path)
    list(pipeline(path))
    with open_store(path / "golden").writer("segments/0123456789abcdef-1.arrow") as orphan:
        orphan.write(b"left behind")
    gc(path)


def snapshot_repaired(path: Path) -> None:
    """A chunk waits to be computed again."""
    list(pipeline(path))
    damage(open_store(path / "golden"), 2)
    repair(open_store(path / "golden"))


def snapshot_unfinished_repaired(path: Path) -> None:
    snapshot_unfinished(path)
    damage(open_store(path / "golden"), 2)
    repair(open_store(path / "golden"))


def snapshot_filled(path: Path) -> None:
    snapshot_repaired(path)
    list(pipeline(path))


def snapshot_with_a_damaged_commit(path: Path) -> None:
    """What nobody may read: the newest commit fails its checksum."""
    list(pipeline(path).take(6))
    list(pipeline(path))
    newest = max((path / "golden" / "commits").iterdir())
    newest.write_bytes(newest.read_bytes().replace(b'"complete"', b'"complate"'))


# The files that a pipeline read:


def files_of_two_listings(path: Path) -> None:
    """Names in bytes that are no text, a folder, and contents of which one is not known."""
    names = ("0.png", os.fsdecode(b"\xff [1].png"), "folder/")
    facts = np.array([[10, NOON * 10**9, 1], [0, 2, 3], [-1, -4, 5]], np.int64)
    listings = (
        Listing("/data/images/", "/data/images", names, facts),
        Listing("/data/", "/data", ("labels.csv",), facts[:1]),
    )
    known = np.array([True, False, False, True])
    hashes = np.arange(4 * HASH_BYTES, dtype=np.uint8).reshape(4, HASH_BYTES)
    open_store(path).put(TABLE, FileTable(listings, known, hashes).to_bytes())


def expected_files(path: Path) -> dict[str, Any]:
    table = read_table(open_store(path))
    assert table is not None
    rows = [
        {"folder": part.listings[0].folder, "name": os.fsencode(name).hex(), "facts": facts}
        for part in table.parts()
        for name, facts in zip(part.listings[0].names, part.listings[0].facts.tolist(), strict=True)
    ]
    contents = [
        digest.tobytes().hex() if known else None
        for digest, known in zip(table.hashes, table.known.tolist(), strict=True)
    ]
    return {"elements": [{**row, "content": c} for row, c in zip(rows, contents, strict=True)]}


def gc(path: Path) -> None:
    root = open_store(path)
    collect(root, plan_collection(root, grace_s=-1e10))


def damage(store: Store, number: int) -> None:
    manifest = Snapshot.of(store).manifest
    chunk = manifest.chunks[number]
    name = manifest.segments[chunk.segment].entry.name
    data = bytearray(store.read(name))
    data[chunk.entry.offset + 9] ^= 1
    store.put(name, bytes(data))


def repair(store: Store) -> None:
    repair_snapshot(store, check_snapshot(store))


MAKERS: list[Callable[[Path], None]] = [
    maker for name, maker in globals().items() if name.startswith(("save_", "snapshot_"))
]


def expected(path: Path) -> dict[str, Any]:
    """What reading it must give, in plain JSON."""
    store = open_store(path)
    found = Snapshot(path)
    return {
        "kinds": [commit.kind for commit in found.history],
        "elements": list(map(plain, rows_of(store, found))),
        "spec": spec_to_json(found.element_spec),
        "shards": {str(shard): count for shard, count in found.shards.items()},
        "codecs": found.codecs,
        "is_complete": found.is_complete,
        "waiting": [list(each) for each in found.waiting],
        "fingerprint": found.fingerprint,
    }


def rows_of(store: Store, found: Snapshot) -> list[Any]:
    """All elements, or those that an unfinished pass has kept; none of one that was repaired."""
    if found.is_complete:
        return list(ks.load(store.url))
    if found.waiting:
        return []
    place = open_store(found.url)
    state = Log(place).state()
    assert state.kept is not None
    kept = Kept(place, state.kept)
    return list(kept.gather(np.arange(len(kept))).rows)


def in_lines(facts: dict[str, Any]) -> str:
    """JSON with a line for each fact and for each element."""
    elements = ",\n".join(f"  {json.dumps(element)}" for element in facts.pop("elements"))
    lines = [f' "{key}": {json.dumps(value)},' for key, value in facts.items()]
    whole = f' "elements": [\n{elements}\n ]' if elements else ' "elements": []'
    return "\n".join(["{", *lines, whole, "}\n"])


def main() -> None:
    # Nothing that is kept shall tell of the machine that it was made on.
    commit._WRITER.update(host="golden")
    socket.gethostname = lambda: "golden"
    time.time = lambda: NOON
    first_pass._FIRST_COMMIT_S = 1e9
    for maker in (*MAKERS, files_of_two_listings):
        path = FOLDER / maker.__name__
        if path.exists():
            print(f"{path.name} is there")
            continue
        maker(path)
        if maker is files_of_two_listings:
            path.with_suffix(".json").write_text(in_lines(expected_files(path)))
        elif maker is not snapshot_with_a_damaged_commit:
            path.with_suffix(".json").write_text(in_lines(expected(path)))
        for leases in path.rglob("leases"):
            leases.rmdir()  # empty, and git keeps no empty folders
        print(f"{path.name} was made")


if __name__ == "__main__":
    main()
