"""What is said of a package that is missing, and of one that is there and broken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.exchange.images import jpeg

BROKEN = "libsome.so.310: cannot open shared object file: No such file or directory"
PICTURE = ks.Dataset.from_tensor_slices(np.zeros((1, 2, 2, 3), np.uint8))


class Package:
    """Puts packages whose import raises an error in the place of installed ones."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, monkeypatch
        monkeypatch.syspath_prepend(folder)

    def __call__(self, name: str, code: str) -> None:
        (self._folder / name).mkdir()
        (self._folder / name / "__init__.py").write_text(code)
        for module in [each for each in sys.modules if each.partition(".")[0] == name]:
            self._patch.delitem(sys.modules, module)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    (tmp_path / "packages").mkdir()
    return Package(tmp_path / "packages", monkeypatch)


USES: dict[str, Any] = {
    "h5py": lambda path: ks.Dataset.range(3).write_hdf5(path / "some.h5"),
    "PIL": lambda path: PICTURE.write_images(path / "pictures"),
}


@pytest.mark.parametrize("name", USES)
def test_a_broken_package_is_told_in_its_own_words(
    name: str, package: Package, tmp_path: Path
) -> None:
    package(name, f"raise ImportError({BROKEN!r})")
    with pytest.raises(ks.MissingExtraError, match="cannot open shared object file") as caught:
        USES[name](tmp_path)
    assert f"{name} is installed and cannot be imported: libsome.so.310" in str(caught.value)
    assert str(caught.value.__cause__) == BROKEN


def test_a_package_that_lacks_a_part_of_itself_is_broken(package: Package, tmp_path: Path) -> None:
    package("h5py", "from . import _errors")
    with pytest.raises(ks.MissingExtraError, match="cannot import name '_errors'"):
        USES["h5py"](tmp_path)


@pytest.mark.parametrize("error", ["MemoryError", "OSError", "KeyboardInterrupt"])
def test_other_errors_of_an_import_pass(error: str, package: Package, tmp_path: Path) -> None:
    package("h5py", f"raise {error}('within')")
    with pytest.raises(eval(error), match="within"):
        USES["h5py"](tmp_path)


def test_a_broken_decoder_is_done_without_and_warned_of(package: Package) -> None:
    package("simplejpeg", f"raise ImportError({BROKEN!r})")
    jpeg._decoder.cache_clear()
    try:
        with pytest.warns(UserWarning, match="simplejpeg is installed and cannot be imported"):
            assert jpeg._decoder() is None
    finally:
        jpeg._decoder.cache_clear()
