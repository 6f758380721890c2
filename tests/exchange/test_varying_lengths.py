"""Elements behind a function that promises nothing: their lengths may differ, in every format."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.core.spec import structure_and_leaves
from keepset.core.structure import structure_of
from keepset.exchange.arrow.file import ArrowWriter
from keepset.exchange.files import exporting
from keepset.exchange.memory import tables
from keepset.snapshot.writing.saving import save_node
from keepset.testing import assert_elements_equal

LENGTHS = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def strings(count: int) -> Any:
    return np.array([b"t%d" % i for i in range(count)] + [b""], object)[:count]


def numbers(length: int) -> Any:
    return {"x": np.arange(length, dtype=np.int32), "n": np.float32(length)}


def tokens(length: int) -> Any:
    """What any table holds, all of it of another size each time."""
    return {
        "x": np.arange(length),
        "deep": {"table": np.full((length, 2), length, np.float32), "text": b"a" * length},
        "square": np.full((length, length), length),
        "tags": strings(length),
        "rows": ks.Ragged.from_rows([np.arange(i) for i in range(length + 1)]),
        "sparse": ks.Sparse([[length]], [length], (length + 1,)),
    }


def ranks(length: int) -> Any:
    """Also of other numbers of dimensions."""
    return {"x": np.zeros((length,) * (length % 3), np.int8)}


class Writer(NamedTuple):
    """A way to write elements, and to read them again."""

    write: Callable[[ks.Dataset, str], Any]
    read: Callable[[str, Any], ks.Dataset]
    make: Callable[[int], Any]


def reading(function: Callable[..., ks.Dataset]) -> Callable[[str, Any], ks.Dataset]:
    return lambda path, _: function(path)


def to_tfrecord(make: Callable[[int], Any]) -> Writer:
    return Writer(
        lambda ds, path: ds.write_tfrecord(path),
        lambda path, features: ks.TFRecordDataset(path).parse_example(features),
        make,
    )


def text(ds: ks.Dataset, path: str) -> None:
    ds.write_text(path)


WRITERS: dict[str, Writer] = {
    "parquet": Writer(lambda ds, path: ds.write_parquet(path), reading(ks.read_parquet), tokens),
    "parquet, ranks": Writer(
        lambda ds, path: ds.write_parquet(path), reading(ks.read_parquet), ranks
    ),
    "arrow": Writer(lambda ds, path: ds.write_arrow(path), reading(ks.read_arrow), tokens),
    "arrow, ranks": Writer(lambda ds, path: ds.write_arrow(path), reading(ks.read_arrow), ranks),
    "json lines": Writer(
        lambda ds, path: ds.write_json_lines(path),
        lambda path, _: ks.read_json_lines(path, types={"x": "int64"}),
        lambda length: {"x": np.arange(length), "text": b"a" * length},
    ),
    "csv": Writer(
        lambda ds, path: ds.write_csv(path),
        lambda path, _: ks.read_csv(path, types={"text": "string"}),
        lambda length: {"n": np.int64(length), "text": b"a" * length},
    ),
    "tfrecord": to_tfrecord(
        lambda length: {"x": np.arange(length), "y": np.zeros((length, 2), np.float32)}
    ),
    "hdf5": Writer(
        lambda ds, path: ds.write_hdf5(path, chunk_rows=2), reading(ks.read_hdf5), numbers
    ),
    "webdataset": Writer(
        lambda ds, path: ds.write_webdataset(f"{path}.tar"),
        lambda path, _: ks.read_webdataset(f"{path}.tar", columns=["x.npy"]),
        lambda length: {"x.npy": np.zeros((length,) * (length % 3))},
    ),
    "webdataset, shards": Writer(
        lambda ds, path: ds.write_webdataset(f"{path}-{{:03d}}.tar", samples_per_shard=3),
        lambda path, _: ks.read_webdataset(f"{path}-*.tar", columns=["x.npy"]),
        lambda length: {"x.npy": np.arange(length)},
    ),
    "text": Writer(text, reading(ks.read_text), lambda length: b"a" * length),
    "save": Writer(lambda ds, path: ds.save(path), reading(ks.load), tokens),
    "save for TensorFlow": Writer(
        lambda ds, path: ds.save(path, format="tensorflow"), reading(ks.load), numbers
    ),
}
writers = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


@writers
@settings(max_examples=15, deadline=None)
@given(lengths=LENGTHS, repeats=st.sampled_from([1, 30]), data=st.data())
def test_elements_of_any_lengths_come_back(
    writer: Writer, lengths: list[int], repeats: int, data: st.DataObject
) -> None:
    rows = [writer.make(length) for length in lengths for _ in range(repeats)]
    is_live = data.draw(st.booleans())
    ds = ks.Dataset.from_generator(lambda: iter(rows))
    if not is_live:
        ds = ks.Dataset.range(len(rows)).map(lambda i: rows[i])
    # Nothing held, so that what was written is read again; or all of it.
    held_bytes = data.draw(st.sampled_from([0, 1000, 1 << 20]))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "_MOST_HELD_BYTES", held_bytes)
        features = writer.write(ds, f"{folder}/some")
        assert_elements_equal(list(writer.read(f"{folder}/some", features)), rows)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "npy", "npz", "hdf5"])
def test_elements_that_are_alike_make_the_file_that_a_promise_makes(
    kind: str, tmp_path: Path
) -> None:
    make = {"npy": lambda i: np.full((2, 3), i)}.get(kind, lambda i: {"x": np.full((2, 3), i)})
    found = ks.Dataset.range(500).map(make)
    promised = ks.Dataset.range(500).map(make, output_signature=found.element_spec)
    for name, ds in (("found", found), ("promised", promised)):
        getattr(ds, f"write_{kind}")(tmp_path / name)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "promised").read_bytes()


def test_much_that_is_alike_is_written_again_when_the_last_is_not(tmp_path: Path) -> None:
    """More than is held in memory."""
    block = np.arange(1 << 18)
    ds = ks.Dataset.range(20).map(lambda i: {"x": block[: len(block) - int(i == 19)] + i})
    for read, path in ((ks.read_parquet, "a.parquet"), (ks.read_arrow, "a.arrow")):
        getattr(ds, f"write_{path[2:]}")(tmp_path / path)
        got = list(read(tmp_path / path))
        assert [len(row["x"]) for row in got] == [1 << 18] * 19 + [(1 << 18) - 1]
        assert [int(row["x"][0]) for row in got] == list(range(20))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.arrow", "a.parquet"]


@settings(max_examples=10, deadline=None)
@given(lengths=LENGTHS, most=st.sampled_from([0, 500, 1 << 20]))
def test_a_stream_of_batches_has_one_schema(lengths: list[int], most: int) -> None:
    """What Hugging Face gets."""
    rows = [numbers(length) for length in lengths]
    ds = ks.Dataset.from_generator(lambda: iter(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_MOST_HELD_BYTES", most)
        schema, batches, _ = tables.plain_stream(ds.__keepset_node__(), None, True)
        got = [row for batch in batches for row in batch.cast(schema).to_pylist()]
    assert got == [{"x": row["x"].tolist(), "n": float(row["n"])} for row in rows]


def changing(first: Any, other: Any) -> Callable[[], Iterator[Any]]:
    return lambda: (first if i < 40 else other for i in range(50))


MISFITS: dict[str, tuple[Any, Any, str]] = {
    "floats after ints": ({"a": {"x": 1}}, {"a": {"x": 0.5}}, r"leaf 'a.x': .*int64.*float64"),
    "a value after None": ({"x": None, "y": 1}, {"x": 1, "y": 1}, "leaf 'x': .*None was expected"),
    "None after a value": ({"x": 1, "y": 1}, {"x": None, "y": 1}, "leaf 'x': .*but this is None"),
    "another key": ({"x": 1, "y": 1}, {"x": 1, "z": 1}, r"without 'y' and with 'z'"),
}
TYPED: dict[str, Callable[[ks.Dataset, Path], Any]] = {
    "parquet": lambda ds, path: ds.write_parquet(path),
    "arrow": lambda ds, path: ds.write_arrow(path),
    "csv": lambda ds, path: ds.write_csv(path),
    "tfrecord": lambda ds, path: ds.write_tfrecord(path),
    "npz": lambda ds, path: ds.write_npz(path),
    "hdf5": lambda ds, path: ds.write_hdf5(path),
    "save": lambda ds, path: ds.save(path, progress=False),
    "save for TensorFlow": lambda ds, path: ds.save(path, format="tensorflow"),
    "to_arrow": lambda ds, path: ds.to_arrow(),
    "snapshot": lambda ds, path: list(ds.snapshot(path)),
}


@pytest.mark.parametrize("misfit", MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("write", TYPED.values(), ids=TYPED)
def test_another_type_is_an_error_with_the_element_and_the_leaf(
    write: Callable[[ks.Dataset, Path], Any], misfit: tuple[Any, Any, str], tmp_path: Path
) -> None:
    first, other, _ = misfit
    ds = ks.Dataset.from_generator(changing(first, other))
    with pytest.raises(ks.ElementError) as caught:
        write(ds, tmp_path / "some")
    assert caught.value.element == 40
    assert str(caught.value).startswith("element 40")
    assert "map" in str(caught.value)


@pytest.mark.parametrize("misfit", MISFITS.values(), ids=MISFITS)
def test_the_message_says_what_differs(misfit: tuple[Any, Any, str], tmp_path: Path) -> None:
    first, other, message = misfit
    ds = ks.Dataset.from_generator(changing(first, other))
    with pytest.raises(ks.ElementError, match=message):
        ds.write_parquet(tmp_path / "some.parquet")


@pytest.mark.parametrize("path", ["some.tar", "some-{:03d}.tar"])
@pytest.mark.parametrize("other", [0.5, b"1", np.zeros(2, np.int64), {"x": 1}])
def test_a_sample_of_another_type_is_not_cut_to_fit(other: Any, path: str, tmp_path: Path) -> None:
    ds = ks.Dataset.from_generator(changing({"cls": 1}, {"cls": other}))
    with pytest.raises(ks.ElementError, match=r"element 40: 'cls' cannot be written"):
        ds.write_webdataset(tmp_path / path)


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_arrays_of_one_shape_name_the_element_that_has_another(kind: str, tmp_path: Path) -> None:
    wrap = (lambda x: x) if kind == "npy" else (lambda x: {"a": {"x": x}})
    ds = ks.Dataset.range(50).map(lambda i: wrap(np.zeros(3 + int(i == 40))))
    with pytest.raises(ks.ElementError, match=r"element 40: .*\(4,\).*\(3,\).*padded_batch"):
        getattr(ds, f"write_{kind}")(tmp_path / "some")


def test_lists_of_hdf5_that_vary_late_leave_no_gap(tmp_path: Path) -> None:
    sizes = {}
    for name, late in (("late", 399), ("early", 1)):
        ds = ks.Dataset.range(400).map(lambda i, n=late: {"x": np.zeros(10_000 - int(i == n))})
        ds.write_hdf5(tmp_path / name)
        sizes[name] = (tmp_path / name).stat().st_size
        assert [len(row["x"]) for row in ks.read_hdf5(tmp_path / name)].index(9_999) == late
    assert sizes["late"] < 1.1 * sizes["early"]


def listed(place: str, count: int = 60) -> list[Any]:
    """Elements as a tokenizer makes them, of which some are lists without items."""
    empty = {
        "first": {0},
        "middle": {29, 30},
        "last": {count - 1},
        "first half": set(range(count // 2)),
        "second half": set(range(count // 2, count)),
        "every second": set(range(0, count, 2)),
        "all but one": set(range(count)) - {count // 2},
    }[place]
    return [[] if i in empty else list(range(i % 5 + 1)) for i in range(count)]


PLACES = ("first", "middle", "last", "first half", "second half", "every second", "all but one")


def saved(ds: ks.Dataset, path: str) -> ks.Dataset:
    ds.save(path)
    return ks.load(path)


def saved_in_small_chunks(ds: ks.Dataset, path: str) -> ks.Dataset:
    return ks.load(save_node(ds.__keepset_node__(), path, chunk_bytes=64))


def saved_for_tensorflow(ds: ks.Dataset, path: str) -> ks.Dataset:
    ds.save(path, format="tensorflow")
    return ks.load(path)


def stored(ds: ks.Dataset, path: str) -> ks.Dataset:
    list(ds.snapshot(path))
    return ds.snapshot(path)


def written(kind: str) -> Callable[[ks.Dataset, str], ks.Dataset]:
    def write(ds: ks.Dataset, path: str) -> ks.Dataset:
        getattr(ds, f"write_{kind}")(path)
        found: ks.Dataset = getattr(ks, f"read_{kind}")(path)
        return found

    return write


ROUND_TRIPS: dict[str, Callable[[ks.Dataset, str], ks.Dataset]] = {
    "parquet": written("parquet"),
    "arrow": written("arrow"),
    "hdf5": written("hdf5"),
    "tfrecord": lambda ds, path: ks.TFRecordDataset(path).parse_example(ds.write_tfrecord(path)),
    "save": saved,
    "save in small chunks": saved_in_small_chunks,
    "save for TensorFlow": saved_for_tensorflow,
    "to_arrow": lambda ds, path: ks.from_arrow(ds.to_arrow()),
    "snapshot": stored,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ROUND_TRIPS)
@pytest.mark.parametrize("held_bytes", [0, 1 << 20])
def test_an_empty_list_has_the_type_of_the_others(
    kind: str, place: str, held_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_MOST_HELD_BYTES", held_bytes)
    lists = listed(place)
    ds = ks.Dataset.range(len(lists)).map(
        lambda i: {"ids": lists[i], "deep": {"words": [f"w{j}" for j in lists[i]]}, "n": i}
    )
    if kind == "hdf5":  # which has no lists of texts
        ds = ds.map(lambda x: {"ids": x["ids"], "n": x["n"]})
    got = list(ROUND_TRIPS[kind](ds, f"{tmp_path}/some"))
    assert [row["ids"].tolist() for row in got] == lists
    assert {row["ids"].dtype for row in got} == {np.dtype(np.int64)}
    if kind != "hdf5":
        words = [row["deep"]["words"] if "deep" in row else row["deep/words"] for row in got]
        assert [each.tolist() for each in words] == [[b"w%d" % j for j in ids] for ids in lists]
        assert {each.dtype for each in words} == {np.dtype(object)}


RAGGED: dict[str, Callable[[list[int]], ks.Ragged]] = {
    "rows": lambda ids: ks.Ragged.from_rows([ids, [], ids] if ids else [[], []]),
    "no rows": lambda ids: ks.Ragged.from_rows([ids] if ids else []),
    "rows of rows": lambda ids: ks.Ragged.from_rows([ks.Ragged.from_rows([[], ids])] * 2),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [kind for kind in ROUND_TRIPS if kind != "hdf5"])
@pytest.mark.parametrize("ragged", RAGGED)
def test_a_ragged_without_items_has_the_type_of_the_others(
    kind: str, place: str, ragged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_MOST_HELD_BYTES", 0)
    rows = [RAGGED[ragged](ids) for ids in listed(place)]
    ds = ks.Dataset.range(len(rows)).map(lambda i: {"ids": rows[i], "n": i})
    got = [row["ids"] for row in ROUND_TRIPS[kind](ds, f"{tmp_path}/some")]
    assert {row.dtype for row in got} == {np.dtype(np.int64)}
    assert [row.to_list() for row in got] == [row.to_list() for row in rows]


@pytest.mark.parametrize("kind", ROUND_TRIPS)
def test_nothing_but_empty_lists_are_floats_as_in_numpy(kind: str, tmp_path: Path) -> None:
    ds = ks.Dataset.from_generator(lambda: ({"ids": []} for _ in range(40)))
    got = list(ROUND_TRIPS[kind](ds, f"{tmp_path}/some"))
    wanted = np.float32 if kind == "tfrecord" else np.float64
    assert {(row["ids"].shape, row["ids"].dtype) for row in got} == {((0,), np.dtype(wanted))}


@pytest.mark.parametrize("place", PLACES)
def test_samples_of_an_archive_may_have_empty_lists(place: str, tmp_path: Path) -> None:
    lists = listed(place)
    ds = ks.Dataset.range(len(lists)).map(lambda i: {"x.npy": lists[i], "y.json": lists[i]})
    ds.write_webdataset(tmp_path / "a.tar")
    got = list(ks.read_webdataset(tmp_path / "a.tar"))
    assert [row["x.npy"].tolist() for row in got] == lists
    # What comes before the first that has a type is written by then.
    first = next(i for i, each in enumerate(lists) if each)
    assert {row["x.npy"].dtype for row in got[first:]} == {np.dtype(np.int64)}
    again = written("parquet")(ks.read_webdataset(tmp_path / "a.tar"), f"{tmp_path}/b.parquet")
    assert {row["x.npy"].dtype for row in again} == {np.dtype(np.int64)}


@pytest.mark.parametrize("place", PLACES)
def test_tables_in_memory_may_have_empty_lists(place: str) -> None:
    lists = listed(place)
    ds = ks.Dataset.range(len(lists)).map(lambda i: {"ids": lists[i]})
    cells = ds.to_pandas()["ids"]
    assert [each.tolist() for each in cells] == lists
    assert {each.dtype for each in cells} == {np.dtype(np.int64)}
    assert ds.to_polars()["ids"].to_list() == lists


def test_a_ragged_of_floats_is_not_changed_in_silence(tmp_path: Path) -> None:
    for first, other in ([[1]], [[0.5]]), ([[0.5], []], [[1], []]):
        ds = ks.Dataset.range(2).map(lambda i, both=(first, other): ks.Ragged.from_rows(both[i]))
        with pytest.raises(ks.ElementError, match=r"element 1.*(float64.*int64|int64.*float64)"):
            ds.save(tmp_path)


def test_an_empty_array_of_another_dtype_is_not_changed_in_silence(tmp_path: Path) -> None:
    ds = ks.Dataset.range(4).map(
        lambda i: {"x": np.array([], np.float32) if i == 2 else np.arange(3)}
    )
    with pytest.raises(
        ks.ElementError, match=r"element 2, leaf 'x': .*float32.*np.array\(\[\], 'int64'\)"
    ):
        list(ds.snapshot(tmp_path))


def test_a_spec_is_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []

    def counted(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def look(spec: Any) -> Any:
            looks.append(spec)
            return function(spec)

        return look

    for function in (structure_of, structure_and_leaves):
        monkeypatch.setattr(exporting, function.__name__, counted(function), raising=False)
    with tempfile.TemporaryFile() as file:
        rows = exporting.WrittenRows(file, ArrowWriter, None)
        for length in (2, 2, 3, 2, 3, 2):
            rows.write(Chunk.from_rows([numbers(length)]))
        rows.finish()
        assert [len(row["x"]) for chunk in rows.reread() for row in chunk.rows] == [
            2,
            2,
            3,
            2,
            3,
            2,
        ]
        rows.close()
    assert len(looks) == 2  # with the lengths alike, and with others
