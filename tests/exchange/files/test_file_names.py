"""Files as users name them: one by one, by patterns, by folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import keepset as ks


def write(path: str, text: str) -> None:
    ks.Dataset.from_tensor_slices([text]).write_text(path)


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "local" else f"memory://{tmp_path.name}"


def test_a_folder_stands_for_the_files_in_it(folder: str) -> None:
    for name in ("b.txt", "a.txt", "deeper/c.txt", "_SUCCESS", ".crc/d.txt", "deeper/.hidden"):
        write(f"{folder}/{name}", name)
    expected = [b"a.txt", b"b.txt", b"deeper/c.txt"]
    assert list(ks.read_text(f"{folder}/")) == expected
    assert list(ks.read_text([f"{folder}/deeper/", f"{folder}/a.txt"])) == [
        expected[2],
        expected[0],
    ]


def test_a_folder_without_a_slash_is_one_on_a_disk(tmp_path: Path) -> None:
    write(f"{tmp_path}/a.txt", "a")
    assert list(ks.read_text(tmp_path)) == [b"a"]


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    write(f"{tmp_path}/_SUCCESS", "")
    with pytest.raises(ks.NoFilesError, match="there are no files in"):
        ks.read_text(tmp_path)


def test_values_that_are_only_in_the_names_of_folders_are_not_lost(folder: str) -> None:
    write(f"{folder}/year=2024/a.txt", "a")
    with pytest.raises(ks.InvalidArgumentError, match="'year=2024', whose values are in no file"):
        ks.read_text(f"{folder}/")
    assert list(ks.read_text(f"{folder}/*/*.txt")) == [b"a"]


def test_a_folder_that_a_data_set_names_is_an_error(tmp_path: Path) -> None:
    names = ks.Dataset.from_tensor_slices([str(tmp_path)])
    with pytest.raises(ks.InvalidArgumentError, match="is a folder, and read_text"):
        list(ks.read_text(names))
