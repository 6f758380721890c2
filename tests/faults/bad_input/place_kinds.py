"""Files beside the elements of a place: tables of files, recipes, notes of parts, cached blocks."""

from __future__ import annotations

import gzip
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from tests.faults.bad_input import byte_mutations, json_mutations
from tests.faults.bad_input.containers import in_gzip
from tests.faults.bad_input.kind import Kind, in_files, read_some
from tests.faults.bad_input.own_files import sealed
from tests.faults.bad_input.own_kinds import each_of, look, row
from tests.faults.bad_input.records import framed

import keepset as ks
from keepset.exchange.tensorflow.part_file import PartFile
from keepset.exchange.tensorflow.write_tfrecord import write_tfrecord
from keepset.snapshot.reading.recipes import recipe_name
from keepset.storage import disk_cache

_TABLE: Final = "files.arrows.gz"
_RECORDS: Final = [b"a" * n for n in range(6)]
# The objects behind the cached blocks stay in the memory of the process that reads the cases.
_REMOTE: Final = f"memory://{uuid4().hex}/kept"
_NESTED: Final = b"[" * 20_000


# The table of files.


def _of_files(folder: Path) -> ks.Dataset:
    names = ks.Dataset.list_files(str(folder / "files" / "*.txt"), shuffle=False)
    return names.map(lambda name: int(Path(name.decode()).read_text())).snapshot(folder / "kept")


def _with_table(folder: Path) -> None:
    # Copies of it have other times, so that the table decides whether the content is the same.
    (folder / "table" / "files").mkdir(parents=True)
    for number in range(4):
        (folder / "table" / "files" / f"{number}.txt").write_text(str(number))
    list(_of_files(folder / "table"))


def _read_table(folder: Path) -> None:
    assert list(_of_files(folder)) == [0, 1, 2, 3]
    ks.explain(_of_files(folder), folder / "kept")
    ks.explain(_of_files(folder).batch(2).snapshot(folder / "kept"), folder / "kept")


def _described(data: bytes, choose: random.Random) -> bytes:
    """Change what the table says of itself, in an Arrow stream that is sound."""
    with pa.ipc.open_stream(gzip.decompress(data)) as reader:
        described, table = reader.schema.metadata[b"keepset"], reader.read_all()
    text = _NESTED if choose.random() < 0.1 else json_mutations.mutated(described, choose)
    if choose.random() < 0.2:
        files = choose.choice(json_mutations.ODD_VALUES)
        with suppress(ValueError, TypeError, KeyError, IndexError, RecursionError):
            facts = json.loads(described)
            facts["listings"][0]["files"] = files
            text = json_mutations.to_text(facts, choose).encode("utf-8", "surrogatepass")
    table = table.replace_schema_metadata({"keepset": text})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return gzip.compress(sink.getvalue(), 1)


# The recipe beside a commit, which has its digest for a name.


def _saved(folder: Path) -> None:
    ks.Dataset.range(9).batch(2).save(folder / "recipe" / "kept")


def _read_recipe(folder: Path) -> None:
    each_of(
        lambda: read_some(ks.load(folder / "kept")),
        lambda: look(folder / "kept"),
        lambda: ks.explain(ks.Dataset.range(9).batch(3).snapshot(folder), folder / "kept"),
        lambda: repr(ks.from_recipe(_only(folder, "recipes/*"), on_change="ignore")),
    )


def _only(folder: Path, pattern: str) -> Path:
    [path] = folder.rglob(pattern)
    return path


def _sealed_recipe(folder: Path, choose: random.Random) -> None:
    """Change a recipe, and have its name and the commit fit it."""
    path, commit = _only(folder, "recipes/*"), _only(folder, "commits/*.json")
    change = choose.choice((json_mutations.mutated, json_mutations.mutated, byte_mutations.mutated))
    data = b'{"stages":' + _NESTED if choose.random() < 0.1 else change(path.read_bytes(), choose)
    path.unlink()
    facts = json.loads(commit.read_bytes())
    facts["recipe"] = Path(recipe_name(data)).stem
    (path.parent / f"{facts['recipe']}.json").write_bytes(data)
    facts.pop("checksum", None)
    commit.write_bytes(sealed(json.dumps(facts, separators=(",", ":")).encode()))


# The note of a part that an interrupted writer of a file has left.


def _interrupted(folder: Path) -> None:
    (folder / "part").mkdir(parents=True)
    part = PartFile(str(folder / "part" / "some.tfrecord"), "some pipeline")
    for record in _RECORDS[:3]:
        part.write(framed(record))
    part.note(3)
    part.abort()


def _go_on(folder: Path) -> None:
    path = folder / "some.tfrecord"
    write_tfrecord(ks.Dataset.from_tensor_slices(_RECORDS)._node, path, resume_as="some pipeline")
    read_some(ks.TFRecordDataset(str(path)))


# The cache of blocks of a remote store.


def _blocks(folder: Path) -> None:
    (folder / "blocks").mkdir(parents=True)
    ks.Dataset.range(12).map(row).save(_REMOTE)
    list(ks.load(_REMOTE, cache_dir=folder / "blocks"))


def _sealed_block(data: bytes, choose: random.Random) -> bytes:
    """Change a block, with a checksum that fits."""
    block = byte_mutations.mutated(data[disk_cache._HEADER.size :], choose)
    return disk_cache._header(memoryview(block)) + block


def _read_blocks(folder: Path) -> Any:
    return read_some(ks.load(_REMOTE, cache_dir=folder))


KINDS: Final[dict[str, Kind]] = {
    "table of files": Kind(
        _with_table,
        _read_table,
        in_files(_described, _described, in_gzip(byte_mutations.mutated), pattern=_TABLE),
        victims=_TABLE,
        raw_share=0.1,
    ),
    "stored recipe": Kind(
        _saved, _read_recipe, (_sealed_recipe,), victims="recipes/*", raw_share=0.1
    ),
    "note of a part": Kind(
        _interrupted,
        _go_on,
        in_files(json_mutations.mutated, pattern="*.part-*.json"),
        victims="*.part-*.json",
        raw_share=0.2,
    ),
    "cached block": Kind(_blocks, _read_blocks, in_files(_sealed_block), raw_share=0.4),
}
