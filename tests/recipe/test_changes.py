"""Sources of a recipe: told with what is in them, and compared before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks


def read(name: bytes) -> bytes:
    return Path(os.fsdecode(name)).read_bytes()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{i}.txt" for i in range(5)]
    for path in paths:
        path.write_text(path.name)
    return paths


def pipeline(folder: Path) -> ks.Dataset:
    return ks.Dataset.list_files(str(folder / "*.txt"), shuffle=False).map(read)


def again(recipe: ks.Recipe, **given: Any) -> ks.Dataset:
    return ks.from_recipe(recipe, allowed_modules=["tests"], **given)


@pytest.mark.parametrize("content", [None, True, False])
def test_files_that_stayed_are_not_reported(
    files: list[Path], tmp_path: Path, content: bool | None
) -> None:
    ds = pipeline(tmp_path)
    recipe = ds.to_recipe(content=content)
    assert ("hashes" in recipe.stages[0]["files"]) is (content is not False)
    assert list(again(recipe, on_change="error")) == list(ds)


def test_a_touched_file_counts_by_its_content(files: list[Path], tmp_path: Path) -> None:
    with_content, without = (pipeline(tmp_path).to_recipe(content=c) for c in (True, False))
    os.utime(files[2], ns=(1, 1))
    again(with_content, on_change="error")
    with pytest.warns(ks.RecipeChangedWarning, match=r"2\.txt modified, but not in size"):
        again(without)


def test_a_changed_file_is_named_before_anything_runs(files: list[Path], tmp_path: Path) -> None:
    recipe = pipeline(tmp_path).to_recipe()
    files[1].write_text("other")
    os.utime(files[1], ns=(1, 1))
    files[3].write_text("longer than it was")
    with pytest.warns(ks.RecipeChangedWarning, match=r"1\.txt, .*3\.txt changed since"):
        ds = again(recipe)
    assert len(list(ds)) == 5
    with pytest.raises(ks.RecipeError, match="stage 0, list_files"):
        again(recipe, on_change="error")
    assert again(recipe, on_change="ignore")
    files[4].unlink()
    with pytest.warns(ks.RecipeChangedWarning, match=r"missing: .*4\.txt"):
        again(recipe)


def test_another_function_of_the_same_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = ks.Dataset.range(3).map(changing).to_recipe()
    monkeypatch.setitem(globals(), "changing", lambda x: x + 2)
    with pytest.warns(ks.RecipeChangedWarning, match="the code of function is not what it was"):
        again(recipe)


def changing(x: Any) -> Any:
    return x + 1


def test_large_arrays_are_named_and_compared() -> None:
    array = np.arange(100_000, dtype=np.float32)
    ds = ks.Dataset.from_tensor_slices({"x": array, "y": np.arange(100_000) % 7})
    recipe = ds.to_recipe()
    assert len(recipe.to_json()) < 2000
    with pytest.raises(ks.RecipeError, match=r"pass data=\{'0.tensors.x': array\}"):
        ks.from_recipe(recipe)
    data = {"0.tensors.x": array, "0.tensors.y": np.arange(100_000) % 7}
    ks.assert_equal(ks.from_recipe(recipe, data=data).take(9), ds.take(9))
    with pytest.raises(ks.RecipeError, match="is not the array"):
        ks.from_recipe(recipe, data=data | {"0.tensors.x": array + 1})


def test_credentials_are_never_told(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/a.npy"
    ks.Dataset.range(5).write_npy(url)
    ds = ks.read_npy(url)
    secret = type(ds)(ds._node.replaced(store_options={"secret_access_key": "hidden"}))
    text = secret.to_recipe().to_json()
    assert "hidden" not in text
    assert "secret" not in text
    assert [int(x) for x in ks.from_recipe(ds.to_recipe())] == list(range(5))


LARGE = [
    ks.Ragged(np.arange(20_000), np.arange(0, 20_001, 4)),
    ks.Sparse.from_dense(np.arange(20_000).reshape(200, 100)),
    b"x" * 100_000,
    "x" * 100_000,
    {f"word {i}": i for i in range(10_000)},
    list(range(10_000)),
    frozenset(range(10_000)),
    np.array([b"%d" % i for i in range(20_000)], object),
]


@pytest.mark.parametrize("value", LARGE, ids=lambda value: type(value).__name__)
def test_what_is_large_is_named_with_a_digest(value: Any) -> None:
    ds = ks.Dataset.range(3).map(lambda x: (x, hash(type(value)) != 0))
    recipe = ds.to_recipe()
    assert len(recipe.to_json()) < 3000
    with pytest.raises(ks.RecipeError, match=r"pass data=.* > value': (array|\.\.\.)"):
        ks.from_recipe(recipe, trust=True)
    name = next(iter(names_of_data(recipe.stages)))
    ks.assert_equal(ks.from_recipe(recipe, trust=True, data={name: value}), ds)
    with pytest.raises(ks.RecipeError, match="that the recipe names"):
        ks.from_recipe(recipe, trust=True, data={name: 1})


def names_of_data(told: Any) -> Iterator[str]:
    if isinstance(told, dict):
        yield from [told["$data"]] if "$data" in told else []
    for each in told.values() if isinstance(told, dict) else told if isinstance(told, list) else ():
        yield from names_of_data(each)


def test_files_may_have_moved(files: list[Path], tmp_path: Path) -> None:
    recipe = pipeline(tmp_path).to_recipe()
    before = list(pipeline(tmp_path))
    new = tmp_path / "new"
    new.mkdir()
    for path in files:
        path.rename(new / path.name)
    again = ks.from_recipe(recipe, trust=True, moved={str(tmp_path): str(new)}, on_change="error")
    assert list(again) == before


def test_the_nearest_folder_counts_and_names_that_only_begin_alike_do_not(tmp_path: Path) -> None:
    for name in ("a", "ab", "a/b"):
        (tmp_path / name).mkdir()
        ks.Dataset.from_tensor_slices([name]).write_text(tmp_path / name / "f.txt")
    paths = [tmp_path / name / "f.txt" for name in ("a", "ab", "a/b")]
    recipe = ks.read_text(paths).to_recipe()
    moved = {f"{tmp_path}/a/": f"{tmp_path}/a/b", f"{tmp_path}/a/b": f"{tmp_path}/ab/"}
    found = ks.from_recipe(recipe, moved=moved, on_change="ignore")
    assert list(found) == [b"a/b", b"ab", b"ab"]


def test_what_was_kept_may_have_moved(tmp_path: Path) -> None:
    ks.Dataset.range(5).save(tmp_path / "old" / "kept")
    recipe = ks.load(tmp_path / "old" / "kept").to_recipe()
    (tmp_path / "old").rename(tmp_path / "new")
    moved = {str(tmp_path / "old"): str(tmp_path / "new")}
    ks.assert_equal(ks.from_recipe(recipe, moved=moved), ks.Dataset.range(5))
