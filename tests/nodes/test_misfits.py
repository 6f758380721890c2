"""Elements that do not fit: the error names the element, the leaf, both sides and the remedy."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.run import start


def odd_at(place: int, first: Any, other: Any, count: int = 40) -> ks.Dataset:
    return ks.Dataset.range(count).map(lambda i: other if i == place else first)


ARRAYS = {"image": np.zeros((2, 2), np.uint8), "meta": {"size": 1.0}}
WRONG_DTYPE = ARRAYS | {"image": np.zeros((2, 2), np.float32)}
WRONG_SHAPE = ARRAYS | {"image": np.zeros((3, 2), np.uint8)}
WRONG_INSIDE = ARRAYS | {"meta": {"size": 1}}
WRONG_KEY = ARRAYS | {"meta": {"length": 1.0}}

CASES: dict[str, tuple[Any, Callable[[ks.Dataset], ks.Dataset], str]] = {
    "batch, dtype": (
        WRONG_DTYPE,
        lambda ds: ds.batch(4),
        r"leaf 'image': batch\(4\) needs .*this is .*float32\) and the first of its batch .*uint8\)"
        "; bring them to one dtype with map",
    ),
    "batch, shape": (
        WRONG_SHAPE,
        lambda ds: ds.batch(4),
        r"leaf 'image': .*\(3, 2\).*\(2, 2\).*use padded_batch or ragged_batch",
    ),
    "batch, within": (WRONG_INSIDE, lambda ds: ds.batch(4), r"leaf 'meta.size': .*int64.*float64"),
    "batch, key": (
        WRONG_KEY,
        lambda ds: ds.batch(4),
        "leaf 'meta': elements must all have one structure: .*"
        r"without 'size' and with 'length'.*map",
    ),
    "padded_batch, dtype": (
        WRONG_DTYPE,
        lambda ds: ds.padded_batch(4),
        r"leaf 'image': padded_batch needs .*float32\) and the first of its batch .*uint8.*map",
    ),
    "padded_batch, size": (
        WRONG_SHAPE,
        lambda ds: ds.padded_batch(4, {"image": [2, 2], "meta": None}),
        r"leaf 'image': this has shape \(3, 2\).*padded_shapes \(2, 2\)",
    ),
    "padded_batch, key": (WRONG_KEY, lambda ds: ds.padded_batch(4), "leaf 'meta': .*one structure"),
    "ragged_batch, dtype": (
        WRONG_DTYPE,
        lambda ds: ds.ragged_batch(4),
        r"leaf 'image': ragged_batch\(4.* this is .*float32",
    ),
    "snapshot": (WRONG_DTYPE, lambda ds: ds, "leaf 'image': .*uint8.*float32.*output_signature="),
}


@pytest.mark.parametrize(("other", "stage", "message"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("place", [1, 17, 38])
def test_the_element_and_the_leaf_are_named(
    other: Any,
    stage: Callable[[ks.Dataset], ks.Dataset],
    message: str,
    place: int,
    tmp_path: Path,
) -> None:
    ds = stage(odd_at(place, ARRAYS, other))
    with pytest.raises(ks.ElementError, match=rf"^element {place}, {message}") as caught:
        list(ds.snapshot(tmp_path))
    assert caught.value.element == place
    assert caught.value.leaf in ("image", "meta", "meta.size")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.element, copy.leaf) == (
        str(caught.value),
        place,
        caught.value.leaf,
    )


def test_the_first_of_a_batch_may_be_the_odd_one() -> None:
    """Then it is the next one that differs from it."""
    with pytest.raises(ks.ElementError, match=r"^element 13, leaf 'image'"):
        list(odd_at(12, ARRAYS, WRONG_DTYPE).batch(4))


def test_other_batches_come_before_and_behind() -> None:
    ds = odd_at(9, np.zeros(2), np.zeros(3)).batch(4)
    assert len(list(ds.ignore_errors())) == 9
    with pytest.raises(ks.ElementError, match=r"^element 9: "):
        list(ds)


def test_numbers_go_on_behind_a_state() -> None:
    ds = odd_at(25, np.zeros(2), np.zeros(3)).batch(4)
    iterator = iter(ds)
    for _ in range(3):
        next(iterator)
    with pytest.raises(ks.ElementError, match=r"^element 25: "):
        list(ds.iterate(iterator.state()))


def test_numbers_count_elements_that_failed() -> None:
    def make(i: Any) -> Any:
        if i == 6:
            raise ValueError("six")
        return np.zeros(3 if i == 17 else 2)

    node = ks.Dataset.range(40).map(make).batch(4).__keepset_node__()
    cursor = node.cursor(start(node))
    found = []
    for _ in range(9):
        try:
            cursor.read(1)
        except ValueError as error:
            found.append(str(error))
    assert found[0] == "six"
    assert found[1].startswith("element 17: ")


def test_random_access_names_the_element_too() -> None:
    ds = odd_at(17, ARRAYS, WRONG_DTYPE).batch(4)
    assert ds[3]["image"].shape == (4, 2, 2)
    with pytest.raises(ks.ElementError, match=r"^element 17, leaf 'image'"):
        ds[4]
    with pytest.raises(ks.ElementError, match=r"^element 17, leaf 'image'"):
        ds.gather([9, 4, 0])


SIGNATURE = {
    "image": ks.TensorSpec([2, 2], "uint8"),
    "meta": {"size": ks.TensorSpec([], "float64")},
}
PROMISES: dict[str, tuple[Any, str]] = {
    "dtype": (WRONG_DTYPE, r"leaf 'image': .*uint8\) was promised, but this is .*float32\)"),
    "shape": (WRONG_SHAPE, r"leaf 'image': .*\(2, 2\).* was promised, but this is .*\(3, 2\)"),
    "key": (WRONG_KEY, r"leaf 'meta': \{'size': \*\} was promised, but this is \{'length': \*\}"),
    "no dict": (ARRAYS | {"meta": 3}, r"leaf 'meta': .* was promised, but this is int"),
    "no leaf": (ARRAYS | {"image": "text"}, r"leaf 'image': .*uint8\) was promised.*string\)"),
    "all of it": (None, r"\{'image': \*, .* was promised, but this is None"),
}


@pytest.mark.parametrize(("other", "message"), PROMISES.values(), ids=PROMISES)
@pytest.mark.parametrize("kind", ["map", "threads", "processes", "from_generator", "saved"])
def test_a_broken_promise_names_the_element_and_the_leaf(
    other: Any, message: str, kind: str, tmp_path: Path
) -> None:
    def make(i: Any) -> Any:
        return other if i == 17 else ARRAYS

    source = ks.Dataset.range(40)
    if kind == "from_generator":
        ds = ks.Dataset.from_generator(lambda: map(make, range(40)), output_signature=SIGNATURE)
    elif kind in ("map", "saved"):
        ds = source.map(make, output_signature=SIGNATURE)
    else:
        executor = {"threads": "thread", "processes": "process"}[kind]
        ds = source.map(make, num_parallel_calls=2, executor=executor, output_signature=SIGNATURE)
    where = "element 17: " if other is None else "element 17, "
    with pytest.raises(ks.ElementError, match=rf"^{where}{message}.*output_signature=") as caught:
        ds.save(tmp_path) if kind == "saved" else list(ds)
    assert any("element 17" in note for note in caught.value.__notes__)


def test_batches_of_worker_processes_are_numbered_as_others() -> None:
    def make(i: Any) -> Any:
        return WRONG_DTYPE if i == 17 else ARRAYS

    ds = ks.Dataset.range(40).map(make, num_parallel_calls=2, executor="process").batch(4)
    with pytest.raises(ks.ElementError, match=r"^element 17, leaf 'image': batch"):
        list(ds)


def test_datasets_of_other_types_name_the_leaf() -> None:
    one = ks.Dataset.from_tensors({"a": {"x": 1}, "b": 1})
    other = ks.Dataset.from_tensors({"a": {"x": 1.0}, "b": 1})
    message = r"^leaf 'a.x': \w+ needs datasets of one type: .*int64.*float64.*map"
    with pytest.raises(ks.ElementError, match=message):
        one.concatenate(other)
    with pytest.raises(ks.ElementError, match=message):
        ks.Dataset.sample_from_datasets([one, other])
    missing = ks.Dataset.from_tensors({"a": {"y": 1}, "b": 1})
    with pytest.raises(ks.ElementError, match=r"^leaf 'a': .*without 'x' and with 'y'"):
        one.concatenate(missing)


def test_a_pass_that_goes_on_counts_from_the_beginning(tmp_path: Path) -> None:
    ds = odd_at(30, np.zeros(2), np.zeros(2, np.float32)).snapshot(tmp_path)
    for _ in zip(range(10), ds, strict=False):
        pass
    with pytest.raises(ks.ElementError, match=r"^element 30: elements must be of one type"):
        list(ds)


def test_elements_of_shards_are_numbered_within_them(tmp_path: Path) -> None:
    ds = odd_at(31, np.zeros(2), np.zeros(2, np.float32))
    with pytest.raises(ks.ElementError, match=r"number 15 of shard 1"):
        ds.enumerate().map(lambda i, x: x).save(tmp_path, shard_func=_by_turns())


def _by_turns() -> Callable[[Any], int]:
    seen = iter(range(1000))
    return lambda x: next(seen) % 2


def test_an_error_without_a_place_reads_as_before() -> None:
    error = ks.ElementError("something is wrong")
    assert str(error) == "something is wrong"
    assert not re.match("element", str(error))


LISTS = [[7], [7, 7], [1.5]]
TUPLES = [(7, 8), (7,), ()]


def test_ragged_batch_names_the_first_that_it_cannot_take() -> None:
    ds = ks.Dataset.range(3).map(lambda i: np.array(LISTS[i])).ragged_batch(4)
    message = r"^element 2: ragged_batch\(4.*float64.*int64.*map$"
    with pytest.raises(ks.ElementError, match=message) as caught:
        list(ds)
    assert "padded_batch" not in str(caught.value)
    ranks = ks.Dataset.range(3).map(lambda i: np.zeros((2,) * (i // 2 + 1))).ragged_batch(4)
    with pytest.raises(ks.ElementError, match=r"^element 2: ragged_batch.*\(2, 2\)"):
        list(ranks)


def test_padded_batch_names_the_first_that_it_cannot_take() -> None:
    ds = ks.Dataset.range(3).map(lambda i: np.array(LISTS[i])).padded_batch(4)
    with pytest.raises(ks.ElementError, match=r"^element 2: padded_batch.*float64.*int64"):
        list(ds)


STORED: dict[str, Callable[[ks.Dataset, Path], Any]] = {
    "save": lambda ds, path: ds.save(path, progress=False),
    "snapshot": lambda ds, path: list(ds.snapshot(path)),
    "write_parquet": lambda ds, path: ds.write_parquet(path / "a.parquet"),
    "to_arrow": lambda ds, path: ds.to_arrow(),
    "batch": lambda ds, path: list(ds.batch(3)),
}


@pytest.mark.parametrize("store", STORED.values(), ids=STORED)
@pytest.mark.parametrize("alike", [0, 1, 5, 100])
def test_the_first_of_several_structures_is_named(
    store: Callable[[ks.Dataset, Path], Any], alike: int, tmp_path: Path
) -> None:
    rows = [TUPLES[0]] * (3 * alike) + TUPLES
    ds = ks.Dataset.range(len(rows)).map(lambda i: rows[i])
    message = r"^element \d+: .*\(\*, \*\) was expected"
    with pytest.raises(ks.ElementError, match=message) as caught:
        store(ds, tmp_path)
    assert caught.value.element == 3 * alike + 1
