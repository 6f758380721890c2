"""The recipe beside what is kept: there from the first pass on, and good to run again."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.snapshot.leftovers import only_the_removal_is_left

import keepset as ks
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.storage import open_store


def double(x: Any) -> Any:
    return x * 2


def pipeline() -> ks.Dataset:
    return ks.Dataset.range(50).map(double).shuffle(10, seed=3).batch(4)


def test_a_snapshot_knows_its_recipe(tmp_path: Path) -> None:
    elements = list(pipeline().snapshot(tmp_path))
    recipe = ks.load(tmp_path).recipe
    assert recipe is not None
    again = ks.from_recipe(recipe, allowed_modules=["tests"], on_change="error")
    assert ks.explain(again.snapshot(tmp_path), tmp_path).hit
    assert [e.tolist() for e in again] == [e.tolist() for e in elements]
    assert recipe.fingerprint == ks.Snapshot(tmp_path).fingerprint


def test_an_unfinished_snapshot_has_one_too(tmp_path: Path) -> None:
    with iter(pipeline().snapshot(tmp_path)) as running:
        next(running)
    found = ks.Snapshot(tmp_path)
    assert not found.is_complete
    assert found.recipe is not None
    assert ks.Recipe.parse(found.recipe).stages[-1]["stage"] == "batch"


def test_every_version_of_a_save_has_its_own(tmp_path: Path) -> None:
    ks.Dataset.range(5).save(tmp_path)
    first = ks.load(tmp_path)
    ks.Dataset.range(6).batch(2).save(tmp_path)
    assert [repr(ds.recipe) for ds in (first, ks.load(tmp_path))] == [
        "<Recipe range>",
        "<Recipe range > batch>",
    ]
    assert ks.Dataset.range(5).recipe is None
    assert repr(ks.load(tmp_path).take(1).recipe) == "<Recipe range > batch>"


def test_a_recipe_of_a_loaded_data_set_loads_it_again(tmp_path: Path) -> None:
    pipeline().save(tmp_path / "first")
    ds = ks.load(tmp_path / "first").map(lambda x: x.sum())
    ks.assert_equal(ks.from_recipe(ds.to_recipe(), trust=True, on_change="error"), ds)
    chosen = ks.load(tmp_path / "first", reader_func=lambda parts: parts.flat_map(lambda p: p))
    ks.assert_equal(ks.from_recipe(chosen.to_recipe(), trust=True), chosen)


def test_a_snapshot_within_a_pipeline_is_told(tmp_path: Path) -> None:
    ds = pipeline().snapshot(tmp_path / "inner", compression="ZSTD").unbatch()
    with pytest.raises(ks.UntrustedRecipeError, match=r"stage 4, snapshot, writes to .*inner"):
        ks.from_recipe(ds.to_recipe(), allowed_modules=["tests"])
    again = ks.from_recipe(ds.to_recipe(), trust=True, on_change="error")
    assert again.to_recipe() == ds.to_recipe()
    first = [int(x) for x in ds]
    assert [int(x) for x in again] == first
    own = pipeline().snapshot(tmp_path / "own", fingerprint="mine", shard_func=lambda x: x[0] % 2)
    told = own.to_recipe()
    assert told.stages[-1]["fingerprint"] == "mine"
    assert len(list(ks.from_recipe(told, trust=True))) == 13


def test_what_cannot_be_told_is_kept_all_the_same(tmp_path: Path) -> None:
    lock = threading.Lock()

    def locked(x: Any) -> Any:
        with lock:
            return x

    ds = ks.Dataset.range(5).map(locked)
    assert len(list(ds.snapshot(tmp_path, fingerprint="f"))) == 5
    assert ks.load(tmp_path).recipe is None
    assert "lock" in str(ks.Snapshot(tmp_path).no_recipe)


@pytest.mark.parametrize("begins", [False, True])
def test_a_recipe_that_cannot_be_written_does_not_fail_a_pass(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, begins: bool
) -> None:
    ds = ks.Dataset.range(1000).map(lambda x: x + 1).snapshot(tmp_path, fingerprint="f")
    if begins:
        with iter(ds) as iterator:
            next(iterator)
    shutil.rmtree(tmp_path / "f" / "recipes", ignore_errors=True)
    (tmp_path / "f").mkdir(exist_ok=True)
    (tmp_path / "f" / "recipes").write_text("in the way")
    with caplog.at_level("INFO", "keepset"):
        assert [int(x) for x in ds] == list(range(1, 1001))
    [said] = [each for each in caplog.records if "gets no recipe" in each.getMessage()]
    assert said.levelname == "WARNING"
    assert "a file is in the place of a folder" in said.getMessage()
    snapshot = ks.Snapshot(tmp_path)
    assert snapshot.recipe is None
    assert "a file is in the place of a folder" in str(snapshot.no_recipe)
    assert len(ks.load(tmp_path)) == 1000


def test_a_recipe_that_cannot_be_written_does_not_fail_a_save(tmp_path: Path) -> None:
    (tmp_path / "recipes").write_text("in the way")
    pipeline().save(tmp_path)
    assert "a file is in the place of a folder" in str(ks.Snapshot(tmp_path).no_recipe)


def test_a_damaged_recipe_is_an_error_and_the_elements_are_not(tmp_path: Path) -> None:
    pipeline().save(tmp_path)
    [file] = (tmp_path / "recipes").iterdir()
    file.write_text(file.read_text().replace("batch", "watch"))
    ds = ks.load(tmp_path)
    assert len(list(ds)) == 13
    with pytest.raises(ks.RecipeError, match="damaged"):
        _ = ds.recipe


def test_removing_takes_the_recipe_along(tmp_path: Path) -> None:
    pipeline().save(tmp_path / "kept")
    remove_snapshot(open_store(tmp_path / "kept"))
    assert only_the_removal_is_left(tmp_path / "kept")


def test_arrays_of_the_pipeline_are_not_written_twice(tmp_path: Path) -> None:
    array = np.arange(200_000)
    ks.Dataset.from_tensor_slices(array).save(tmp_path)
    [file] = (tmp_path / "recipes").iterdir()
    assert file.stat().st_size < 2000


def test_the_recipe_is_of_the_pipeline_before_it_ran(tmp_path: Path) -> None:
    seen: list[int] = []
    ds = ks.Dataset.range(5).map(lambda x: seen.append(int(x)) or x)  # type: ignore[func-returns-value]
    before = ds.to_recipe()
    ds.save(tmp_path)
    assert len(seen) == 5
    assert ks.load(tmp_path).recipe == before
