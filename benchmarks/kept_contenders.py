"""Who takes part in the benchmark of kept data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from environments import python_of
from harness import Contender
from kept_jobs import KEEPSET

# Its environment, its module, and its tables: "" is the one called KEPT.
PEERS = {
    "torch": ("torch", "torch_memmap", ("",)),
    "datasets": ("huggingface", "huggingface", ("", "ARROW")),
    "tf": ("tensorflow", "tensorflow", ("", "RECORDS", "CACHE", "SNAPSHOT")),
    "array_record": ("grain", "grain_array_record", ("", "GRAIN")),
    "litdata": ("litdata", "litdata_chunks", ("", "ONE_CHUNK")),
    "mosaic": ("mosaic", "mosaic", ("",)),
    "webdataset": ("webdataset", "webdataset_tar", ("",)),
    "lance": ("lance", "lance_file", ("",)),
    "zarr": ("zarr", "zarr_arrays", ("",)),
}
# Those that keep the result of a map on JPEG files.
_JPEG_PEERS = {
    "datasets": ("huggingface", "huggingface", ("",)),
    "tf": ("tensorflow", "tensorflow", ("CACHE", "SNAPSHOT")),
    "litdata": ("litdata", "litdata_chunks", ("",)),
    "mosaic": ("mosaic", "mosaic", ("",)),
}


def contenders(names: Sequence[str]) -> list[Contender]:
    """The yardsticks, Keepset and these peers, with their environments made."""
    return [
        Contender("numpy", "kept.numpy_memmap", "yardstick"),
        Contender("numpy durable", "kept.numpy_memmap", "yardstick", table="KEPT_DURABLE"),
        Contender("arrow", "kept.arrow_by_hand", "yardstick"),
        Contender("codec", "kept.codec_alone", "yardstick"),
        Contender(KEEPSET, "kept.keepset_snapshot", "subject"),
        *_peers("kept", PEERS, names),
    ]


def jpeg_contenders(names: Sequence[str]) -> list[Contender]:
    return [
        Contender("numpy", "jpegs.numpy_by_hand", "yardstick"),
        Contender(KEEPSET, "jpegs.keepset_snapshot", "subject"),
        *_peers("jpegs", _JPEG_PEERS, names),
    ]


def _peers(
    package: str, peers: dict[str, tuple[str, str, tuple[str, ...]]], names: Sequence[str]
) -> Iterator[Contender]:
    for name in names:
        environment, module, tables = peers.get(name, ("", "", ()))
        python = python_of(environment, lambda line: print(line, flush=True)) if tables else None
        if python is None:
            continue
        for table in tables:
            full = f"{name} {table.lower()}".strip().replace("_", " ")
            key = f"KEPT_{table}" if table else "KEPT"
            yield Contender(full, f"{package}.{module}", "peer", python, key)
