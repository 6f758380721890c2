"""Folders that datasets wrote, read without it: every kind of feature, splits, damage."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.errors import CorruptRecordError, CorruptRecordWarning
from keepset.exchange.huggingface.features import parse_features
from keepset.exchange.huggingface.rows import HfRows
from keepset.testing import assert_elements_equal, check_dataset

GOLDEN = Path(__file__).parents[2] / "golden" / "huggingface"
TEXT = {"_type": "Value", "dtype": "string"}
IMAGE = {"_type": "Image"}


def arrays_row(i: int) -> dict[str, Any]:
    return {
        "fixed": np.full((2, 3), i, np.float32),
        "growing": np.full((i, 1, 2), i, np.uint8),
        "list": np.full(i, i),
        "three": np.arange(i, i + 3),
        "many": np.arange(i, dtype=np.int8)[:, np.newaxis, np.newaxis].repeat(2, 2),
        "lists": ks.Ragged(np.array([i, i, i], np.int32), [0, 1, 1, 3]),
    }


def written(folder: Path, table: pa.Table, features: dict[str, Any]) -> Path:
    """A folder as ``save_to_disk`` writes one."""
    folder.mkdir(parents=True, exist_ok=True)
    with pa.ipc.new_stream(folder / "data-00000-of-00001.arrow", table.schema) as writer:
        writer.write_table(table)
    files = [{"filename": "data-00000-of-00001.arrow"}]
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    return folder


def picture_table(*rows: tuple[bytes | None, str | None]) -> pa.Table:
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    values = [{"bytes": content, "path": path} for content, path in rows]
    return pa.table({"image": pa.array(values, kind)})


def test_numbers_texts_and_labels_are_read() -> None:
    ds = ks.read_hf(GOLDEN / "plain")
    nan, nat = np.float32(np.nan), np.datetime64("NaT", "s")
    expected = [
        {
            "text": text,
            "label": np.int64(label),
            "score": score,
            "when": when,
            "tags": np.array(tags, object),
            "in": {"n": np.int16(n)},
        }
        for text, label, score, when, tags, n in (
            (b"one", 0, np.float32(0.5), np.datetime64(1, "s"), [b"a"], 1),
            (b"", 1, nan, nat, [], 2),
            (b"three", -1, np.float32(1.5), np.datetime64(3, "s"), [b"b", "ä".encode()], 3),
        )
    ]
    assert_elements_equal(list(ds), expected)
    assert ks.class_names(ds.shuffle(3).batch(2)) == ["odd", "even"]


def test_arrays_have_the_shapes_that_features_say() -> None:
    ds = ks.read_hf(GOLDEN / "arrays")
    assert_elements_equal(list(ds), [arrays_row(i) for i in range(4)])
    shapes = {name: spec.shape for name, spec in ds.element_spec.items()}
    assert shapes == {
        "fixed": (2, 3),
        "growing": (None, 1, 2),
        "list": (None,),
        "three": (3,),
        "many": (None, 1, 2),
        "lists": (None, None),
    }


def test_arrays_of_one_shape_are_batched_without_copies() -> None:
    batch = next(iter(ks.read_hf(GOLDEN / "arrays", columns=["fixed"]).batch(2)))
    assert batch["fixed"].shape == (2, 2, 3)
    assert not batch["fixed"].flags.writeable


def test_a_folder_keeps_the_promises_of_a_source() -> None:
    def make() -> ks.Dataset:
        return ks.read_hf(GOLDEN / "arrays", columns=["fixed", "many"])

    expected = [{key: arrays_row(i)[key] for key in ("fixed", "many")} for i in range(4)]
    check_dataset(make, expected=expected)


def test_rows_by_position_and_columns() -> None:
    ds = ks.read_hf(GOLDEN / "arrays")
    assert len(ds) == 4
    assert_elements_equal([ds[3], ds[-4]], [arrays_row(3), arrays_row(0)])
    assert_elements_equal(list(ds.gather([2, 0, 2])), [arrays_row(i) for i in (2, 0, 2)])
    assert [sorted(row) for row in ds.select("list", "fixed")] == [["fixed", "list"]] * 4
    with pytest.raises(ks.InvalidArgumentError, match=r"no 'odd'; there are 'fixed'"):
        list(ks.read_hf(GOLDEN / "arrays", columns=["odd"]))


def test_pictures_are_decoded() -> None:
    ds = ks.read_hf(GOLDEN / "pictures", columns=["image", "gray"])
    assert ds.element_spec == {
        "image": ks.TensorSpec([None, None, 3], "uint8"),
        "gray": {"image": ks.TensorSpec([None, None, 1], "uint8")},
    }
    expected = [
        {
            "image": np.full((2, 3 + i, 3), 50 * i, np.uint8),
            "gray": {"image": np.full((2, 2, 1), i, np.uint8)},
        }
        for i in range(3)
    ]
    assert_elements_equal(list(ds), expected)
    assert_elements_equal([ds[2]], [expected[2]])


def test_pictures_have_the_size_and_channels_that_are_wanted() -> None:
    columns = ["image", "gray"]
    ds = ks.read_hf(GOLDEN / "pictures", columns=columns, size=(5, 4), channels=1)
    row = ds[1]
    assert row["image"].shape == row["gray"]["image"].shape == (5, 4, 1)
    threads = ks.read_hf(GOLDEN / "pictures", columns=columns, size=5, num_parallel_calls=2)
    assert [row["image"].shape for row in threads] == [(5, 5, 3)] * 3


def test_pictures_stay_bytes_where_nobody_wants_pixels() -> None:
    ds = ks.read_hf(GOLDEN / "pictures", decode=False)
    row = ds[2]
    assert row["image"].startswith(b"\x89PNG")
    assert [len(each["several"]) for each in ds] == [0, 1, 2]
    some = ks.read_hf(GOLDEN / "pictures", decode=["gray.image"])[1]
    assert some["gray"]["image"].shape == (2, 2, 1)
    assert isinstance(some["image"], bytes)
    with pytest.raises(ks.InvalidArgumentError, match=r"'odd'.*such are: 'image', 'gray.image'"):
        ks.read_hf(GOLDEN / "pictures", decode=["odd"])


def test_lists_of_pictures_and_sounds_are_not_decoded_but_read() -> None:
    with pytest.raises(ks.InvalidArgumentError, match=r"'several' holds lists of pictures.*decode"):
        ks.read_hf(GOLDEN / "pictures")
    with pytest.raises(ks.InvalidArgumentError, match=r"'audio' holds files of the kind Audio"):
        ks.read_hf(GOLDEN / "sounds")
    sounds = [row["audio"] for row in ks.read_hf(GOLDEN / "sounds", decode=False)]
    assert sounds == [b"RIFF\x00", b"RIFF\x01"]


def test_a_feature_that_is_not_decoded_in_datasets_is_not_decoded_here(tmp_path: Path) -> None:
    folder = written(tmp_path, picture_table((b"any", None)), {"image": IMAGE | {"decode": False}})
    assert ks.read_hf(folder)[0] == {"image": b"any"}


def test_choosing_other_columns_decodes_nothing(tmp_path: Path) -> None:
    table = picture_table((b"no picture", None)).append_column("x", pa.array([7]))
    ds = ks.read_hf(written(tmp_path, table, {"image": IMAGE, "x": {"_type": "Value"}}))
    assert [int(row["x"]) for row in ds.select("x")] == [7]
    with pytest.raises(CorruptRecordError, match=r"'image' cannot be decoded.*decode=False"):
        ds[0]


def test_damaged_pictures_can_be_left_out(tmp_path: Path) -> None:
    whole = ks.read_hf(GOLDEN / "pictures", decode=False)[0]["image"]
    table = picture_table((whole, None), (whole[:40], None), (whole, "x.png"))
    ds = ks.read_hf(written(tmp_path, table, {"image": IMAGE}), on_corrupt="skip")
    with pytest.warns(CorruptRecordWarning, match="1 damaged"):
        assert len(list(ds)) == 2


def test_files_that_are_only_named_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    table = picture_table((b"x", None), (None, str(tmp_path / "secret")))
    ds = ks.read_hf(written(tmp_path / "a", table, {"image": IMAGE}), decode=False)
    with pytest.raises(ks.ElementError, match=r"only names the file .*secret.*from_hf"):
        list(ds)


def test_a_missing_picture_is_a_missing_value(tmp_path: Path) -> None:
    folder = written(tmp_path, picture_table((None, None)), {"image": IMAGE})
    with pytest.raises(ks.ElementError, match="row 0: 'image' has no value"):
        list(ks.read_hf(folder, decode=False))
    assert ks.read_hf(folder, decode=False, missing={"image": b"-"})[0] == {"image": b"-"}


def test_translations_are_dicts() -> None:
    rows = list(ks.read_hf(GOLDEN / "translations"))
    assert rows[1]["pair"] == {"fr": b"mal", "en": b"bad"}
    assert rows[0]["many"]["language"].tolist() == [b"en", b"fr", b"fr"]
    assert rows[0]["many"]["translation"].tolist() == [b"a", b"b", b"c"]


def test_splits_are_chosen_by_name() -> None:
    folder = GOLDEN / "splits"
    assert [int(row["x"]) for row in ks.read_hf(folder, split="train")] == [0, 1, 2, 3, 4]
    assert [int(row["x"]) for row in ks.read_hf(folder, split="test")] == [100, 101]
    assert len(ks.read_hf(folder, split="none")) == 0
    assert list(ks.read_hf(folder, split="none")) == []
    assert len(ks.read_hf(folder / "train")) == 5
    with pytest.raises(ks.InvalidArgumentError, match=r"'train', 'test', 'none'.*split='train'"):
        ks.read_hf(folder)
    with pytest.raises(ks.InvalidArgumentError, match="no 'odd'"):
        ks.read_hf(folder, split="odd")
    with pytest.raises(ks.InvalidArgumentError, match="leave out split="):
        ks.read_hf(GOLDEN / "plain", split="train")


def test_sequences_of_dicts_of_older_versions_are_dicts_of_lists(tmp_path: Path) -> None:
    inner = {"p": {"_type": "Value"}, "a": {"_type": "Array2D", "shape": [1, 2]}}
    table = pa.table({"s": [{"p": [1, 2], "a": [[[1, 2]], [[3, 4]]]}]})
    for feature in (
        {"_type": "Sequence", "feature": inner, "length": -1},
        {key: {"_type": "List", "feature": item} for key, item in inner.items()},
    ):
        row = ks.read_hf(written(tmp_path, table, {"s": feature}))[0]["s"]
        assert row["p"].tolist() == [1, 2]
        assert row["a"].tolist() == [[[1, 2]], [[3, 4]]]


def test_lists_of_dicts_are_dicts_of_lists(tmp_path: Path) -> None:
    table = pa.table({"s": [[{"p": 1, "q": "x"}, {"p": 2, "q": "y"}], []]})
    for feature in ([{"p": {}, "q": TEXT}], {"_type": "List", "feature": {"p": {}, "q": TEXT}}):
        ds = ks.read_hf(written(tmp_path, table, {"s": feature}))
        assert ds[0]["s"]["p"].tolist() == [1, 2]
        assert ds[0]["s"]["q"].tolist() == [b"x", b"y"]


def test_missing_arrays_are_missing_values() -> None:
    table = pa.table({"x": pa.array([[[1, 2]], None, [[3, 4]]], pa.list_(pa.list_(pa.int64())))})
    rows = HfRows(table.schema, {"x": {"array": [1, 2]}}, missing={"x": -1})
    found = [row["x"].tolist() for row in rows.chunk(table.slice(1)).rows]
    assert found == [[[-1, -1]], [[3, 4]]]
    with pytest.raises(ks.ElementError, match="row 11: 'x' has no value"):
        HfRows(table.schema, {"x": {"array": [1, 2]}}).chunk(table, 10)


@given(
    values=st.lists(st.none() | st.lists(st.integers(-9, 9), min_size=6, max_size=6), max_size=7),
    shape=st.sampled_from([[2, 3], [None, 3], [1, 3, 2], [6, 1], [None, 1, 2]]),
    start=st.integers(0, 7),
)
def test_arrays_are_what_their_lists_say(
    values: list[list[int] | None], shape: list[int | None], start: int
) -> None:
    sizes = [-1 if size is None else size for size in shape]
    nested = [None if each is None else np.reshape(each, sizes).tolist() for each in values]
    kind = pa.int8()
    for _ in shape:
        kind = pa.list_(kind)
    table = pa.table({"x": pa.array(nested, kind)}).slice(start)
    given: dict[str, Any] = {"x": []} if shape[0] is None else {"x": -1}
    rows = HfRows(table.schema, {"x": {"array": shape}}, missing=given)
    empty = [] if shape[0] is None else np.full(sizes, -1).tolist()
    found = [row["x"].tolist() for row in rows.chunk(table).rows]
    assert found == [empty if each is None else each for each in nested[start:]]


@pytest.mark.parametrize(
    ("values", "shape"),
    [([[[1, 2]], [[1]]], [1, 2]), ([[[1, 2], [3, 4]]], [1, 2]), ([[[1, 2], None]], [2, 2])],
)
def test_arrays_of_another_shape_are_refused(values: Any, shape: list[int]) -> None:
    table = pa.table({"x": values})
    with pytest.raises(ks.ElementError, match=r"'x' has an array that is not of the shape"):
        HfRows(table.schema, {"x": {"array": shape}}).chunk(table)


def test_features_that_the_columns_are_not_are_refused() -> None:
    schema = pa.schema([("x", pa.int64()), ("y", pa.struct([("bytes", pa.binary())]))])
    for forms in ({"x": {"array": [1, 2]}}, {"x": {"list": {"file": "Image"}}}):
        with pytest.raises(ks.InvalidArgumentError, match="'x' has the type int64"):
            HfRows(schema, forms)
    with pytest.raises(ks.InvalidArgumentError, match="should be structs of bytes, path"):
        HfRows(schema, {"y": {"file": "Image"}})
    with pytest.raises(ks.InvalidArgumentError, match="shape"):
        parse_features({"x": {"_type": "Array2D", "shape": [None, None]}}, "here")


def test_unknown_features_are_what_their_types_are(tmp_path: Path) -> None:
    features = {"x": {"_type": "Tomorrow", "names": 3}, "y": None, "z": 5}
    ds = ks.read_hf(written(tmp_path, pa.table({"x": [1], "y": ["a"]}), features))
    assert ds[0] == {"x": 1, "y": b"a"}


def test_a_folder_of_another_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(ks.NoFilesError, match=r"has no state\.json.*read_parquet"):
        ks.read_hf(tmp_path)
    folder = written(tmp_path, pa.table({"x": [1]}), {})
    (folder / "dataset_info.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"dataset_info\.json"):
        ks.read_hf(folder)


def spoil_json(folder: Path) -> None:
    (folder / "state.json").write_text("{")


def spoil_object(folder: Path) -> None:
    (folder / "dataset_info.json").write_text("[]")


def spoil_files(folder: Path) -> None:
    (folder / "state.json").write_text('{"_data_files": 5}')


def name_a_file_outside(folder: Path) -> None:
    (folder / "state.json").write_text('{"_data_files": [{"filename": "../x.arrow"}]}')


def name_no_file(folder: Path) -> None:
    (folder / "state.json").write_text('{"_data_files": [{"filename": 1}]}')


def spoil_features(folder: Path) -> None:
    (folder / "dataset_info.json").write_text('{"features": [1]}')


@pytest.mark.parametrize(
    "spoil",
    [spoil_json, spoil_object, spoil_files, name_a_file_outside, name_no_file, spoil_features],
)
def test_nonsense_in_json_is_an_error_of_ours(
    spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = written(tmp_path, pa.table({"x": [1]}), {})
    spoil(folder)
    with pytest.raises(ks.InvalidArgumentError, match=str(tmp_path)):
        ks.read_hf(folder)


def test_what_is_cut_off_is_noticed(tmp_path: Path) -> None:
    folder = written(tmp_path, pa.table({"x": range(50)}), {})
    file = folder / "data-00000-of-00001.arrow"
    whole = file.read_bytes()
    # Eight bytes less is a cut between two messages, which looks like an end.
    for cut in (0, 9, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(ks.KeepsetError, match=file.name):
            list(ks.read_hf(folder))


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_an_error_of_ours_or_another_element(data: st.DataObject, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(GOLDEN / "arrays", folder, dirs_exist_ok=True)
    file = folder / "data-00000-of-00002.arrow"
    spoilt = bytearray(file.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(spoilt) - 1), min_size=1, max_size=4)):
        spoilt[place] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(spoilt)
    with suppress(ks.KeepsetError):
        list(ks.read_hf(folder).take(1000))


def test_a_compressed_stream_is_read_from_its_beginning(tmp_path: Path) -> None:
    folder = written(tmp_path, pa.table({"x": range(50)}), {})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    table = pa.table({"x": range(50)})
    with pa.ipc.new_stream(
        folder / "data-00000-of-00001.arrow", table.schema, options=options
    ) as writer:
        writer.write_table(table)
    ds = ks.read_hf(folder)
    assert [int(row["x"]) for row in ds] == list(range(50))
    with pytest.raises(ks.NotAddressableError, match="compressed"):
        ds[0]


def test_content_counts_and_the_place_does_not(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    folder = shutil.copytree(GOLDEN / "arrays", tmp_path / "here")
    assert len(list(ks.read_hf(folder).snapshot(kept))) == 4
    copy = shutil.copytree(folder, tmp_path / "there")
    assert ks.explain(ks.read_hf(copy).snapshot(kept), kept).hit
    names = sorted(copy.glob("*.arrow"))
    shutil.copy(names[1], names[0])
    assert not ks.explain(ks.read_hf(copy).snapshot(kept), kept).hit


def test_a_recipe_tells_a_folder(tmp_path: Path) -> None:
    ds = ks.read_hf(GOLDEN / "pictures", columns=["image", "gray"], size=4)
    again = ks.from_recipe(ks.Recipe.parse(ds.to_recipe().to_yaml()), on_change="error")
    assert_elements_equal(list(again), list(ds))
    assert again.to_recipe() == ds.to_recipe()


def test_folders_may_be_in_a_bucket(tmp_path: Path) -> None:
    from keepset.storage import open_store

    url = f"memory://{tmp_path.name}"
    store = open_store(url)
    for file in (GOLDEN / "splits").rglob("*"):
        if file.is_file():
            store.put(file.relative_to(GOLDEN).as_posix(), file.read_bytes())
    ds = ks.read_hf(f"{url}/splits", split="train")
    assert [int(row["x"]) for row in ds] == [0, 1, 2, 3, 4]


def test_nothing_of_datasets_is_imported() -> None:
    script = (
        "import sys, keepset as ks\n"
        f"ks.read_hf({str(GOLDEN / 'arrays')!r})[1]\n"
        "assert not {'datasets', 'PIL'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
