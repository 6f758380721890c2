"""Small files that stand for large ones, and values nested deeper than any stack."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import time
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.faults.bad_input.own_files import sealed
from tests.faults.bad_input.peak import Peak
from tests.faults.bad_input.records import framed

import keepset as ks

LARGE = 1 << 28
MOST_GROWTH = 100 << 20


@pytest.mark.parametrize("record", ["[" * 20_000, '{"a":' * 20_000, "[" * 20_000 + "]" * 20_000])
def test_json_lines_nested_deep_are_refused(tmp_path: Path, record: str) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text('{"a": 1}\n{"a": ' + record + "}\n")
    with pytest.raises(ks.CorruptRecordError, match=r"line 2: .*more than 100 levels deep"):
        list(ks.read_json_lines(path))


def test_brackets_in_texts_are_not_levels(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    wide = {"text": "[{" * 500 + '"\\' * 9, "list": [[1]] * 300}
    path.write_text(f"{json.dumps(wide)}\n" * 3)
    assert len(list(ks.read_json_lines(path))) == 3


def test_texts_that_close_brackets_hide_no_level(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"a": ' + '{"b": "]}]}", "a":' * 20_000 + "1" + "}" * 20_001)
    with pytest.raises(ks.KeepsetError, match="levels deep"):
        list(ks.read_json_lines(path))


def test_json_in_an_archive_that_is_nested_deep_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "some.tar", "w") as archive:
        data = b"[" * 50_000
        info = tarfile.TarInfo("0.json")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    with pytest.raises(ks.KeepsetError):
        list(ks.read_webdataset(tmp_path / "some.tar"))


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "- " * 50_000, "{a: " * 50_000, "a:\n" + "  - \n" * 50_000, '{"a":' * 50_000],
)
def test_a_recipe_nested_deep_is_refused_at_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(text)
    began = time.process_time()  # what other programs do meanwhile does not count
    with pytest.raises(ks.RecipeError, match=r"deep\.yaml"):
        ks.from_recipe(path)
    assert time.process_time() - began < 10


def test_aliases_are_refused_before_they_grow(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    path.write_text("\n".join(lines))
    with pytest.raises(ks.RecipeError, match=r"line 2: .*aliases"):
        ks.from_recipe(path)


@pytest.mark.parametrize(
    "line",
    [f"stop: {'9' * 5000}", "stop: !!int x", "stop: !!python/object/apply:os.abort []", "1: 2"],
)
def test_a_value_that_yaml_cannot_make_names_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(f"keepset_recipe: 1\nstages:\n- stage: range\n  {line}\n")
    with pytest.raises(ks.RecipeError, match=r"odd\.yaml, line 4"):
        ks.from_recipe(path)


def test_a_compressed_file_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    maker = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    piece = b"line\n" * 200_000
    parts = [maker.compress(piece) for _ in range(LARGE // len(piece))]
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(b"".join(parts) + maker.flush())
    assert path.stat().st_size < LARGE / 200
    peak = Peak()
    assert next(iter(ks.read_text(path))) == b"line"
    assert peak.grown_bytes() < MOST_GROWTH


def test_a_chunk_of_another_size_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    for compression in ("GZIP", "SNAPPY", "ZSTD", "LZ4"):
        path = tmp_path / compression
        ks.Dataset.range(1000).map(lambda x: np.zeros(50)).save(path, compression)
        [commit] = (path / "commits").iterdir()
        facts = json.loads(commit.read_bytes())
        facts.pop("checksum")
        facts["manifest"]["chunks"][0][4] = LARGE << 4
        commit.write_bytes(sealed(json.dumps(facts, separators=(",", ":")).encode()))
        peak = Peak()
        with suppress(ks.KeepsetError):
            list(ks.load(path))
        assert peak.grown_bytes() < MOST_GROWTH


def test_a_gzip_chunk_of_nothing_is_damage(tmp_path: Path) -> None:
    from keepset.core.checksum import crc32c

    path = tmp_path / "kept"
    ks.Dataset.range(5).save(path, "GZIP")
    [commit], [segment] = (path / "commits").iterdir(), (path / "segments").iterdir()
    facts = json.loads(commit.read_bytes())
    facts.pop("checksum")
    chunk = facts["manifest"]["chunks"][0]
    nothing = gzip.compress(b"")
    data = segment.read_bytes()
    segment.write_bytes(data[: chunk[2]] + nothing + data[chunk[2] + chunk[5][0] :])
    facts["manifest"]["segments"][0]["bytes"] += len(nothing) - chunk[5][0]
    chunk[4:] = [0, [len(nothing)], [crc32c(nothing)]]
    commit.write_bytes(sealed(json.dumps(facts, separators=(",", ":")).encode()))
    with pytest.raises(ks.CorruptSnapshotError, match="segments/"):
        list(ks.load(path))


@pytest.mark.parametrize("told", ["9", "1", None, 1.0, True, 0, -1, [1]])
def test_the_format_of_a_commit_is_a_whole_number(tmp_path: Path, told: object) -> None:
    ks.Dataset.range(5).save(tmp_path / "kept")
    [commit] = (tmp_path / "kept" / "commits").iterdir()
    facts = json.loads(commit.read_bytes()) | {"format": told}
    facts.pop("checksum")
    commit.write_bytes(sealed(json.dumps(facts, separators=(",", ":")).encode()))
    with pytest.raises(ks.CorruptSnapshotError, match=r"its format is .*no whole number"):
        list(ks.load(tmp_path / "kept"))


@pytest.mark.parametrize("length", [1 << 33, 1 << 62, (1 << 64) - 1])
def test_a_length_that_no_record_has_is_called_that(tmp_path: Path, length: int) -> None:
    path = tmp_path / "some.tfrecord"
    path.write_bytes(framed(b"first") + framed(b"second", length))
    read = iter(ks.TFRecordDataset(str(path)))
    assert next(read) == b"first"
    with pytest.raises(
        ks.CorruptRecordError, match=f"record 1 at byte 21 has a length of {length}"
    ):
        next(read)


def test_an_array_file_that_tells_another_size_is_refused(tmp_path: Path) -> None:
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 2)}\n"
    path = tmp_path / "some.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(16))
    peak = Peak()
    with pytest.raises(ks.KeepsetError, match=r"some\.npy"):
        list(ks.read_npy(path))
    assert peak.grown_bytes() < MOST_GROWTH


def test_groups_in_groups_are_refused_or_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "deep.h5"
    with h5py.File(path, "w") as file:
        group = file
        for _ in range(2000):
            group = group.create_group("g")
        group["x"] = np.arange(3)
    with pytest.raises(ks.KeepsetError, match=r"deep\.h5"):
        list(ks.read_hdf5(path))


def test_a_column_of_lists_in_lists_is_refused_or_read(tmp_path: Path) -> None:
    kind = pa.int8()
    for _ in range(150):
        kind = pa.list_(kind)
    try:
        pq.write_table(pa.table({"x": pa.array([[]], kind)}), tmp_path / "deep.parquet")
    except pa.ArrowException:
        pytest.skip("this Arrow writes no such file")
    with suppress(ks.KeepsetError):
        list(ks.read_parquet(tmp_path / "deep.parquet"))
