"""A reader of format 1 made from docs/format/v1.md alone; rows are what Arrow makes of them."""

import gzip
import json
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import pyarrow as pa


def newest_manifest(path: Path) -> Any:
    """The manifest of the newest whole data set."""
    names = sorted(p for p in (path / "commits").iterdir() if not p.name.startswith(".tmp-"))
    for name in reversed(names):
        commit = json.loads(name.read_bytes())
        assert commit["format"] == 1
        if commit["kind"] in ("complete", "replace"):
            return commit["manifest"]
        assert commit["kind"] != "reset"
    raise FileNotFoundError("no whole data set")


def schema_of(path: Path, segment: Any) -> pa.Schema:
    data = (path / segment["name"]).read_bytes()
    if segment["codec"] == "GZIP":
        return pa.ipc.open_stream(gzip.decompress(data)).schema
    return pa.ipc.open_file(data).schema


def rows_of(path: Path, manifest: Any, chunk: list[Any]) -> list[Any]:
    number, _, offset, _, _, ends, _ = chunk
    segment = manifest["segments"][number]
    with open(path / segment["name"], "rb") as file:
        file.seek(offset)
        message = file.read(ends[-1])
    if segment["codec"] == "GZIP":
        message = gzip.decompress(message)
    batch = pa.ipc.read_record_batch(pa.py_buffer(message), schema_of(path, segment))
    return batch.to_pylist()


def shards_of(order: Any) -> list[int]:
    if "pattern" in order:
        return [order["pattern"][i % len(order["pattern"])] for i in range(order["elements"])]
    data = zlib.decompress(b64decode(order["packed"]))
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def read(path: Path) -> list[Any]:
    """All rows in their order."""
    manifest = newest_manifest(path)
    by_shard: dict[int, list[Any]] = {}
    for chunk in manifest["chunks"]:
        by_shard.setdefault(chunk[1], []).extend(rows_of(path, manifest, chunk))
    if manifest["order"] is None:
        return by_shard.get(0, [])
    turns = {shard: iter(rows) for shard, rows in by_shard.items()}
    return [next(turns[shard]) for shard in shards_of(manifest["order"])]
