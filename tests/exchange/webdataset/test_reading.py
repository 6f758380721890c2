"""WebDataset archives: what the webdataset package writes is read, and what we write it reads."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import webdataset as wds

import keepset as ks
from keepset.exchange.webdataset.brace_names import expanded
from keepset.testing import assert_elements_equal, check_dataset


def archive(path: Path, files: dict[str, bytes], **options: Any) -> Path:
    """A tar file by Python's own module."""
    with tarfile.open(path, "w", **options) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def npy(array: Any, allow_pickle: bool = False) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=allow_pickle)
    return out.getvalue()


def png(colour: tuple[int, int, int] = (1, 2, 3), size: tuple[int, int] = (2, 4)) -> bytes:
    out = io.BytesIO()
    PIL.Image.new("RGB", size[::-1], colour).save(out, "PNG")
    return out.getvalue()


def theirs(path: Path) -> list[dict[str, Any]]:
    """What the webdataset package makes of an archive, undecoded."""
    samples = wds.WebDataset(str(path), shardshuffle=False)
    return [
        {key: value for key, value in sample.items() if key not in ("__url__", "__local_path__")}
        for sample in samples
    ]


# With the webdataset package, which leaves its files open.
leaves_open = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@leaves_open
@pytest.mark.parametrize("ending", ["tar", "tar.gz"])
def test_what_webdataset_writes_is_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"some.{ending}"
    pixels = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    with wds.TarWriter(str(path)) as writer:
        for number in range(5):
            writer.write(
                {
                    "__key__": f"part/{number:04d}",
                    "png": pixels + number,
                    "cls": number - 2,
                    "json": {"name": f"n{number}", "box": [1.5, number]},
                    "npy": np.full((number + 1, 2), number, np.int16),
                    "seg.png": pixels[..., :1].repeat(3, axis=2),
                    "txt": f"text {number}",
                }
            )
    ds = ks.read_webdataset(path)
    for number, sample in enumerate(ds):
        assert_elements_equal(
            sample,
            {
                "__key__": b"part/%04d" % number,
                "png": pixels + number,
                "cls": np.int64(number - 2),
                "json": {"name": b"n%d" % number, "box": np.array([1.5, number])},
                "npy": np.full((number + 1, 2), number, np.int16),
                "seg.png": pixels[..., :1].repeat(3, axis=2),
                "txt": b"text %d" % number,
            },
        )
    assert number == 4
    raw = list(ks.read_webdataset(path, decode=False))
    expected = [{**sample, "__key__": sample["__key__"].encode()} for sample in theirs(path)]
    assert raw == expected
    assert all(isinstance(value, bytes) for value in raw[0].values())


@leaves_open
def test_what_we_write_webdataset_reads(tmp_path: Path) -> None:
    pixels = np.arange(5 * 24, dtype=np.uint8).reshape(5, 2, 4, 3)
    ds = ks.Dataset.from_tensor_slices(
        {
            "png": pixels,
            "cls": np.arange(5),
            "depth": np.ones((5, 2, 2), np.float32),
            "caption": [f"ä {n}" for n in range(5)],
            "txt": [f"ö {n}" for n in range(5)],
            "index": np.arange(5, dtype=np.uint8),
        }
    ).map(lambda element: {**element, "json": {"size": [4, 2], "name": b"x", "ok": True}})
    path = tmp_path / "some.tar"
    assert ds.write_webdataset(path) == 5
    decoded = list(wds.WebDataset(str(path), shardshuffle=False).decode("rgb8"))
    assert [sample["__key__"] for sample in decoded] == [f"{n:09d}" for n in range(5)]
    for number, sample in enumerate(decoded):
        assert_elements_equal(sample["png"], pixels[number])
        assert sample["cls"] == sample["index"] == number
        assert_elements_equal(sample["depth.npy"], np.ones((2, 2), np.float32))
        assert sample["caption.bin"].decode() == f"ä {number}"
        assert sample["txt"] == f"ö {number}"
        assert sample["json"] == {"size": [4, 2], "name": "x", "ok": True}
    shards = tmp_path / "train-{:03d}.tar"
    assert ds.write_webdataset(shards, samples_per_shard=2) == 5
    urls = str(tmp_path / "train-{000..002}.tar")
    classes = [s["cls"] for s in wds.WebDataset(urls, shardshuffle=False).decode()]
    assert classes == list(range(5)) == [int(s["cls"]) for s in ks.read_webdataset(urls)]


# Reading.


@leaves_open
def test_samples_are_grouped_as_webdataset_groups_them(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "some.tar",
        {
            "__notes__": b"about the archive",
            "__notes__/some.txt": b"more about it",
            "a.d/1.left.TXT": b"1l",
            "a.d/1.txt": b"1",
            "a.d/._1.txt": b"of a Macintosh",
            "README": b"no ending",
            "a.d/2.txt": b"2",
            "a.d/2.left.txt": b"2l",
            "b/2.left.txt": b"3l",
            "b/2.txt": b"3",
        },
    )
    ours = list(ks.read_webdataset(path))
    assert ours == [
        {"__key__": b"a.d/1", "left.txt": b"1l", "txt": b"1"},
        {"__key__": b"a.d/2", "left.txt": b"2l", "txt": b"2"},
        {"__key__": b"b/2", "left.txt": b"3l", "txt": b"3"},
    ]
    assert ours == [{**each, "__key__": each["__key__"].encode()} for each in theirs(path)]


@leaves_open
@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_names_of_any_length_are_read(tmp_path: Path, kind: int) -> None:
    folder = "/".join(["folder" * 5] * 4)
    names = [f"{folder}/{'x' * length}" for length in (40, 90)]
    if kind != tarfile.USTAR_FORMAT:
        names += [f"{folder * 4}/ä", "y" * 300]
    path = archive(tmp_path / "some.tar", {f"{n}.cls": b"7" for n in names}, format=kind)
    assert [s["__key__"].decode() for s in ks.read_webdataset(path)] == names
    written = tmp_path / "again.tar"
    assert ks.read_webdataset(path).write_webdataset(written) == len(names)
    assert [s["__key__"] for s in theirs(written)] == names


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "some.tar", "w") as tar:
        for name, kind in [("d", tarfile.DIRTYPE), ("l.txt", tarfile.SYMTYPE)]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "1.txt"
            tar.addfile(info)
        info = tarfile.TarInfo("1.txt")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"one"))
    assert list(ks.read_webdataset(tmp_path / "some.tar")) == [{"__key__": b"1", "txt": b"one"}]


def test_several_archives_keep_the_promises_of_a_source(tmp_path: Path) -> None:
    for shard in range(3):
        files = {f"{shard}-{n}.png": png((n, 0, 0)) for n in range(4)}
        archive(tmp_path / f"{shard}.tar", files)
    archive(tmp_path / "empty.tar", {})
    names = [tmp_path / "empty.tar", *(tmp_path / f"{n}.tar" for n in range(3))]
    expected = [
        {"__key__": b"%d-%d" % (shard, n), "png": np.full((2, 4, 3), [n, 0, 0], np.uint8)}
        for shard in range(3)
        for n in range(4)
    ]
    for calls in (None, 2):
        check_dataset(
            lambda calls=calls: ks.read_webdataset(names, num_parallel_calls=calls),  # type: ignore[misc]
            expected=expected,
            quick=True,
        )


def test_recipes_tell_all_of_it(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "some.tar", {"1.png": png(), "1.cls": b"3", "2.png": b"", "2.cls": b"4"}
    )
    ds = ks.read_webdataset(path, columns=["cls", "png"], decode=["cls"], num_parallel_calls=2)
    again = ks.from_recipe(ds.to_recipe())
    assert again.to_recipe() == ds.to_recipe()
    assert_elements_equal(list(again), list(ds))


def test_pictures_are_resized_and_converted(tmp_path: Path) -> None:
    path = archive(tmp_path / "some.tar", {"1.png": png(), "1.cls": b" 3\n"})
    ds = ks.read_webdataset(path, size=(5, 6), channels=1)
    assert ds.element_spec == {
        "__key__": ks.TensorSpec((), ks.string),
        "png": ks.TensorSpec((5, 6, 1), np.uint8),
        "cls": ks.TensorSpec((), np.int64),
    }
    [sample] = ds
    assert sample["png"].shape == (5, 6, 1)
    assert sample["cls"] == 3


def test_only_some_entries_can_be_decoded(tmp_path: Path) -> None:
    files = {"1.json": b'{"a": null}', "1.seg.json": b"[1, 2]", "1.cls": b"3"}
    path = archive(tmp_path / "some.tar", files)
    [all_of_it] = ks.read_webdataset(path)
    assert_elements_equal(all_of_it["json"], {"a": None})
    [some] = ks.read_webdataset(path, decode=["cls", "seg.json"])
    assert some["json"] == b'{"a": null}'
    assert_elements_equal((some["seg.json"], some["cls"]), (np.array([1, 2]), np.int64(3)))
    [none] = ks.read_webdataset(path, decode=[])
    assert none["cls"] == b"3"


def test_entries_that_are_missing_name_the_sample(tmp_path: Path) -> None:
    files = {"1.cls": b"1", "1.txt": b"a", "2.cls": b"2", "3.cls": b"3", "3.txt": b"c"}
    path = archive(tmp_path / "some.tar", files)
    with pytest.raises(ks.ElementError, match=r"some\.tar: sample 1, '2', has no 'txt'.*columns"):
        list(ks.read_webdataset(path))
    assert [int(s["cls"]) for s in ks.read_webdataset(path, columns=["cls"])] == [1, 2, 3]
    del files["1.txt"]
    path = archive(tmp_path / "other.tar", files)
    with pytest.raises(ks.ElementError, match=r"sample 2, '3', has 'txt', unlike the first"):
        list(ks.read_webdataset(path))
    one = archive(tmp_path / "one.tar", {"1.cls": b"1"})
    third = archive(tmp_path / "third.tar", {"1.txt": b"a"})
    with pytest.raises(ks.ElementError, match=r"third\.tar has rows of the type"):
        list(ks.read_webdataset([one, third]))


def test_a_name_that_is_there_twice_is_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "some.tar", "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("1.txt"))
    with pytest.raises(ks.CorruptRecordError, match="'1', has 'txt' twice"):
        list(ks.read_webdataset(tmp_path / "some.tar"))


@pytest.mark.parametrize("entry", ["pyd", "pickle", "pkl", "pth", "mask.pkl"])
def test_nothing_is_unpickled(tmp_path: Path, entry: str) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "trapped"),)

    path = archive(tmp_path / "some.tar", {f"1.{entry}": pickle.dumps(Trap()), "1.cls": b"1"})
    with pytest.raises(ks.InvalidArgumentError, match=rf"'{entry}', which is pickled"):
        list(ks.read_webdataset(path))
    with pytest.raises(ks.InvalidArgumentError, match="pickled"):
        _ = ks.read_webdataset(path).element_spec
    assert len(list(ks.read_webdataset(path, decode=False))) == 1
    assert len(list(ks.read_webdataset(path, decode=["cls"]))) == 1
    assert [int(s["cls"]) for s in ks.read_webdataset(path, columns=["cls"])] == [1]
    assert not (tmp_path / "trapped").exists()


def test_pickles_in_arrays_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "some.tar", {"1.npy": npy(np.array([{}], object), True)})
    with pytest.raises(ks.CorruptRecordError, match="would run code"):
        list(ks.read_webdataset(path))


def test_arrays_of_all_kinds_are_read(tmp_path: Path) -> None:
    arrays = [
        np.float64(1.5),
        np.array(True),
        np.zeros((0, 3), np.int8),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(3, dtype=">i4"),
        np.array(["a", "bc"]),
    ]
    for number, array in enumerate(arrays):
        path = archive(tmp_path / f"{number}.tar", {"1.npy": npy(array)})
        [sample] = ks.read_webdataset(path)
        expected = ks.Dataset.from_tensors(array).get_single_element()
        assert_elements_equal(sample["npy"], expected)


# Damage.


DAMAGE = {
    "png": (png()[:-30], "damaged"),
    "cls": (b"three", "invalid literal"),
    "json": (b"{", "Expecting"),
    "npy": (npy(np.arange(9))[:-1], "not the length"),
}


@pytest.mark.parametrize("entry", DAMAGE)
def test_damage_in_a_sample_is_named(tmp_path: Path, entry: str) -> None:
    content, reason = DAMAGE[entry]
    sound = {"png": png(), "cls": b"3", "json": b"[]", "npy": npy(np.arange(9))}[entry]
    files = {f"{n}.{entry}": content if n in (2, 4) else sound for n in range(6)}
    path = archive(tmp_path / "some.tar", files)
    with pytest.raises(
        ks.CorruptRecordError, match=rf"some\.tar: '{entry}' of the sample '2' .*{reason}"
    ):
        list(ks.read_webdataset(path))
    for calls in (None, 2):
        ds = ks.read_webdataset(path, on_corrupt="skip", num_parallel_calls=calls)
        with pytest.warns(ks.CorruptRecordWarning, match=r"^2 damaged .*sample '2'"):
            assert [s["__key__"] for s in ds] == [b"0", b"1", b"3", b"5"]


def test_json_that_is_no_element_is_told(tmp_path: Path) -> None:
    path = archive(tmp_path / "some.tar", {"1.json": b'{"boxes": [{"x": 1}, {"x": 2}]}'})
    with pytest.raises(ks.ElementError, match=r"some\.tar: 'json' of the sample '1'.*decode=\["):
        list(ks.read_webdataset(path))


def test_an_archive_that_ends_too_early_is_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "some.tar", {f"{n}.txt": b"x" * 700 for n in range(4)})
    whole = path.read_bytes()
    archive(tmp_path / "sound.tar", {"9.txt": b"y"})
    end = 4 * 3 * 512  # of the files; what follows is zeros
    assert not any(whole[end:])
    for cut in [0, 100, 511, 512, 600, 1536, 2048, 4000, end, end + 512, end + 600, len(whole) - 1]:
        path.write_bytes(whole[:cut])
        with pytest.raises(ks.CorruptRecordError, match=r"some\.tar cannot be read"):
            list(ks.read_webdataset(path))
        # The last sample may have had more files, so it counts as damaged too.
        sound = [b"%d" % n for n in range(3) if (n + 2) * 1536 <= cut]
        for calls in (None, 2):
            ds = ks.read_webdataset(
                [path, tmp_path / "sound.tar"], on_corrupt="skip", num_parallel_calls=calls
            )
            with pytest.warns(ks.CorruptRecordWarning, match="^1 damaged"):
                assert [s["__key__"] for s in ds] == [*sound, b"9"]


def test_headers_that_fail_their_checksum_are_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "some.tar", {f"{n}.txt": b"x" for n in range(4)})
    spoilt = bytearray(path.read_bytes())
    spoilt[2048] ^= 1  # the name of the third file
    path.write_bytes(spoilt)
    with pytest.raises(ks.CorruptRecordError, match="checksum") as caught:
        list(ks.read_webdataset(path))
    assert caught.value.byte == 2048
    assert caught.value.path == str(path)


def changed(header: bytes, place: int, field: bytes) -> bytes:
    """A header with another field, and the checksum for it."""
    made = bytearray(header)
    made[place : place + len(field)] = field
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


def test_sizes_are_read_however_they_are_written(tmp_path: Path) -> None:
    info = tarfile.TarInfo("1.txt")
    info.size = 3
    header = info.tobuf(tarfile.USTAR_FORMAT)
    binary = changed(header, 124, b"\x80" + (3).to_bytes(11, "big"))
    info.pax_headers = {"size": "3", "comment": "nothing"}
    noted = info.tobuf(tarfile.PAX_FORMAT)
    noted = noted[:-512] + changed(noted[-512:], 124, b"00000000000\0")
    for number, start in enumerate((header, binary, noted)):
        path = tmp_path / f"{number}.tar"
        path.write_bytes(start + b"one".ljust(512, b"\0") + bytes(1024))
        assert list(ks.read_webdataset(path)) == [{"__key__": b"1", "txt": b"one"}]
    for number, (place, field) in enumerate([(124, b"-0000000007\0"), (156, b"S"), (124, b"zz")]):
        path = tmp_path / f"bad{number}.tar"
        path.write_bytes(changed(header, place, field) + bytes(2048))
        with pytest.raises(ks.CorruptRecordError, match=rf"bad{number}\.tar cannot be read"):
            list(ks.read_webdataset(path))


def test_what_is_behind_the_end_is_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "some.tar", {"1.txt": b"x"})
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(ks.CorruptRecordError, match="two archives"):
        list(ks.read_webdataset(path))


def test_damage_within_gzip_is_noticed(tmp_path: Path) -> None:
    plain = archive(tmp_path / "some.tar", {"1.bin": bytes(range(256)) * 40}).read_bytes()
    path = tmp_path / "some.tar.gz"
    spoilt = bytearray(gzip.compress(plain))
    spoilt[len(spoilt) // 2] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(ks.CorruptRecordError, match=r"some\.tar\.gz cannot be read"):
        list(ks.read_webdataset(path))


# Names.


def test_braces_are_resolved(tmp_path: Path) -> None:
    assert expanded("a-{08..11}.tar") == ["a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"]
    assert expanded("a-{8..10}.tar") == ["a-8.tar", "a-9.tar", "a-10.tar"]
    assert expanded("{a,b}/{1..2}") == ["a/1", "a/2", "b/1", "b/2"]
    assert expanded(["{0..1}", Path("c"), "*"]) == ["0", "1", "c", "*"]
    for bad in ("{}", "{a}", "{3..1}", "{0..9999999}"):
        with pytest.raises(ks.InvalidArgumentError, match=r"braces|range"):
            expanded(bad)
    odd = archive(tmp_path / "{odd}.tar", {"1.txt": b"x"})
    assert len(list(ks.read_webdataset(odd))) == 1


# Writing.


def sample(number: int) -> dict[str, Any]:
    return {"cls": np.int64(number), "bin": bytes([number])}


def samples(count: int) -> ks.Dataset:
    return ks.Dataset.range(count).map(sample)


def test_shards_are_of_equal_size_and_named(tmp_path: Path) -> None:
    assert samples(7).write_webdataset(tmp_path / "a-%02d.tar", samples_per_shard=3) == 7
    assert samples(6).write_webdataset(tmp_path / "b.tar.gz", samples_per_shard=3) == 6
    assert samples(2).write_webdataset(tmp_path / "c-{:d}.tar") == 2
    none = ks.Dataset.from_tensors(sample(0)).take(0)
    assert none.write_webdataset(tmp_path / "d-{}.tar") == 0
    assert sorted(os.listdir(tmp_path)) == [
        *("a-00.tar", "a-01.tar", "a-02.tar"),
        *("b-000000.tar.gz", "b-000001.tar.gz", "c-0.tar", "d-0.tar"),
    ]
    lengths = [len(list(ks.read_webdataset(tmp_path / f"a-0{n}.tar"))) for n in range(3)]
    assert lengths == [3, 3, 1]
    back = list(ks.read_webdataset(tmp_path / "a-*.tar"))
    assert [s["__key__"] for s in back] == [b"%09d" % n for n in range(7)]
    assert (tmp_path / "b-000001.tar.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert len(list(ks.read_webdataset(tmp_path / "b-*.gz"))) == 6


def test_old_shards_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    samples(4).write_webdataset(tmp_path / "a-{}.tar", samples_per_shard=2)
    before = (tmp_path / "a-0.tar").read_bytes()
    with pytest.raises(ks.InvalidArgumentError, match=r"a-0\.tar is there already"):
        samples(9).write_webdataset(tmp_path / "a-{}.tar", samples_per_shard=2)
    assert (tmp_path / "a-0.tar").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a-0.tar", "a-1.tar"]


def test_shards_that_fail_are_taken_back(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield from map(sample, range(5))
        raise FileNotFoundError("the source is gone")

    ds = ks.Dataset.from_generator(broken)
    with pytest.raises(FileNotFoundError, match="the source is gone"):
        ds.write_webdataset(tmp_path / "a-{}.tar", samples_per_shard=2)
    assert os.listdir(tmp_path) == []


def test_shards_that_are_killed_are_whole_or_not_there(tmp_path: Path) -> None:
    script = f"""
import os, signal
import keepset as ks

def numbers():
    for number in range(5000):
        yield {{"cls": number}}
    os.kill(os.getpid(), signal.SIGKILL)

spec = {{"cls": ks.TensorSpec((), "int64")}}
ds = ks.Dataset.from_generator(numbers, output_signature=spec)
ds.write_webdataset({str(tmp_path)!r} + "/a-{{}}.tar", samples_per_shard=20)
"""
    killed = subprocess.run([sys.executable, "-c", script])
    assert killed.returncode == -signal.SIGKILL
    shards = list(tmp_path.glob("a-*"))
    assert shards
    for shard in shards:
        assert len(list(ks.read_webdataset(shard))) == 20


def test_shards_may_be_in_a_bucket(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/train-{{:02d}}.tar"
    assert samples(5).write_webdataset(url, samples_per_shard=2) == 5
    for pattern in ("train-*.tar", "train-{00..02}.tar"):
        back = ks.read_webdataset(f"memory://{tmp_path.name}/{pattern}")
        assert [int(s["cls"]) for s in back] == list(range(5))


def test_equal_samples_make_equal_files(tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar", "a.tar.gz", "b.tar.gz"):
        samples(3).write_webdataset(tmp_path / name)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


@pytest.mark.parametrize(
    ("entry", "value", "name"),
    [
        ("image", np.zeros((2, 2, 3), np.uint8), "image.png"),
        ("jpg", np.zeros((2, 2, 3), np.uint8), "jpg"),
        ("mask.png", np.zeros((2, 2), np.uint8), "mask.png"),
        ("mask", np.zeros((2, 2), np.uint8), "mask.npy"),
        ("label", 3, "label.cls"),
        ("id", np.int8(3), "id"),
        ("weight", 0.5, "weight.npy"),
        ("cls", 0.5, "cls.npy"),
        ("x", b"bytes", "x.bin"),
        ("jpg", b"bytes", "jpg"),
        ("x.y", b"bytes", "x.y"),
        ("meta", {"a": 1}, "meta.json"),
        ("json", {"a": {"b": [1.5]}}, "json"),
        ("txt", "text", "txt"),
    ],
)
def test_entries_are_called_as_what_they_are(
    tmp_path: Path, entry: str, value: Any, name: str
) -> None:
    ds = ks.Dataset.from_tensors({entry: value})
    assert ds.write_webdataset(tmp_path / "some.tar") == 1
    [back] = ks.read_webdataset(tmp_path / "some.tar", decode=[name] if name != "jpg" else [])
    assert list(back) == ["__key__", name]
    if name not in ("jpg", "mask.png", "id"):
        assert_elements_equal(back[name], ds.get_single_element()[entry])


def test_pictures_are_written_as_asked_for(tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensors({"image": np.zeros((8, 8, 3), np.uint8)})
    for kind, ending, start in [("jpg", "jpg", b"\xff\xd8"), ("webp", "webp", b"RIFF")]:
        ds.write_webdataset(tmp_path / f"{kind}.tar", format=kind, quality=50)
        [back] = ks.read_webdataset(tmp_path / f"{kind}.tar", decode=False)
        assert back[f"image.{ending}"].startswith(start)
    with pytest.raises(ks.InvalidArgumentError, match="'webp'"):
        ds.write_webdataset(tmp_path / "some.tar", format="tiff")


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (np.int64(3), "samples are dicts"),
        ({"__key__": b"1"}, "samples are dicts"),
        ({"x": ks.Ragged.from_rows([[1], [2, 3]])}, "has no place in a sample"),
        ({"x": np.array([b"a", b"b"], object)}, "array of texts"),
        ({"x.pyd": b"x"}, "nothing is pickled"),
        ({"a/b": 1}, "its name"),
        ({"a..b": 1}, "its name"),
        ({"A": 1, "a": 2}, "lower case"),
        ({"a": 1, "a.cls": 2}, "lower case"),
        ({"__key__": b"a.b", "cls": 1}, "without dots"),
        ({"__key__": b"a/", "cls": 1}, "without dots"),
        ({"__key__": b"\xff", "cls": 1}, "without dots"),
        ({"json": {"a": b"\xff"}}, "cannot be JSON"),
        ({"jpg": np.zeros((2, 2, 4), np.uint8)}, "no transparency"),
    ],
)
def test_what_cannot_be_written_is_told(tmp_path: Path, element: Any, message: str) -> None:
    with pytest.raises(ks.ElementError, match=message):
        ks.Dataset.from_tensors(element).write_webdataset(tmp_path / "some.tar")
    assert os.listdir(tmp_path) == []


def test_keys_of_neighbours_must_differ(tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensors({"__key__": b"1", "cls": 1}).repeat(2)
    with pytest.raises(ks.ElementError, match="follow each other"):
        ds.write_webdataset(tmp_path / "some.tar")


@pytest.mark.parametrize("pattern", ["a-{0..9}.tar", "a-{x}.tar", "a-{}{}.tar", "a-{:q}.tar"])
def test_names_that_cannot_be_numbered_are_told(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=r"train-\{:06d\}\.tar"):
        samples(3).write_webdataset(tmp_path / pattern)


def test_json_keeps_what_json_can(tmp_path: Path) -> None:
    value = {"text": "ä\n", "none": None, "flag": True, "list": [1, 2], "deep": {"x": 0.1}}
    ds = ks.Dataset.from_tensors({"json": value})
    ds.write_webdataset(tmp_path / "some.tar")
    [raw] = ks.read_webdataset(tmp_path / "some.tar", decode=False)
    assert json.loads(raw["json"]) == value
    [back] = ks.read_webdataset(tmp_path / "some.tar", columns=["json"])
    assert_elements_equal(back, ds.get_single_element())
