"""Data sets of libraries that read a file for each item are warned of."""

# ruff: noqa: E501 - small programs are read more easily on one line each

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import keepset as ks

# As the data sets of torchvision, and those of torch that hold another one.
IMAGES = """
    import os

    def default_loader(path):
        return read_all(path)

    def read_all(path):
        with open(path, "rb") as file:
            return file.read()

    class Folder:
        def __init__(self, root, loader=default_loader):
            self.samples, self.loader = [os.path.join(root, each) for each in sorted(os.listdir(root))], loader
        def __len__(self): return len(self.samples)
        def __getitem__(self, i): return self.loader(self.samples[i])

    class ByMethod(Folder):
        def __init__(self, root): self.samples = [os.path.join(root, each) for each in os.listdir(root)]
        def __getitem__(self, i): return self._load(i)
        def _load(self, i): return open(self.samples[i], "rb").read()

    class Subset:
        def __init__(self, dataset): self.dataset = dataset
        def __len__(self): return len(self.dataset)
        def __getitem__(self, i): return self.dataset[i]

    class InMemory:
        def __init__(self, root): self.items = [read_all(os.path.join(root, each)) for each in sorted(os.listdir(root))]
        def __len__(self): return len(self.items)
        def __getitem__(self, i): return self.items[i]
        def save(self, path): open(path, "w").write("all")
"""
Install = Callable[[str, str], ModuleType]


@pytest.fixture
def images(install: Install, tmp_path: Path) -> tuple[Any, Path]:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "1.txt").write_text("one")
    return install("images_of_a_library", IMAGES), folder


def warnings_of(ds: ks.Dataset, path: Path, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ds.snapshot(path, **options)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("make", ["Folder", "ByMethod"])
def test_a_data_set_that_opens_a_file_for_each_item_is_warned_of(
    images: tuple[Any, Path], tmp_path: Path, make: str
) -> None:
    library, folder = images
    found = getattr(library, make)(str(folder))
    for ds in (ks.from_torch(found), ks.from_torch(library.Subset(found))):
        [said] = warnings_of(ds, tmp_path)
        assert "uses open, which the fingerprint" in said
        assert "list_files" in said
        assert warnings_of(ds, tmp_path, ignore=["call open"]) == []


def test_one_that_a_function_uses_is_warned_of(images: tuple[Any, Path], tmp_path: Path) -> None:
    library, folder = images
    found = library.Folder(str(folder))
    [said] = warnings_of(ks.Dataset.range(1).map(lambda i: found[int(i)]), tmp_path)
    assert "captured found uses open" in said


def test_one_that_holds_its_items_is_not(images: tuple[Any, Path], tmp_path: Path) -> None:
    library, folder = images
    assert warnings_of(ks.from_torch(library.InMemory(str(folder))), tmp_path) == []
    held = library.Folder(str(folder), loader=lambda path: len(path))
    assert warnings_of(ks.from_torch(held), tmp_path) == []
