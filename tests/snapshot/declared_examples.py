"""For every stage an example, and for each of its fields another value.

A plain value changes the elements of the example, and the contract checks that it does; so the
entry shows what the field is for. The others are marked:

- ``Unseen(value)``: the field counts, and the elements of this example are the same all the same.
- ``Together(field=..., other=...)``: the field can only be changed along with others.

Fields that are declared not to count need no mark: their elements must be the same. Fields that
hold stages, and ``name``, are changed by the contract itself.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pyarrow as pa

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.core.node import Node
from keepset.core.options import Options
from keepset.core.random import Randomness
from keepset.core.structure import structure_of
from keepset.dataset.loaded_stages import ReaderStage
from keepset.exchange.huggingface.features import parse_features
from keepset.exchange.images.decode_pictures import DecodePictures
from keepset.exchange.memory.held_table import HeldTable
from keepset.exchange.webdataset.reading import DecodeSamples, ReadWebdataset
from keepset.nodes.chosen_rows import ChosenRows
from keepset.nodes.deal import Deal
from keepset.nodes.from_sequence import FromSequence
from keepset.nodes.parallel import Parallelism
from keepset.nodes.slice import Slice
from keepset.snapshot.reading.opening import Location, locate


class Unseen:
    """Another value of a field that counts, which leaves the elements of the example alone."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Together:
    """Values of several fields that only fit together."""

    def __init__(self, **values: Any) -> None:
        self.values = values


@dataclass(frozen=True)
class Example:
    """A stage and other values of its fields; a function of the folder where files may be."""

    make: Callable[[Path], ks.Dataset | Node]
    changed: Callable[[Path], dict[str, Any]]

    def node(self, folder: Path) -> Node:
        made = self.make(folder)
        return made if isinstance(made, Node) else made._node


range_ = ks.Dataset.range
LINES = b"first\nsecond\n"
JSON_LINES = b'{"x": 1, "y": "a"}\n{"x": 2, "y": null}\n'
CSV = b"x,y\n1,a\n2,'b,c'\n"
FORMS = {"y": {"dtype": "string", "_type": "Value"}}
TABLE = pa.table({"x": [1, 2, None], "y": ["a", "b", "c"]})
FEATURES = {"x": ks.FixedLenFeature((), np.int64), "y": ks.FixedLenFeature((), np.int64, 0)}


def double(x: Any) -> Any:
    return 2 * x


def triple(x: Any) -> Any:
    return 3 * x


def is_even(x: Any) -> Any:
    return x % 2 == 0


def is_small(x: Any) -> Any:
    return x < 3


def some(x: Any) -> ks.Dataset:
    return range_(x)


def others(x: Any) -> ks.Dataset:
    return range_(x + 1)


def noise(x: Any, generator: np.random.Generator) -> Any:
    return x + generator.random()


def louder_noise(x: Any, generator: np.random.Generator) -> Any:
    return x + 2 * generator.random()


def running(state: Any, x: Any) -> Any:
    return state + x, state


def running_double(state: Any, x: Any) -> Any:
    return state + 2 * x, state


def up_to(*numbers: Any) -> Any:
    return iter(range(*numbers))


def down_from(*numbers: Any) -> Any:
    return reversed(range(*numbers))


def first_batch(key: Any, window: ks.Dataset) -> ks.Dataset:
    return window.batch(2)


def other_batch(key: Any, window: ks.Dataset) -> ks.Dataset:
    return window.batch(3)


def two(key: Any) -> int:
    return 2


def failing(x: Any) -> Any:
    return 6 // (x - 1)


def is_cat(path: bytes) -> Any:
    return b"cat" in path


def all_but_one(shards: ks.Dataset) -> ks.Dataset:
    return shards.flat_map(lambda shard: shard).skip(1)


def lengths() -> ks.Dataset:
    return range_(6).map(np.arange, output_signature=ks.TensorSpec((None,), np.int64))


def other_lengths(x: Any) -> Any:
    return 3 * (len(x) % 2)


def once(path: Path, write: Callable[[Path], Any]) -> Path:
    """A file or folder that is made for the first example that needs it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    return path


def content(folder: Path, name: str, data: bytes) -> Path:
    return once(folder / name, lambda path: path.write_bytes(data))


def names(*paths: Path | str) -> Any:
    array = np.empty(len(paths), object)
    array[:] = [str(path).encode() for path in paths]
    return array


def remote(number: int) -> str:
    url = f"memory://declared-{number}/a.npy"
    if url not in _written:
        range_(number).write_npy(url)
        _written.add(url)
    return url


def arrays(folder: Path) -> ks.Dataset:
    return range_(4).map(
        lambda x: {"a": np.full(2, x), "b": {"c": np.float32(x)}},
        output_signature={
            "a": ks.TensorSpec((2,), np.int64),
            "b": {"c": ks.TensorSpec((), "float32")},
        },
    )


def pictures(folder: Path) -> Path:
    def write(root: Path) -> None:
        for label, colour in (("cat", (200, 10, 10)), ("dog", (10, 200, 10))):
            (root / label).mkdir(parents=True)
            PIL.Image.new("RGB", (4, 3), colour).save(root / label / "a.png")

    return once(folder / "pictures", write)


def archive(folder: Path) -> Path:
    rows = range_(3).map(
        lambda x: {"__key__": b"%d" % x, "cls": x, "png": np.full((4, 4, 3), 60 * x + 9, np.uint8)},
        output_signature={
            "__key__": ks.TensorSpec((), "string"),
            "cls": ks.TensorSpec((), np.int64),
            "png": ks.TensorSpec((4, 4, 3), np.uint8),
        },
    )
    return once(folder / "a.tar", rows.write_webdataset)


def raw_samples(folder: Path) -> Node:
    [node] = [
        each
        for each in ks.read_webdataset(archive(folder))._node.walk()
        if isinstance(each, ReadWebdataset)
    ]
    return node


def records(folder: Path) -> Path:
    def write(path: Path) -> None:
        ks.Dataset.from_tensor_slices(["one", "two", "three"]).write_tfrecord(path)
        damaged = bytearray(path.read_bytes())
        damaged[-5] ^= 1
        path.write_bytes(damaged)

    return once(folder / "a.tfrecord", write)


def examples(folder: Path) -> ks.Dataset:
    rows = range_(3).map(lambda x: {"x": x, "y": 2 * x})
    return ks.TFRecordDataset(once(folder / "examples.tfrecord", rows.write_tfrecord))


def saved(folder: Path, name: str = "saved", **options: Any) -> Path:
    rows = range_(9).map(lambda x: {"x": x, "y": 2 * x})
    return once(folder / name, lambda path: rows.save(path, **options))


def other_saved(folder: Path) -> Location:
    once(folder / "other", lambda path: range_(3).save(path))
    return locate(folder / "other")


def tensorflow_saved(folder: Path, name: str) -> ks.Dataset:
    count = {"tf": 9, "tf-other": 5}[name]
    once(folder / name, lambda path: range_(count).save(path, format="tensorflow"))
    return ks.load(folder / name)


def hugging_face(folder: Path) -> Path:
    table = pa.table({"x": pa.array([1, None, 3], pa.int64()), "y": ["a", "b", "c"]})
    features = {
        "x": {"dtype": "int64", "_type": "Value"},
        "y": {"dtype": "string", "_type": "Value"},
    }

    def write(root: Path) -> None:
        root.mkdir()
        with pa.ipc.new_stream(root / "data.arrow", table.schema) as writer:
            writer.write_table(table)
        (root / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
        (root / "dataset_info.json").write_text(json.dumps({"features": features}))

    return once(folder / "hf", write)


def foreign(folder: Path, ending: str) -> Path:
    """A table with something missing, which others wrote."""
    import pyarrow.parquet

    def write(path: Path) -> None:
        if ending == "parquet":
            pyarrow.parquet.write_table(TABLE, path)
        else:
            with pa.ipc.new_file(path, TABLE.schema) as writer:
                writer.write_table(TABLE)

    return once(folder / f"foreign.{ending}", write)


OFFSET = 1


def moved_on(x: Any) -> Any:
    return x + OFFSET


def snapshot(folder: Path) -> ks.Dataset:
    ds = range_(6).map(moved_on).snapshot(folder / "snapshot")
    assert len(list(ds)) == 6  # a reader gets what is stored
    return ds


STORE: dict[str, Any] = {"store_options": {}}
_counter = itertools.count()
_written: set[str] = set()

EXAMPLES: dict[str, Example] = {
    "assert_cardinality": Example(
        lambda _: range_(4).assert_cardinality(4), lambda _: {"expected": 5}
    ),
    "batch": Example(
        lambda _: range_(5).batch(2), lambda _: {"batch_size": 3, "drop_remainder": True}
    ),
    "bucket_by_sequence_length": Example(
        lambda _: lengths().bucket_by_sequence_length(len, [2, 4], [2, 2, 2]),
        lambda _: {
            "element_length_func": other_lengths,
            "bucket_boundaries": (3, 4),
            "bucket_batch_sizes": (1, 2, 2),
            "padded_shapes": (7,),
            "padding_values": np.int64(-1),
            "pad_to_bucket_boundary": True,
            "no_padding": True,
            "drop_remainder": Together(drop_remainder=True, bucket_batch_sizes=(5, 5, 5)),
            "wrap": Unseen(Wrapped),
            "source": Unseen(Randomness(3)),
        },
    ),
    "cache": Example(
        lambda _: range_(4).cache(),
        lambda folder: {"filename": str(folder / f"cache-{next(_counter)}")},
    ),
    "choose_from_datasets": Example(
        lambda _: ks.Dataset.choose_from_datasets(
            [range_(2), range_(9)], range_(8).map(lambda x: (x + 1) % 2)
        ),
        lambda _: {"stop_on_empty_dataset": False},
    ),
    "chosen_rows": Example(
        lambda _: ChosenRows(parent=range_(9)._node, positions=np.array([3, 1])),
        lambda _: {"positions": np.array([1, 3])},
    ),
    "concatenate": Example(lambda _: range_(2).concatenate(range_(3)), lambda _: {}),
    "counter": Example(
        lambda _: ks.Dataset.counter(),
        lambda _: {"start": 1, "step": 2, "dtype": np.dtype(np.int32)},
    ),
    "deal": Example(
        lambda _: Deal(parent=range_(9)._node, first=1, step=3, size=2),
        lambda _: {"first": 0, "step": 2, "size": 1},
    ),
    "decode_pictures": Example(
        lambda folder: DecodePictures(
            parent=ks.read_images(pictures(folder), decode=False)._node,
            paths=(("image",),),
            channels=(3,),
        ),
        lambda _: {
            "paths": Together(paths=(), channels=()),
            "channels": (1,),
            "size": (2, 2),
            "parallelism": Parallelism(2),
        },
    ),
    "decode_samples": Example(
        lambda folder: DecodeSamples(parent=raw_samples(folder)),
        lambda _: {
            "size": (2, 2),
            "channels": 1,
            "entries": ("cls",),
            "parallelism": Parallelism(2),
        },
    ),
    "enumerate": Example(lambda _: range_(3).enumerate(), lambda _: {"start": 5}),
    "filter": Example(lambda _: range_(6).filter(is_even), lambda _: {"predicate": is_small}),
    "flat_map": Example(
        lambda _: range_(1, 4).flat_map(some),
        lambda _: {"function": others, "source": Unseen(Randomness(3))},
    ),
    "from_arrow": Example(
        lambda _: ks.from_arrow(TABLE, missing={"x": 0}),
        lambda _: {
            "table": HeldTable(TABLE.slice(1)),
            "columns": ("x",),
            "missing": {"x": 7},
            "types": {"x": np.float32},
            "features": Unseen(parse_features(FORMS, "a table").forms),
            "class_names": Unseen(("a", "b")),
        },
    ),
    "from_generator": Example(
        lambda _: ks.Dataset.from_generator(
            up_to, args=(4,), output_signature=ks.TensorSpec((), np.int64)
        ),
        lambda _: {
            "generator": down_from,
            "args": (5,),
            "output_signature": ks.TensorSpec((), np.int16),
        },
    ),
    "from_sequence": Example(
        lambda _: FromSequence(sequence=[1, 2, 3]), lambda _: {"sequence": [1, 2, 4]}
    ),
    "from_tensor_slices": Example(
        lambda _: ks.Dataset.from_tensor_slices(np.arange(4)),
        lambda _: {"tensors": np.arange(4, dtype=np.int8)},
    ),
    "from_tensors": Example(
        lambda _: ks.Dataset.from_tensors(np.arange(4)), lambda _: {"tensors": np.arange(5)}
    ),
    "global_shuffle": Example(
        lambda _: range_(9).shuffle(ks.GLOBAL, 3), lambda _: {"source": Randomness(4)}
    ),
    "group_by_window": Example(
        lambda _: range_(9).group_by_window(is_even, first_batch, 3),
        lambda _: {
            "key_func": is_small,
            "reduce_func": other_batch,
            "window_size": 4,
            "window_size_func": Together(window_size=None, window_size_func=two),
            "smallest_window": Unseen(2),
            "wrap": Unseen(Wrapped),
            "source": Unseen(Randomness(3)),
        },
    ),
    "ignore_errors": Example(
        lambda _: range_(4).map(failing).ignore_errors(), lambda _: {"log_warning": True}
    ),
    "interleave": Example(
        lambda _: range_(1, 5).interleave(some, 2, 1),
        lambda _: {
            "function": others,
            "cycle_length": 3,
            "block_length": 2,
            "parallelism": Parallelism(2),
            "source": Unseen(Randomness(3)),
        },
    ),
    "list_files": Example(
        lambda folder: ks.Dataset.list_files(str(content(folder, "a.txt", LINES)), shuffle=False),
        lambda folder: {
            "tensors": names(content(folder, "b.txt", b"other\n")),
            "is_shuffled": True,
        },
    ),
    "load": Example(
        lambda folder: ks.load(saved(folder, "shards", shard_func=lambda e: e["x"] % 2)),
        lambda folder: {
            "location": other_saved(folder),
            "shard": 1,
            "first": 1,
            "step": 2,
            "keys": ("x",),
        },
    ),
    "load_tensorflow": Example(
        lambda folder: tensorflow_saved(folder, "tf"),
        lambda folder: {
            "saved": tensorflow_saved(folder, "tf-other")._node.saved,  # type: ignore[attr-defined]
            "layout": replace(
                tensorflow_saved(folder, "tf")._node.layout,  # type: ignore[attr-defined]
                structure=structure_of({"x": 0}),
            ),
            "verify": Unseen(False),
            "shard": Unseen(0),
            **STORE,
        },
    ),
    "map": Example(
        lambda _: range_(4).map(double),
        lambda _: {
            "function": triple,
            "output_signature": ks.TensorSpec((), np.int32),
            "parallelism": Parallelism(2, executor="thread"),
        },
    ),
    "padded_batch": Example(
        lambda _: lengths().padded_batch(4),
        lambda _: {
            "batch_size": 3,
            "drop_remainder": True,
            "padded_shapes": (9,),
            "padding_values": np.int64(-1),
        },
    ),
    "parse_example": Example(
        lambda folder: examples(folder).parse_example(FEATURES),
        lambda _: {"features": {"x": FEATURES["x"]}},
    ),
    "prefetch": Example(lambda _: range_(4).prefetch(2), lambda _: {"buffer_size": 1}),
    "ragged_batch": Example(
        lambda _: lengths().ragged_batch(4),
        lambda _: {
            "batch_size": 3,
            "drop_remainder": True,
            "row_splits_dtype": np.dtype(np.int32),
        },
    ),
    "random": Example(lambda _: ks.Dataset.random(3), lambda _: {"source": Randomness(4)}),
    "random_map": Example(
        lambda _: range_(4).random_map(noise, 3),
        lambda _: {
            "function": louder_noise,
            "source": Randomness(4),
            "output_signature": ks.TensorSpec((), np.float32),
        },
    ),
    "range": Example(
        lambda _: range_(1, 9),
        lambda _: {"start": 0, "stop": 8, "step": 2, "dtype": np.dtype(np.int16)},
    ),
    "read_arrow": Example(
        lambda folder: ks.read_arrow(foreign(folder, "arrow"), missing={"x": 0}),
        lambda _: {
            "columns": ("x",),
            "missing": {"x": 7},
            "types": {"x": np.float32},
            "encoding": "utf-8",
            **STORE,
        },
    ),
    "read_csv": Example(
        lambda folder: ks.read_csv(content(folder, "a.csv", CSV), on_bad_row="skip"),
        lambda _: {
            "columns": ("x",),
            "missing": Together(missing={"y": b"none"}, null_values=("a",)),
            "types": {"x": np.float32},
            "header": ["p", "q"],
            "delimiter": Together(delimiter=";", columns=None),
            "quote": "'",
            "null_values": Together(null_values=("a",), missing={"y": b"?"}),
            "on_bad_row": "error",
            "encoding": "latin-1",
            **STORE,
        },
    ),
    "read_fixed_length": Example(
        lambda folder: ks.read_fixed_length(
            content(folder, "f.gz", gzip.compress(b"aabbccdd" * 3, mtime=0)), 2
        ),
        lambda _: {
            "record_bytes": 4,
            "header_bytes": 2,
            "footer_bytes": 2,
            "compression_type": "",
            "columns": Unseen(()),
            **STORE,
        },
    ),
    "read_hdf5": Example(
        lambda folder: ks.read_hdf5(once(folder / "a.h5", arrays(folder).write_hdf5)),
        lambda _: {"columns": ("a",), "group": "/b", **STORE},
    ),
    "read_hf": Example(
        lambda folder: ks.read_hf(hugging_face(folder), missing={"x": 0}),
        lambda _: {
            "columns": ("x",),
            "missing": {"x": 7},
            "types": {"x": np.float32},
            "encoding": "utf-8",
            "features": Unseen(None),
            "class_names": Unseen(("a", "b")),
            **STORE,
        },
    ),
    "read_images": Example(
        lambda folder: ks.read_images(pictures(folder), labels=None),
        lambda _: {
            "has_labels": True,  # of names that have none, which is an error
            "label_of": is_cat,
            "decode": False,
            "size": (2, 2),
            "channels": 1,
            "class_names": Unseen(("a", "b")),
            "keys": ("path",),
            "parallelism": Parallelism(2),
            **STORE,
        },
    ),
    "read_json_lines": Example(
        lambda folder: ks.read_json_lines(
            content(folder, "a.jsonl", JSON_LINES + b"[]\n"), missing={"y": b"?"}, on_bad_row="skip"
        ),
        lambda _: {
            "columns": ("x",),
            "missing": {"y": b"none"},
            "types": {"x": np.float32},
            "on_bad_row": "error",
            "encoding": "latin-1",
            **STORE,
        },
    ),
    "read_npy": Example(
        lambda folder: ks.read_npy(once(folder / "a.npy", range_(5).write_npy)),
        lambda _: {"columns": ("x",), **STORE},
    ),
    "read_npz": Example(
        lambda folder: ks.read_npz(once(folder / "a.npz", arrays(folder).write_npz)),
        lambda _: {"columns": ("a",), **STORE},
    ),
    "read_parquet": Example(
        lambda folder: ks.read_parquet(foreign(folder, "parquet"), missing={"x": 0}),
        lambda _: {
            "columns": ("x",),
            "missing": {"x": 7},
            "types": {"x": np.float32},
            "encoding": "utf-8",
            **STORE,
        },
    ),
    "read_text": Example(
        lambda folder: ks.read_text(content(folder, "a.gz", gzip.compress(LINES, mtime=0))),
        lambda _: {
            "compression_type": "",
            "encoding": "utf-8",
            "columns": Unseen(()),
            **STORE,
        },
    ),
    "read_webdataset": Example(
        raw_samples, lambda _: {"columns": ("cls",), "has_origin": False, **STORE}
    ),
    "rebatch": Example(
        lambda _: range_(7).batch(2).rebatch(3),
        lambda _: {"batch_size": 4, "drop_remainder": True},
    ),
    "rejection_resample": Example(
        lambda _: range_(40).rejection_resample(is_even, [0.9, 0.1], [0.5, 0.5], seed=3),
        lambda _: {
            "class_func": is_small,
            "target_dist": np.array([0.1, 0.9]),
            "initial_dist": np.array([0.6, 0.4]),
            "source": Randomness(4),
        },
    ),
    "remote_files": Example(
        lambda _: ks.read_npy(remote(5))._node.inputs[0],
        lambda _: {"tensors": names(remote(4)), **STORE},
    ),
    "repeat": Example(lambda _: range_(2).repeat(2), lambda _: {"count": 3}),
    "rows": Example(
        lambda _: next(iter(range_(9).window(3)))._node,
        lambda _: {
            "chunk": Chunk.from_rows([np.int64(5)]),
            "promised": Unseen((ks.TensorSpec(None, np.int64),)),
        },
    ),
    "sample_from_datasets": Example(
        lambda _: ks.Dataset.sample_from_datasets([range_(5), range_(5, 40)], [0.5, 0.5], seed=3),
        lambda _: {
            "weights": np.array([0.1, 0.9]),
            "source": Randomness(4),
            "stop_on_empty_dataset": True,
        },
    ),
    "scan": Example(
        lambda _: range_(4).scan(np.int64(0), running),
        lambda _: {
            "initial_state": np.int64(1),
            "function": running_double,
            "output_signature": ks.TensorSpec((), np.int32),
        },
    ),
    "select": Example(
        lambda _: range_(3).map(lambda x: {"a": x, "b": x}).select("a"),
        lambda _: {"keys": ("b",)},
    ),
    "shard": Example(lambda _: range_(9).shard(3, 1), lambda _: {"num_shards": 2, "index": 2}),
    "shuffle": Example(
        lambda _: range_(9).shuffle(4, 3), lambda _: {"buffer_size": 5, "source": Randomness(4)}
    ),
    "skip": Example(lambda _: range_(9).skip(3), lambda _: {"count": 4}),
    "skip_corrupt": Example(
        lambda folder: ks.read_images(pictures(folder), on_corrupt="skip"),
        lambda _: {"log_warning": True},
    ),
    "slice": Example(
        lambda _: Slice(parent=range_(9)._node, start=1, step=2, count=3),
        lambda _: {"start": 2, "step": 1, "count": 2},
    ),
    "snapshot": Example(
        snapshot,
        lambda folder: {
            "parent": range_(5)._node,
            "path": str(folder / "elsewhere"),
            "fingerprint": Unseen("by hand"),
            "compression": "GZIP",
            "shard_func": Unseen(is_even),
            "mode": "passthrough",
            "on_pending": "wait",
            "on_write_error": "raise",
            "resume": False,
            "progress": False,
            "expiry_s": 7.0,
            "strict": True,
            "ignore": ("global OFFSET",),
            "store_options": {},
            "chunk_bytes": 1 << 12,
            "segment_bytes": 1 << 13,
            "reader": ReaderStage(all_but_one, None, ks.Dataset),
            "source": Unseen(Randomness(3)),
            "tell": None,
        },
    ),
    "sparse_batch": Example(
        lambda _: lengths().sparse_batch(4, [6]),
        lambda _: {"batch_size": 3, "drop_remainder": True, "row_shape": (7,)},
    ),
    "take": Example(lambda _: range_(9).take(3), lambda _: {"count": 4}),
    "take_while": Example(
        lambda _: range_(6).take_while(is_small), lambda _: {"predicate": is_even}
    ),
    "tfrecord": Example(
        lambda folder: ks.TFRecordDataset(records(folder)),
        lambda folder: {
            "compression_type": "",
            "on_corrupt": "skip",
            "index_dir": str(folder),
            "is_indexed": True,
            **STORE,
        },
    ),
    "unbatch": Example(lambda _: range_(6).batch(2).unbatch(), lambda _: {}),
    "unique": Example(lambda _: range_(3).repeat(2).unique(), lambda _: {}),
    "window": Example(
        lambda _: range_(9).window(3, 2),
        lambda _: {
            "size": 4,
            "shift": 3,
            "stride": 2,
            "drop_remainder": True,
            "wrap": Wrapped,
        },
    ),
    "with_options": Example(
        lambda _: range_(4).with_options(Options(threads=2)),
        lambda _: {"chosen": Options(deterministic=False, threads=1)},
    ),
    "writable": Example(lambda folder: ks.load(saved(folder), writable=True), lambda _: {}),
    "zip": Example(
        lambda _: ks.Dataset.zip(range_(3), range_(3)),
        lambda _: {"layout": structure_of({"a": 0, "b": 0})},
    ),
}


class Wrapped(ks.Dataset):
    """Another class of datasets."""
