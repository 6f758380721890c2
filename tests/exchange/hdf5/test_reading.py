"""HDF5 files as h5py writes them, and what h5py reads of ours."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import keepset as ks
from keepset.exchange.files.file_names import store_of
from keepset.exchange.hdf5 import column as hdf5_column
from keepset.exchange.hdf5 import library as hdf5_library
from keepset.exchange.hdf5 import new_column as hdf5_new_column
from keepset.testing import assert_elements_equal, check_dataset

TIMES = h5py.opaque_dtype(np.dtype("M8[s]"))
COLOURS = {"red": 1, "green": 2, "blue": 3}
ROW = np.dtype([("id", ">i2"), ("at", [("x", "f4"), ("y", "f4", (2,))]), ("ok", "?")])


def filled(path: Path | io.BytesIO, count: int, **options: Any) -> None:
    """A file with columns of all kinds."""
    with h5py.File(path, "w") as file:
        make = file.create_dataset
        make("x", data=np.arange(3.0 * count).reshape(count, 3), **options)
        make("in/side/big", data=np.arange(count, dtype=">u4"), **options)
        make("in/flag", data=np.arange(count) % 2 == 0, **options)
        make("in/half", data=np.arange(count, dtype=np.float16), **options)
        make("in/z", data=np.arange(count) * 1j, **options)
        texts = [f"ä{i}" for i in range(count)]
        make("text", data=texts, dtype=h5py.string_dtype(), **options)
        make("fixed", data=np.array([b"b%d" % i for i in range(count)], "S7"), **options)
        colours = np.arange(count) % 3 + 1
        make("colour", data=colours, dtype=h5py.enum_dtype(COLOURS, "i1"), **options)
        make("time", data=np.arange(count).astype("M8[s]").astype(TIMES), **options)
        lists = make("list", (count,), h5py.vlen_dtype(np.dtype("i4")), **options)
        for i in range(count):
            lists[i] = np.arange(i % 5)
        rows = np.zeros(count, ROW)
        rows["id"] = np.arange(count)
        rows["at"]["x"] = np.arange(count) / 2
        rows["at"]["y"] = np.arange(2 * count).reshape(count, 2)
        make("table", data=rows, **options)


def element(i: int) -> dict[str, Any]:
    return {
        "x": np.arange(3.0 * i, 3 * i + 3),
        "in": {
            "side": {"big": np.uint32(i)},
            "flag": np.bool_(i % 2 == 0),
            "half": np.float16(i),
            "z": np.complex128(i * 1j),
        },
        "text": f"ä{i}".encode(),
        "fixed": b"b%d" % i,
        "colour": np.int8(i % 3 + 1),
        "time": np.datetime64(i, "s"),
        "list": np.arange(i % 5, dtype=np.int32),
        "table": {
            "id": np.int16(i),
            "at": {"x": np.float32(i / 2), "y": np.arange(2 * i, 2 * i + 2, dtype=np.float32)},
            "ok": np.bool_(False),
        },
    }


def remote(name: str, data: bytes) -> str:
    url = f"memory://hdf5/{name}.h5"
    store, file = store_of(url, None)
    store.put(file, data)
    return url


LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "gzip": {"chunks": True, "compression": "gzip", "shuffle": True},
    "lzf": {"chunks": True, "compression": "lzf"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_remote", [False, True])
def test_every_kind_of_column_is_read(layout: str, is_remote: bool, tmp_path: Path) -> None:
    count = 600
    source: Any = tmp_path / "some.h5"
    filled(source, count, **LAYOUTS[layout])
    if is_remote:
        source = remote(layout, source.read_bytes())
    ds = ks.read_hdf5(source)
    assert len(ds) == count
    assert_elements_equal(list(ds), [element(i) for i in range(count)])
    some = [599, 3, 300, 4, 300, 5]
    assert_elements_equal(list(ds.gather(some)), [element(i) for i in some])
    assert ds.element_spec["list"] == ks.TensorSpec([None], "int32")
    assert ds.element_spec["colour"] == ks.TensorSpec([], "int8")


@pytest.mark.parametrize("layout", ["contiguous", "gzip"])
def test_files_keep_the_promises_of_a_source(layout: str, tmp_path: Path) -> None:
    for name in "ab":
        filled(tmp_path / f"{name}.h5", 12, **LAYOUTS[layout])
    expected = [element(i) for i in range(12)] * 2
    check_dataset(lambda: ks.read_hdf5(tmp_path / "*.h5"), expected=expected, quick=True)


def test_a_group_or_a_data_set_may_be_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    filled(path, 5)
    for group in ("in", "/in", "in/"):
        assert_elements_equal([ks.read_hdf5(path, group=group)[4]], [element(4)["in"]])
    assert [float(x[0]) for x in ks.read_hdf5(path, group="x")] == [0, 3, 6, 9, 12]
    assert_elements_equal(list(ks.read_hdf5(path, group="table").take(1)), [element(0)["table"]])
    ds = ks.read_hdf5(path, group="table", columns=["at/x", "ok"])
    assert_elements_equal([ds[3]], [{"at": {"x": np.float32(1.5)}, "ok": np.bool_(False)}])
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.h5 has no group 'out'.*'table'"):
        len(ks.read_hdf5(path, group="out"))
    with pytest.raises(ks.InvalidArgumentError, match="no group 'x/y'"):
        len(ks.read_hdf5(path, group="x/y"))
    with pytest.raises(ks.InvalidArgumentError, match="without named fields"):
        len(ks.read_hdf5(path, group="x", columns=["y"]))


def test_columns_are_data_sets_groups_or_fields(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    filled(path, 5)
    ds = ks.read_hdf5(path, columns=["in/side", "table/at/y", "text"])
    expected = {
        "in": {"side": element(2)["in"]["side"]},
        "table": {"at": {"y": element(2)["table"]["at"]["y"]}},
        "text": element(2)["text"],
    }
    assert_elements_equal([ds[2]], [expected])
    assert_elements_equal([ds.select("in")[2]], [{"in": expected["in"]}])
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.h5 has no 'in/no'") as caught:
        len(ks.read_hdf5(path, columns=["in/no", "x"]))
    assert "'in/side'" in str(caught.value)
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.h5: 'in' has no 'no'"):
        len(ks.read_hdf5(path, group="in", columns=["no"]))


def test_data_sets_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        file["train/x"] = np.zeros((6, 2))
        file["test/x"] = np.zeros((2, 2))
        file["version"] = 7
        file["none"] = h5py.Empty("f4")
        file.create_dataset("ref", (6,), dtype=h5py.ref_dtype)
        file["opaque"] = np.zeros(6, "V5")
        file.create_dataset("tables", (6,), dtype=h5py.vlen_dtype(np.dtype([("a", "i4")])))
        file.create_dataset("many", (6, 2), dtype=h5py.vlen_dtype(np.dtype("i4")))
        file.create_dataset("swapped", (6,), dtype=h5py.vlen_dtype(np.dtype(">i4")))
        file.create_dataset("mixed", (6,), dtype=[("r", h5py.ref_dtype), ("a", "i4")])
        file["type"] = np.dtype("i4")
    with pytest.raises(ks.InvalidArgumentError, match=r"columns=\[") as caught:
        len(ks.read_hdf5(path))
    parts = ["'train/x' (6 rows)", "'test/x' (2 rows)", "'version' (a single value", "'none' (no"]
    parts += ["'ref' (references", "'opaque' (the type |V5", "'tables' (lists of [('a'"]
    parts += ["'many' (lists in an array", "'swapped' (lists", "'mixed' (references"]
    assert [part for part in parts if part not in str(caught.value)] == []
    assert len(ks.read_hdf5(path, columns=["train"])) == 6
    assert_elements_equal(
        [ks.read_hdf5(path, columns=["mixed/a"])[0]], [{"mixed": {"a": np.int32(0)}}]
    )
    for group in ("version", "ref"):
        with pytest.raises(ks.InvalidArgumentError, match=rf"some\.h5: '{group}'"):
            len(ks.read_hdf5(path, group=group))
    with h5py.File(tmp_path / "none.h5", "w") as file:
        file.create_group("empty")
    with pytest.raises(ks.InvalidArgumentError, match=r"none\.h5 has nothing to read"):
        len(ks.read_hdf5(tmp_path / "none.h5"))


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A file with links of all kinds, most of which lead to another one."""
    other, path = tmp_path / "other.h5", tmp_path / "some.h5"
    with h5py.File(other, "w") as file:
        file["x"] = np.arange(4)
    with h5py.File(path, "w") as file:
        file["here/x"] = np.arange(4)
        file["soft"] = h5py.SoftLink("/here/x")
        file["here/relative"] = h5py.SoftLink("x")
        file["here/twice"] = h5py.SoftLink("relative")
        file["out"] = h5py.ExternalLink(str(other), "/")
        file["through"] = h5py.SoftLink("/out/x")
        file["nowhere"] = h5py.SoftLink("/nothing")
        file["one"] = h5py.SoftLink("two")
        file["two"] = h5py.SoftLink("one")
        file["circle/inner"] = h5py.SoftLink("/circle")
        file["hard/inner"] = file["hard"] if "hard" in file else file.create_group("hard")
        layout = h5py.VirtualLayout((4,), "i8")
        layout[:] = h5py.VirtualSource(str(other), "x", (4,))
        file.create_virtual_dataset("virtual", layout)
        raw = [(str(tmp_path / "raw.bin"), 0, 32)]
        file.create_dataset("outside", (4,), "i8", external=raw)
    return path


def test_links_within_the_file_are_followed(linked: Path) -> None:
    ds = ks.read_hdf5(linked, columns=["soft", "here"])
    expected = {"x": 3, "relative": 3, "twice": 3}
    assert ds[3] == {"soft": 3, "here": expected}
    assert [int(x) for x in ks.read_hdf5(linked, group="/here/twice")] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out", "'out' that leads to another file, '.*other.h5'"),
        ("through", "'out' that leads to another file"),
        ("nowhere", "'nowhere' that leads to nothing"),
        ("one", "too many"),
        ("circle", "back to where it is"),
        ("hard", "back to where it is"),
        ("virtual", "'virtual' .put together"),
        ("outside", "'outside' .kept in other files"),
    ],
)
def test_what_leads_out_of_the_file_or_nowhere_is_refused(
    linked: Path, name: str, message: str
) -> None:
    # To open it would fail, which is another error.
    linked.with_name("other.h5").unlink()
    with pytest.raises(ks.InvalidArgumentError, match=message):
        len(ks.read_hdf5(linked, columns=[name]))
    if name in ("out", "through", "virtual", "outside"):
        with pytest.raises(ks.InvalidArgumentError, match=message.partition(" ")[2]):
            len(ks.read_hdf5(linked, group=name))
        with pytest.raises(ks.InvalidArgumentError, match="leads to another file"):
            len(ks.read_hdf5(linked, group="out/x"))


def test_a_missing_filter_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((4,))
        made.set_filter(32_001, h5py.h5z.FLAG_OPTIONAL, ())  # blosc, which nobody has built in
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, made)
    if h5py.h5z.filter_avail(32_001):
        pytest.skip("it is installed here")
    with pytest.raises(ks.InvalidArgumentError, match=r"'x' .packed by .*hdf5plugin"):
        len(ks.read_hdf5(path))


class Counted:
    """A data set that counts how often each of its rows is read, and each of its chunks."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.read, self.unpacked = rows, Counter[int](), Counter[int]()

    def __getitem__(self, rows: slice) -> Any:
        self.read.update(range(rows.start, rows.stop))
        if self.rows.chunks is not None:
            size = self.rows.chunks[0]
            self.unpacked.update({row // size for row in range(rows.start, rows.stop)})
        return self.rows[rows]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    made: list[Counted] = []
    begin = hdf5_column.Hdf5Column.__init__

    def begin_counting(self: Any, *args: Any) -> None:
        begin(self, *args)
        self._rows = Counted(self._rows)
        made.append(self._rows)

    monkeypatch.setattr(hdf5_column.Hdf5Column, "__init__", begin_counting)
    return made


def test_each_chunk_is_unpacked_once(tmp_path: Path, counted: list[Counted]) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        # A chunk has more rows than are given at once, and the two are not of one size.
        file.create_dataset("x", (20_000, 5), "f4", chunks=(9000, 2), compression="gzip")
        file.create_dataset("y", (20_000,), "i8", chunks=(7000,), compression="gzip")
    assert sum(1 for _ in ks.read_hdf5(path)) == 20_000
    unpacked = [each.unpacked for each in counted if each.read]
    assert unpacked == [{0: 1, 1: 1, 2: 1}] * 2
    assert sum(len(each.read) for each in counted) == 40_000
    counted.clear()
    ds = ks.read_hdf5(path, columns=["y"])
    for start in range(0, 7000, 100):
        list(ds.gather(range(start, start + 50)))
    assert [each.unpacked for each in counted if each.read] == [{0: 1}]


def test_what_is_kept_for_reading_here_and_there_is_bounded(
    tmp_path: Path, counted: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5_column, "_KEPT_BYTES", 2 * 8000)
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        data = np.arange(5000)
        file.create_dataset("x", data=data, chunks=(1000,), compression="gzip")
    ds = ks.read_hdf5(path, group="x")
    assert [int(ds[i]) for i in (0, 1000, 0, 2000, 0, 1000)] == [0, 1000, 0, 2000, 0, 1000]
    [read] = [each.read for each in counted if each.read]
    assert (read[0], read[1000], read[2000]) == (1, 2, 1)


def test_a_chunk_that_is_too_large_is_not_kept(
    tmp_path: Path, counted: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5_column, "_MOST_BLOCK_BYTES", 800)
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(5000), chunks=(5000,), compression="gzip")
    ds = ks.read_hdf5(path, group="x")
    running = iter(ds)
    assert int(next(running)) == 0
    assert max(len(each.read) for each in counted) == 100
    assert [int(x) for x in running] == list(range(1, 5000))
    assert int(ds[4321]) == 4321


def test_long_texts_are_read_a_few_at_a_time(tmp_path: Path, counted: list[Counted]) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        file["t"] = np.array([b"x" * 100_000] * 200, object)
        file["v"] = np.zeros(200)
    running = iter(ks.read_hdf5(path))
    for _ in range(100):
        next(running)
    assert max(len(each.read) for each in counted) <= 150
    assert sum(1 for _ in running) == 100


def test_plain_data_sets_are_used_where_they_lie(tmp_path: Path, counted: list[Counted]) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w", userblock_size=1024) as file:
        file["x"] = np.arange(1_000_000.0).reshape(1000, 1000)
        file.create_dataset("unwritten", (1000,), "i4", fillvalue=7)
    ds = ks.read_hdf5(path)
    batches = list(ds.batch(100))
    assert sum(batch["x"].sum() for batch in batches) == np.arange(1_000_000.0).sum()
    assert not batches[0]["x"].flags.writeable
    assert set(batches[9]["unwritten"].tolist()) == {7}
    assert sum(len(each.read) for each in counted) == 1000  # of the other one
    tracemalloc.start()
    try:
        assert ds[500]["x"][0] == 500_000
        assert tracemalloc.get_traced_memory()[1] < 4_000_000  # of eight
    finally:
        tracemalloc.stop()


def started(program: str, path: Path) -> Any:
    """A process that says when it is ready, and goes on when it is told to."""
    command = [sys.executable, "-c", program, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


WRITER = """
import sys, h5py
with h5py.File(sys.argv[1], "w") as file:
    file["x"] = [1, 2, 3]
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_a_file_that_is_being_written_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    with started(WRITER, path) as writer:
        assert writer.stdout.readline() == "ready\n"
        with pytest.raises(ks.StorageError, match=r"some\.h5 is being written"):
            len(ks.read_hdf5(path))
        writer.communicate("go\n")
    assert len(ks.read_hdf5(path)) == 3


def test_checksums_of_the_file_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    with h5py.File(path, "w") as file:
        data = np.full(1000, 0x01020304)
        file.create_dataset("x", data=data, chunks=(1000,), fletcher32=True)
    spoilt = bytearray(path.read_bytes())
    spoilt[spoilt.index(b"\4\3\2\1") + 4000] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(ks.CorruptRecordError, match=r"some\.h5.*'x' is damaged"):
        list(ks.read_hdf5(path))
    with pytest.raises(ks.CorruptRecordError, match=r"some\.h5.*'x' is damaged"):
        ks.read_hdf5(path)[5]


def test_a_store_that_fails_is_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = io.BytesIO()
    filled(data, 50)
    url = remote("failing", data.getvalue())
    ds = ks.read_hdf5(url, columns=["x"])
    running = iter(ds)
    next(running)
    store, _ = store_of(url, None)

    def fails(self: Any, name: str, ranges: Sequence[Any]) -> Any:
        raise ks.StorageError("the network is down")

    monkeypatch.setattr(type(store), "read_ranges", fails)
    with pytest.raises(ks.StorageError, match="network is down"):
        ks.read_hdf5(url, columns=["x"])[3]


def test_of_plain_data_in_a_bucket_only_the_wanted_rows_are_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file["x"] = np.arange(3_000_000).reshape(30_000, 100)
    url = remote("plain", data.getvalue())
    store, _ = store_of(url, None)
    read = type(store).read_ranges
    asked: list[Any] = []

    def noted(self: Any, name: str, ranges: Sequence[Any]) -> Any:
        asked.extend(ranges)
        return read(self, name, ranges)

    ds = ks.read_hdf5(url)
    assert len(ds) == 30_000
    monkeypatch.setattr(type(store), "read_ranges", noted)
    assert [int(each["x"][0]) for each in ds.gather([29_999, 5])] == [2_999_900, 500]
    assert sum(length for _, length in asked) == 1600


READER = """
import sys, keepset as ks
ds = ks.read_hdf5(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(sum(int(x["in"]["side"]["big"]) for x in ds), flush=True)
"""


def test_two_processes_read_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    filled(path, 500, chunks=True, compression="gzip")
    running = iter(ks.read_hdf5(path))
    next(running)
    readers = [started(READER, path) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for reader in readers:
        reader.stdin.write("go\n")
        reader.stdin.flush()
    answers = [reader.communicate()[0] for reader in readers]
    assert answers == [f"{sum(range(500))}\n"] * 2
    assert sum(1 for _ in running) == 499


def test_worker_processes_may_work_on_rows_and_read_files(tmp_path: Path) -> None:
    for name in "ab":
        filled(tmp_path / f"{name}.h5", 30, chunks=True, compression="gzip")
    ds = ks.read_hdf5(tmp_path / "*.h5", columns=["x", "list", "text"])
    ds[3]

    def work(row: Any) -> Any:
        return row["x"].sum() + len(row["list"]), os.getpid()

    done = list(ds.map(work, num_parallel_calls=2, executor="process"))
    expected = [9.0 * i + 3 + i % 5 for i in range(30)] * 2
    assert [float(x) for x, _ in done] == expected
    assert os.getpid() not in {int(process) for _, process in done}

    def read(name: bytes) -> ks.Dataset:
        return ks.read_hdf5(name.decode(), columns=["x", "list"]).map(work)

    names = ks.Dataset.from_tensor_slices([str(tmp_path / f"{name}.h5") for name in "ab"])
    spread = names.interleave(read, 2, 5, num_parallel_calls=2, executor="process")
    assert sorted(float(x) for x, _ in spread) == sorted(expected)


def test_h5py_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    ds = ks.Dataset.range(3000).map(
        lambda i: {
            "a": {"x": np.full((2, 3), i, np.float32), "t": f"no. {i}", "none": None},
            "p": (i, i % 2 == 0),
            "time": np.datetime64(int(i), "D"),
        }
    )
    for compression in (None, "gzip", "lzf"):
        assert ds.write_hdf5(path, compression=compression, chunk_rows=256) == 3000
        with h5py.File(path) as file:
            assert sorted(file) == ["a", "p", "time"]
            assert file["a/x"].shape == (3000, 2, 3)
            assert file["a/x"].maxshape == (None, 2, 3)
            assert file["a/x"].chunks == (256, 2, 3)
            assert file["a/x"].compression == compression
            assert file["a/x"][2999].tolist() == [[2999] * 3] * 2
            assert file["a/t"].asstr()[7] == "no. 7"
            assert file["p/arr_0"][:].tolist() == list(range(3000))
            assert file["p/arr_1"].dtype == bool
            assert file["time"][5] == np.datetime64(5, "D")
    assert [each.name for each in tmp_path.iterdir()] == ["some.h5"]


def test_lists_of_any_length_come_back(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"

    def lists(i: Any) -> dict[str, Any]:
        return {
            "int": np.arange(i % 7, dtype=np.int16),
            "bool": np.ones(i % 3, bool),
            "z": np.full(i % 2, 1j),
            "same": np.zeros(3, np.float32),
        }

    signature = {
        "int": ks.TensorSpec([None], "int16"),
        "bool": ks.TensorSpec([None], "bool"),
        "z": ks.TensorSpec([None], "complex128"),
        "same": ks.TensorSpec([None], "float32"),
    }
    expected = [lists(i) for i in range(500)]
    for promised in (signature, None):
        ds = ks.Dataset.range(500).map(lists, output_signature=promised)
        assert ds.write_hdf5(path) == 500
        assert_elements_equal(list(ks.read_hdf5(path)), expected)
        with h5py.File(path) as file:
            assert h5py.check_vlen_dtype(file["int"].dtype) == np.int16
            assert (h5py.check_vlen_dtype(file["same"].dtype) is None) == (promised is None)


def test_more_than_the_library_stores_together_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5_new_column, "_MOST_CHUNK_BYTES", 1 << 20)
    ds = ks.Dataset.range(20).map(lambda i: {"x": np.full(10_000, i)})
    with pytest.raises(ks.ElementError, match="smaller chunk_rows"):
        ds.write_hdf5(tmp_path / "some.h5", chunk_rows=15)
    assert ds.write_hdf5(tmp_path / "some.h5", chunk_rows=10) == 20


def test_one_data_set_is_written_under_the_name_of_the_group(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    ks.Dataset.range(5).write_hdf5(path, group="/deep/numbers")
    assert [int(x) for x in ks.read_hdf5(path, group="deep/numbers")] == [0, 1, 2, 3, 4]
    ks.Dataset.range(5).map(lambda x: {"x": x}).write_hdf5(path, group="train")
    assert ks.read_hdf5(path)[3] == {"train": {"x": 3}}


def test_small_data_does_not_make_large_files(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    ks.Dataset.range(3).map(lambda x: {"x": x, "y": np.zeros(100)}).write_hdf5(path)
    assert path.stat().st_size < 10_000


def test_nothing_has_types_as_well(tmp_path: Path) -> None:
    signature = {
        "x": ks.TensorSpec([3], "int16"),
        "t": ks.TensorSpec([2], ks.string),
        "list": ks.TensorSpec([None], "float32"),
    }
    path = tmp_path / "none.h5"
    empty = ks.Dataset.from_generator(lambda: iter([]), output_signature=signature)
    assert empty.write_hdf5(path) == 0
    assert ks.read_hdf5(path).element_spec == signature
    assert list(ks.read_hdf5(path)) == []


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ({"a": {"b": b"zero\0within"}}, r"a/b cannot be written.*np\.frombuffer"),
        ({"r": ks.Ragged.from_rows([[1], [2, 3]])}, "r cannot be written.*Parquet"),
        ({"s": ks.Sparse([[0]], [1], [3])}, "s cannot be written.*Parquet"),
        (7, 'group="name"'),
        ({".": 1}, "another place"),
        ({"a//b": 1}, "another place"),
        ({3: 1}, "called 3"),
        ({}, "no leaves"),
    ],
)
def test_what_cannot_be_written_is_named(element: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match=message):
        ks.Dataset.from_tensors(element).write_hdf5(tmp_path / "some.h5")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda i: np.zeros((int(i) % 3, 2)), "this has the shape.*padded_batch"),
        (lambda i: np.array(["a"] * (int(i) % 3 + 1)), "texts have one shape"),
        (lambda i: np.zeros(int(i), "M8[s]"), "no lists of"),
    ],
)
def test_shapes_that_vary_in_other_ways_are_refused(
    make: Any, message: str, tmp_path: Path
) -> None:
    ds = ks.Dataset.range(1, 12).map(lambda i: {"x": make(i)})
    with pytest.raises(ks.ElementError, match=f"x cannot be written.*{message}"):
        ds.write_hdf5(tmp_path / "some.h5")
    assert not list(tmp_path.iterdir())


def test_lengths_that_vary_late_become_lists(tmp_path: Path) -> None:
    make = [np.full(70_000 + (i == 9), i, np.float64) for i in range(12)]
    ds = ks.Dataset.range(12).map(lambda i: {"x": make[i], "deep": {"x": i}})
    ds.write_hdf5(tmp_path / "some.h5")
    rows = list(ks.read_hdf5(tmp_path / "some.h5"))
    assert_elements_equal(rows, [{"x": make[i], "deep": {"x": np.int64(i)}} for i in range(12)])


@pytest.mark.parametrize("bad", [{"compression": "zip"}, {"chunk_rows": 0}])
def test_arguments_are_checked_before_anything_runs(bad: dict[str, Any], tmp_path: Path) -> None:
    def never() -> Iterator[Any]:
        raise AssertionError("it ran")
        yield

    ds = ks.Dataset.from_generator(never)
    with pytest.raises(ks.InvalidArgumentError, match=next(iter(bad))):
        ds.write_hdf5(tmp_path / "some.h5", **bad)


FULL_DISK = """
import resource, signal, sys
import numpy as np
import keepset as ks

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
ds = ks.Dataset.range(100).map(lambda i: {"x": np.full(50_000, i)})
try:
    ds.write_hdf5(sys.argv[1])
except ks.StorageError as error:
    print(error)
"""


def test_a_disk_that_takes_no_more_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some.h5"
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "some.h5" in done.stdout
    assert not list(tmp_path.iterdir())


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ks.MissingExtraError, match=r"keepset\[hdf5\]"):
        ks.read_hdf5(tmp_path / "some.h5")
    with pytest.raises(ks.MissingExtraError, match=r"keepset\[hdf5\]"):
        ks.Dataset.range(3).write_hdf5(tmp_path / "some.h5")
    assert hdf5_library.h5py.__doc__
