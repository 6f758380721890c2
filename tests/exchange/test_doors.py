"""What every door promises: files of other formats, there and back, whole or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.exchange.doors import DOORS, Door

import keepset as ks
from keepset.core.spec import is_compatible
from keepset.testing import assert_elements_equal, check_dataset

HERE = Path(__file__)
doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
KINDS = [(door, kind) for door in DOORS.values() for kind in door.kinds]
KIND_IDS = [f"{name}-{kind}" for name, door in DOORS.items() for kind in door.kinds]


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def written(door: Door, folder: Path, count: int = 10, name: str = "some") -> Path:
    path = folder / f"{name}{door.ending}"
    door.write(door.dataset(count), path)
    return path


@pytest.mark.parametrize(("door", "kind"), KINDS, ids=KIND_IDS)
@pytest.mark.parametrize("count", [1, 100])
def test_elements_come_back_as_they_were(door: Door, kind: str, count: int, tmp_path: Path) -> None:
    make = door.kinds[kind]
    ds = door.dataset(count, make)
    path = tmp_path / f"some{door.ending}"
    assert door.write(ds, path) == count
    got = door.read(path)
    assert_elements_equal(list(got), [make(i) for i in range(count)])
    assert is_compatible(got.element_spec, make(0))
    assert files_in(tmp_path) == [path.name]


@doors
def test_no_elements_at_all_can_be_written(door: Door, tmp_path: Path) -> None:
    path = tmp_path / f"none{door.ending}"
    assert door.write(door.dataset(0), path) == 0
    assert list(door.read(path)) == []


@doors
def test_several_files_keep_the_promises_of_a_source(door: Door, tmp_path: Path) -> None:
    for name in "abc":
        written(door, tmp_path, 5, name)
    expected = [door.kind(i) for i in range(5)] * 3
    check_dataset(lambda: door.read(tmp_path / f"*{door.ending}"), expected=expected, quick=True)


@doors
def test_lengths_and_positions_are_known_where_the_format_knows_them(
    door: Door, tmp_path: Path
) -> None:
    paths = [written(door, tmp_path, count, str(count)) for count in (7, 1, 30)]
    ds = door.read(paths)
    assert ds.cardinality() == (38 if door.knows_length else ks.UNKNOWN_CARDINALITY)
    if not door.is_addressable:
        with pytest.raises(ks.NotAddressableError, match="save"):
            ds[0]
        return
    assert_elements_equal([ds[7], ds[8], ds[37], ds[-38]], [door.kind(i) for i in (0, 0, 29, 0)])
    shuffled = list(ds.shuffle(ks.GLOBAL, seed=3))
    assert len(shuffled) == 38
    assert_elements_equal(
        list(ds.gather([37, 0, 7, 37, 9])), [door.kind(i) for i in (29, 0, 0, 29, 1)]
    )


@doors
def test_some_columns_can_be_read_alone(door: Door, tmp_path: Path) -> None:
    path = written(door, tmp_path)
    if not door.has_columns:
        pytest.skip("its elements have no entries")
    keys = list(door.kind(0))
    expected = [{keys[0]: door.kind(i)[keys[0]]} for i in range(10)]
    assert_elements_equal(list(door.read(path, columns=[keys[0]])), expected)
    assert_elements_equal(list(door.read(path).select(keys[0])), expected)
    with pytest.raises(ks.InvalidArgumentError, match=keys[0]) as caught:
        list(door.read(path, columns=["nowhere"]))
    assert "nowhere" in str(caught.value)


@doors
def test_a_write_that_fails_leaves_what_was_there(door: Door, tmp_path: Path) -> None:
    path = written(door, tmp_path)
    before = path.read_bytes()

    def broken() -> Iterator[Any]:
        yield from (door.kind(i) for i in range(20))
        raise FileNotFoundError("the source is gone")

    signature = door.dataset(1).element_spec
    ds = ks.Dataset.from_generator(broken, output_signature=signature)
    with pytest.raises(FileNotFoundError, match="the source is gone"):
        door.write(ds, path)
    with pytest.raises(FileNotFoundError, match="the source is gone"):
        door.write(ds, tmp_path / f"new{door.ending}")
    assert files_in(tmp_path) == [path.name]
    assert path.read_bytes() == before


@doors
def test_a_write_that_is_killed_leaves_no_file_of_that_name(door: Door, tmp_path: Path) -> None:
    name = next(name for name, each in DOORS.items() if each is door)
    script = [sys.executable, str(HERE.with_name("killed_write.py")), name, str(tmp_path)]
    killed = subprocess.run(script, env=os.environ | {"PYTHONPATH": str(HERE.parents[2])})
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / f"killed{door.ending}").exists()


@doors
def test_what_is_cut_off_is_noticed(door: Door, tmp_path: Path) -> None:
    path = written(door, tmp_path, 50)
    whole = path.read_bytes()
    expected = [door.kind(i) for i in range(50)]
    for cut in sorted({0, 1, 9, len(whole) // 3, len(whole) // 2, len(whole) - 1}):
        path.write_bytes(whole[:cut])
        given: list[Any] = []
        try:
            given += door.read(path)
        except ks.KeepsetError:
            continue
        if door.notices_cuts:
            raise AssertionError(f"a file of {cut} of {len(whole)} bytes was read to its end")
        assert len(given) <= 50
        assert_elements_equal(given[:-1], expected[: max(0, len(given) - 1)])


@doors
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_an_error_of_ours_or_another_element(
    door: Door, data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / f"damaged{door.ending}"
    if not path.with_suffix(".whole").exists():
        path.with_suffix(".whole").write_bytes(written(door, tmp_path, 20).read_bytes())
    spoilt = bytearray(path.with_suffix(".whole").read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(spoilt) - 1), min_size=1, max_size=4)):
        spoilt[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(spoilt)
    try:
        for _ in door.read(path).take(1000):
            pass
    except ks.KeepsetError as error:
        message = str(error)
    else:
        return
    assert path.name in message


@doors
def test_content_counts_and_the_place_does_not(door: Door, tmp_path: Path) -> None:
    path = written(door, tmp_path / "here")
    kept = tmp_path / "kept"
    assert len(list(door.read(path).snapshot(kept))) == 10
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    copy = tmp_path / "there" / path.name
    assert ks.explain(door.read(copy).snapshot(kept), kept).hit
    door.write(door.dataset(9), copy)
    assert not ks.explain(door.read(copy).snapshot(kept), kept).hit
    assert len(list(door.read(copy).snapshot(kept))) == 9


@doors
def test_files_may_be_in_a_bucket(door: Door, tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}{door.ending[1:]}/some{door.ending}"
    if not door.takes_remote:
        with pytest.raises(ks.InvalidArgumentError):
            door.read(url)
        return
    assert door.write(door.dataset(10), url) == 10
    ds = door.read(url)
    assert_elements_equal(list(ds), [door.kind(i) for i in range(10)])
    if door.is_addressable:
        assert_elements_equal([ds[9], ds[3]], [door.kind(9), door.kind(3)])


@doors
def test_what_is_in_a_bucket_counts_by_its_version(door: Door, tmp_path: Path) -> None:
    if not door.takes_remote:
        pytest.skip("its files cannot be in a bucket")
    url = f"memory://{tmp_path.name}{door.ending[1:]}/counted{door.ending}"
    door.write(door.dataset(5), url)
    kept = tmp_path / "kept"
    assert len(list(door.read(url).snapshot(kept))) == 5
    assert ks.explain(door.read(url).snapshot(kept), kept).hit
    door.write(door.dataset(6), url)
    assert not ks.explain(door.read(url).snapshot(kept), kept).hit


@doors
def test_what_is_not_there_is_named(door: Door, tmp_path: Path) -> None:
    with pytest.raises(ks.NoFilesError, match="nothing"):
        door.read(tmp_path / f"nothing*{door.ending}")
    with pytest.raises(FileNotFoundError, match="missing"):
        list(door.read(tmp_path / f"missing{door.ending}"))


@doors
def test_a_tilde_is_the_home_folder(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    name = f"some{door.ending}"
    assert door.write(door.dataset(10), f"~/data/{name}") == 10
    assert files_in(home) == ["data", f"data/{name}"]
    expected = [door.kind(i) for i in range(10)]
    in_array = ks.Dataset.from_tensor_slices([f"~/data/{name}"])
    for source in (f"~/data/{name}", Path("~/data") / name, [f"~/data/*{door.ending}"], in_array):
        assert_elements_equal(list(door.read(source)), expected)
    kept = tmp_path / "kept"
    list(door.read(in_array).snapshot(kept))
    door.write(door.dataset(9), f"~/data/{name}")
    assert not ks.explain(door.read(in_array).snapshot(kept), kept).hit
    assert not files_in(here)


@doors
def test_a_url_that_went_through_pathlib_is_refused(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("s3://bucket") / f"some{door.ending}"
    in_array = ks.Dataset.from_tensor_slices([str(path)])
    for source in (path, str(path), [path], f"S3:/bucket/*{door.ending}", in_array):
        with pytest.raises(ks.InvalidArgumentError, match="pathlib drops a slash"):
            list(door.read(source))
    for target in (path, str(path)):
        with pytest.raises(ks.InvalidArgumentError, match="pathlib drops a slash"):
            door.write(door.dataset(3), target)
    assert not files_in(tmp_path)


@doors
def test_a_recipe_reads_the_same_files_and_needs_no_trust(door: Door, tmp_path: Path) -> None:
    path = written(door, tmp_path)
    ds = door.read(path)
    recipe = ds.to_recipe()
    for text in (recipe.to_json(), recipe.to_yaml()):
        again = ks.from_recipe(ks.Recipe.parse(text), on_change="error")
        assert_elements_equal(list(again), [door.kind(i) for i in range(10)])
        assert again.to_recipe() == recipe
    door.write(door.dataset(11), path)
    with pytest.warns(ks.RecipeChangedWarning, match=path.name):
        ks.from_recipe(recipe)


@doors
def test_a_forked_process_reads_what_its_parent_has_open(door: Door, tmp_path: Path) -> None:
    ds = door.read(written(door, tmp_path))
    running = iter(ds)
    next(running)
    if door.is_addressable:
        ds[0]
    process = os.fork()
    if process == 0:
        try:
            assert_elements_equal(list(ds), [door.kind(i) for i in range(10)])
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert_elements_equal(list(running), [door.kind(i) for i in range(1, 10)])


@doors
def test_memory_does_not_grow_with_the_file(door: Door, tmp_path: Path) -> None:
    name = next(name for name, each in DOORS.items() if each is door)
    script = [sys.executable, str(HERE.with_name("read_large.py")), name, str(tmp_path)]
    done = subprocess.run(
        script,
        env=os.environ | {"PYTHONPATH": str(HERE.parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    small, large = map(float, done.stdout.split())
    assert large - small < 30, f"{large - small:.0f} MB more for a file of ten times the size"


def test_elements_of_an_array_are_views_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "some.npy"
    np.save(path, np.arange(1000))
    chunk = next(iter(ks.read_npy(path).batch(500)))
    assert not chunk.flags.writeable
