"""Files of other programs: arrays, tables, texts, pictures, archives and Hugging Face folders."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.exchange.doors import DOORS, Door
from tests.faults.bad_input import containers, json_mutations, text_mutations
from tests.faults.bad_input.containers import in_gzip
from tests.faults.bad_input.kind import FolderMutation, Kind, copied, in_files, only_file, read_some

import keepset as ks

_GOLDEN: Final = Path(__file__).parents[2] / "golden" / "huggingface"
_STRUCTURE: Final[dict[str, tuple[FolderMutation, ...]]] = {
    "npy": in_files(containers.npy_header),
    "npz": in_files(containers.npz),
    "npz, compressed": in_files(containers.npz),
    "text": in_files(text_mutations.lines),
    "text in gzip": in_files(in_gzip(text_mutations.lines)),
    "webdataset": in_files(containers.tar),
    "webdataset in gzip": in_files(in_gzip(containers.tar)),
    "csv": in_files(text_mutations.lines),
    "tsv in gzip": in_files(in_gzip(text_mutations.lines)),
    "json lines": in_files(text_mutations.json_lines, text_mutations.lines),
}


def _of_door(name: str, door: Door) -> Kind:
    def make(folder: Path) -> None:
        for number, kind in enumerate(door.kinds.values()):
            (folder / str(number)).mkdir(parents=True)
            door.write(door.dataset(5, kind), folder / str(number) / f"some{door.ending}")

    return Kind(
        make, lambda folder: read_some(door.read(only_file(folder))), _STRUCTURE.get(name, ())
    )


def _tables(write: Callable[[pa.Table, Path], Any]) -> Callable[[Path], None]:
    """Tables as other programs write them: with lists, dictionaries and nesting."""

    def make(folder: Path) -> None:
        table = pa.table(
            {
                "n": pa.array([1, 2, 3], pa.int32()),
                "t": pa.array(["a", "", "ccc"]).dictionary_encode(),
                "l": pa.array([[1.5], [], [2.5, 3.5]]),
                "s": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": ""}, {"a": 3, "b": "y"}]),
                "d": pa.array([1, 2, 3], pa.timestamp("us")),
            }
        )
        (folder / "foreign").mkdir(parents=True)
        write(table, folder / "foreign")

    return make


def _write_parquet(table: pa.Table, folder: Path) -> None:
    pq.write_table(table, folder / "some.parquet", compression="zstd", row_group_size=2)


def _write_feather(table: pa.Table, folder: Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    path = str(folder / "some.arrow")
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table)


def _write_stream(table: pa.Table, folder: Path) -> None:
    with pa.ipc.new_stream(str(folder / "some.arrow"), table.schema) as writer:
        writer.write_table(table)


def _json_in_gzip(folder: Path) -> None:
    (folder / "lines").mkdir(parents=True)
    lines = b'{"a": 1, "b": [1.5, 2]}\n{"a": 2, "b": []}\n'
    (folder / "lines" / "some.jsonl.gz").write_bytes(gzip.compress(lines))


def _pictures(folder: Path) -> None:
    from PIL import Image

    pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    for ending in ("png", "jpg", "webp", "gif", "bmp"):
        place = folder / ending / "cats"
        place.mkdir(parents=True)
        Image.fromarray(pixels).save(place / f"one.{ending}")
        (folder / ending / "dogs").mkdir()
        Image.fromarray(pixels[:, :, 0]).save(folder / ending / "dogs" / f"two.{ending}")


def _fixed(folder: Path) -> None:
    (folder / "fixed").mkdir(parents=True)
    (folder / "fixed" / "some.bin").write_bytes(b"head" + bytes(range(40)))


def _read_fixed(folder: Path) -> None:
    read_some(ks.read_fixed_length(only_file(folder), 8, header_bytes=4))


def _path_list(folder: Path) -> None:
    (folder / "list").mkdir(parents=True)
    (folder / "list" / "train.txt").write_text("a.png\nb/c.png\n/d.png\n")


def _read_path_list(folder: Path) -> None:
    read_some(ks.read_path_list(only_file(folder)))


def _read_folder(folder: Path) -> None:
    if (folder / "dataset_dict.json").exists():
        read_some(ks.read_hf(folder, split="train"))
    else:
        read_some(ks.read_hf(folder))


KINDS: Final[dict[str, Kind]] = {
    **{name: _of_door(name, door) for name, door in DOORS.items()},
    "parquet, foreign": Kind(
        _tables(_write_parquet), lambda folder: read_some(ks.read_parquet(only_file(folder)))
    ),
    "arrow, foreign": Kind(
        _tables(_write_feather), lambda folder: read_some(ks.read_arrow(only_file(folder)))
    ),
    "arrow stream": Kind(
        _tables(_write_stream), lambda folder: read_some(ks.read_arrow(only_file(folder)))
    ),
    "json lines in gzip": Kind(
        _json_in_gzip,
        lambda folder: read_some(ks.read_json_lines(only_file(folder))),
        in_files(in_gzip(text_mutations.json_lines)),
    ),
    "pictures": Kind(_pictures, lambda folder: read_some(ks.read_images(folder))),
    "fixed length": Kind(_fixed, _read_fixed),
    "path list": Kind(_path_list, _read_path_list, in_files(text_mutations.lines)),
    "hugging face": Kind(
        copied(_GOLDEN, "arrays", "plain", "splits", "translations"),
        _read_folder,
        in_files(json_mutations.mutated, pattern="*.json"),
    ),
}
