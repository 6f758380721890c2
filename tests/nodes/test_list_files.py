"""Files that match patterns."""

import os
from pathlib import Path

import pytest

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.errors import FingerprintError, InvalidArgumentError, NoFilesError
from keepset.nodes.list_files import ListFiles, listed_files
from keepset.storage.files import look_at
from keepset.testing import check_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("c.txt", "a.txt", "b.txt", ".h.txt", "d.csv"):
        (tmp_path / name).touch()
    return tmp_path


def names(*patterns: Path | str) -> list[str]:
    given = [os.fspath(p) for p in patterns]
    node = listed_files(given if len(given) > 1 else given[0], shuffle=False)
    return [os.fsdecode(os.path.basename(path)) for path in iterate(node)]


def test_files_are_sorted_and_hidden_ones_included_as_in_tensorflow(folder: Path) -> None:
    assert names(folder / "*.txt") == [".h.txt", "a.txt", "b.txt", "c.txt"]


def test_several_patterns_are_joined_and_what_matches_twice_comes_twice(folder: Path) -> None:
    assert names(folder / "c*", folder / "a*", folder / "zz*", folder / "?.txt") == [
        "a.txt", "a.txt", "b.txt", "c.txt", "c.txt",
    ]  # fmt: skip


def test_elements_are_whole_paths_as_bytes(folder: Path) -> None:
    node = listed_files(folder / "d*", shuffle=False)
    assert list(iterate(node)) == [os.fsencode(folder / "d.csv")]
    assert node.spec() == TensorSpec((), "string")
    assert node.cardinality() == 1


def test_the_order_is_random_by_default_and_repeats_with_a_seed(folder: Path) -> None:
    def passes(seed: int) -> list[list[bytes]]:
        node = listed_files(str(folder / "*"), seed=seed)
        return [list(iterate(node)) for _ in range(6)]

    assert passes(1) == passes(1)
    assert len({tuple(order) for order in passes(1)}) > 1
    assert {tuple(sorted(order)) for order in passes(1)} == {tuple(sorted(passes(2)[0]))}
    check_dataset(lambda: Dataset(listed_files(str(folder / "*"), seed=1)), repeatable=False)


def test_files_are_listed_when_the_pipeline_is_built(folder: Path) -> None:
    node = listed_files(str(folder / "*.csv"), shuffle=False)
    (folder / "e.csv").touch()
    assert len(list(iterate(node))) == 1


def test_no_match_is_an_error_that_names_the_patterns(folder: Path) -> None:
    with pytest.raises(NoFilesError, match=r"zz\*"):
        listed_files([str(folder / "zz*")])
    with pytest.raises(FileNotFoundError):
        listed_files(str(folder / "zz*"), shuffle=False)
    with pytest.raises(NoFilesError):
        listed_files([])


def test_a_pattern_is_a_path() -> None:
    with pytest.raises(InvalidArgumentError, match="path pattern"):
        listed_files([3])


def test_a_listing_is_a_stage_of_its_own_kind(folder: Path) -> None:
    node = listed_files(folder / "*.txt", shuffle=False)
    assert (node.kind, node.title) == ("list_files", "list_files()")
    shuffled = listed_files(folder / "*.txt", seed=1)
    assert [each.kind for each in shuffled.walk()] == ["shuffle_global", "list_files"]


def test_a_listing_looks_at_its_files_when_it_is_asked_to(folder: Path) -> None:
    node = listed_files(folder / "*.txt", shuffle=False)
    assert isinstance(node, ListFiles)
    (folder / "a.txt").write_text("later")
    assert look_at(node.file_names).names == (".h.txt", "a.txt", "b.txt", "c.txt")
    assert look_at(node.file_names).size_bytes == 5
    (folder / "a.txt").unlink()
    with pytest.raises(FingerprintError, match=r"a\.txt"):
        look_at(node.file_names)
    assert len(list(iterate(node))) == 4
