"""``.npz`` files as NumPy and zip programs write them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import keepset as ks
from keepset.exchange.files.file_names import store_of
from keepset.testing import assert_elements_equal, check_dataset

SAVES = [np.savez, np.savez_compressed]


def remote(name: str, save: Any, **arrays: Any) -> str:
    url = f"memory://npz/{name}.npz"
    data = io.BytesIO()
    save(data, **arrays)
    store, file = store_of(url, None)
    store.put(file, data.getvalue())
    return url


def npy(array: Any) -> bytes:
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


ARRAYS: dict[str, Any] = {
    "x": np.arange(60, dtype=">f4").reshape(20, 3),
    "inner/label": np.arange(20),
    "inner/deeper/name": np.array([f"no. {i}" for i in range(20)]),
    "table": np.array([(i, i / 2) for i in range(20)], [("a", "i2"), ("b", "f8")]),
}


def element(i: int) -> dict[str, Any]:
    return {
        "x": np.arange(3 * i, 3 * i + 3, dtype=np.float32),
        "inner": {"label": np.int64(i), "deeper": {"name": b"no. %d" % i}},
        "table": {"a": np.int16(i), "b": np.float64(i / 2)},
    }


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("is_remote", [False, True])
def test_arrays_become_nested_dicts(save: Any, is_remote: bool, tmp_path: Path) -> None:
    source: Any = tmp_path / "some.npz"
    if is_remote:
        source = remote(f"nested-{save.__name__}", save, **ARRAYS)
    else:
        save(source, **ARRAYS)
    ds = ks.read_npz(source)
    assert len(ds) == 20
    assert_elements_equal(list(ds), [element(i) for i in range(20)])
    if save is np.savez:
        assert_elements_equal(list(ds.gather([19, 0, 7])), [element(i) for i in (19, 0, 7)])


def test_what_is_stored_and_what_is_compressed_may_be_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    kinds = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    with zipfile.ZipFile(path, "w") as file:
        for kind in kinds:
            file.writestr(f"kind{kind}.npy", npy(np.arange(5000) + kind), compress_type=kind)
        file.writestr("README.txt", "not an array")
    expected = [{f"kind{kind}": np.int64(i + kind) for kind in kinds} for i in range(5000)]
    assert_elements_equal(list(ks.read_npz(path)), expected)
    with pytest.raises(ks.NotAddressableError, match=r"some\.npz, which is compressed.*save"):
        ks.read_npz(path)[3]
    assert ks.read_npz(path, columns="kind0")[3] == {"kind0": 3}


def test_compressed_files_keep_the_promises_of_a_source(tmp_path: Path) -> None:
    for name in "ab":
        np.savez_compressed(tmp_path / name, **ARRAYS)
    expected = [element(i) for i in range(20)] * 2
    check_dataset(lambda: ks.read_npz(tmp_path / "*.npz"), expected=expected, quick=True)


def test_columns_are_arrays_groups_or_fields(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    np.savez(path, **ARRAYS)
    read = [ks.read_npz(path, columns=columns)[1] for columns in (["inner"], ["inner/deeper"])]
    assert_elements_equal(
        read, [{"inner": element(1)["inner"]}, {"inner": {"deeper": {"name": b"no. 1"}}}]
    )
    ds = ks.read_npz(path, columns=["table/b", "inner/label", "x"])
    assert_elements_equal([ds.select("table")[1]], [{"table": {"b": np.float64(0.5)}}])
    assert_elements_equal([ds.select("inner")[1]], [{"inner": {"label": np.int64(1)}}])
    with pytest.raises(ks.InvalidArgumentError, match=r"no 'inn'; there are 'x', 'inner/label'"):
        ks.read_npz(path, columns=["inn"])[0]


def test_arrays_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    np.savez(
        path,
        x_train=np.zeros((6, 2)),
        y_train=np.zeros(6),
        x_test=np.zeros((2, 2)),
        seed=np.int64(7),
        config=np.array({"lr": 1}, object),
    )
    with pytest.raises(ks.InvalidArgumentError, match=r"columns=\[") as caught:
        list(ks.read_npz(path))
    for part in ("'x_train' (6 rows)", "'x_test' (2 rows)", "'seed' (a single", "'config' (Python"):
        assert part in str(caught.value)
    with pytest.raises(ks.InvalidArgumentError, match=r"'seed' .a single value"):
        list(ks.read_npz(path, columns=["seed"]))
    with pytest.raises(ks.InvalidArgumentError, match=r"'config' .Python objects.*run code"):
        list(ks.read_npz(path, columns=["config", "y_train"]))
    assert len(ks.read_npz(path, columns=["x_train", "y_train"])) == 6


def test_an_array_in_the_place_of_a_group_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    arrays: dict[str, Any] = {"a": np.zeros(2), "a/b": np.zeros(2)}
    np.savez(path, **arrays)
    with pytest.raises(ks.InvalidArgumentError, match="'a/b' in the place"):
        list(ks.read_npz(path))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("README.txt", "not an array")
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.npz has nothing to read"):
        list(ks.read_npz(path))


def test_a_type_that_no_leaf_can_have_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    np.savez(path, odd=np.zeros(3, "V5"))
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.npz: 'odd'.*V5"):
        list(ks.read_npz(path))


def test_columns_that_lie_together_can_be_read_unless_they_are_compressed(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    np.savez(tmp_path / "some.npz", x=array)
    ds = ks.read_npz(tmp_path / "some.npz")
    assert_elements_equal(list(ds), [{"x": row} for row in array])
    assert ds[2]["x"].tolist() == [6, 7, 8]
    np.savez_compressed(tmp_path / "tight.npz", x=array)
    with pytest.raises(ks.InvalidArgumentError, match=r"tight\.npz: 'x'.*np\.ascontiguousarray"):
        list(ks.read_npz(tmp_path / "tight.npz"))
    with pytest.raises(ks.InvalidArgumentError, match=r"'x'.*copy it to a disk"):
        list(ks.read_npz(remote("fortran", np.savez, x=array)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", SAVES)
def test_every_changed_byte_of_an_array_is_noticed(save: Any, order: Any, tmp_path: Path) -> None:
    if save is np.savez_compressed and order == "F":
        pytest.skip("it is refused")
    path = tmp_path / "some.npz"
    random = np.random.default_rng(1)
    save(path, x=np.array(random.integers(0, 1000, (40, 3)), order=order), y=np.zeros(40))
    whole = path.read_bytes()
    expected = [each["x"].tolist() for each in ks.read_npz(path)]
    with zipfile.ZipFile(path) as file:
        member = file.getinfo("x.npy")
        start = member.header_offset + 30 + len("x.npy") + 20
    noticed = 0
    for at in range(start, start + member.compress_size):
        spoilt = bytearray(whole)
        spoilt[at] ^= 0x10
        path.write_bytes(spoilt)
        try:
            found = [each["x"].tolist() for each in ks.read_npz(path)]
        except ks.CorruptRecordError as error:
            noticed += "some.npz" in str(error)
        else:
            assert found == expected  # what is compressed has bits that mean nothing
    assert noticed >= member.compress_size * (1 if save is np.savez else 0.95)


def test_damage_in_a_bucket_is_noticed(tmp_path: Path) -> None:
    url = remote("damaged", np.savez, x=np.arange(1000))
    store, name = store_of(url, None)
    spoilt = bytearray(store.read(name))
    spoilt[500] ^= 1
    store.put(name, bytes(spoilt))
    with pytest.raises(ks.CorruptRecordError, match=r"damaged\.npz.*'x' fails its checksum"):
        list(ks.read_npz(url))


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    np.savez(path, x=np.zeros(3))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(ks.InvalidArgumentError, match="encrypted"):
        list(ks.read_npz(path))


def test_a_member_of_another_length_than_its_header_says_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    for data in (npy(np.arange(9)) + b"more", npy(np.arange(9))[:-1], b"none at all"):
        for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(path, "w") as file:
                file.writestr("x.npy", data, compress_type=kind)
            with pytest.raises(ks.CorruptRecordError, match=r"some\.npz cannot be read: 'x' "):
                list(ks.read_npz(path))


class Pair(NamedTuple):
    left: Any
    right: Any


def test_numpy_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    ds = ks.Dataset.range(1000).map(
        lambda i: {"a": {"b": np.full((2, 2), i, np.float32), "c": None}, "p": Pair(i, (i, -i))}
    )
    for compressed in (False, True):
        assert ds.write_npz(path, compressed=compressed) == 1000
        with np.load(path, allow_pickle=False) as file:
            assert set(file) == {"a/b", "p/left", "p/right/arr_0", "p/right/arr_1"}
            assert file["a/b"].shape == (1000, 2, 2)
            assert file["p/right/arr_1"].tolist() == [-i for i in range(1000)]
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
        assert path.stat().st_size < (20_000 if compressed else 50_000)
    assert [each.name for each in tmp_path.iterdir()] == ["some.npz"]


def test_tuples_and_single_arrays_are_called_as_numpy_does(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    ks.Dataset.range(3).map(lambda x: (x, x * x)).write_npz(path)
    with np.load(path) as file:
        assert {name: file[name].tolist() for name in file} == {
            "arr_0": [0, 1, 2],
            "arr_1": [0, 1, 4],
        }
    ks.Dataset.range(3).write_npz(path)
    assert [int(each["arr_0"]) for each in ks.read_npz(path)] == [0, 1, 2]


def test_equal_elements_give_equal_files(tmp_path: Path) -> None:
    ds = ks.Dataset.range(3).map(lambda x: {"x": x})
    for name in "ab":
        ds.write_npz(tmp_path / f"{name}.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def is_mapped(array: Any) -> bool:
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base is not None


def test_arrays_are_views_of_a_file_that_we_wrote_and_copies_where_they_lie_askew(
    tmp_path: Path,
) -> None:
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    ds = ks.Dataset.range(100).map(lambda x: {"some": x, "longer name": np.full(3, x)})
    ds.write_npz(ours)
    np.savez(theirs, x=np.arange(100))
    for path in (ours, theirs):
        [batch] = ks.read_npz(path).batch(100)
        for array in batch.values():
            assert array.flags.aligned
            assert not array.flags.writeable
            assert is_mapped(array) == (path == ours)


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ({"a": {"t": "text"}}, "a/t cannot be written.*strings"),
        ({"r": ks.Ragged.from_rows([[1], [2, 3]])}, "r cannot be written.*Parquet"),
        ({7: 1}, "called 7"),
        ({"a\0b": 1}, "called"),
        ({"a/b": 1, "a": {"b": 1}}, "'a/b'"),
        ({"a/b": 1, "a": 1}, "'a'"),
        ({}, "no leaves"),
    ],
)
def test_what_cannot_be_written_is_named(element: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match=message):
        ks.Dataset.from_tensors(element).write_npz(tmp_path / "some.npz")
    assert not list(tmp_path.iterdir())
