"""Data sets of the datasets package, in and out, and folders that it writes on the spot."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.testing import assert_elements_equal, check_dataset

pytestmark = pytest.mark.interop

datasets = pytest.importorskip("datasets")
Image = pytest.importorskip("PIL.Image")

STAGES = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def pixels(i: int) -> Any:
    return np.full((3, 2 + i, 3), 40 * i, np.uint8)


def features() -> Any:
    return datasets.Features(
        {
            "x": datasets.Value("int32"),
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["no", "yes"]),
            "list": datasets.List(datasets.Value("float32")),
            "fixed": datasets.Array2D((2, 3), "int8"),
            "growing": datasets.Array3D((None, 1, 2), "uint8"),
            "image": datasets.Image(),
            "in": {"ok": datasets.Value("bool"), "gray": datasets.Image(mode="L")},
        }
    )


def row(i: int) -> dict[str, Any]:
    """A row as datasets takes it."""
    return {
        "x": i,
        "text": f"no. {i}",
        "label": i % 2,
        "list": [float(n) for n in range(i)],
        "fixed": np.full((2, 3), i, np.int8),
        "growing": np.full((i, 1, 2), i, np.uint8),
        "image": Image.fromarray(pixels(i)),
        "in": {"ok": i > 2, "gray": Image.fromarray(pixels(i)[..., 0])},
    }


def element(i: int) -> dict[str, Any]:
    """The same row as an element."""
    return {
        "x": np.int32(i),
        "text": b"no. %d" % i,
        "label": np.int64(i % 2),
        "list": np.arange(i, dtype=np.float32),
        "fixed": np.full((2, 3), i, np.int8),
        "growing": np.full((i, 1, 2), i, np.uint8),
        "image": pixels(i),
        "in": {"ok": np.bool_(i > 2), "gray": pixels(i)[..., :1]},
    }


def theirs(count: int = 6) -> Any:
    return datasets.Dataset.from_list([row(i) for i in range(count)], features=features())


def numbers(count: int = 10) -> Any:
    return datasets.Dataset.from_dict({"x": list(range(count))})


def on_disk(folder: Path, dataset: Any, **how: Any) -> Any:
    dataset.save_to_disk(str(folder), **how)
    return datasets.load_from_disk(str(folder))


def test_rows_of_all_features_are_elements() -> None:
    ds = ks.from_hf(theirs())
    assert_elements_equal(list(ds), [element(i) for i in range(6)])
    assert_elements_equal([ds[4], ds[-6]], [element(4), element(0)])
    assert ks.class_names(ds) == ["no", "yes"]
    assert ds.element_spec["growing"] == ks.TensorSpec([None, 1, 2], "uint8")
    assert ds.element_spec["in"]["gray"] == ks.TensorSpec([None, None, 1], "uint8")


def test_elements_are_what_datasets_gives() -> None:
    made = theirs().with_format("numpy")
    for ours, row in zip(ks.from_hf(theirs()), made, strict=True):
        for name in ("x", "label", "list", "fixed", "growing", "image"):
            np.testing.assert_array_equal(ours[name], row[name])
        assert ours["text"].decode() == row["text"]


@pytest.mark.parametrize("shards", [1, 3])
def test_saved_folders_and_files_give_the_same_elements(tmp_path: Path, shards: int) -> None:
    expected = [element(i) for i in range(6)]
    loaded = on_disk(tmp_path / "saved", theirs(), num_shards=shards)
    for ds in (ks.read_hf(tmp_path / "saved"), ks.from_hf(loaded)):
        assert_elements_equal(list(ds), expected)
        assert_elements_equal(list(ds.gather([5, 0, 3])), [expected[i] for i in (5, 0, 3)])


ORDERS: dict[str, STAGES] = {
    "select": lambda ds: ds.select([7, 2, 2, 9]),
    "select a stretch": lambda ds: ds.select(range(3, 7)),
    "shuffle": lambda ds: ds.shuffle(seed=3),
    "filter": lambda ds: ds.filter(lambda row: row["x"] % 3 == 0),
    "sort": lambda ds: ds.shuffle(seed=3).sort("x", reverse=True),
    "split": lambda ds: ds.train_test_split(0.3, seed=1)["test"],
    "twice": lambda ds: ds.shuffle(seed=3).select(range(4)).shuffle(seed=4),
    "map": lambda ds: ds.map(lambda row: {"x": row["x"] * 2}),
    "rename": lambda ds: ds.rename_column("x", "y").rename_column("y", "x"),
    "cast": lambda ds: ds.cast_column("x", datasets.Value("int8")),
    "joined": lambda ds: datasets.concatenate_datasets([ds, ds.select([1])]),
    "beside": lambda ds: datasets.concatenate_datasets([ds, ds.rename_column("x", "y")], axis=1),
    "flattened": lambda ds: ds.shuffle(seed=3).flatten_indices(),
    "nothing": lambda ds: ds.select([]),
}


@pytest.mark.filterwarnings("ignore:Specifying null_placement:FutureWarning")  # of their own
@pytest.mark.parametrize("change", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("is_on_disk", [False, True])
def test_the_rows_are_those_that_datasets_shows(
    change: STAGES, is_on_disk: bool, tmp_path: Path
) -> None:
    changed = change(
        on_disk(tmp_path / "some", numbers(), num_shards=2) if is_on_disk else numbers()
    )
    ds = ks.from_hf(changed)
    expected = [{name: int(value) for name, value in row.items()} for row in changed]
    assert [{name: int(value) for name, value in row.items()} for row in ds] == expected
    assert len(ds) == len(expected)
    if expected:
        assert int(ds[-1]["x"]) == expected[-1]["x"]
    assert [int(row["x"]) for row in ds.select("x")] == [row["x"] for row in expected]


@settings(max_examples=15)
@given(positions=st.lists(st.integers(0, 9), min_size=1), data=st.data())
def test_chosen_rows_can_be_had_by_position(positions: list[int], data: st.DataObject) -> None:
    ds = ks.from_hf(numbers().select(positions))
    places = data.draw(st.lists(st.integers(0, len(positions) - 1)))
    assert [int(row["x"]) for row in ds.gather(places)] == [positions[i] for i in places]


def test_a_data_set_keeps_the_promises_of_a_source(tmp_path: Path) -> None:
    loaded = on_disk(tmp_path / "some", numbers(), num_shards=2)
    shown = [{"x": x} for x in (3, 1, 8)]
    check_dataset(lambda: ks.from_hf(loaded.select([3, 1, 8])), expected=shown)
    check_dataset(lambda: ks.from_hf(numbers().select([3, 1, 8])), expected=shown)


def test_files_count_without_being_read_and_tables_by_content(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    loaded = on_disk(tmp_path / "some", numbers())
    ds = ks.from_hf(loaded.shuffle(seed=1))
    assert "list_files" in ds.describe()
    assert len(list(ds.snapshot(kept))) == 10
    again = datasets.load_from_disk(str(tmp_path / "some")).shuffle(seed=1)
    assert ks.explain(ks.from_hf(again).snapshot(kept), kept).hit
    assert not ks.explain(ks.from_hf(again.shuffle(seed=2)).snapshot(kept), kept).hit
    prints = [
        identify(ks.from_hf(each).__keepset_node__()).fingerprint
        for each in (numbers(), numbers(), numbers(9))
    ]
    assert prints[0] == prints[1] != prints[2]


def test_recipes_tell_data_sets_in_files_and_in_memory(tmp_path: Path) -> None:
    loaded = on_disk(tmp_path / "some", theirs())
    for each in (loaded.select([2, 0]), theirs().select([2, 0])):
        ds = ks.from_hf(each)
        again = ks.from_recipe(ks.Recipe.parse(ds.to_recipe().to_yaml()), on_change="error")
        assert_elements_equal(list(again), [element(2), element(0)])


def test_data_sets_travel_to_other_processes(tmp_path: Path) -> None:
    for each in (theirs(), on_disk(tmp_path / "some", theirs())):
        again = pickle.loads(pickle.dumps(ks.from_hf(each)))
        assert_elements_equal(list(again), [element(i) for i in range(6)])


def test_splits_are_named() -> None:
    both = datasets.DatasetDict({"train": numbers(), "test": numbers()})
    with pytest.raises(ks.InvalidArgumentError, match=r"'train', 'test'.*dataset\['train'\]"):
        ks.from_hf(both)
    with pytest.raises(ks.InvalidArgumentError, match="not dict"):
        ks.from_hf({"x": [1]})


def test_formats_are_other_ways_to_show_the_same() -> None:
    both = datasets.Dataset.from_dict({"x": [1], "y": [2]})
    assert dict(ks.from_hf(both.with_format("torch"))[0]) == {"x": 1, "y": 2}
    assert dict(ks.from_hf(both.with_format("numpy", columns=["y"]))[0]) == {"y": 2}
    with pytest.raises(ks.InvalidArgumentError, match=r"transform.*with_format\(None\)"):
        ks.from_hf(both.with_transform(lambda batch: batch))


def test_missing_values_and_types() -> None:
    given = datasets.Dataset.from_dict({"x": [1, None], "s": ["a", None]})
    with pytest.raises(ks.ElementError, match="row 1: 'x' has no value"):
        list(ks.from_hf(given))
    ds = ks.from_hf(given, missing={"x": 0, "s": "-"}, types={"x": "float32"})
    assert ds[1] == {"x": np.float32(0), "s": b"-"}
    assert list(ks.from_hf(given, columns=["s"], missing={"s": ""}))[1] == {"s": b""}


def test_pictures_on_the_disk_are_opened(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i % 2}").mkdir(exist_ok=True)
        Image.fromarray(pixels(i)).save(tmp_path / f"{i % 2}" / f"{i}.png")
    paths = [str(tmp_path / f"{i % 2}" / f"{i}.png") for i in range(3)]
    given = datasets.Dataset.from_dict({"image": paths}).cast_column("image", datasets.Image())
    for each in (given, given.select([0, 1, 2])):
        assert_elements_equal(
            [row["image"] for row in ks.from_hf(each)], list(map(pixels, range(3)))
        )
    raw = [row["image"] for row in ks.from_hf(given, decode=False)]
    assert raw == [Path(path).read_bytes() for path in paths]
    # What is saved takes the files in.
    assert_elements_equal(
        [ks.from_hf(on_disk(tmp_path / "saved", given))[2]], [{"image": pixels(2)}]
    )
    assert_elements_equal([ks.read_hf(tmp_path / "saved")[2]], [{"image": pixels(2)}])
    os.unlink(paths[1])
    with pytest.raises(FileNotFoundError, match=r"1\.png"):
        list(ks.from_hf(given))
    (tmp_path / "1" / "1.png").write_bytes(b"no picture")
    with pytest.warns(ks.CorruptRecordWarning, match=r"1 damaged"):
        assert len(list(ks.from_hf(given, on_corrupt="skip"))) == 2


def test_a_folder_of_pictures_as_datasets_loads_it(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / "pets" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels(i)).save(tmp_path / "pets" / "ab"[i % 2] / f"{i}.png")
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "pets"), split="train", cache_dir=str(tmp_path / "c")
    )
    ds = ks.from_hf(loaded, size=(4, 4), num_parallel_calls=2)
    assert sorted(ds.element_spec) == ["image", "label"]
    found = {(int(row["label"]), int(row["image"].max())) for row in ds}
    assert found == {(i % 2, 40 * i) for i in range(4)}
    assert ks.class_names(ds) == ["a", "b"]
    assert "list_files" in ds.describe()


def test_pictures_are_shown_as_datasets_shows_them() -> None:
    given = theirs()
    ds = ks.from_hf(given.cast_column("image", datasets.Image(mode="L")))
    assert ds[2]["image"].shape == (3, 4, 1)
    undecoded = ks.from_hf(given.cast_column("image", datasets.Image(decode=False)))
    assert undecoded[2]["image"].startswith(b"\x89PNG")


def test_sounds_and_lists_of_pictures_stay_bytes() -> None:
    clip = {"bytes": b"RIFF", "path": None}
    sounds = datasets.Dataset.from_list([{"audio": clip}]).cast(
        datasets.Features({"audio": datasets.Audio()})
    )
    with pytest.raises(ks.InvalidArgumentError, match=r"'audio'.*Audio.*decode=False"):
        ks.from_hf(sounds)
    assert ks.from_hf(sounds, decode=False)[0] == {"audio": b"RIFF"}
    several = datasets.Dataset.from_list(
        [{"x": [Image.fromarray(pixels(1))]}],
        features=datasets.Features({"x": datasets.List(datasets.Image())}),
    )
    assert [each[:4] for each in ks.from_hf(several, decode=False)[0]["x"]] == [b"\x89PNG"]


def counted() -> Iterator[dict[str, Any]]:
    for i in range(250):
        yield row(i % 6)


def test_data_sets_that_can_only_be_iterated_over() -> None:
    given = datasets.IterableDataset.from_generator(counted, features=features())
    ds = ks.from_hf(given)
    assert ds.element_spec == ks.from_hf(theirs()).element_spec
    assert_elements_equal(list(ds.take(130)), [element(i % 6) for i in range(130)])
    assert len(list(ds.select("x"))) == 250
    with iter(ds) as iterator:
        for _ in range(101):
            next(iterator)
        state = json.loads(json.dumps(iterator.state()))
    assert_elements_equal(list(ds.iterate(state))[:2], [element(101 % 6), element(102 % 6)])
    some = ks.from_hf(given, columns=["x", "text"], decode=False)
    assert [sorted(row) for row in some.take(2)] == [["text", "x"]] * 2
    with pytest.raises(ks.FingerprintError, match="IterableDataset"):
        identify(ds.__keepset_node__())


def test_without_features_elements_are_what_they_are() -> None:
    given = numbers(3).to_iterable_dataset().map(lambda row: {"y": [row["x"]] * 2})
    assert given.features is None
    rows = [(int(row["x"]), row["y"].tolist()) for row in ks.from_hf(given)]
    assert rows == [(i, [i, i]) for i in range(3)]
    with pytest.raises(ks.InvalidArgumentError, match="features of the data set are not known"):
        ks.from_hf(given, columns=["x"])


def of(rows: list[Any]) -> ks.Dataset:
    return ks.Dataset.from_generator(lambda: iter(rows))


def test_elements_become_features() -> None:
    rows = [
        {
            "n": np.uint8(i),
            "half": np.float16(i / 2),
            "ok": np.bool_(i),
            "name": b"no. %d" % i,
            "raw": bytes([i, 255]),
            "day": np.datetime64(i, "D"),
            "when": np.datetime64(i, "ms"),
            "span": np.timedelta64(i, "us"),
            "three": np.arange(3),
            "list": np.arange(i),
            "words": np.array([b"a"] * i, object),
            "matrix": np.full((2, 2), i, np.float32),
            "growing": np.full((i, 1, 2), i, np.int16),
            "cube": np.zeros((1, 2, 1, 2)),
            "ragged": ks.Ragged.from_rows([[1] * i, [2]]),
            "loose": np.zeros((i, i + 1), np.int8),
            "in": {"a": np.int8(i), "b": {"c": b"x"}},
            "pair": (np.int8(1), np.int8(2)),
        }
        for i in range(3)
    ]
    made = of(rows).to_hf()
    assert isinstance(made, datasets.Dataset)
    value, many = datasets.Value, datasets.List
    assert made.features == datasets.Features(
        {
            "n": value("uint8"),
            "half": value("float16"),
            "ok": value("bool"),
            "name": value("string"),
            "raw": value("binary"),
            "day": value("date32"),
            "when": value("timestamp[ms]"),
            "span": value("duration[us]"),
            "three": many(value("int64"), length=3),
            "list": many(value("int64")),
            "words": many(value("string")),
            "matrix": datasets.Array2D((2, 2), "float32"),
            "growing": datasets.Array3D((None, 1, 2), "int16"),
            "cube": datasets.Array4D((1, 2, 1, 2), "float64"),
            "ragged": many(many(value("int64"))),
            "loose": many(many(value("int8"))),
            "in": {"a": value("int8"), "b": {"c": value("string")}},
            "pair": {"0": value("int8"), "1": value("int8")},
        }
    )
    shown = made[2]
    assert shown["name"] == "no. 2"
    assert shown["in"] == {"a": 2, "b": {"c": "x"}}
    assert shown["matrix"] == [[2.0, 2.0], [2.0, 2.0]]
    assert shown["loose"] == [[0, 0, 0], [0, 0, 0]]
    back = ks.from_hf(made)
    alike = [name for name in rows[0] if name not in ("loose", "pair")]
    assert_elements_equal(list(back.select(*alike)), [{k: r[k] for k in alike} for r in rows])


def test_features_can_be_given() -> None:
    ds = of([{"image": pixels(i), "raw": b"\x89PNG", "label": np.int32(i)} for i in range(2)])
    label = datasets.ClassLabel(names=["a", "b"])
    made = ds.to_hf(
        features={
            "image": datasets.Image(),
            "raw": datasets.Image(),
            "label": label,
        }
    )
    assert made.features["label"] == label
    assert made.cast_column("raw", datasets.Image(decode=False))[0]["raw"]["bytes"] == b"\x89PNG"
    image = made.select_columns("image")[1]["image"]
    np.testing.assert_array_equal(np.asarray(image), pixels(1))
    assert_elements_equal(
        list(ks.from_hf(made, columns=["image"])), [{"image": pixels(i)} for i in range(2)]
    )
    same = ks.Dataset.range(3).map(lambda x: {"x": np.full((2, 2, 3), x, np.uint8)})
    assert same.to_hf().features == {"x": datasets.Array3D((2, 2, 3), "uint8")}
    gray = same.map(lambda row: {"x": row["x"][..., :1]}).to_hf(features={"x": datasets.Image()})
    assert gray[2]["x"].mode == "L"
    whole = datasets.Features({"x": datasets.Array3D((None, 2, 3), "int32")})
    assert same.to_hf(features=whole).features == whole
    words = of([{"s": "b"}, {"s": "a"}]).to_hf(features={"s": label})
    assert [row["s"] for row in words] == [1, 0]


@pytest.mark.parametrize(
    ("rows", "given", "message"),
    [
        ([{"x": np.complex64(1)}], None, r"complex64.*cast it with map"),
        ([{"x": ks.Sparse([[0]], [1], (2,))}], None, "to_dense"),
        ([{"x": 1.5}], {"x": "Image"}, "pictures are uint8"),
        ([{"x": np.zeros((2, 2, 2), np.uint8)}], {"x": "Image"}, "1, 3 or 4 channels"),
        ([{"x": np.zeros((2, 2))}], {"x": "Array2D"}, "cannot become Array2D"),
        ([{"x": "a"}], {"x": "int"}, "cannot become Value"),
    ],
)
def test_what_does_not_fit_is_refused(rows: Any, given: Any, message: str) -> None:
    known = {
        "Image": datasets.Image(),
        "Array2D": datasets.Array2D((3, 2), "float64"),
        "int": datasets.Value("int64"),
    }
    wanted = None if given is None else {name: known[kind] for name, kind in given.items()}
    with pytest.raises(ks.ElementError, match=message):
        of(rows).to_hf(features=wanted)


def test_odd_arguments_are_refused() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="'y', and the elements have only 'x'"):
        of([{"x": 1}]).to_hf(features={"y": datasets.Value("int64")})
    with pytest.raises(ks.InvalidArgumentError, match="never ends"):
        ks.Dataset.counter().to_hf()
    assert len(ks.Dataset.counter().to_hf(limit=3)) == 3


def test_no_elements_at_all() -> None:
    none = ks.Dataset.range(0).to_hf()
    assert len(none) == 0
    assert none.features == {"value": datasets.Value("int64")}


def test_more_than_fits_is_written_to_a_file_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keepset.adapters.huggingface.pipeline as adapter

    monkeypatch.setattr(adapter.to_hf, "__defaults__", (None, 1000))

    def make(x: Any) -> Any:
        # One is text until the last element, another from the first on, a third never.
        late = b"\xff" if x == 4999 else b"a"
        return {"x": x, "late": late, "text": str(x), "in": {"raw": b"\xff", "late": late}}

    ds = ks.Dataset.range(5000).map(make)
    made = ds.to_hf(cache_dir=tmp_path / "mine")
    [file] = (tmp_path / "mine").iterdir()
    assert [each["filename"] for each in made.cache_files] == [str(file)]
    value = datasets.Value
    assert made.features == {
        "x": value("int64"),
        "late": value("binary"),
        "text": value("string"),
        "in": {"raw": value("binary"), "late": value("binary")},
    }
    ks.assert_equal(ks.from_hf(made), ds)
    assert ds.to_hf().cache_files[0]["filename"].startswith(str(tmp_path / "cache" / "keepset"))

    def breaks(x: Any) -> Any:
        if x == 4000:
            raise RuntimeError("gone")
        return make(x)

    broken = ks.Dataset.range(5000).map(breaks, output_signature=ds.element_spec)
    with pytest.raises(RuntimeError, match="gone"):
        broken.to_hf(cache_dir=tmp_path / "broken")
    assert list((tmp_path / "broken").iterdir()) == []


def test_there_and_back_and_there(tmp_path: Path) -> None:
    given = theirs()
    ds = ks.from_hf(given).snapshot(tmp_path / "kept")
    made = ds.to_hf(features={name: given.features[name] for name in ("image", "label")})
    again = ks.from_hf(made.map(lambda row: {"x": row["x"] + 1}))
    found = [{key: row[key] for key in ("x", "image", "fixed")} for row in again]
    expected = [
        {"x": np.int32(i + 1), "image": pixels(i), "fixed": element(i)["fixed"]} for i in range(6)
    ]
    assert_elements_equal(found, expected)


def test_a_table_that_holds_files_in_nested_dicts(tmp_path: Path) -> None:
    Image.fromarray(pixels(1)).save(tmp_path / "1.png")
    feature = datasets.Features({"in": {"image": datasets.Image()}})
    rows = [{"in": {"image": str(tmp_path / "1.png")}}]
    ds = ks.from_hf(datasets.Dataset.from_list(rows, features=feature))
    assert_elements_equal(list(ds), [{"in": {"image": pixels(1)}}])


def test_json_stays_text() -> None:
    if not hasattr(datasets, "Json"):
        pytest.skip("this version has no Json")
    given = datasets.Dataset.from_dict(
        {"j": [{"a": 1}, {"b": [2]}]}, features=datasets.Features({"j": datasets.Json()})
    )
    assert [json.loads(row["j"]) for row in ks.from_hf(given)] == [{"a": 1}, {"b": [2]}]


def test_record_batches_of_datasets_are_tables_too() -> None:
    table = numbers(3).with_format("arrow")[:]
    assert isinstance(table, pa.Table)
    assert [int(row["x"]) for row in ks.from_arrow(table)] == [0, 1, 2]
