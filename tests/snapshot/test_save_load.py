"""save and load: everything comes back, nothing but the path is needed, wrong words are errors."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.format.bits import bits

import keepset as ks
from keepset.core.ragged import Ragged
from keepset.errors import (
    CorruptSnapshotError,
    ElementError,
    InvalidArgumentError,
    SnapshotMismatchError,
    SnapshotMissingError,
)
from keepset.testing import assert_elements_equal

CODECS = [None, "LZ4", "ZSTD", "GZIP", "SNAPPY", "ZLIB", "AUTO"]


def dataset_of(rows: list[Any]) -> ks.Dataset:
    def generate() -> Iterator[Any]:
        yield from rows

    return ks.Dataset.from_generator(generate)


def numbers(count: int) -> ks.Dataset:
    return ks.Dataset.range(count).map(lambda x: {"x": x, "v": np.full(7, x, np.float32)})


@pytest.mark.parametrize("compression", CODECS)
def test_every_codec_gives_back_what_was_saved(tmp_path: Path, compression: str | None) -> None:
    ds = numbers(1000)
    ds.save(tmp_path, compression)
    loaded = ks.Dataset.load(tmp_path)
    assert bits(tuple(loaded)) == bits(tuple(ds))
    assert len(loaded) == 1000
    assert loaded.element_spec == ds.element_spec


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [np.int64(1)],
        [np.zeros((0, 3), np.float32)] * 5,
        [np.zeros(i % 4, np.int16) for i in range(50)],
        [{"a": Ragged([1, 2], [0, 1, 2]), "b": b"x" * i} for i in range(20)],
        [None] * 3,
    ],
    ids=["empty", "one", "zero-length", "varying", "ragged", "none"],
)
def test_odd_data_sets_come_back(tmp_path: Path, rows: list[Any]) -> None:
    dataset_of(rows).save(tmp_path)
    assert bits(tuple(ks.Dataset.load(tmp_path))) == bits(tuple(rows))
    assert ks.Dataset.load(tmp_path).cardinality() == len(rows)


@pytest.mark.parametrize(
    "name", ["with space", "[brackets]", "star*", "what?", "#hash", "100%25", "ünïcode", "a\nb"]
)
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    numbers(3).save(tmp_path / name)
    assert len(list(ks.Dataset.load(str(tmp_path / name)))) == 3


def test_shapes_that_turn_out_to_differ_late_are_kept(tmp_path: Path) -> None:
    rows: list[Any] = [np.full(3, i, np.float32) for i in range(3000)]
    rows += [np.zeros((2, 2), np.float32), np.float32(1)]
    ds = dataset_of(rows)
    ds.save(tmp_path)
    assert bits(tuple(ks.Dataset.load(tmp_path))) == bits(tuple(rows))
    assert ks.Dataset.load(tmp_path).element_spec == ks.TensorSpec(None, np.float32)


def test_elements_of_different_types_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ElementError, match="one type"):
        dataset_of([np.int64(1)] * 3000 + [np.float32(1)]).save(tmp_path)
    with pytest.raises(SnapshotMissingError):
        ks.Dataset.load(tmp_path)


def test_an_endless_pipeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="never ends"):
        ks.Dataset.range(3).repeat().save(tmp_path)


def test_words_that_contradict_the_files_are_errors(tmp_path: Path) -> None:
    numbers(3).save(tmp_path, "LZ4")
    ks.Dataset.load(tmp_path, numbers(3).element_spec, "LZ4")
    with pytest.raises(SnapshotMismatchError, match="holds elements of"):
        ks.Dataset.load(tmp_path, ks.TensorSpec((), np.int64))
    with pytest.raises(SnapshotMismatchError, match="LZ4, not GZIP"):
        ks.Dataset.load(tmp_path, compression="GZIP")
    with pytest.raises(InvalidArgumentError, match="no compression 'RAR'"):
        numbers(3).save(tmp_path, "RAR")


def test_nothing_there_says_how_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(SnapshotMissingError, match=r"nothing is kept .* ks\.save"):
        ks.Dataset.load(tmp_path / "nowhere")


def test_saving_again_is_a_new_version_also_of_itself(tmp_path: Path) -> None:
    numbers(5).save(tmp_path)
    old = ks.Dataset.load(tmp_path)
    old.map(lambda e: {"x": e["x"] + 1, "v": e["v"]}).save(tmp_path)
    assert [int(e["x"]) for e in ks.Dataset.load(tmp_path)] == [1, 2, 3, 4, 5]
    assert [int(e["x"]) for e in old] == [0, 1, 2, 3, 4]


def test_saves_at_once_are_versions_one_after_another(tmp_path: Path) -> None:
    sizes = [100, 200, 300, 400]
    threads = [threading.Thread(target=numbers(n).save, args=(tmp_path,)) for n in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ks.Dataset.load(tmp_path)) in sizes
    assert len(list((tmp_path / "commits").iterdir())) == len(sizes)


def test_a_loaded_data_set_is_addressable(tmp_path: Path) -> None:
    ds = numbers(5000)
    ds.save(tmp_path, "LZ4")
    loaded = ks.Dataset.load(tmp_path)
    assert int(loaded[1234]["x"]) == 1234
    assert [int(e["x"]) for e in loaded[4990:]] == list(range(4990, 5000))
    picked = np.array([4999, 0, 17, 17, 2500])
    assert [int(e["x"]) for e in loaded.gather(picked)] == picked.tolist()
    order = [int(e["x"]) for e in loaded.shuffle(ks.GLOBAL, seed=3)]
    assert sorted(order) == list(range(5000))
    assert order != sorted(order)
    assert [int(e["x"]) for e in loaded.shard(3, 1)] == list(range(1, 5000, 3))
    it = iter(loaded)
    for _ in range(777):
        next(it)
    assert int(next(loaded.iterate(it.state()))["x"]) == 777
    copy = pickle.loads(pickle.dumps(loaded))
    assert int(copy[42]["x"]) == 42


def test_what_comes_out_is_read_only(tmp_path: Path) -> None:
    for compression in CODECS:
        numbers(3).save(tmp_path, compression)
        for element in ks.Dataset.load(tmp_path):
            with pytest.raises(ValueError, match="read-only"):
                element["v"] -= element["v"].mean()


def test_the_two_readers_that_everybody_copies(tmp_path: Path) -> None:
    def by_number(i: np.int64, element: Any) -> np.int64:
        return i % 4

    numbers(100).enumerate().save(tmp_path, shard_func=by_number)
    loaded = ks.Dataset.load(tmp_path)
    assert [int(i) for i, _ in loaded] == list(range(100))
    assert int(loaded[57][0]) == 57

    seen: list[int] = []

    def reader(datasets: ks.Dataset) -> ks.Dataset:
        seen.append(len(datasets))
        shuffled = datasets.shuffle(4, seed=1)
        return shuffled.interleave(lambda x: x, num_parallel_calls=ks.AUTOTUNE)

    read = [int(i) for i, _ in ks.Dataset.load(tmp_path, reader_func=reader)]
    assert seen == [4]
    assert sorted(read) == list(range(100))
    assert read != sorted(read)


def test_without_shards_elements_are_dealt_out(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    parts: list[list[int]] = []

    def reader(datasets: ks.Dataset) -> ks.Dataset:
        parts.extend([int(x) for x in part] for part in datasets)
        return datasets.flat_map(lambda part: part)

    ks.Dataset.load(tmp_path, reader_func=reader, num_shards=3)
    assert parts == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


@given(shards=st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_any_shards_give_the_original_order(
    tmp_path_factory: pytest.TempPathFactory, shards: list[int]
) -> None:
    path = tmp_path_factory.mktemp("shards")
    ks.Dataset.range(len(shards)).save(path, shard_func=lambda x: shards[x])
    loaded = ks.Dataset.load(path)
    assert [int(x) for x in loaded] == list(range(len(shards)))
    assert [int(loaded[i]) for i in range(len(shards))] == list(range(len(shards)))


def test_a_bad_shard_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="whole number") as caught:
        ks.Dataset.range(10).save(tmp_path, shard_func=lambda x: -x)
    assert caught.value.__notes__ == ["in shard_func, at element 1"]


def test_many_shards(tmp_path: Path) -> None:
    ks.Dataset.range(3000).save(tmp_path, shard_func=lambda x: x % 1000)
    assert_elements_equal(list(ks.Dataset.load(tmp_path)), list(range(3000)))


def test_a_flipped_bit_is_found_and_named(tmp_path: Path) -> None:
    numbers(1000).save(tmp_path)
    (segment,) = (tmp_path / "segments").iterdir()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 4
    segment.write_bytes(data)
    with pytest.raises(CorruptSnapshotError, match="damaged at byte") as caught:
        list(ks.Dataset.load(tmp_path))
    assert segment.name in caught.value.path
    list(ks.Dataset.load(tmp_path, verify=False))


def test_a_truncated_segment_is_an_error_at_every_length(tmp_path: Path) -> None:
    numbers(20).save(tmp_path)
    (segment,) = (tmp_path / "segments").iterdir()
    data = segment.read_bytes()
    for length in range(0, len(data), 97):
        segment.write_bytes(data[:length])
        try:
            rows = list(ks.Dataset.load(tmp_path))
        except CorruptSnapshotError:
            continue
        assert bits(tuple(rows)) == bits(tuple(numbers(20)))


def test_every_flipped_bit_of_a_commit_is_an_error(tmp_path: Path) -> None:
    ks.Dataset.range(3).save(tmp_path)
    (commit,) = (tmp_path / "commits").iterdir()
    data = commit.read_bytes()
    for bit in range(0, 8 * len(data), 5):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        commit.write_bytes(bad)
        with pytest.raises((CorruptSnapshotError, ks.KeepsetError)):
            list(ks.Dataset.load(tmp_path))


def test_a_missing_commit_is_noticed(tmp_path: Path) -> None:
    for count in (1, 2, 3):
        list(ks.Dataset.range(5).snapshot(tmp_path, fingerprint="f").take(count))
    (tmp_path / "f" / "commits" / "00000001.json").unlink()
    with pytest.raises(CorruptSnapshotError, match=r"lacks commits/00000001\.json"):
        ks.Dataset.load(tmp_path)


def test_a_missing_commit_before_a_whole_version_is_not_needed(tmp_path: Path) -> None:
    for count in (3, 4, 5):
        ks.Dataset.range(count).save(tmp_path)
    (tmp_path / "commits" / "00000001.json").unlink()
    assert len(list(ks.Dataset.load(tmp_path))) == 5


def test_an_object_store_does_as_well(s3_url: str) -> None:
    numbers(1000).save(s3_url, "AUTO", shard_func=lambda element: element["x"] % 3)
    loaded = ks.load(s3_url)
    assert bits(tuple(loaded)) == bits(tuple(numbers(1000)))
    assert int(loaded[567]["x"]) == 567
    numbers(10).save(s3_url)
    assert len(ks.load(s3_url)) == 10


def test_a_store_in_memory_is_shared_by_its_name() -> None:
    numbers(10).save("memory://shared/a")
    assert len(list(ks.load("memory://shared/a"))) == 10


def test_a_data_set_that_was_saved_without_elements_has_no_known_type(tmp_path: Path) -> None:
    def empty() -> ks.Dataset:
        return ks.Dataset.range(0).map(lambda x: {"x": x, "y": x})

    empty().save(tmp_path)
    for ds in (empty(), ks.load(tmp_path)):
        with pytest.raises(ks.UnknownSpecError, match="no elements to find the element_spec from"):
            _ = ds.element_spec
        numbers = ds.select("x").map(lambda row: row["x"])
        assert list(numbers.concatenate(ks.Dataset.range(2))) == [0, 1]
        assert list(ds.concatenate(ks.Dataset.range(2))) == [0, 1]
        assert list(ds.batch(2).unbatch()) == list(ds.batch(2).rebatch(3)) == []
    promised = {"x": ks.TensorSpec((), "int64"), "y": ks.TensorSpec((), "int64")}
    assert list(ks.load(tmp_path, element_spec=promised)) == []
    dataset_of([None]).save(tmp_path)
    assert ks.load(tmp_path).element_spec is None
