"""``.npy`` files as NumPy writes them: every type and layout, and what is refused."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.exchange.files.file_names import store_of
from keepset.testing import assert_elements_equal


def saved(path: Path, array: Any) -> Path:
    np.save(path, array, allow_pickle=True)
    return path


def remote(name: str, array: Any) -> str:
    url = f"memory://npy/{name}.npy"
    data = io.BytesIO()
    np.save(data, array)
    store, file = store_of(url, None)
    store.put(file, data.getvalue())
    return url


NESTED = np.dtype(
    [
        ("name", "S5"),
        ("place", [("x", ">f4"), ("y", "<f8", (2,))]),
        ("flag", "?"),
    ]
)


def nested_rows(count: int) -> Any:
    array = np.zeros(count, NESTED)
    array["name"] = [b"n%d" % i for i in range(count)]
    array["place"]["x"] = np.arange(count)
    array["place"]["y"] = np.arange(2 * count).reshape(count, 2)
    array["flag"] = np.arange(count) % 2 == 0
    return array


def nested_element(i: int) -> dict[str, Any]:
    place = {"x": np.float32(i), "y": np.array([2.0 * i, 2.0 * i + 1])}
    return {"name": b"n%d" % i, "place": place, "flag": np.bool_(i % 2 == 0)}


def test_rows_of_structured_arrays_are_dicts_also_within(tmp_path: Path) -> None:
    path = saved(tmp_path / "some.npy", nested_rows(7))
    for ds in (ks.read_npy(path), ks.read_npy(remote("nested", nested_rows(7)))):
        assert_elements_equal(list(ds), [nested_element(i) for i in range(7)])
        assert_elements_equal(list(ds.gather([6, 2, 2])), [nested_element(i) for i in (6, 2, 2)])
        assert ds.element_spec["place"]["y"] == ks.TensorSpec([2], "float64")


def test_fields_are_chosen_by_their_paths(tmp_path: Path) -> None:
    path = saved(tmp_path / "some.npy", nested_rows(3))
    [_, second, _] = ks.read_npy(path, columns=["place/x", "flag"])
    assert_elements_equal([second], [{"place": {"x": np.float32(1)}, "flag": np.bool_(False)}])
    # To select afterwards does not bring back what was left out of a group.
    ds = ks.read_npy(path, columns=["place/x", "flag"]).select("place")
    assert list(ds)[2] == {"place": {"x": 2.0}}
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.npy has no 'place/z'.*'place/x'"):
        len(ks.read_npy(path, columns=["place/z"]))
    with pytest.raises(ks.InvalidArgumentError, match=r"columns=\[\]"):
        len(ks.read_npy(path, columns=[]))
    with pytest.raises(ks.ElementError, match="nowhere"):
        list(ks.read_npy(path).select("flag", "nowhere"))


def test_columns_of_an_array_without_fields_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "some.npy", np.arange(3))
    with pytest.raises(ks.InvalidArgumentError, match="without named fields"):
        len(ks.read_npy(path, columns=["x"]))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(6, 4),
        np.arange(48, dtype=">i2").reshape(6, 4, 2),
        np.arange(6, dtype=">f8"),
        np.array(["a", "ä", "", "日本", "e", "f"]),
        np.array([b"a", b"bc", b"", b"d\0e", b"e", b"f"]),
        np.arange(6).astype(">M8[D]"),
        np.arange(6).astype("m8[ms]"),
        np.arange(6, dtype=np.float16),
        np.arange(6, dtype=np.longdouble),
        np.arange(6, dtype=np.complex64),
        np.array([["a", "b"], ["c", "d"], ["e", "f"]] * 2),
    ],
    ids=lambda array: f"{array.dtype}{array.ndim}",
)
def test_types_become_those_of_elements(array: Any, tmp_path: Path) -> None:
    expected = list(ks.Dataset.from_tensor_slices(array))
    name = "types" + "".join(c for c in f"{array.dtype}{array.ndim}" if c.isalnum())
    for source in (saved(tmp_path / "some.npy", array), remote(name, array)):
        ds = ks.read_npy(source)
        assert_elements_equal(list(ds), expected)
        assert_elements_equal([ds[3], ds[0]], [expected[3], expected[0]])
        assert ds.element_spec == ks.Dataset.from_tensor_slices(array).element_spec


def test_columns_that_lie_together_are_read_from_a_disk_and_refused_from_a_bucket(
    tmp_path: Path,
) -> None:
    array = np.asfortranarray(np.arange(600.0).reshape(100, 3, 2))
    path = saved(tmp_path / "some.npy", array)
    ds = ks.read_npy(path)
    assert_elements_equal(list(ds), list(array))
    assert_elements_equal(list(ds.gather([99, 5])), [array[99], array[5]])
    [batch] = ds.batch(100)
    assert batch.flags.c_contiguous
    with pytest.raises(ks.InvalidArgumentError, match=r"Fortran order.*np\.ascontiguousarray"):
        len(ks.read_npy(remote("fortran", array)))
    # A single column is together in any order.
    flat = ks.read_npy(remote("flat", np.asfortranarray(np.arange(5))))
    assert [int(x) for x in flat] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("order", ["C", "F"])
def test_one_element_does_not_cost_the_whole_array(order: Any, tmp_path: Path) -> None:
    array = np.zeros((1000, 1000), order=order)
    ds = ks.read_npy(saved(tmp_path / "some.npy", array))
    assert len(ds[0]) == 1000
    tracemalloc.start()
    try:
        list(ds.gather([1, 500, 999]))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_fields_of_packed_structures_come_where_their_types_want_them(tmp_path: Path) -> None:
    array = np.zeros(10, [("a", "i1"), ("b", "f8")])
    [batch] = ks.read_npy(saved(tmp_path / "some.npy", array)).batch(10)
    assert batch["b"].flags.aligned
    assert batch["b"].flags.c_contiguous


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_the_format_are_read(version: tuple[int, int], tmp_path: Path) -> None:
    name = "größe" if version == (3, 0) else "size"
    array = np.zeros(3, [(name, "i4")])
    array[name] = [1, 2, 3]
    path = tmp_path / "some.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version=version)
    assert [int(each[name]) for each in ks.read_npy(path)] == [1, 2, 3]


def test_a_header_that_is_longer_than_numpy_likes_is_read(tmp_path: Path) -> None:
    fields = [(f"a field with a long name {i}", "i1") for i in range(3000)]
    array = np.ones(2, fields)
    data = io.BytesIO()
    np.lib.format.write_array(data, array, version=(2, 0))
    path = tmp_path / "some.npy"
    path.write_bytes(data.getvalue())
    assert len(ks.read_npy(path)[1]) == 3000
    store, file = store_of("memory://npy/long.npy", None)
    store.put(file, data.getvalue())
    assert len(ks.read_npy("memory://npy/long.npy")[1]) == 3000


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{"a": 1}, None]), "Python objects.*run code"),
        (np.zeros(2, [("a", "O")]), "Python objects.*run code"),
        (np.float64(3), "single value"),
        (np.zeros(3, "V5"), "some.npy.*V5"),
    ],
)
def test_what_has_no_rows_or_would_run_code_is_refused(
    array: Any, message: str, tmp_path: Path
) -> None:
    path = saved(tmp_path / "some.npy", array)
    with pytest.raises(ks.InvalidArgumentError, match=message) as caught:
        list(ks.read_npy(path))
    assert "some.npy" in str(caught.value)


def test_files_of_different_types_are_named(tmp_path: Path) -> None:
    saved(tmp_path / "a.npy", np.arange(3))
    saved(tmp_path / "b.npy", np.arange(3.0))
    ds = ks.read_npy(tmp_path / "*.npy")
    for read in (list, len):
        with pytest.raises(ks.ElementError, match=r"b\.npy.*float64.*a\.npy.*int64"):
            read(ds)


def header(text: str, version: int = 1, size: int | None = None) -> bytes:
    width = 2 if version == 1 else 4
    length = len(text.encode()) if size is None else size
    return b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(width, "little") + text.encode()


GOOD = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"PK\x03\x04 and so on",
        header(GOOD, size=4000),
        header(GOOD, version=2, size=1 << 30),
        header(GOOD, version=3, size=1 << 30),
        header(GOOD, version=9),
        header(GOOD.replace("(2,)", "(-2,)")) + bytes(16),
        header(GOOD.replace("(2,)", "(2, -1)")) + bytes(16),
        header(GOOD.replace("(2,)", "(2.5,)")) + bytes(16),
        header(GOOD.replace("(2,)", f"({2**62}, {2**10})")) + bytes(16),
        header(GOOD.replace("(2,)", f"({2**62},)")) + bytes(16),
        header(GOOD.replace("<i8", "<q9")) + bytes(16),
        header("(" * 10_000, version=2),
        header("__import__('os').abort()"),
        header("{'descr': '<i8'}", version=3),
        header(GOOD) + bytes(15),
    ],
)
def test_what_is_no_whole_file_is_an_error_that_names_it(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.npy"
    path.write_bytes(data)
    store, file = store_of("memory://npy/broken.npy", None)
    store.put(file, data)
    for source in (path, "memory://npy/broken.npy"):
        with pytest.raises(ks.CorruptRecordError, match=r"(some|broken)\.npy"):
            list(ks.read_npy(source))


def test_text_that_is_none_is_damage(tmp_path: Path) -> None:
    path = saved(tmp_path / "some.npy", np.array(["good", "\ud800bad"]))
    with pytest.raises(ks.CorruptRecordError, match=r"some\.npy.*half a character"):
        list(ks.read_npy(path))


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("text", "strings"),
        ({"a": 1}, "write_npz"),
        (ks.Ragged.from_rows([[1], [2, 3]]), "Parquet"),
    ],
)
def test_what_an_array_cannot_hold_is_refused_with_a_remedy(
    element: Any, message: str, tmp_path: Path
) -> None:
    ds = ks.Dataset.from_tensors(element)
    with pytest.raises(ks.ElementError, match=message):
        ds.write_npy(tmp_path / "some.npy")
    assert not list(tmp_path.iterdir())


def test_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    ds = ks.Dataset.range(1, 5).map(lambda x: np.zeros(x))
    with pytest.raises(ks.ElementError, match="padded_batch"):
        ds.write_npy(tmp_path / "some.npy")


def test_numpy_reads_what_was_written_even_if_nothing_was(tmp_path: Path) -> None:
    path = tmp_path / "some.npy"
    signature = ks.TensorSpec([None, 3], "float32")
    ds = ks.Dataset.from_generator(lambda: iter([]), output_signature=signature)
    assert ds.write_npy(path) == 0
    assert np.load(path, allow_pickle=False).shape == (0, 0, 3)
    ds = ks.Dataset.range(10_000).map(lambda x: np.full(3, x, ">i2"))
    assert ds.write_npy(path) == 10_000
    assert np.load(path, mmap_mode="r")[9999].tolist() == [9999] * 3
