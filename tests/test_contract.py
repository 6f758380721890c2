# ruff: noqa: E501  # a table is read by its columns: one line per case, however long
"""What every stage promises, stated once and checked for each: a new stage joins by adding a line.

The promises are those of ``keepset.testing.check_dataset``.
"""

import dataclasses
import inspect
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keepset as ks
from keepset import Dataset
from keepset.core.run import start
from keepset.nodes.chosen_rows import ChosenRows
from keepset.snapshot.identity.pipeline_identity import identify, unseeded_stages
from keepset.testing import assert_elements_equal, check_calls, check_dataset
from keepset.testing.isolation import check_fork
from keepset.testing.resources import nothing_left_behind

HERE = Path(__file__).parent


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Record:
    name: Any
    values: Any


def double(x: Any) -> Any:
    return x * 2


def is_odd(x: Any) -> Any:
    return x % 2 == 1


def add(state: Any, x: Any) -> tuple[Any, Any]:
    return state + x, state + x


def fail_at(*bad: int) -> Callable[[Any], Any]:
    def check(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"{x} is bad")
        return x

    return check


def uneven(x: Any) -> Any:
    """Takes long now and then, so that parallel calls overtake each other."""
    time.sleep(random.choice((0, 0, 0, 0.001)))
    return x


def noise(x: Any, rng: np.random.Generator) -> Any:
    return x + rng.integers(1000)


def triple(x: Any) -> Dataset:
    return Dataset.from_tensors(x).repeat(3)


def up_to(x: Any) -> Dataset:
    return Dataset.range(int(x))


def lengths(x: Any) -> Any:
    return np.full(int(x) % 4, x)


VARIABLE = ks.TensorSpec([None], "int64")
WORD, WORDS = ks.TensorSpec([], "text"), ks.TensorSpec([None], "text")


def words(count: int) -> Dataset:
    """Texts of unequal lengths, some of them empty."""
    return Dataset.range(count).map(lambda x: "ä" * (int(x) % 3), output_signature=WORD)


def lists_of_words(count: int) -> Dataset:
    """Lists of texts, some of them empty."""
    return Dataset.range(count).map(lambda x: ["é"] * (int(x) % 3), output_signature=WORDS)


def rows(count: int) -> Dataset:
    """Arrays of unequal lengths, whose spec says so."""
    return Dataset.range(count).map(lengths, output_signature=VARIABLE)


def count_up(stop: Any) -> Iterator[Any]:
    yield from range(int(stop))


def ends_badly() -> Iterator[int]:
    yield from range(5)
    raise ValueError("the source is gone")


def reshuffled(count: int) -> Dataset:
    return Dataset.range(count).shuffle(4, seed=1)


def captured_shuffle() -> Callable[[Any], Dataset]:
    inner = Dataset.range(4).shuffle(4, seed=5)
    return lambda _: inner


def halves() -> list[Dataset]:
    return [Dataset.range(5), Dataset.range(100, 107)]


class Case(NamedTuple):
    method: str
    variant: str
    make: Callable[[], Dataset]
    expected: list[Any] | None = None
    how: dict[str, Any] = {}  # noqa: RUF012  # shared and never changed


def case(name: str, make: Callable[[], Dataset], expected: Any = None, **how: Any) -> Case:
    method, _, variant = name.partition(" ")
    return Case(method, variant, make, None if expected is None else list(expected), how)


# Orders that differ from pass to pass, and those that parallel workers leave to chance.
EXAMPLES = [
    ks.Example(ks.Features({"n": ks.Feature(int64_list=ks.Int64List([n]))})).SerializeToString()
    for n in range(7)
]
RESHUFFLED: dict[str, Any] = {"repeatable": False}
UNORDERED: dict[str, Any] = {"ordered": False}
# Worker processes take half a second to start: a few checks, and those among the slow tests.
PROCESSES: dict[str, Any] = {"quick": True}

HF = HERE / "golden" / "huggingface"

SOURCES = [
    case("from_arrow", lambda: ks.from_arrow(pa.table({"x": pa.chunked_array([[1, 2], [3]]), "s": ["a", "b", "c"], "in": [{"l": [1]}, {"l": []}, {"l": [2, 3]}]}))),
    case("from_arrow missing", lambda: ks.from_arrow(pa.table({"x": [1, None, 3], "y": [1, 2, 3]}), missing={"x": -1}, types={"y": "float32"}), [{"x": x, "y": y} for x, y in ((1, np.float32(1)), (-1, np.float32(2)), (3, np.float32(3)))]),
    case("from_arrow failing", lambda: ks.from_arrow(pa.table({"x": [1, 2, None, 4]})), [{"x": 1}, {"x": 2}]),
    case("from_arrow empty", lambda: ks.from_arrow(pa.table({"x": pa.array([], pa.int8())})), []),
    case("from_arrow own", lambda: ks.from_arrow(Dataset.range(4).map(lambda x: (x, {"r": ks.Ragged.from_rows([[x], []])})).to_arrow())),
    case("from_pandas", lambda: ks.from_pandas(pd.DataFrame({"x": [1.5, 2.5], "m": [np.eye(2)] * 2}))),
    case("from_polars", lambda: ks.from_polars(pl.DataFrame({"x": [1, 2], "s": ["a", "b"]})), [{"x": 1, "s": "a"}, {"x": 2, "s": "b"}]),
    case("read_hf", lambda: ks.read_hf(HF / "arrays")),
    case("read_hf splits", lambda: ks.read_hf(HF / "splits", split="train"), [{"x": x} for x in range(5)]),
    case("read_hf pictures", lambda: ks.read_hf(HF / "pictures", columns=["image", "gray"])),
    case("read_hf pictures threads", lambda: ks.read_hf(HF / "pictures", columns=["image"], num_parallel_calls=2)),
    case("read_hf bytes", lambda: ks.read_hf(HF / "pictures", decode=False)),
    case("chosen_rows", lambda: Dataset(ChosenRows(parent=Dataset.range(9)._node, positions=np.array([8, 0, 0, 3]))), [8, 0, 0, 3]),
    case("chosen_rows mapped", lambda: Dataset(ChosenRows(parent=Dataset.range(9).map(double)._node, positions=np.array([8, 3]))), [16, 6]),
    case("from_torch", lambda: ks.from_torch([{"x": i, "y": str(i)} for i in range(9)]), [{"x": i, "y": str(i)} for i in range(9)]),
    case("from_torch iterable", lambda: ks.from_torch(frozenset(range(5))), range(5)),
    case("range", lambda: Dataset.range(9), range(9)),
    case("range empty", lambda: Dataset.range(0), []),
    case("range backwards", lambda: Dataset.range(9, -2, -3), [9, 6, 3, 0]),
    case("range float", lambda: Dataset.range(2, output_type=np.float32), [np.float32(0), np.float32(1)]),
    case("from_tensors", lambda: Dataset.from_tensors({"a": 1, "b": (b"x", [1.5])})),
    case("from_tensors none", lambda: Dataset.from_tensors((None, 1)), [(None, 1)]),
    case("from_tensors ragged", lambda: Dataset.from_tensors(ks.Ragged([1, 2], [0, 0, 2]))),
    case("from_tensor_slices", lambda: Dataset.from_tensor_slices(np.eye(3)), list(np.eye(3))),
    case("from_tensor_slices dict", lambda: Dataset.from_tensor_slices({"x": [1, 2], "y": ["a", "b"]})),
    case("from_tensor_slices records", lambda: Dataset.from_tensor_slices(Point([1, 2], Record(["a", "b"], np.eye(2))))),
    case("from_tensor_slices ragged", lambda: Dataset.from_tensor_slices(ks.Ragged.from_rows([[1], [], [2, 3]]))),
    case("from_tensor_slices sparse", lambda: Dataset.from_tensor_slices(ks.Sparse.from_dense(np.eye(4)))),
    case("from_tensor_slices times", lambda: Dataset.from_tensor_slices(np.arange(4).astype("datetime64[D]"))),
    case("from_tensor_slices empty", lambda: Dataset.from_tensor_slices(np.zeros((0, 2))), []),
    case("from_generator", lambda: Dataset.from_generator(count_up, args=(7,)), range(7)),
    case("from_generator signature", lambda: Dataset.from_generator(count_up, args=(3,), output_signature=ks.TensorSpec((), "float32")), map(np.float32, range(3))),
    case("from_generator ends badly", lambda: Dataset.from_generator(ends_badly), range(5)),
    case("from_generator error ignored", lambda: Dataset.from_generator(ends_badly).ignore_errors(), range(5)),
    case("list_files", lambda: Dataset.list_files(str(HERE / "*.py"), shuffle=False)),
    case("list_files shuffled", lambda: Dataset.list_files(str(HERE / "*.py"), seed=1), **RESHUFFLED),
    case("random", lambda: Dataset.random(seed=3).take(9)),
    case("random anew", lambda: Dataset.random(rerandomize_each_iteration=True).take(9), **RESHUFFLED),
    case("counter", lambda: Dataset.counter(5, -2).take(4), [5, 3, 1, -1]),
]  # fmt: skip

ROWWISE = [
    case("map", lambda: Dataset.range(9).map(double), range(0, 18, 2)),
    case("map fused", lambda: Dataset.range(20).map(double).filter(lambda x: x % 3 == 0).map(double), range(0, 80, 12)),
    case("map strings", lambda: Dataset.range(4).map(lambda x: (str(x), {"n": x}))),
    case("map signature", lambda: rows(6)),
    case("map threads", lambda: Dataset.range(40).map(uneven, 3), range(40)),
    case("map autotune", lambda: Dataset.range(40).map(double, ks.AUTOTUNE), range(0, 80, 2)),
    case("map threads unordered", lambda: Dataset.range(40).map(uneven, 3, deterministic=False), range(40), **UNORDERED),
    case("map unordered by option", lambda: Dataset.range(40).map(uneven, 3).with_options(ks.Options(deterministic=False)), range(40), **UNORDERED),
    case("map processes", lambda: Dataset.range(20).map(double, 2, executor="process"), range(0, 40, 2), **PROCESSES),
    case("map processes unordered", lambda: Dataset.range(20).map(uneven, 2, False, executor="process"), range(20), **PROCESSES, **UNORDERED),
    case("map two thread stages", lambda: Dataset.range(30).map(uneven, 2).map(uneven, 3).batch(4)),
    case("map failing", lambda: Dataset.range(9).map(fail_at(5)), range(5)),
    case("map failing threads", lambda: Dataset.range(9).map(fail_at(5), 2), range(5)),
    case("map failing before threads", lambda: Dataset.range(9).map(fail_at(5)).map(double, 2), range(0, 10, 2)),
    case("map processes failing", lambda: Dataset.range(9).map(fail_at(5), 2, executor="process"), range(5), **PROCESSES),
    case("random_map", lambda: Dataset.range(9).random_map(noise, seed=1), **RESHUFFLED),
    case("random_map fixed", lambda: Dataset.range(9).random_map(noise, 1, reshuffle_each_iteration=False)),
    case("random_map unseeded", lambda: Dataset.range(9).map(double).random_map(noise), **RESHUFFLED),
    case("random_map signature", lambda: Dataset.range(3).random_map(noise, 1, output_signature=ks.TensorSpec((), "int32")), **RESHUFFLED),
    case("random_map after filter", lambda: Dataset.range(12).filter(is_odd).random_map(noise, 1), **RESHUFFLED),
    case("map_batches", lambda: Dataset.range(9).map_batches(double, 4), range(0, 18, 2)),
    case("map_batches threads", lambda: Dataset.range(9).map_batches(double, 2, 2), range(0, 18, 2)),
    case("filter", lambda: Dataset.range(12).filter(is_odd), range(1, 12, 2)),
    case("filter nothing left", lambda: Dataset.range(12).filter(lambda x: False), []),
    case("take_while", lambda: Dataset.range(12).take_while(lambda x: x < 5), range(5)),
    case("take_while fused", lambda: Dataset.range(12).filter(is_odd).take_while(lambda x: x < 8).map(double), [2, 6, 10, 14]),
    case("scan", lambda: Dataset.range(9).scan(0, add), accumulate(range(9))),
    case("scan fused", lambda: Dataset.range(9).filter(is_odd).scan(np.float32(0), add).map(double)),
    case("scan record", lambda: Dataset.range(6).scan(Record("n", [1.0]), lambda s, x: (dataclasses.replace(s, name=s.name + b"!"), s))),
    case("scan signature", lambda: Dataset.range(6).scan(0, add, output_signature=ks.TensorSpec((), "int32"))),
    case("scan before a failing map", lambda: Dataset.range(9).scan(0, add).map(fail_at(6, 15)).ignore_errors(), [0, 1, 3, 10, 21, 28, 36]),
    case("enumerate", lambda: Dataset.range(3).enumerate(7), [(7, 0), (8, 1), (9, 2)]),
    case("enumerate rows", lambda: Dataset.range(3).map(double).enumerate(), [(0, 0), (1, 2), (2, 4)]),
    case("unique", lambda: Dataset.range(20).map(lambda x: x * x % 7).unique(), [0, 1, 4, 2]),
    case("map text", lambda: words(4), ["", "ä", "ää", ""]),
    case("map lists of text", lambda: lists_of_words(7)),
    case("batch text", lambda: words(5).batch(2)),
    case("shuffle text", lambda: words(9).shuffle(4, 1), **RESHUFFLED),
    case("cache text", lambda: lists_of_words(7).cache()),
    case("padded_batch text", lambda: lists_of_words(5).padded_batch(2)),
    case("ragged_batch text", lambda: lists_of_words(5).ragged_batch(2)),
    case("unbatch text", lambda: words(5).batch(2).unbatch()),
    case("unique text", lambda: words(9).unique(), ["", "ä", "ää"]),
    case("unique strings", lambda: Dataset.from_tensor_slices(["a", "b", "a", "c", "b"]).unique(), ["a", "b", "c"]),
    case("ignore_errors", lambda: Dataset.range(9).map(fail_at(0, 4, 5, 8)).ignore_errors(), [1, 2, 3, 6, 7]),
    case("ignore_errors threads", lambda: Dataset.range(30).map(fail_at(4, 5, 20), 3).ignore_errors(), [x for x in range(30) if x not in (4, 5, 20)]),
    case("ignore_errors before threads", lambda: Dataset.range(30).map(fail_at(4, 5, 20)).map(uneven, 3).ignore_errors(), [x for x in range(30) if x not in (4, 5, 20)]),
    case("ignore_errors batch", lambda: Dataset.range(9).map(fail_at(4)).batch(2).ignore_errors(), [[0, 1], [2, 3], [5, 6], [7, 8]]),
    case("ignore_errors shuffle", lambda: Dataset.range(30).map(fail_at(2, 11)).shuffle(5, 1).ignore_errors(), [x for x in range(30) if x not in (2, 11)], **RESHUFFLED),
    case("ignore_errors shuffle forward", lambda: Dataset.range(30).filter(is_odd).map(fail_at(5, 11)).shuffle(5, 1).ignore_errors(), [x for x in range(1, 30, 2) if x not in (5, 11)], **RESHUFFLED),
    case("ignore_errors prefetch", lambda: Dataset.range(20).map(fail_at(4, 9)).prefetch(2).ignore_errors(), [x for x in range(20) if x not in (4, 9)]),
    case("ignore_errors interleave", lambda: Dataset.range(4).interleave(lambda x: Dataset.range(4).map(fail_at(int(x))), 2).ignore_errors()),
    case("ignore_errors interleave threads", lambda: Dataset.range(4).interleave(lambda x: Dataset.range(4).map(fail_at(int(x))), 2, num_parallel_calls=2).ignore_errors()),
    case("ignore_errors flat_map", lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(4).map(fail_at(int(x)))).ignore_errors()),
    case("ignore_errors zip", lambda: Dataset.zip(Dataset.range(9), Dataset.range(9).map(fail_at(3, 4))).ignore_errors(), [(x, x) for x in range(9) if x not in (3, 4)]),
    case("rejection_resample", lambda: Dataset.range(40).rejection_resample(lambda x: x % 2, [0.9, 0.1], [0.5, 0.5], seed=1), **RESHUFFLED),
    case("rejection_resample learns", lambda: Dataset.range(40).rejection_resample(lambda x: x % 2, [0.9, 0.1], seed=1), **RESHUFFLED),
]  # fmt: skip

NESTING = [
    case("flat_map", lambda: Dataset.range(5).flat_map(up_to), [x for n in range(5) for x in range(n)]),
    case("flat_map nested", lambda: Dataset.range(4).flat_map(lambda x: up_to(x).flat_map(triple))),
    case("flat_map shuffle inside", lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(5 * x, 5 * x + 5).shuffle(3, 1)), range(20), **RESHUFFLED),
    case("flat_map unseeded inside", lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(5 * x, 5 * x + 5).shuffle(3)), range(20), **RESHUFFLED),
    case("flat_map captured shuffle", lambda: Dataset.range(4).flat_map(captured_shuffle()), [*range(4)] * 4, **RESHUFFLED),
    case("flat_map of unordered", lambda: Dataset.range(8).map(uneven, 3, False).flat_map(lambda x: Dataset.range(5 * x, 5 * x + 5)), range(40), **UNORDERED),
    case("flat_map threads inside", lambda: Dataset.range(4).flat_map(lambda x: up_to(x).map(uneven, 2)), [0, 0, 1, 0, 1, 2]),
    case("interleave", lambda: Dataset.range(5).interleave(triple, 2), [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4]),
    case("interleave blocks", lambda: Dataset.range(4).interleave(triple, 2, 2), [0, 0, 1, 1, 0, 1, 2, 2, 3, 3, 2, 3]),
    case("interleave uneven", lambda: Dataset.range(7).interleave(up_to, 3, 2)),
    case("interleave default", lambda: Dataset.range(4).interleave(up_to)),
    case("interleave threads", lambda: Dataset.range(7).interleave(lambda x: up_to(x).map(uneven), 3, 2, 2)),
    case("interleave autotune", lambda: Dataset.range(7).interleave(up_to, 3, 2, ks.AUTOTUNE)),
    case("interleave unordered", lambda: Dataset.range(5).interleave(lambda x: up_to(x).map(uneven), 3, 1, 3, deterministic=False), [x for n in range(5) for x in range(n)], **UNORDERED),
    case("interleave processes", lambda: Dataset.range(7).interleave(up_to, 3, 2, 2, executor="process"), **PROCESSES),
    case("interleave processes shuffled", lambda: Dataset.range(7).interleave(up_to, 3, 2, 2, executor="process").shuffle(4, seed=2), [x for n in range(7) for x in range(n)], **PROCESSES, **RESHUFFLED),
    case("interleave processes ahead", lambda: Dataset.range(7).interleave(up_to, 3, 2, 2, executor="process").batch(3).prefetch(2), **PROCESSES),
    case("interleave shuffle inside", lambda: Dataset.range(5).interleave(lambda x: up_to(x).shuffle(3, 1), 2), [x for n in range(5) for x in range(n)], **RESHUFFLED),
    case("interleave captured shuffle", lambda: Dataset.range(4).interleave(captured_shuffle(), 3), [*range(4)] * 4, **RESHUFFLED),
    case("interleave of a shuffle", lambda: reshuffled(6).interleave(up_to, 3), [x for n in range(6) for x in range(n)], **RESHUFFLED),
    case("window", lambda: Dataset.range(7).window(3)),
    case("window sliding", lambda: Dataset.range(7).window(3, 1, 2, drop_remainder=True).flat_map(lambda w: w.batch(3)), [[0, 2, 4], [1, 3, 5], [2, 4, 6]]),
    case("window tuples", lambda: Dataset.range(5).enumerate().window(2)),
    case("group_by_window", lambda: Dataset.range(9).group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3), [[0, 2, 4], [1, 3, 5], [6, 8], [7]]),
    case("group_by_window sizes", lambda: Dataset.range(12).group_by_window(lambda x: x % 3, lambda k, w: w.map(double), window_size_func=lambda k: k + 1)),
    case("bucket_by_sequence_length", lambda: rows(11).bucket_by_sequence_length(len, [1, 3], [2, 3, 2])),
    case("bucket_by_sequence_length bounded", lambda: rows(11).filter(lambda x: len(x) > 0).bucket_by_sequence_length(len, [2, 4], [2, 3, 2], pad_to_bucket_boundary=True)),
]  # fmt: skip

BATCHES = [
    case("batch", lambda: Dataset.range(7).batch(3), [[0, 1, 2], [3, 4, 5], [6]]),
    case("batch dropped", lambda: Dataset.range(7).batch(3, drop_remainder=True), [[0, 1, 2], [3, 4, 5]]),
    case("batch of batches", lambda: Dataset.range(12).batch(3).batch(2)),
    case("batch rows", lambda: Dataset.range(7).filter(is_odd).batch(2, num_parallel_calls=2), [[1, 3], [5]]),
    case("batch strings", lambda: Dataset.range(5).map(lambda x: {"s": str(x), "x": x}).batch(2)),
    case("batch ragged", lambda: rows(9).ragged_batch(2).batch(2)),
    case("batch sparse", lambda: Dataset.from_tensor_slices(ks.Sparse.from_dense(np.eye(5))).batch(2)),
    case("batch endless", lambda: Dataset.counter().batch(2).take(3), [[0, 1], [2, 3], [4, 5]]),
    case("padded_batch", lambda: rows(6).padded_batch(4), [[[0] * 3, [1, 0, 0], [2, 2, 0], [3] * 3], [[0], [5]]]),
    case("padded_batch given", lambda: rows(6).padded_batch(2, [5], np.int64(-1), drop_remainder=True)),
    case("ragged_batch", lambda: rows(6).ragged_batch(4)),
    case("ragged_batch dropped", lambda: rows(6).ragged_batch(4, drop_remainder=True, row_splits_dtype=np.int32)),
    case("sparse_batch", lambda: rows(6).sparse_batch(4, [5])),
    case("unbatch", lambda: Dataset.range(7).batch(3).unbatch(), range(7)),
    case("unbatch rows", lambda: Dataset.range(7).batch(3).map(lambda x: (x, x * 2)).unbatch(), [(x, 2 * x) for x in range(7)]),
    case("unbatch ragged", lambda: rows(9).ragged_batch(4).unbatch(), map(lengths, range(9))),
    case("unbatch uneven", lambda: rows(9).unbatch()),
    case("rebatch", lambda: Dataset.range(10).batch(4).rebatch(3), [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]),
    case("rebatch turns", lambda: Dataset.range(10).batch(4).rebatch([3, 1], drop_remainder=True)),
    case("rebatch larger", lambda: Dataset.range(10).batch(2).rebatch(7), [[*range(7)], [7, 8, 9]]),
]  # fmt: skip

ORDER = [
    case("shuffle", lambda: reshuffled(20), range(20), **RESHUFFLED),
    case("shuffle fixed", lambda: Dataset.range(20).shuffle(4, 1, reshuffle_each_iteration=False)),
    case("shuffle unseeded", lambda: Dataset.range(20).shuffle(50), range(20), **RESHUFFLED),
    case("shuffle one", lambda: Dataset.range(5).shuffle(1), range(5)),
    case("shuffle everything", lambda: Dataset.range(20).shuffle(ks.UNKNOWN_CARDINALITY, 1), range(20), **RESHUFFLED),
    case("shuffle forward", lambda: Dataset.range(60).filter(is_odd).shuffle(5, 1), range(1, 60, 2), **RESHUFFLED),
    case("shuffle long", lambda: Dataset.range(1200).filter(is_odd).shuffle(7, 1), range(1, 1200, 2), **RESHUFFLED),
    case("shuffle strings", lambda: Dataset.range(9).map(str).shuffle(4, 1), map(str, range(9)), **RESHUFFLED),
    case("shuffle dicts", lambda: Dataset.from_tensor_slices({"a": [1, 2, 3], "b": np.eye(3)}).shuffle(2, 1), **RESHUFFLED),
    case("shuffle variable", lambda: rows(9).shuffle(4, 1), map(lengths, range(9)), **RESHUFFLED),
    case("shuffle twice", lambda: reshuffled(20).shuffle(3, 2), range(20), **RESHUFFLED),
    case("shuffle of batches", lambda: Dataset.range(20).batch(3).shuffle(3, 1).unbatch(), range(20), **RESHUFFLED),
    case("shuffle GLOBAL", lambda: Dataset.range(20).shuffle(ks.GLOBAL, 1), range(20), **RESHUFFLED),
    case("shuffle GLOBAL fixed", lambda: Dataset.range(20).shuffle(ks.GLOBAL, 1, False)),
    case("shuffle GLOBAL mapped", lambda: Dataset.range(20).map(double).shuffle(ks.GLOBAL).batch(3).unbatch(), range(0, 40, 2), **RESHUFFLED),
    case("repeat", lambda: Dataset.range(3).repeat(3), [0, 1, 2] * 3),
    case("repeat never", lambda: Dataset.range(3).repeat(0), []),
    case("repeat endless", lambda: Dataset.range(3).repeat().take(8), [0, 1, 2, 0, 1, 2, 0, 1]),
    case("repeat shuffle", lambda: reshuffled(7).repeat(3), [*range(7)] * 3, **RESHUFFLED),
    case("repeat GLOBAL", lambda: Dataset.range(7).shuffle(ks.GLOBAL, 1).repeat(3), [*range(7)] * 3, **RESHUFFLED),
    case("repeat shuffle fixed", lambda: Dataset.range(7).shuffle(3, 1, False).repeat(3)),
    case("repeat twice", lambda: reshuffled(3).repeat(2).map(double).repeat(2), [0, 2, 4] * 4, **RESHUFFLED),
    case("repeat nested shuffle", lambda: Dataset.range(2).flat_map(captured_shuffle()).repeat(2), [*range(4)] * 4, **RESHUFFLED),
    case("repeat random_map", lambda: Dataset.range(3).random_map(noise, 1).repeat(3), **RESHUFFLED),
    case("repeat filter", lambda: Dataset.range(6).filter(is_odd).repeat(2), [1, 3, 5, 1, 3, 5]),
    case("repeat prefetch", lambda: Dataset.range(4).prefetch(2).repeat(3), [0, 1, 2, 3] * 3),
    case("take", lambda: Dataset.range(9).take(4), range(4)),
    case("take all", lambda: Dataset.range(9).take(-1), range(9)),
    case("take none", lambda: Dataset.range(9).filter(is_odd).take(0), []),
    case("take too many", lambda: Dataset.range(9).filter(is_odd).take(10), range(1, 9, 2)),
    case("take threads", lambda: Dataset.range(40).map(uneven, 3).take(7), range(7)),
    case("skip", lambda: Dataset.range(9).skip(4), range(4, 9)),
    case("skip all", lambda: Dataset.range(9).skip(-1), []),
    case("skip too many", lambda: Dataset.range(9).filter(is_odd).skip(10), []),
    case("skip forward", lambda: Dataset.range(20).filter(is_odd).skip(4), range(9, 20, 2)),
    case("skip threads", lambda: Dataset.range(20).map(uneven, 3).skip(5), range(5, 20)),
    case("skip a shuffle", lambda: reshuffled(20).skip(5), **RESHUFFLED),
    case("shard", lambda: Dataset.range(10).shard(3, 1), [1, 4, 7]),
    case("shard forward", lambda: Dataset.range(20).filter(is_odd).shard(3, 1), [3, 9, 15]),
    case("shard beyond", lambda: Dataset.range(2).shard(4, 3), []),
    case("concatenate", lambda: Dataset.range(3).concatenate(Dataset.range(5, 8)), [0, 1, 2, 5, 6, 7]),
    case("concatenate shapes", lambda: Dataset.range(3).batch(2).concatenate(Dataset.range(3).batch(3))),
    case("concatenate itself", lambda: (lambda a: a.concatenate(a))(reshuffled(6)), [*range(6)] * 2, **RESHUFFLED),
    case("concatenate forward", lambda: Dataset.range(6).filter(is_odd).concatenate(Dataset.range(2)), [1, 3, 5, 0, 1]),
    case("zip", lambda: Dataset.zip(Dataset.range(3), Dataset.range(5, 9)), [(0, 5), (1, 6), (2, 7)]),
    case("zip method", lambda: Dataset.range(3).zip(Dataset.range(9).filter(is_odd)), [(0, 1), (1, 3), (2, 5)]),
    case("zip nested", lambda: Dataset.zip({"a": (Dataset.range(3), Dataset.range(3).batch(2)), "b": Dataset.range(4)})),
    case("zip branches", lambda: (lambda a: Dataset.zip(a, a.map(double)))(Dataset.range(6).map(double))),
    case("zip a shuffle with itself", lambda: (lambda a: Dataset.zip(a, a))(reshuffled(6)), **RESHUFFLED),
    case("zip a GLOBAL shuffle with itself", lambda: (lambda a: Dataset.zip(a, a))(Dataset.range(6).shuffle(ks.GLOBAL, 1)), **RESHUFFLED),
    case("zip threads", lambda: Dataset.zip(Dataset.range(20).map(uneven, 2), Dataset.range(30).map(uneven, 3)), [(x, x) for x in range(20)]),
    case("sample_from_datasets", lambda: Dataset.sample_from_datasets(halves(), [0.5, 0.5], 1), [*range(5), *range(100, 107)], **RESHUFFLED),
    case("sample_from_datasets fixed", lambda: Dataset.sample_from_datasets(halves(), [0.2, 0.8], 1, True, False)),
    case("sample_from_datasets forward", lambda: Dataset.sample_from_datasets([half.filter(is_odd) for half in halves()], seed=2), [1, 3, 101, 103, 105], **RESHUFFLED),
    case("choose_from_datasets", lambda: Dataset.choose_from_datasets(halves(), Dataset.range(20).map(lambda x: x % 2), False)),
    case("choose_from_datasets stops", lambda: Dataset.choose_from_datasets(halves(), Dataset.range(20).map(lambda x: x % 2)), [0, 100, 1, 101, 2, 102, 3, 103, 4, 104]),
]  # fmt: skip

RUNNING = [
    case("prefetch", lambda: Dataset.range(30).map(uneven).prefetch(3), range(30)),
    case("prefetch columns", lambda: Dataset.range(600).prefetch(1), range(600)),
    case("prefetch autotune", lambda: Dataset.range(30).prefetch(ks.AUTOTUNE), range(30)),
    case("prefetch none", lambda: Dataset.range(5).prefetch(0), range(5)),
    case("prefetch shuffle", lambda: reshuffled(20).prefetch(2).batch(3).prefetch(1).unbatch(), range(20), **RESHUFFLED),
    case("prefetch generator", lambda: Dataset.from_generator(count_up, args=(7,)).prefetch(2), range(7)),
    case("prefetch threads", lambda: Dataset.range(30).map(uneven, 3).prefetch(2), range(30)),
    case("prefetch failing", lambda: Dataset.range(9).map(fail_at(5)).prefetch(2), range(5)),
    case("cache", lambda: Dataset.range(9).map(double).cache(), range(0, 18, 2)),
    case("parse_example", lambda: Dataset.from_tensor_slices(EXAMPLES).parse_example({"n": ks.FixedLenFeature([], "int64")}), [{"n": n} for n in range(7)]),
    case("select", lambda: Dataset.from_tensor_slices({"a": [1, 2, 3], "b": {"c": [4, 5, 6]}, "d": [7, 8, 9]}).select("d", "b"), [{"b": {"c": c}, "d": d} for c, d in ((4, 7), (5, 8), (6, 9))]),
    case("select rows", lambda: Dataset.range(5).map(lambda x: {"a": x, "b": x * 2}).select("b"), [{"b": 2 * x} for x in range(5)]),
    case("cache shuffle", lambda: reshuffled(9).cache(), range(9), **RESHUFFLED),
    case("cache before a shuffle", lambda: Dataset.range(9).filter(is_odd).cache().shuffle(3, 1), range(1, 9, 2), **RESHUFFLED),
    case("cache repeat", lambda: Dataset.range(3).map(double).cache().repeat(3), [0, 2, 4] * 3),
    case("cache everything", lambda: Dataset.range(5).map(lambda x: (str(x), {"r": ks.Ragged.from_rows([[x], []]), "n": None, "v": lengths(x)})).cache()),
    case("with_options", lambda: Dataset.range(5).with_options(ks.Options(threads=1)), range(5)),
    case("assert_cardinality", lambda: Dataset.range(9).filter(is_odd).assert_cardinality(4), range(1, 9, 2)),
    case("assert_cardinality addressed", lambda: Dataset.range(9).assert_cardinality(9), range(9)),
    case("apply", lambda: Dataset.range(5).apply(lambda ds: ds.map(double)), range(0, 10, 2)),
]  # fmt: skip

CASES = [*SOURCES, *ROWWISE, *NESTING, *BATCHES, *ORDER, *RUNNING]


def parameter(case: Case) -> Any:
    name = f"{case.method} {case.variant}".strip().replace(" ", "-")
    marks = [pytest.mark.slow] if case.how.get("quick") else []
    return pytest.param(case, id=name, marks=marks)


@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_a_stage_keeps_its_promises(case: Case) -> None:
    check_dataset(case.make, expected=case.expected, **case.how)


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_a_recipe_makes_the_same_stage_again(case: Case) -> None:
    ds = case.make()
    recipe = ds.to_recipe()
    for text in (recipe.to_json(), recipe.to_yaml()):
        again = ks.from_recipe(ks.Recipe.parse(text), trust=True, on_change="error")
        assert identify(again._node).fingerprint == identify(ds._node).fingerprint
        assert again.to_recipe() == recipe
    is_fixed = "unseeded" not in case.variant and not list(unseeded_stages(ds._node))
    if case.how.get("ordered", True) and is_fixed:
        assert_elements_equal(*(first_elements(each) for each in (again, ds)))


@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_a_fork_leaves_an_iterator_to_its_parent(case: Case) -> None:
    check_fork(case.make, ordered=case.how.get("ordered", True))


def first_elements(ds: Dataset) -> list[Any]:
    """Some elements, or those before an error."""
    found: list[Any] = []
    with suppress(Exception):
        found.extend(ds.take(50))
    return found


def test_a_cache_file_keeps_its_promises(tmp_path: Path) -> None:
    def make(name: str) -> Dataset:
        strings = Dataset.range(9).map(lambda x: {"text": str(x), "rows": lengths(x), "x": x})
        return strings.cache(tmp_path / name)

    expected = [{"text": str(x), "rows": lengths(x), "x": x} for x in range(9)]
    check_dataset(lambda: make("one"), expected=expected)
    # A file of its own for each, so that every pipeline starts by writing it.
    names = iter(range(10**6))
    check_dataset(lambda: make(f"file-{next(names)}"), expected=expected)


def test_a_map_on_processes_is_ordered_restored_and_closed() -> None:
    def make() -> Dataset:
        return Dataset.range(12).map(double, 2, executor="process")

    with nothing_left_behind(), iter(make()) as iterator:
        head = list(itertools.islice(iterator, 5))
        state = json.loads(json.dumps(iterator.state()))
    assert_elements_equal(head + list(make().iterate(state)), list(range(0, 24, 2)))


# Lambdas go to workers by value. For a function with a name they would import this module.
IN_PROCESSES: dict[str, Callable[[], Dataset]] = {
    "map": lambda: Dataset.range(6).map(lambda x: x * 2, 2, executor="process"),
    "map_batches": lambda: Dataset.range(6).map_batches(lambda x: x * 2, 2, 2, executor="process"),
    "interleave": lambda: Dataset.range(4).interleave(up_to, 2, 1, 2, executor="process"),
}
BEHIND: dict[str, Callable[[Dataset], Dataset]] = {
    "shuffle": lambda ds: ds.shuffle(4, seed=2),
    "shuffle before": lambda ds: ds.shuffle(4, seed=2).map(lambda x: x * 2, 2, executor="process"),
    "batch": lambda ds: ds.batch(2),
    "prefetch": lambda ds: ds.prefetch(2),
    "zip": lambda ds: Dataset.zip(ds, ds),
    "repeat": lambda ds: ds.repeat(2).shuffle(3, seed=1),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("stage", IN_PROCESSES)
def test_processes_are_restored_at_every_position_below_other_stages(
    stage: str, behind: str
) -> None:
    def make() -> Dataset:
        return BEHIND[behind](IN_PROCESSES[stage]())

    elements, states = [], []
    with nothing_left_behind(), iter(make()) as iterator:
        states.append(iterator.state())
        for element in iterator:
            elements.append(element)
            states.append(iterator.state())
    for position, state in enumerate(states):
        rest = list(make().iterate(json.loads(json.dumps(state))))
        assert_elements_equal(rest, elements[position:])


def test_repeating_nothing_ends() -> None:
    nothing = Dataset.range(3).filter(lambda x: False).repeat()
    assert nothing.cardinality() == ks.INFINITE_CARDINALITY  # as in TensorFlow
    with pytest.warns(UserWarning, match="passed none of its 3 elements"):
        assert list(nothing) == []


def test_a_slow_parent_does_not_move_the_mark() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.002)
        return x

    # Three batches are asked for and the last is short, so rows are handed back to the parent.
    node = Dataset.range(10).map(slow).batch(4).__keepset_node__()
    cursor = node.cursor(start(node))
    head = cursor.read(3).rows
    restored = node.cursor(start(node))
    restored.restore(cursor.state())
    rest = restored.read(3).rows
    assert [batch.tolist() for batch in head + rest] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_loaded_data_set_keeps_its_promises(tmp_path: Path) -> None:
    rows = [{"text": str(x), "rows": lengths(x), "x": x} for x in range(9)]
    ds = Dataset.range(9).map(lambda x: {"text": str(x), "rows": lengths(x), "x": x})
    for compression in (None, "LZ4", "GZIP"):
        ds.save(tmp_path, compression)
        check_dataset(lambda: Dataset.load(tmp_path), expected=rows)
        check_dataset(lambda: Dataset.load(tmp_path).batch(2).shuffle(2, 3))
    ds.save(tmp_path, shard_func=lambda row: row["x"] % 3)
    check_dataset(lambda: Dataset.load(tmp_path), expected=rows)
    in_turn = [rows[x] for x in (0, 3, 6, 1, 4, 7, 2, 5, 8)]
    check_dataset(
        lambda: Dataset.load(tmp_path, reader_func=lambda shards: shards.flat_map(lambda x: x)),
        expected=in_turn,
    )


def test_a_snapshot_keeps_its_promises(tmp_path: Path) -> None:
    def make(name: str) -> Dataset:
        ds = Dataset.range(9).map(lambda x: {"text": str(x), "rows": lengths(x), "x": x})
        return ds.snapshot(tmp_path / name, fingerprint="f")

    expected = [{"text": str(x), "rows": lengths(x), "x": x} for x in range(9)]
    check_dataset(lambda: make("one"), expected=expected)
    # A place of its own for each, so that every pipeline starts by writing it.
    names = iter(range(10**6))
    check_dataset(lambda: make(f"place-{next(names)}"), expected=expected)
    for name in ("one", "forked"):  # replaying and writing
        check_fork(partial(make, name))


def test_every_stage_is_in_the_table() -> None:
    methods = set(stage_methods())
    assert {"map", "batch", "range", "from_generator"} <= methods
    missing = methods - {case.method for case in CASES} - {"load", "snapshot"}  # above
    assert not missing, f"add a line to the table for {sorted(missing)}"


def stage_methods() -> Iterator[str]:
    """The public methods of Dataset that give a Dataset."""
    yield from ("zip", "apply")  # annotated otherwise
    for name, member in inspect.getmembers(Dataset, callable):
        if name.startswith("_") or name == "zip":
            continue
        if inspect.signature(member).return_annotation in ("Self", "Dataset"):
            yield name


CALLED_ONCE = {
    "map": (lambda note: Dataset.range(9).map(note), range(9)),
    "fused": (lambda note: Dataset.range(9).filter(is_odd).map(note).map(double), [1, 3, 5, 7]),
    "filter": (lambda note: Dataset.range(9).filter(lambda x: note(x) < 9).batch(2), range(9)),
    "take_while": (lambda note: Dataset.range(9).take_while(lambda x: note(x) < 5), range(6)),
    "scan": (lambda note: Dataset.range(9).scan(0, lambda s, x: (s, note(x))), range(9)),
    "flat_map": (lambda note: Dataset.range(9).flat_map(lambda x: triple(note(x))), range(9)),
    "interleave": (lambda note: Dataset.range(9).interleave(lambda x: triple(note(x)), 2), range(9)),
    "take": (lambda note: Dataset.range(100).map(note).take(9), range(9)),
    "batch": (lambda note: Dataset.range(9).map(note).batch(4), range(9)),
    "shuffle": (lambda note: Dataset.range(9).map(note).shuffle(3), range(9)),
    "zip": (lambda note: Dataset.zip(Dataset.range(5), Dataset.range(5).map(note)), range(5)),
    "prefetch": (lambda note: Dataset.range(9).map(note).prefetch(2), range(9)),
    "generator": (lambda note: Dataset.from_generator(lambda: map(note, range(9))), range(9)),
    "group_by_window": (lambda note: Dataset.range(9).group_by_window(lambda x: note(x) % 2, lambda k, w: w.batch(2), 2), range(9)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLED_ONCE)
def test_a_function_is_called_once_per_element_and_in_order(name: str) -> None:
    make, expected = CALLED_ONCE[name]

    def noting(note: Callable[[Any], None]) -> Dataset:
        def noted(x: Any) -> Any:
            note(x)
            return x

        return make(noted)

    check_calls(noting, list(expected))


def test_parallel_functions_are_called_once_per_element() -> None:
    def make(note: Callable[[Any], None]) -> Dataset:
        def noted(x: Any) -> Any:
            note(x)
            return uneven(x)

        return Dataset.range(50).map(noted, 3)

    check_calls(make, list(range(50)), ordered=False)
