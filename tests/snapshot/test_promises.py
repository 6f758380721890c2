"""What people suffered with other tools, each as a test that it cannot happen here."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks


def images(count: int, side: int = 28) -> ks.Dataset:
    """Pictures like those of handwritten digits: small, mostly empty."""
    generator = np.random.default_rng(3)
    pixels = generator.integers(0, 256, (count, side, side), np.uint8)
    pixels *= generator.random((count, side, side)) < 0.2
    return ks.Dataset.from_tensor_slices({"image": pixels, "label": np.arange(count) % 10})


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@pytest.mark.parametrize("compression", [None, "AUTO"])
def test_what_is_kept_is_not_larger_than_the_data(tmp_path: Path, compression: str | None) -> None:
    count = 5000
    raw = count * (28 * 28 + 8)
    images(count).save(tmp_path / "saved", compression)
    list(images(count).snapshot(tmp_path / "kept", compression))
    assert size_of(tmp_path / "saved") <= 1.1 * raw
    assert size_of(tmp_path / "kept") <= 1.1 * raw


def test_a_loop_that_stops_early_costs_nothing_and_warns_of_nothing(tmp_path: Path) -> None:
    calls: list[int] = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return x

    ds = ks.Dataset.range(100).map(note).snapshot(tmp_path, fingerprint="f")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for stop in (10, 40, 70):
            for x in ds:
                if x == stop:
                    break
        assert [int(x) for x in ds] == list(range(100))
    # An element is computed twice only if it is the last kept one, to be compared, or was read
    # ahead of the loop that stopped.
    assert sorted(set(calls)) == list(range(100))
    assert len(calls) < 2 * 100


def test_states_of_kept_data_are_small_and_do_not_grow(tmp_path: Path) -> None:
    images(3000).save(tmp_path, shard_func=lambda e: e["label"])
    ds = ks.load(tmp_path).shuffle(ks.GLOBAL, seed=1).repeat(2).batch(32)
    it = iter(ds)
    sizes = []
    for _ in range(150):
        next(it)
        sizes.append(len(json.dumps(it.state())))
    assert max(sizes) < 1024
    assert max(sizes) - min(sizes) < 32


def test_a_global_shuffle_leaves_no_trace_of_the_order(tmp_path: Path) -> None:
    count = 10_000
    ks.Dataset.range(count).save(tmp_path, shard_func=lambda x: x // 1000)
    for seed in range(3):
        order = np.array([int(x) for x in ks.load(tmp_path).shuffle(ks.GLOBAL, seed=seed)])
        assert sorted(order.tolist()) == list(range(count))
        assert abs(np.corrcoef(np.arange(count), order)[0, 1]) < 0.05
        # Neighbours are as far apart as chance would have it: a third of the length.
        assert abs(np.abs(np.diff(order)).mean() / (count / 3) - 1) < 0.05
        # Each hundred elements come from every shard.
        for first in range(0, count, 100):
            assert len({x // 1000 for x in order[first : first + 100].tolist()}) >= 8


def test_empty_shards_and_workers_without_data(tmp_path: Path) -> None:
    ks.Dataset.range(3).save(tmp_path, shard_func=lambda x: 7 * x)
    loaded = ks.load(tmp_path)
    parts = [[int(x) for x in loaded.shard(8, i)] for i in range(8)]
    assert parts == [[0], [1], [2], [], [], [], [], []]
    ks.Dataset.range(0).save(tmp_path / "none")
    assert [list(ks.load(tmp_path / "none").shard(4, i)) for i in range(4)] == [[]] * 4
    empty = ks.load(tmp_path / "none", reader_func=lambda parts: parts.flat_map(lambda part: part))
    assert list(empty) == []


def test_the_same_pipeline_at_another_place_has_the_same_name(tmp_path: Path) -> None:
    def kept(place: Path) -> list[str]:
        list(images(10).map(lambda e: e["image"]).snapshot(place))
        return [folder.name for folder in place.iterdir()]

    assert kept(tmp_path / "one") == kept(tmp_path / "two")
