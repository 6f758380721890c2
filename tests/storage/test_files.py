"""How files stand: what counts of them, and what does not."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from keepset.errors import FingerprintError
from keepset.storage.files import CHANGED, NO_SIZE, Listing, look_at


def look(folder: Path, *names: str) -> Listing:
    return look_at([os.fsencode(folder / name) for name in names])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "cats").mkdir(parents=True)
    (tmp_path / "data" / "cats" / "1.txt").write_text("one")
    (tmp_path / "data" / "2.txt").write_text("three")
    return tmp_path / "data"


def test_names_are_those_behind_the_folder_that_all_files_share(folder: Path) -> None:
    both = look(folder, "2.txt", "cats/1.txt")
    assert both.names == ("2.txt", "cats/1.txt")
    assert both.folder == os.fspath(folder.resolve())
    assert both.path(1) == os.fspath(folder / "cats/1.txt")
    assert both.facts[:, 0].tolist() == [5, 3]
    assert both.size_bytes == 8
    assert str(both) == "2 files of 8 bytes"


@pytest.mark.parametrize("names", [["cats/1.txt"], ["cats/1.txt", "cats/1.txt"]])
def test_one_file_goes_by_its_base_name(folder: Path, names: list[str]) -> None:
    assert set(look(folder, *names).names) == {"1.txt"}


def test_names_that_begin_alike_share_no_more_than_a_folder(tmp_path: Path) -> None:
    for name in ("image", "image1", "image2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
    assert look(tmp_path, "image1/x", "image2/x").names == ("image1/x", "image2/x")
    assert look(tmp_path, "image", "image/x").names == ("image", "image/x")


def test_the_outline_is_the_same_elsewhere_and_the_stamp_is_not(folder: Path) -> None:
    before = look(folder, "2.txt", "cats/1.txt")
    copy = shutil.copytree(folder, folder.with_name("copy"))
    after = look(copy, "2.txt", "cats/1.txt")
    assert before.outline == after.outline
    assert before.times == after.times
    assert before.stamp != after.stamp
    assert before.stamp == look(folder, "2.txt", "cats/1.txt").stamp


def test_another_folder_is_another_stamp_if_nothing_else_is(folder: Path) -> None:
    (folder.parent / "other").mkdir()
    os.link(folder / "2.txt", folder.parent / "other" / "2.txt")
    one, other = look(folder, "2.txt"), look(folder.parent / "other", "2.txt")
    assert (one.facts == other.facts).all()
    assert one.stamp != other.stamp
    assert one.alike(one).all()
    assert not one.alike(other).any()


def test_a_name_a_size_and_the_order_count_in_the_outline(folder: Path) -> None:
    outlines = {
        look(folder, "2.txt", "cats/1.txt").outline,
        look(folder, "cats/1.txt", "2.txt").outline,
        look(folder, "2.txt").outline,
        look(folder, "2.txt", "2.txt").outline,
    }
    (folder / "2.txt").write_text("seven77")
    outlines.add(look(folder, "2.txt", "cats/1.txt").outline)
    (folder / "cats").rename(folder / "dogs")
    outlines.add(look(folder, "2.txt", "dogs/1.txt").outline)
    assert len(outlines) == 6


def test_names_do_not_run_into_each_other(tmp_path: Path) -> None:
    for name in ("ab", "c", "a", "bc"):
        (tmp_path / name).touch()
    assert look(tmp_path, "ab", "c").outline != look(tmp_path, "a", "bc").outline


def test_a_time_that_was_set_back_is_seen(folder: Path) -> None:
    file = folder / "2.txt"
    before = look(folder, "2.txt")
    kept = file.stat()
    file.write_text("seven"[::-1])
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    after = look(folder, "2.txt")
    assert (before.outline, before.times) == (after.outline, after.times)
    assert before.stamp != after.stamp


def test_a_change_within_the_same_tick_of_the_clock_cannot_hide(tmp_path: Path) -> None:
    file = tmp_path / "x"
    stamps = set()
    for i in range(10):
        file.write_text(str(i))
        stamps.add(look(tmp_path, "x").stamp)
    assert len(stamps) == 10


def test_looking_waits_for_the_clock_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    listing = look(tmp_path, "x")
    assert time.time_ns() - int(listing.facts[0, CHANGED]) >= 20_000_000


def test_a_path_through_a_link_is_the_same_place(folder: Path) -> None:
    link = folder.with_name("link")
    link.symlink_to(folder)
    assert look(link, "2.txt").stamp == look(folder, "2.txt").stamp


def test_a_link_counts_as_the_file_that_it_leads_to(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "2.txt")
    listing = look(folder, "link")
    assert listing.size_bytes == 5
    (folder / "2.txt").write_text("seven")
    assert not listing.unchanged().any()


def test_relative_names_are_of_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = look(folder, "2.txt")
    monkeypatch.chdir(folder)
    assert look_at([b"2.txt"]).stamp == whole.stamp
    assert look_at([b"./cats/../2.txt"]).stamp == whole.stamp
    monkeypatch.chdir(folder.parent)
    assert look_at([b"data/2.txt"]).stamp == whole.stamp


def test_names_may_be_any_bytes(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\n \xe9.txt"
    Path(os.fsdecode(name)).write_text("odd")
    listing = look_at([name])
    assert os.fsencode(listing.names[0]) == b"\xff\n \xe9.txt"
    assert len(listing.stamp) == 32
    assert listing.unchanged().all()


def test_what_changed_since_is_seen(folder: Path) -> None:
    listing = look(folder, "2.txt", "cats/1.txt")
    assert listing.unchanged().tolist() == [True, True]
    (folder / "cats" / "1.txt").unlink()
    assert listing.unchanged().tolist() == [True, False]


def test_a_folder_has_no_size(folder: Path) -> None:
    listing = look(folder, "cats")
    assert listing.facts[0, 0] == NO_SIZE
    assert listing.size_bytes == 0
    assert listing.describe(0).startswith("a folder of 20")


def test_files_are_described_for_people(folder: Path) -> None:
    os.utime(folder / "2.txt", ns=(0, int(time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1))) * 10**9))
    assert look(folder, "2.txt").describe(0) == "5 bytes of 2026-01-02 03:04:05"


@pytest.mark.parametrize("year_s", [-(10**9), 0, 15 * 10**9])
def test_odd_times_are_times_too(folder: Path, year_s: int) -> None:
    try:
        os.utime(folder / "2.txt", (0, year_s))
    except OverflowError:
        pytest.skip("this file system knows no such times")
    listing = look(folder, "2.txt")
    assert listing.unchanged().all()
    assert listing.describe(0).startswith("5 bytes of ")


def test_a_file_that_is_gone_is_an_error_that_names_it(folder: Path) -> None:
    with pytest.raises(FingerprintError, match=r"3\.txt.*No such file.*fingerprint=") as caught:
        look(folder, "2.txt", "3.txt")
    assert caught.value.path == os.fspath(folder / "3.txt")
