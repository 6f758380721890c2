"""Lists without items in a snapshot: they have the dtype of the lists beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import TypesSoFar
from keepset.core.element import to_element
from keepset.core.run import start
from keepset.core.structure import Structure
from keepset.snapshot.writing import first_pass
from keepset.testing import assert_elements_equal

EMPTY = {
    "first": [0],
    "middle": [40, 41],
    "last": [99],
    "first half": range(50),
    "second half": range(50, 100),
    "every second": range(0, 100, 2),
}


def lists(place: str) -> ks.Dataset:
    empty = set(EMPTY[place])
    return ks.Dataset.range(100).map(
        lambda i: {"ids": [] if i in empty else list(range(i % 4 + 1)), "n": {"deep": []}}
    )


def raggeds(place: str) -> ks.Dataset:
    """Batches of lists, of which those of two empty ones have no items."""
    return lists(place).map(lambda x: {"ids": x["ids"]}).ragged_batch(2)


def types(rows: list[Any]) -> list[Any]:
    return [row["ids"].dtype for row in rows]


def read(ds: ks.Dataset, rows: int) -> list[Any]:
    """All elements, so many at a time."""
    node = ds.__keepset_node__()
    cursor, found = node.cursor(start(node)), []
    while len(chunk := cursor.read(rows)):
        found += chunk.rows
    cursor.close()
    return found


@pytest.mark.parametrize("place", EMPTY)
@pytest.mark.parametrize("rows", [1, 3, 64, 1000])
def test_a_first_pass_yields_what_the_replay_yields(place: str, rows: int, tmp_path: Path) -> None:
    ds = lists(place).snapshot(tmp_path)
    first, again = read(ds, rows), read(ds, rows)
    known = next(i for i, row in enumerate(first) if row["ids"].size)
    assert_elements_equal(first[known:], again[known:])
    assert set(types(first[:known])) <= {np.dtype(np.float64)}
    assert set(types(again)) == {np.dtype(np.int64)}
    assert {row["n"]["deep"].dtype for row in again} == {np.dtype(np.float64)}
    stored = ks.load(tmp_path)
    assert stored[0]["ids"].dtype == stored[99]["ids"].dtype == np.int64


@pytest.mark.parametrize("place", EMPTY)
@pytest.mark.parametrize("stop", [1, 30, 60])
def test_a_pass_goes_on_behind_empty_lists(place: str, stop: int, tmp_path: Path) -> None:
    ds = lists(place).snapshot(tmp_path)
    for _ in zip(range(stop), ds, strict=False):
        pass
    rows = list(ds)
    assert [row["ids"].tolist() for row in rows] == [r["ids"].tolist() for r in lists(place)]
    assert set(types(list(ds))) == {np.dtype(np.int64)}


def test_what_is_committed_early_has_the_type_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", 0.0)
    ds = lists("first half").snapshot(tmp_path)
    iterator = iter(ds)
    for _ in range(70):
        next(iterator)
    iterator.close()
    found = []
    for row in ds:
        found.append(row["ids"].dtype)
        if len(found) == 60:
            break
    assert set(found) == {np.dtype(np.int64)}
    assert set(types(list(ds))) == set(types(list(ds))) == {np.dtype(np.int64)}


@pytest.mark.parametrize("place", ["first half", "middle", "second half"])
@pytest.mark.parametrize("stop", [0, 1, 15, 30, 45])
@pytest.mark.parametrize("first_commit_s", [0.0, 1000.0])
def test_a_ragged_without_items_is_kept_whenever_a_pass_stops(
    place: str,
    stop: int,
    first_commit_s: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", first_commit_s)
    wanted = [row["ids"].to_list() for row in raggeds(place)]
    ds = raggeds(place).snapshot(tmp_path)
    iterator = iter(ds)
    for _ in range(stop):
        next(iterator)
    iterator.close()
    assert [row["ids"].to_list() for row in ds] == wanted
    replayed = list(ds)
    assert [row["ids"].to_list() for row in replayed] == wanted
    assert set(types(replayed)) == {np.dtype(np.int64)}
    assert {row["ids"].dtype for row in ks.load(tmp_path).shuffle(ks.GLOBAL)} == {
        np.dtype(np.int64)
    }


GROUPS: dict[str, Any] = {
    "padded_batch": lambda ds: ds.padded_batch(10),
    "padded_batch, sizes": lambda ds: ds.padded_batch(10, padded_shapes={"ids": 4}),
    "padded_batch, values": lambda ds: ds.padded_batch(10, padding_values={"ids": -1}),
    "ragged_batch": lambda ds: ds.ragged_batch(10),
    "sparse_batch": lambda ds: ds.map(lambda x: x["ids"]).sparse_batch(10, [4]),
}


@pytest.mark.parametrize("place", EMPTY)
@pytest.mark.parametrize("kind", GROUPS)
def test_batches_of_lists_may_have_empty_ones(place: str, kind: str) -> None:
    ds = GROUPS[kind](lists(place).map(lambda x: {"ids": x["ids"]}))
    made = read(ds, 1000)
    assert_elements_equal(read(ds, 1), made)
    for i, batch in enumerate(made):
        ids = batch["ids"] if isinstance(batch, dict) else batch
        is_typed = any(row % 100 not in EMPTY[place] for row in range(i * 10, i * 10 + 10))
        assert ids.dtype == (np.int64 if is_typed else np.float64)


def test_rows_that_cannot_change_are_not_made_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    columns = Structure.columns

    def counted(self: Structure, rows: list[Any]) -> list[list[Any]]:
        looked.append(len(rows))
        return columns(self, rows)

    def chunk(row: Any) -> Chunk:
        return Chunk.from_rows([to_element(row(i)) for i in range(100)])

    monkeypatch.setattr(Structure, "columns", counted)
    types = TypesSoFar()
    scalars = chunk(lambda i: {"n": i, "t": "a", "deep": (1.5, i)})
    assert types.typed(scalars) is scalars
    assert max(looked) == 1
    floats = [chunk(lambda i: {"x": [0.5] * ((i + 1) % 3), "n": i}) for _ in range(2)]
    types = TypesSoFar()
    assert types.typed(floats[0]) is floats[0]
    looked.clear()
    assert types.typed(floats[1]) is floats[1]
    assert max(looked) == 1
    ints = chunk(lambda i: {"n": i, "x": [0.5], "ids": [7] * ((i + 1) % 3)})
    types = TypesSoFar()
    assert [row["ids"].dtype for row in types.typed(ints).rows] == [np.int64] * 100
    later = chunk(lambda i: {"n": i, "x": [0.5], "ids": [7] * (i % 3)})
    assert [row["ids"].dtype for row in types.typed(later).rows] == [np.int64] * 100


def test_what_is_kept_of_empty_rows_alone_says_that_rows_may_have_any_length(
    tmp_path: Path,
) -> None:
    ds = ks.Dataset.range(2).map(lambda x: ks.Ragged.from_rows([[], []]))
    ds.save(tmp_path / "saved")
    replayed = ds.snapshot(tmp_path / "kept")
    list(replayed)
    for kept in (ks.load(tmp_path / "saved"), replayed):
        assert kept.element_spec == ks.RaggedTensorSpec((2, None), np.float64)
        assert len(list(kept.concatenate(ds))) == 4
