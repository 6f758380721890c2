# ruff: noqa: E501  # a table is read by its columns: one line per case, however long
"""Elements, iterators and processes do not disturb each other: a new stage joins by adding a line."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import keepset as ks
from keepset import Dataset
from keepset.testing.isolation import check_elements_are_apart

ROWS = np.arange(1, 25.0).reshape(8, 3)
SAME = np.arange(1, 4.0)


@dataclasses.dataclass
class Record:
    a: Any
    b: Any


WHOLE: dict[str, Any] = {"a": SAME, "b": {"c": 1}}
RECORD = Record(SAME, {"c": 1})
TABLE = pa.table({"a": ROWS.tolist(), "b": [{"c": 1}] * 8})


def same_each_time() -> Iterator[Any]:
    for _ in range(8):
        yield SAME


def filled_anew() -> Iterator[Any]:
    buffer = np.zeros(3)
    for row in ROWS:
        buffer[:] = row
        yield buffer


class Arrays:
    """A sequence that gives out what it holds."""

    def __len__(self) -> int:
        return len(ROWS)

    def __getitem__(self, index: int) -> Any:
        return ROWS[index]


# Elements are arrays of three numbers, in all ways in which they can come about.
SOURCES: dict[str, Callable[[], Dataset]] = {
    "slices": lambda: Dataset.from_tensor_slices(ROWS),
    "tensors": lambda: Dataset.from_tensors(ROWS[0]).repeat(8),
    "map": lambda: Dataset.range(8).map(lambda x: np.full(3, x + 1.0)),
    "map of one array": lambda: Dataset.range(8).map(lambda x: SAME),
    "map in place": lambda: Dataset.from_tensor_slices(ROWS).map(lambda x: x.copy()).map(in_place),
    "generator of one array": lambda: Dataset.from_generator(same_each_time),
    "generator of one buffer": lambda: Dataset.from_generator(filled_anew, output_signature=ks.TensorSpec([3], "float64")),
    "sequence": lambda: ks.from_torch(Arrays()),
    "batches": lambda: Dataset.range(1, 25).batch(3),
    "unbatched": lambda: Dataset.from_tensor_slices(ROWS).batch(8).unbatch(),
    "cache": lambda: Dataset.from_tensor_slices(ROWS).cache(),
    "arrow": lambda: ks.from_arrow(pa.table({"x": ROWS.tolist()})).map(lambda row: row["x"]),
}  # fmt: skip


# The same for elements that hold several.
NESTED: dict[str, Callable[[], Dataset]] = {
    "slices": lambda: Dataset.from_tensor_slices({"a": ROWS, "b": {"c": ROWS[:, 0]}}),
    "tensors": lambda: Dataset.from_tensors({"a": ROWS[0], "b": {"c": 1}}).repeat(8),
    "records": lambda: Dataset.from_tensors(Record(ROWS[0], {"c": 1})).repeat(8),
    "map": lambda: Dataset.from_tensor_slices(ROWS).map(lambda x: {"a": x, "b": {"c": x[0]}}),
    "map of one dict": lambda: Dataset.range(8).map(lambda x: WHOLE),
    "map of one record": lambda: Dataset.range(8).map(lambda x: RECORD),
    "generator of one dict": lambda: Dataset.from_generator(lambda: iter([WHOLE] * 8)),
    "sequence": lambda: ks.from_torch([WHOLE] * 8),
    "cache": lambda: Dataset.from_tensor_slices({"a": ROWS, "b": {"c": ROWS[:, 0]}}).cache(),
    "arrow": lambda: ks.from_arrow(TABLE),
}  # fmt: skip


def in_place(x: Any) -> Any:
    x += 1
    return x


def first(x: Any) -> Any:
    return x


STAGES: dict[str, Callable[[Dataset], Dataset]] = {
    "alone": first,
    "apply": lambda ds: ds.apply(first),
    "assert_cardinality": lambda ds: ds.assert_cardinality(8),
    "batch": lambda ds: ds.batch(2),
    "batch all": lambda ds: ds.batch(8),
    "batch one": lambda ds: ds.batch(1),
    "bucket_by_sequence_length": lambda ds: ds.bucket_by_sequence_length(len, [5], [4, 2]),
    "cache": lambda ds: ds.cache(),
    "cache twice": lambda ds: ds.cache().repeat(2),
    "choose_from_datasets": lambda ds: Dataset.choose_from_datasets([ds, ds], Dataset.range(12).map(lambda x: x % 2)),
    "concatenate": lambda ds: ds.concatenate(ds),
    "enumerate": lambda ds: ds.enumerate(),
    "filter": lambda ds: ds.filter(lambda x: x[0] > 0),
    "flat_map": lambda ds: ds.flat_map(lambda x: Dataset.from_tensors(x).repeat(2)),
    "flat_map captured": lambda ds: Dataset.range(2).flat_map(lambda _: ds),
    "group_by_window": lambda ds: ds.group_by_window(lambda x: np.int64(0), lambda k, w: w.batch(4), 4),
    "group_by_window twice": lambda ds: ds.group_by_window(lambda x: np.int64(0), lambda k, w: w.concatenate(w), 4),
    "ignore_errors": lambda ds: ds.ignore_errors(),
    "interleave": lambda ds: ds.interleave(lambda x: Dataset.from_tensors(x).repeat(2), 2),
    "interleave captured": lambda ds: Dataset.range(2).interleave(lambda _: ds, 2),
    "map": lambda ds: ds.map(first),
    "map pair": lambda ds: ds.map(lambda x: (x, x)),
    "map view": lambda ds: ds.map(lambda x: x[1:]),
    "map threads": lambda ds: ds.map(first, 2),
    "map_batches": lambda ds: ds.map_batches(first, 4),
    "map_batches repeated": lambda ds: ds.repeat(2).map_batches(first, 3),
    "padded_batch": lambda ds: ds.padded_batch(2),
    "padded_batch all": lambda ds: ds.padded_batch(8, [3]),
    "parse_example": lambda ds: ds,  # makes arrays of its own
    "prefetch": lambda ds: ds.prefetch(2),
    "ragged_batch": lambda ds: ds.ragged_batch(3).repeat(2),
    "random_map": lambda ds: ds.random_map(lambda x, rng: x, 1),
    "rebatch": lambda ds: ds.batch(4).rebatch(3),
    "rebatch all": lambda ds: ds.batch(4).rebatch(8),
    "rejection_resample": lambda ds: ds.rejection_resample(lambda x: np.int64(0), [1.0], [1.0], 1),
    "repeat": lambda ds: ds.repeat(2),
    "sample_from_datasets": lambda ds: Dataset.sample_from_datasets([ds, ds], seed=1, rerandomize_each_iteration=False),
    "scan": lambda ds: ds.scan(np.zeros(3), lambda s, x: (x, s)),
    "scan same": lambda ds: ds.scan(np.zeros(3), lambda s, x: (s, s)),
    "scan adds": lambda ds: ds.scan(np.zeros(3), lambda s, x: (s + x, s + x)),
    "scan stays": lambda ds: ds.scan(np.zeros(3), lambda s, x: ((t := s + x), t)),
    "select": lambda ds: ds.map(lambda x: {"a": x, "b": x}).select("b"),
    "shard": lambda ds: ds.shard(2, 1),
    "shuffle": lambda ds: ds.shuffle(3, 1, reshuffle_each_iteration=False),
    "shuffle fully": lambda ds: ds.repeat(2).shuffle(100, 1, reshuffle_each_iteration=False),
    "skip": lambda ds: ds.skip(1),
    "snapshot": lambda ds: ds,  # below
    "sparse_batch": lambda ds: ds.sparse_batch(2, [3]).repeat(2),
    "take": lambda ds: ds.take(3).repeat(2),
    "take_while": lambda ds: ds.take_while(lambda x: x[0] > 0),
    "unbatch": lambda ds: ds.batch(4).unbatch().repeat(2),
    "unbatch rows": lambda ds: ds.map(lambda x: np.stack([x, x])).unbatch(),
    "unique": lambda ds: ds.map(lambda x: x[0]).unique(),
    "window": lambda ds: ds.window(2).flat_map(lambda w: w),
    "window sliding": lambda ds: ds.window(3, 1).flat_map(lambda w: w.batch(3)),
    "window sliding rows": lambda ds: ds.window(3, 1).flat_map(lambda w: w),
    "window whole": lambda ds: ds.window(8).flat_map(lambda w: w.concatenate(w)),
    "with_options": lambda ds: ds.with_options(ks.Options(threads=1)),
    "zip": lambda ds: Dataset.zip(ds, ds),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("stage", STAGES)
def test_writing_to_an_element_changes_no_other(stage: str, source: str) -> None:
    rows, same = ROWS.copy(), SAME.copy()
    check_elements_are_apart(lambda: STAGES[stage](SOURCES[source]()))
    assert (rows == ROWS).all(), "the user's own array was written to"
    assert (same == SAME).all(), "the user's own array was written to"


NESTED_STAGES: dict[str, Callable[[Dataset], Dataset]] = {
    "alone": first,
    "batch": lambda ds: ds.batch(2).repeat(2),
    "cache": lambda ds: ds.cache().repeat(2),
    "choose_from_datasets": lambda ds: Dataset.choose_from_datasets([ds, ds], Dataset.range(12).map(lambda x: x % 2)),
    "concatenate": lambda ds: ds.concatenate(ds),
    "enumerate": lambda ds: ds.enumerate(),
    "filter": lambda ds: ds.filter(lambda x: True).repeat(2),
    "flat_map": lambda ds: ds.flat_map(lambda x: Dataset.from_tensors(x).repeat(2)),
    "flat_map captured": lambda ds: Dataset.range(2).flat_map(lambda _: ds),
    "group_by_window": lambda ds: ds.group_by_window(lambda x: np.int64(0), lambda k, w: w.concatenate(w), 4),
    "interleave": lambda ds: Dataset.range(2).interleave(lambda _: ds, 2),
    "map": lambda ds: ds.map(first).repeat(2),
    "map pair": lambda ds: ds.map(lambda x: (x, x)),
    "map threads": lambda ds: ds.map(first, 2),
    "prefetch": lambda ds: ds.prefetch(2).repeat(2),
    "repeat": lambda ds: ds.repeat(2),
    "scan": lambda ds: ds.scan(np.zeros(3), lambda s, x: (s, (s, x))),
    "scan of elements": lambda ds: ds.scan({"a": SAME}, lambda s, x: (s, s)),
    "shuffle": lambda ds: ds.shuffle(3, 1, reshuffle_each_iteration=False),
    "take": lambda ds: ds.take(3).repeat(2),
    "zip": lambda ds: Dataset.zip(ds, ds),
}  # fmt: skip


@pytest.mark.parametrize("source", NESTED)
@pytest.mark.parametrize("stage", NESTED_STAGES)
def test_writing_into_a_nested_element_changes_no_other(stage: str, source: str) -> None:
    check_elements_are_apart(lambda: NESTED_STAGES[stage](NESTED[source]()))
    assert WHOLE["b"] == {"c": 1}
    assert RECORD.b == {"c": 1}
    assert (SAME == [1, 2, 3]).all()


def written(path: Path, name: str) -> Dataset:
    """Elements that come from files of all kinds."""
    ds = Dataset.from_tensor_slices({"a": ROWS, "b": np.arange(8), "s": ["x"] * 8})
    kind, _, variant = name.partition(" ")
    place = path / kind
    match kind:
        case "load":
            ds.save(place, variant or None)
            return Dataset.load(place)
        case "snapshot":
            return ds.snapshot(place)
        case "cache":
            return ds.cache(place)
        case "npy":
            np.save(place.with_suffix(".npy"), ROWS)
            return ks.read_npy(place.with_suffix(".npy"))
        case "parquet":
            ds.write_parquet(place.with_suffix(".parquet"))
            return ks.read_parquet(place.with_suffix(".parquet"))
        case "arrow":
            ds.write_arrow(place.with_suffix(".arrow"))
            return ks.read_arrow(place.with_suffix(".arrow"))
        case "hdf5":
            ds.write_hdf5(place.with_suffix(".h5"))
            return ks.read_hdf5(place.with_suffix(".h5"))
        case "list_files":
            (path / "one.txt").write_text("one")
            return Dataset.list_files(str(path / "*.txt"), shuffle=False).repeat(2)
    raise AssertionError(name)


FILES = ["load", "load LZ4", "load ZSTD", "load GZIP", "snapshot", "cache", "npy", "parquet", "arrow", "hdf5", "list_files"]  # fmt: skip


OVER_FILES: list[Callable[[Dataset], Dataset]] = [
    first,
    lambda ds: ds.repeat(2),
    lambda ds: ds.shuffle(3, 1, False),
    lambda ds: ds.batch(8),
    lambda ds: Dataset.zip(ds, ds),
]


@pytest.mark.parametrize("name", FILES)
def test_writing_to_an_element_does_not_change_what_a_file_holds(tmp_path: Path, name: str) -> None:
    ds = written(tmp_path, name)
    for stage in OVER_FILES:
        check_elements_are_apart(partial(stage, ds))


def test_every_stage_is_in_a_table() -> None:
    methods = {
        name
        for name, member in inspect.getmembers(Dataset, callable)
        if not name.startswith("_")
        and inspect.signature(member).return_annotation in ("Self", "Dataset")
    }
    tables = {name.partition(" ")[0] for name in (*STAGES, *SOURCES, *FILES)}
    sources = {"range", "from_tensors", "from_tensor_slices", "from_generator", "random", "counter"}
    assert not (missing := methods - tables - sources), f"add a line for {sorted(missing)}"
