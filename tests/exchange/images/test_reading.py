"""Folders of pictures, in and out, with files that Pillow made."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.core.spec import is_compatible
from keepset.exchange.images.pictures import PixelFormat
from keepset.testing import assert_elements_equal, check_dataset


def picture(path: Path, colour: Any = (10, 20, 30), size: tuple[int, int] = (4, 3)) -> Path:
    """A picture of one colour, of this height and width, under any ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new("RGB", size[::-1], colour).save(path)
    return path


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Five pictures in three folders, one of which is deeper."""
    folder = tmp_path / "pets"
    for number, name in enumerate(
        ["dog/2.png", "cat/1.png", "cat/deep/0.png", "cat/10.PNG", "ant/5.png"]
    ):
        picture(folder / name, (number, 0, 0))
    (folder / "cat" / ".hidden.png").write_bytes(b"")
    (folder / "cat" / "notes.txt").write_text("no picture")
    return folder


def names(ds: ks.Dataset, folder: Path) -> list[str]:
    return [os.path.relpath(os.fsdecode(element["path"]), folder) for element in ds]


def natural(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Pixels that are alike if they are near, as those of photographs are."""
    waves = np.fft.fft2(np.random.default_rng(seed).normal(size=(height, width, 3)), axes=(0, 1))
    rows, columns = np.fft.fftfreq(height)[:, None, None], np.fft.fftfreq(width)[None, :, None]
    distance = np.hypot(rows, columns)
    distance[0, 0] = 1
    pixels = np.fft.ifft2(waves / distance, axes=(0, 1)).real
    return np.clip(128 + 50 * (pixels - pixels.mean()) / pixels.std(), 0, 255).astype(np.uint8)


def encoded(image: PIL.Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


# Which files, and in which order.


def test_a_folder_is_searched_in_the_order_of_the_names(pets: Path) -> None:
    ds = ks.read_images(pets)
    assert names(ds, pets) == [
        "ant/5.png",
        "cat/1.png",
        "cat/10.PNG",
        "cat/deep/0.png",
        "dog/2.png",
    ]
    assert [int(e["label"]) for e in ds] == [0, 1, 1, 1, 2]
    assert [int(e["image"][0, 0, 0]) for e in ds] == [4, 1, 3, 2, 0]
    assert ks.class_names(pets) == ks.class_names(ds) == ["ant", "cat", "dog"]
    assert ks.class_names(ds.batch(2, drop_remainder=True)) == ["ant", "cat", "dog"]
    assert ds.element_spec == {
        "image": ks.TensorSpec((None, None, 3), np.uint8),
        "label": ks.TensorSpec((), np.int64),
        "path": ks.TensorSpec((), ks.string),
    }


@pytest.mark.parametrize("calls", [None, 2])
def test_pictures_keep_the_promises_of_a_source(pets: Path, calls: int | None) -> None:
    expected = list(ks.read_images(pets))
    check_dataset(
        lambda: ks.read_images(pets, num_parallel_calls=calls), expected=expected, quick=True
    )


def test_the_length_is_known_and_pictures_are_had_by_position(pets: Path) -> None:
    ds = ks.read_images(pets, size=2)
    assert len(ds) == 5
    assert names(ds[3:4], pets) == ["cat/deep/0.png"]
    assert sorted(names(ds.shuffle(ks.GLOBAL, seed=1), pets)) == names(ds, pets)
    assert [int(e["label"]) for e in ds.gather([4, 0, 4])] == [2, 0, 2]


def test_files_may_be_named_in_many_ways(pets: Path, tmp_path: Path) -> None:
    cat, dog = pets / "cat" / "1.png", pets / "dog" / "2.png"
    listing = tmp_path / "list.txt"
    listing.write_text(f"\ufeffpets/dog/2.png\r\n\n{cat}\n", encoding="utf-8")
    wanted = ["dog/2.png", "cat/1.png"]
    sources: list[Any] = [[dog, str(cat)], np.array([str(dog), str(cat)]), listing, str(listing)]
    for source in sources:
        ds = ks.read_images(source)
        assert names(ds, pets) == wanted
        assert [int(e["label"]) for e in ds] == [1, 0]
        assert ks.class_names(ds) == ["cat", "dog"]
    assert names(ks.read_images(ks.read_path_list(listing)), pets) == wanted
    assert names(ks.read_images(pets / "*" / "?.png"), pets) == ["ant/5.png", *wanted[::-1]]
    assert names(ks.read_images(dog), pets) == ["dog/2.png"]
    one = ks.Dataset.from_tensor_slices([str(dog)]).map(lambda name: name)
    assert names(ks.read_images(one, labels=None), pets) == ["dog/2.png"]
    with pytest.raises(ks.InvalidArgumentError, match="not known before it runs"):
        ks.read_images(one)


@pytest.mark.parametrize("name", ["x.tiff", "x.svg", "deep.v2/x.heic"])
def test_a_file_of_another_kind_is_not_taken_for_a_list(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("<svg/>")
    ending = name.rpartition(".")[2]
    said = rf"{name}.* '\.{ending}', .*jpg, .*bmp.*txt.*read_path_list"
    for labels in ("folder", None):
        with pytest.raises(ks.InvalidArgumentError, match=said):
            ks.read_images(file, labels=labels)


@pytest.mark.parametrize("name", ["list", "deep.v2/list", "x.TXT", "x.lst", "x.list", "x.tsv"])
def test_lists_have_these_endings_or_none(pets: Path, tmp_path: Path, name: str) -> None:
    listing = tmp_path / name
    listing.parent.mkdir(exist_ok=True)
    listing.write_text(f"{pets}/dog/2.png\n")
    assert names(ks.read_images(listing), pets) == ["dog/2.png"]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ks.NoFilesError, match="nowhere"):
        ks.read_images(tmp_path / "nowhere")
    with pytest.raises(ks.NoFilesError, match=r"jpg, jpeg, png"):
        ks.read_images(tmp_path)
    with pytest.raises(ks.NoFilesError, match="names no pictures"):
        ks.read_images([])
    with pytest.raises(FileNotFoundError, match=r"gone\.png"):
        list(ks.read_images([tmp_path / "gone.png"]))


def test_pictures_may_be_in_a_bucket(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/pets"
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 2, 2, 3)
    ds = ks.Dataset.from_tensor_slices({"image": pixels, "label": [0, 1, 1, 0]})
    assert ds.write_images(url, label_names=["cat", "dog"]) == 4
    back = ks.read_images(url)
    assert [int(e["label"]) for e in back] == [0, 0, 1, 1]
    assert ks.class_names(url) == ["cat", "dog"]
    assert_elements_equal(back[1]["image"], pixels[3])
    listing = f"{url}/labels.txt"
    again = ks.read_images(listing, labels=listing)
    assert_elements_equal([e["image"] for e in again], list(pixels))
    assert [int(e["label"]) for e in ks.read_images(f"{url}/dog/*.png")] == [0, 0]


# Labels.


def test_an_empty_folder_is_a_class_too(pets: Path) -> None:
    (pets / "bee").mkdir()
    assert ks.class_names(pets) == ["ant", "bee", "cat", "dog"]
    assert [int(e["label"]) for e in ks.read_images(pets)] == [0, 2, 2, 2, 3]


def test_class_names_can_be_given(pets: Path) -> None:
    ds = ks.read_images(pets, class_names=["dog", "wolf", "cat", "ant"])
    assert [int(e["label"]) for e in ds] == [3, 2, 2, 2, 0]
    with pytest.raises(ks.InvalidArgumentError, match=r"5\.png is of the class 'ant'"):
        ks.read_images(pets, class_names=["dog", "cat"])
    with pytest.raises(ks.InvalidArgumentError, match="twice"):
        ks.read_images(pets, class_names=["dog", "dog", "cat", "ant"])


def test_a_picture_in_no_folder_has_no_label(tmp_path: Path) -> None:
    picture(tmp_path / "some.png")
    with pytest.raises(ks.InvalidArgumentError, match=r"some\.png lies in no sub-folder"):
        ks.read_images(tmp_path)
    assert list(next(iter(ks.read_images(tmp_path, labels=None)))) == ["image", "path"]


@pytest.mark.parametrize(
    ("text", "labels", "classes"),
    [
        ("{0} 7\n{1}\t-3\n", [7, -3], None),
        ("{0},7\r\n{1},8", [7, 8], None),
        ("path,label\n{0},7\n{1},8\n", [7, 8], None),
        ('"{0}",7\n{1}, 8\n', [7, 8], None),
        ("{0},golden retriever\n{1},cat\nelse/3.png,ant\n", [1, 0], ["cat", "golden retriever"]),
        ("{0} dog\n{1} 5\n", [1, 0], ["5", "dog"]),
    ],
)
def test_labels_are_read_from_a_file(
    tmp_path: Path, text: str, labels: list[int], classes: list[str] | None
) -> None:
    paths = [picture(tmp_path / "pictures" / name) for name in ("a b.png", "c,d.png")]
    if "," in text and '"' not in text:
        paths[1] = paths[1].rename(tmp_path / "pictures" / "cd.png")
    file = tmp_path / "labels.txt"
    file.write_text(text.format(*(path.relative_to(tmp_path) for path in paths)))
    if '"' in text:
        file = file.rename(tmp_path / "labels.csv")
    ds = ks.read_images(paths, labels=file)
    assert [int(e["label"]) for e in ds] == labels
    if classes is None:
        with pytest.raises(ks.InvalidArgumentError, match="numbers of names"):
            ks.class_names(ds)
    else:
        assert ks.class_names(ds) == classes


def test_a_file_of_labels_must_know_all_pictures(tmp_path: Path) -> None:
    path, file = picture(tmp_path / "a.png"), tmp_path / "labels.txt"
    file.write_text("b.png 1\n")
    with pytest.raises(ks.InvalidArgumentError, match=r"no label for .*a\.png"):
        ks.read_images(path, labels=file)
    file.write_text("a.png 1\nb.png\n")
    with pytest.raises(ks.InvalidArgumentError, match=r"line 2 is 'b\.png'"):
        ks.read_images(path, labels=file)
    file.write_bytes(b"a.png 1\n\xff 2\n")
    with pytest.raises(ks.CorruptRecordError, match="line 2 is not UTF-8"):
        ks.read_images(path, labels=file)


def test_a_function_gives_any_label(pets: Path) -> None:
    ds = ks.read_images(pets, labels=lambda path: path.split(b"/")[-1])
    assert [e["label"] for e in ds][:2] == [b"5.png", b"1.png"]
    assert ds.element_spec["label"] == ks.TensorSpec((), ks.string)
    with pytest.raises(ks.InvalidArgumentError, match="leave it out"):
        ks.read_images(pets, labels=len, class_names=["a"])


def test_labels_and_paths_alone_open_no_file(pets: Path) -> None:
    ds = ks.read_images(pets)
    for path in pets.rglob("*.png"):
        path.write_bytes(b"gone")
    assert [int(e["label"]) for e in ds.select("label")] == [0, 1, 1, 1, 2]
    assert list(ds.select("label", "path")[0]) == ["label", "path"]
    with pytest.raises(ks.CorruptRecordError):
        list(ds)


# Pixels.


@pytest.mark.parametrize("kind", ["png", "webp", "gif", "bmp", "jpg", "jpeg"])
def test_all_formats_are_read(tmp_path: Path, kind: str) -> None:
    path = picture(tmp_path / f"some.{kind}", (200, 100, 0), (5, 7))
    element = ks.read_images(path, labels=None)[0]
    image = element["image"]
    assert image.shape == (5, 7, 3)
    assert image.dtype == np.uint8
    assert image.flags.writeable
    assert np.abs(image.astype(int) - [200, 100, 0]).max() < (8 if kind != "png" else 1)
    raw = ks.read_images(path, labels=None, decode=False)
    assert_elements_equal(raw[0], {"image": path.read_bytes(), "path": element["path"]})
    assert raw.element_spec["image"] == ks.TensorSpec((), ks.string)


def modes() -> Iterator[tuple[str, PIL.Image.Image, str, list[int]]]:
    """Pictures of every mode, and the colour that they have as RGBA."""
    yield "gray", PIL.Image.new("L", (2, 2), 90), "PNG", [90, 90, 90, 255]
    yield "bits", PIL.Image.new("1", (2, 2), 1), "PNG", [255, 255, 255, 255]
    yield "colours", PIL.Image.new("RGB", (2, 2), (1, 2, 3)), "PNG", [1, 2, 3, 255]
    yield "alpha", PIL.Image.new("RGBA", (2, 2), (1, 2, 3, 4)), "PNG", [1, 2, 3, 4]
    yield "gray alpha", PIL.Image.new("LA", (2, 2), (50, 60)), "PNG", [50, 50, 50, 60]
    palette = PIL.Image.new("RGB", (2, 2), (10, 200, 30)).quantize(4)
    yield "palette", palette, "GIF", [10, 200, 30, 255]
    deep = PIL.Image.fromarray(np.full((2, 2), 0x7A55, np.uint16))
    yield "16 bits", deep, "PNG", [0x7A, 0x7A, 0x7A, 255]
    yield "ink", PIL.Image.new("CMYK", (2, 2), (0, 255, 255, 0)), "JPEG", [255, 0, 0, 255]


@pytest.mark.parametrize("case", list(modes()), ids=lambda case: case[0])
def test_pictures_of_all_modes_are_converted(case: Any) -> None:
    _, image, kind, colour = case
    data = encoded(image, kind)
    for channels in (3, 4):
        pixels = PixelFormat(None, channels).decode(data)
        assert pixels.shape == (2, 2, channels)
        assert np.abs(pixels.astype(int) - colour[:channels]).max() <= 2
    gray = PixelFormat(None, 1).decode(data)
    assert gray.shape == (2, 2, 1)
    luminance = np.dot(colour[:3], [0.299, 0.587, 0.114])
    assert np.abs(gray.astype(int) - luminance).max() <= 2


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [None, (24, 16)])
def test_pictures_are_turned_upright(orientation: int, size: tuple[int, int] | None) -> None:
    upright = natural(48, 32)
    turns = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: upright.transpose(1, 0, 2)[::-1],
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: upright.transpose(1, 0, 2)[:, ::-1],
    }
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    stored = PIL.Image.fromarray(np.ascontiguousarray(turns[orientation]))
    pixels = PixelFormat(size).decode(encoded(stored, "PNG", exif=exif.tobytes()))
    expected = PIL.Image.fromarray(upright)
    if size is not None:
        expected = expected.resize((16, 24), PIL.Image.Resampling.BILINEAR)
    # One turned picture is resized in another order of its two directions.
    assert np.abs(pixels.astype(int) - np.asarray(expected)).max() <= (0 if size is None else 1)


def test_sizes_are_those_of_pillow(tmp_path: Path) -> None:
    image = PIL.Image.fromarray(natural(37, 61))
    data = encoded(image, "PNG")
    for size in [(12, 20), (74, 50), (37, 61)]:
        expected = np.asarray(image.resize(size[::-1], PIL.Image.Resampling.BILINEAR))
        assert_elements_equal(PixelFormat(size).decode(data), expected)
    path = tmp_path / "some.png"
    path.write_bytes(data)
    assert ks.read_images(path, labels=None, size=9)[0]["image"].shape == (9, 9, 3)
    spec = ks.read_images(path, labels=None, size=(9, 8), channels=1).element_spec
    assert spec["image"] == ks.TensorSpec((9, 8, 1), np.uint8)


@pytest.mark.parametrize("shape", [(600, 800), (501, 667)])
@pytest.mark.parametrize("lies", [False, True])
def test_a_large_jpeg_loses_less_than_jpeg_does(shape: tuple[int, int], lies: bool) -> None:
    original = PIL.Image.fromarray(natural(*shape))
    exif = PIL.Image.Exif()
    exif[0x0112] = 6 if lies else 1
    data = encoded(original, "JPEG", quality=90, exif=exif.tobytes())
    small = (96, 128)
    turned = original.rotate(-90, expand=True) if lies else original
    decoded = PIL.Image.open(io.BytesIO(data)).convert("RGB")
    decoded = decoded.rotate(-90, expand=True) if lies else decoded
    bilinear = PIL.Image.Resampling.BILINEAR
    whole = np.asarray(decoded.resize(small[::-1], bilinear)).astype(int)
    lost = np.abs(whole - np.asarray(turned.resize(small[::-1], bilinear))).mean()
    got = PixelFormat(small).decode(data)
    assert 0 < np.abs(whole - got).mean() < lost


def test_of_pictures_that_move_the_first_is_taken(tmp_path: Path) -> None:
    frames = [PIL.Image.new("RGB", (3, 3), colour) for colour in ("red", "blue")]
    for kind in ("gif", "webp"):
        path = tmp_path / f"some.{kind}"
        frames[0].save(path, save_all=True, append_images=frames[1:])
        pixels = ks.read_images(path, labels=None)[0]["image"]
        assert np.abs(pixels.astype(int) - [255, 0, 0]).max() < 4


def test_broken_notes_do_not_spoil_a_picture() -> None:
    image = PIL.Image.new("RGB", (2, 2), (1, 2, 3))
    data = encoded(image, "JPEG", exif=b"Exif\0\0not a TIFF at all")
    assert PixelFormat().decode(data).shape == (2, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": 2}, "choose 1"),
        ({"size": 0}, "at least 1"),
        ({"size": (1, 2, 3)}, "a height and a width"),
        ({"size": 1.5}, "integer"),
        ({"on_corrupt": "ignore"}, "'skip'"),
        ({"decode": False, "size": 3}, "leave out size"),
    ],
)
def test_bad_arguments_are_told_at_once(pets: Path, arguments: Any, message: str) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=message):
        ks.read_images(pets, **arguments)


def test_without_pillow_the_extra_is_named(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ks.MissingExtraError, match=r"keepset\[images\]"):
        ks.read_images(pets)
    assert len(list(ks.read_images(pets, decode=False))) == 5


# Damage.


@pytest.fixture
def damaged(pets: Path) -> Path:
    """Two of the five pictures cannot be read."""
    whole = encoded(PIL.Image.fromarray(natural(50, 50)), "PNG")
    (pets / "cat" / "1.png").write_bytes(whole[: len(whole) // 2])
    (pets / "dog" / "2.png").write_bytes(b"<html>not found</html>")
    return pets


def test_damage_is_named(damaged: Path) -> None:
    with pytest.raises(ks.CorruptRecordError, match=r"cat/1\.png cannot be read: .*truncated"):
        list(ks.read_images(damaged))
    ds = ks.read_images(damaged)
    with pytest.raises(ks.CorruptRecordError, match=r"dog/2\.png .* no picture of the formats"):
        ds[4]
    assert ds[0]["image"].shape == (4, 3, 3)
    (damaged / "ant" / "5.png").write_bytes(b"")
    with pytest.raises(ks.CorruptRecordError, match=r"5\.png .* it is empty") as caught:
        ds[0]
    assert caught.value.path.endswith("5.png")


@pytest.mark.parametrize("calls", [None, 2])
def test_damage_is_left_out_and_counted(damaged: Path, calls: int | None) -> None:
    ds = ks.read_images(damaged, on_corrupt="skip", num_parallel_calls=calls)
    with pytest.warns(ks.CorruptRecordWarning, match=r"^2 damaged .* the first: .*cat/1\.png"):
        assert names(ds, damaged) == ["ant/5.png", "cat/10.PNG", "cat/deep/0.png"]
    assert ds.cardinality() == ks.UNKNOWN_CARDINALITY
    with pytest.raises(ks.NotAddressableError, match="damaged"):
        ds[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ds = ks.read_images(damaged, on_corrupt="warn", num_parallel_calls=calls)
        assert len(list(ds)) == 3
    assert [str(each.message)[:8] for each in told] == ["left out", "left out", "2 damage"]


def test_a_state_knows_what_was_left_out_before(damaged: Path) -> None:
    ds = ks.read_images(damaged, on_corrupt="skip")
    iterator = iter(ds)
    next(iterator)
    next(iterator)
    with pytest.warns(ks.CorruptRecordWarning, match="^2 damaged"):
        assert len(list(ds.iterate(iterator.state()))) == 1


@pytest.mark.filterwarnings("ignore::keepset.CorruptRecordWarning")
def test_what_leaves_out_keeps_the_promises_of_a_source(damaged: Path) -> None:
    check_dataset(lambda: ks.read_images(damaged, on_corrupt="skip"), quick=True)


@pytest.mark.filterwarnings("ignore::keepset.CorruptRecordWarning")
def test_the_type_is_known_though_the_first_is_damaged(damaged: Path) -> None:
    (damaged / "ant" / "5.png").write_bytes(b"")
    ds = ks.read_images(damaged, labels=lambda path: 1.5, on_corrupt="skip")
    assert ds.element_spec["label"] == ks.TensorSpec((), np.float64)


def test_pictures_that_claim_to_be_huge_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = picture(tmp_path / "some.png", size=(30, 30))
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 400)
    with pytest.raises(ks.CorruptRecordError, match=r"some\.png .*MAX_IMAGE_PIXELS"):
        list(ks.read_images(path, labels=None))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_an_error_of_ours_or_other_pixels(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    spoilt = bytearray(encoded(PIL.Image.fromarray(natural(9, 9)), kind))
    for place in data.draw(st.lists(st.integers(0, len(spoilt) - 1), min_size=1, max_size=4)):
        spoilt[place] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.sampled_from([len(spoilt), len(spoilt) // 2]))
    path = tmp_path / f"some.{kind.lower()}"
    path.write_bytes(spoilt[:cut])
    ds = ks.read_images([path], labels=None, size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about what it makes of it
        try:
            element = ds[0]
        except ks.CorruptRecordError as error:
            message = str(error)
        else:
            assert is_compatible(ds.element_spec, element)
            return
    assert path.name in message


# Fingerprints, memory.


def test_content_counts_and_the_place_does_not(pets: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    def read(folder: Path, **arguments: Any) -> ks.Dataset:
        return ks.read_images(folder, **arguments).snapshot(kept)

    assert len(list(read(pets))) == 5
    copy = tmp_path / "copy"
    shutil.copytree(pets, copy)
    assert ks.explain(read(copy), kept).hit
    assert ks.explain(read(copy, num_parallel_calls=2), kept).hit
    assert not ks.explain(read(copy, size=2), kept).hit
    assert not ks.explain(read(copy, labels=None), kept).hit
    assert not ks.explain(read(copy, class_names=["dog", "cat", "ant"]), kept).hit
    picture(copy / "dog" / "2.png", (99, 99, 99))
    assert not ks.explain(read(copy), kept).hit


def test_what_is_left_out_counts(pets: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert len(list(ks.read_images(pets, on_corrupt="skip").snapshot(kept))) == 5
    assert ks.explain(ks.read_images(pets, on_corrupt="warn").snapshot(kept), kept).hit
    assert not ks.explain(ks.read_images(pets).snapshot(kept), kept).hit


def test_recipes_tell_all_of_it(pets: Path) -> None:
    for ds in (
        ks.read_images(pets, size=(3, 4), on_corrupt="warn", num_parallel_calls=2),
        ks.read_images(pets, decode=False, labels=None),
        ks.read_images(pets, class_names=["dog", "cat", "ant"]).select("label"),
    ):
        again = ks.from_recipe(ds.to_recipe())
        assert again.to_recipe() == ds.to_recipe()
        assert_elements_equal(list(again), list(ds))


def test_a_snapshot_keeps_bytes_or_pixels(pets: Path, tmp_path: Path) -> None:
    for decode in (False, True):
        ds = ks.read_images(pets, decode=decode).snapshot(tmp_path / "kept")
        first, second = list(ds), list(ds)
        assert_elements_equal(first, second)
        assert isinstance(first[0]["image"], np.ndarray if decode else bytes)


def test_memory_does_not_grow_with_the_folder(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    data = encoded(PIL.Image.new("RGB", (300, 300)), "PNG")
    for number in range(200):
        (tmp_path / "many" / f"{number}.png").write_bytes(data)

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            for _ in ks.read_images(sorted((tmp_path / "many").iterdir())[:count], labels=None):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(20)
    assert peak(200) - peak(20) < 20 * 270_000  # of 180 pictures more


# Writing.


def test_pictures_come_back_as_they_were(tmp_path: Path) -> None:
    pixels = np.stack([natural(8, 6, seed) for seed in range(30)])
    labels = np.arange(30) * 7 % 12
    folder, listing = tmp_path / "out", tmp_path / "out" / "labels.txt"
    ds = ks.Dataset.from_tensor_slices({"image": pixels, "label": labels})
    assert ds.write_images(folder) == 30
    back = ks.read_images(listing, labels=listing)
    assert_elements_equal([e["image"] for e in back], list(pixels))
    assert [int(e["label"]) for e in back] == labels.tolist()
    by_file = ks.read_images(folder, labels=listing)
    pairs = {e["path"]: int(e["label"]) for e in by_file}
    assert pairs == {e["path"]: int(e["label"]) for e in back}
    assert sorted(os.listdir(folder)) == sorted([*map(str, range(12)), "labels.txt"])


@pytest.mark.parametrize(
    ("kind", "quality", "ending", "most"),
    [
        ("png", None, "png", 0),
        ("webp", None, "webp", 0),
        ("webp", 90, "webp", 4),
        ("jpeg", None, "jpg", 2),
        ("jpg", 100, "jpg", 0.6),
    ],
)
def test_pictures_are_written_in_several_formats(
    tmp_path: Path, kind: str, quality: int | None, ending: str, most: float
) -> None:
    pixels = np.repeat(natural(40, 40)[..., :1], 3, axis=2)
    ds = ks.Dataset.from_tensors((pixels, 3))
    assert ds.write_images(tmp_path / "out", format=kind, quality=quality) == 1
    path = tmp_path / "out" / "3" / f"00000000.{ending}"
    with PIL.Image.open(path) as written:
        difference = np.abs(np.asarray(written).astype(int) - pixels).mean()
    assert difference <= most


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 1), (3, 4, 4)])
@pytest.mark.parametrize("kind", ["png", "webp"])
def test_gray_and_transparent_pictures_come_back(
    tmp_path: Path, shape: tuple[int, ...], kind: str
) -> None:
    pixels = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    assert ks.Dataset.from_tensors(pixels).write_images(tmp_path / "out", format=kind) == 1
    assert (tmp_path / "out" / "labels.txt").read_text() == f"00000000.{kind}\n"
    channels = shape[2] if len(shape) == 3 else 1
    back = ks.read_images(tmp_path / "out", labels=None, channels=channels)
    assert_elements_equal(back[0]["image"], pixels.reshape(*shape[:2], channels))


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    image = PIL.Image.fromarray(natural(5, 5))
    files = [encoded(image, kind) for kind in ("JPEG", "PNG", "WEBP", "GIF", "BMP")]
    ds = ks.Dataset.from_tensor_slices(
        {"image": files, "label": [b"a,b", b"c d", b"e", b"e", b"e"]}
    )
    folder, listing = tmp_path / "out", tmp_path / "out" / "labels.txt"
    assert ds.write_images(folder) == 5
    back = list(ks.read_images(listing, labels=listing, decode=False))
    assert [e["image"] for e in back] == files
    assert [Path(os.fsdecode(e["path"])).suffix for e in back] == [
        ".jpg",
        ".png",
        ".webp",
        ".gif",
        ".bmp",
    ]
    assert [int(e["label"]) for e in back] == [0, 1, 2, 2, 2]
    assert ks.class_names(folder) == ["a,b", "c d", "e"]


def test_what_read_images_gives_can_be_written(pets: Path, tmp_path: Path) -> None:
    ds = ks.read_images(pets)
    assert ds.write_images(tmp_path / "out", label_names=ks.class_names(ds)) == 5
    assert_elements_equal(
        [e["image"] for e in ks.read_images(tmp_path / "out")], [e["image"] for e in ds]
    )
    assert ks.class_names(tmp_path / "out") == ["ant", "cat", "dog"]


@pytest.mark.parametrize(
    ("element", "arguments", "message"),
    [
        (np.zeros((2, 2, 3), np.float32), {}, "float32; scale"),
        (np.zeros((2, 2, 2), np.uint8), {}, "this has 2"),
        (np.zeros((2, 0, 3), np.uint8), {}, r"shape \(2, 0, 3\)"),
        (np.zeros((2, 2, 4), np.uint8), {"format": "jpeg"}, "no transparency"),
        (b"no picture", {}, "element 0 are no picture"),
        ({"image": np.zeros((2, 2, 3), np.uint8), "mask": 1}, {}, "'mask'"),
        ({"picture": np.zeros((2, 2, 3), np.uint8)}, {}, "'picture'"),
        ((np.zeros((2, 2, 3), np.uint8), 1.5), {}, "whole number"),
        ((np.zeros((2, 2, 3), np.uint8), 3), {"label_names": ["a"]}, "only 1 names"),
        ((np.zeros((2, 2, 3), np.uint8), b"../up"), {}, "name of a folder"),
        ((np.zeros((2, 2, 3), np.uint8), 0), {"label_names": [".."]}, "name of a folder"),
        ((np.zeros((2, 2, 3), np.uint8), b"a"), {"label_names": ["a"]}, "label_names"),
        (np.zeros((2, 2, 3), np.uint8), {"format": "tiff"}, "'png', 'jpeg', 'webp'"),
        (np.zeros((2, 2, 3), np.uint8), {"quality": 5}, "has no quality"),
        (np.zeros((2, 2, 3), np.uint8), {"quality": 500, "format": "jpeg"}, "1 to 100"),
    ],
)
def test_what_cannot_be_written_is_told(
    tmp_path: Path, element: Any, arguments: Any, message: str
) -> None:
    with pytest.raises((ks.ElementError, ks.InvalidArgumentError), match=message):
        ks.Dataset.from_tensors(element).write_images(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists() or not os.listdir(tmp_path / "out")


def test_a_folder_that_is_not_empty_is_left_alone(pets: Path) -> None:
    before = sorted(pets.rglob("*"))
    ds = ks.Dataset.from_tensors(np.zeros((2, 2), np.uint8))
    with pytest.raises(ks.InvalidArgumentError, match=r"no labels\.txt, as if .* interrupted"):
        ds.write_images(pets)
    (pets / "labels.txt").write_text("")
    with pytest.raises(ks.InvalidArgumentError, match="written before"):
        ds.write_images(pets)
    assert sorted(pets.rglob("*")) == sorted([*before, pets / "labels.txt"])


def test_no_pictures_at_all_can_be_written(tmp_path: Path) -> None:
    none = ks.Dataset.from_tensors(np.zeros((2, 2), np.uint8)).take(0)
    assert none.write_images(tmp_path / "out") == 0
    assert (tmp_path / "out" / "labels.txt").read_text() == ""


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        for number in range(40):
            yield np.zeros((2, 2), np.uint8), number % 3
        raise FileNotFoundError("the source is gone")

    spec = (ks.TensorSpec((2, 2), np.uint8), ks.TensorSpec((), np.int64))
    ds = ks.Dataset.from_generator(broken, output_signature=spec)
    with pytest.raises(FileNotFoundError, match="the source is gone"):
        ds.write_images(tmp_path / "out")
    assert list(tmp_path.rglob("*")) == []
    assert ds.take(40).write_images(tmp_path / "out") == 40


def test_a_write_that_is_killed_has_no_list(tmp_path: Path) -> None:
    script = f"""
import os, signal
import numpy as np
import keepset as ks

def pictures():
    for number in range(100):
        yield np.full((2, 2), number, np.uint8), number % 3
    os.kill(os.getpid(), signal.SIGKILL)

spec = (ks.TensorSpec((2, 2), np.uint8), ks.TensorSpec((), np.int64))
ks.Dataset.from_generator(pictures, output_signature=spec).write_images({str(tmp_path / "out")!r})
"""
    killed = subprocess.run([sys.executable, "-c", script])
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out" / "labels.txt").exists()
    written = [p for p in (tmp_path / "out").rglob("*.png") if not p.name.startswith(".tmp-")]
    assert written
    for path in written:
        assert ks.read_images(path, labels=None)[0]["image"].shape == (2, 2, 3)


# Path lists.


def test_path_lists_move_with_their_files(pets: Path, tmp_path: Path) -> None:
    ds = ks.read_images(pets)
    assert ds.write_path_list(pets / "all.txt") == 5
    assert (pets / "all.txt").read_text().splitlines()[0] == "ant/5.png"
    moved = tmp_path / "moved"
    pets.rename(moved)
    assert names(ks.read_images(moved / "all.txt"), moved)[1:3] == ["cat/1.png", "cat/10.PNG"]


def test_relative_paths_stay_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = ks.Dataset.from_tensor_slices(["pets/1.png", "/else/2.png", "s3://bucket/3.png"])
    assert paths.write_path_list("list.txt") == 3
    assert list(ks.read_path_list("list.txt")) == list(paths)
    assert paths.write_path_list("lists/list.txt") == 3
    text = Path("lists/list.txt").read_text()
    assert text == "../pets/1.png\n/else/2.png\ns3://bucket/3.png\n"
    resolved = [os.path.abspath(os.fsdecode(p)) for p in ks.read_path_list("lists/list.txt")]
    assert resolved[0] == str(tmp_path / "pets" / "1.png")


def test_a_list_in_a_bucket_names_what_is_beside_it(tmp_path: Path) -> None:
    folder = f"memory://{tmp_path.name}/lists"
    paths = ks.Dataset.from_tensor_slices([f"{folder}/1.png", "memory://other/2.png"])
    assert paths.write_path_list(f"{folder}/list.txt") == 2
    assert list(ks.read_text(f"{folder}/list.txt")) == [b"1.png", b"memory://other/2.png"]
    assert list(ks.read_path_list(f"{folder}/list.txt")) == list(paths)


@pytest.mark.parametrize("path", [b"a\nb", b"a\r", b"\xff.png", b""])
def test_paths_that_no_list_can_hold_are_told(tmp_path: Path, path: bytes) -> None:
    with pytest.raises(ks.ElementError, match="list"):
        ks.Dataset.from_tensors(path).write_path_list(tmp_path / "list.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_list_takes_paths_only(tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match="the entry 'path' of dicts"):
        ks.Dataset.range(3).write_path_list(tmp_path / "list.txt")


def test_a_list_of_paths_with_a_nul_character_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_bytes(b"a\0.jpg\n")
    with pytest.raises(ks.KeepsetError, match="no path has a NUL character"):
        list(ks.read_images(tmp_path / "list.txt", labels=None))
