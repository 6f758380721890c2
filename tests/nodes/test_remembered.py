"""Elements by position behind a cache and a seeded shuffle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset import Dataset

TEN = Dataset.range(10).map(lambda x: x * x)


def filtered() -> Dataset:
    return TEN.filter(lambda x: x % 2 == 0)


def values(ds: Dataset) -> list[int]:
    return [int(x) for x in ds]


@pytest.mark.parametrize("buffer_size", [1, 3, 10, 50])
def test_a_seeded_shuffle_gives_the_elements_of_its_first_pass(buffer_size: int) -> None:
    def shuffled() -> Dataset:
        return TEN.shuffle(buffer_size, seed=4)

    ds = shuffled()
    assert [int(ds[i]) for i in range(10)] == values(shuffled())
    assert [int(x) for x in ds.gather([-1, 0])] == [values(shuffled())[i] for i in (-1, 0)]
    assert values(ds) == values(shuffled())  # a look is no pass


def test_stages_behind_a_shuffle_have_positions_too() -> None:
    def batches() -> Dataset:
        return TEN.shuffle(4, seed=4).map(lambda x: x + 1).batch(3).prefetch(1)

    ds = batches()
    assert [ds[i].tolist() for i in range(4)] == [x.tolist() for x in batches()]


def test_a_shuffle_without_a_seed_says_what_to_do() -> None:
    with pytest.raises(ks.NotAddressableError, match=r"shuffle with seed= .* first pass"):
        TEN.shuffle(3)[0]
    with pytest.raises(ks.NotAddressableError, match="decides which elements"):
        filtered().shuffle(3, seed=1)[0]


@pytest.mark.parametrize("in_file", [False, True])
def test_a_cache_gives_what_it_holds(in_file: bool, tmp_path: Path) -> None:
    ds = filtered().cache(tmp_path / "cache" if in_file else "")
    with pytest.raises(ks.NotAddressableError, match=r"iterate over it once"):
        ds[0]
    assert [int(x) for x in ds] == [0, 4, 16, 36, 64]
    assert [int(ds[i]) for i in (0, 2, -1)] == [0, 16, 64]
    assert int(ds.map(lambda x: x + 1)[1]) == 5
    assert [int(x) for x in ds.gather([4, 4, 1])] == [64, 64, 4]
    with pytest.raises(ks.ElementIndexError):
        ds[5]


def test_a_cache_that_is_not_filled_computes_the_element() -> None:
    calls: list[int] = []

    def noted(x: Any) -> Any:
        calls.append(int(x))
        return x

    ds = Dataset.range(5).map(noted).cache()
    assert (int(ds[3]), calls) == (3, [3])
    list(ds)
    assert (int(ds[3]), len(calls)) == (3, 6)


def test_what_a_cache_holds_is_not_written_to() -> None:
    ds = Dataset.range(3).map(lambda x: np.full(2, x)).cache()
    list(ds)
    with pytest.raises(ValueError, match="read-only"):
        ds[0][0] = 7
