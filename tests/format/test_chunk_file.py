"""Chunk files give back exactly what was written, or say that they are damaged."""

import json
import os
import pickle
import struct
import subprocess
import sys
import zlib
from collections import namedtuple
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.tally import note_counts
from tests.format.bits import bits

from keepset.core.chunk import Chunk
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import RaggedTensorSpec, TensorSpec
from keepset.core.structure import structure_of
from keepset.errors import CorruptCacheError, ElementError
from keepset.format import chunk_file
from keepset.format.chunk_file import ChunkFileReader, ChunkFileWriter


def write(path: Path, *chunks: list[Any], note: Any = None) -> str:
    writer = ChunkFileWriter(str(path))
    for rows in chunks:
        writer.append(Chunk.from_rows(rows))
    writer.commit(note)
    return str(path)


def read(path: Path | str) -> list[Any]:
    reader = ChunkFileReader(str(path))
    return [row for number in range(len(reader)) for row in reader.chunk(number).rows]


def check_round_trip(path: Path, rows: list[Any]) -> None:
    write(path, rows)
    assert bits(tuple(read(path))) == bits(tuple(rows))


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Pixel:
    place: Point
    colour: Any


DTYPES = [
    *(np.dtype(code) for code in "?bhilqBHILQefdgFDG"),
    *map(np.dtype, ("M8[D]", "M8[ns]", "m8[25s]", "m8[us]", "M8", "m8")),
    *(
        np.dtype(getattr(ml_dtypes, name))
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "int2")
    ),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_comes_back_as_it_was(tmp_path: Path, dtype: np.dtype[Any]) -> None:
    # All patterns of a byte that every one of these dtypes can hold.
    raw = np.arange(3 * 4 * dtype.itemsize, dtype=np.uint8) % 2
    array = raw.view(dtype).reshape(3, 4)
    check_round_trip(tmp_path / "uniform", list(array))
    check_round_trip(tmp_path / "scalars", list(array[0]))
    check_round_trip(tmp_path / "varying", [array[0], array[1, :2], array])
    check_round_trip(tmp_path / "mixed", [array[0, 0], array, b"text"])
    check_round_trip(tmp_path / "ragged", [Ragged(array[0], [0, 1, 1, 4])] * 2)


def test_the_bits_of_every_nan_are_kept(tmp_path: Path) -> None:
    patterns = np.array([0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8DEADBEEF0001], np.uint64)
    check_round_trip(tmp_path / "f", list(patterns.view(np.float64)))
    halves = np.arange(1 << 16, dtype=np.uint16)
    check_round_trip(tmp_path / "h", [halves.view(np.float16), halves.view(np.float16)])
    check_round_trip(tmp_path / "b", [halves.view(ml_dtypes.bfloat16)] * 2)


def strings(*items: Any) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


ODD_STRINGS = [b"", b"\0", b"a\0\0", b"a", b"\xff" * 300, "ä".encode()]


@pytest.mark.parametrize(
    "rows",
    [
        ODD_STRINGS,
        [strings(*ODD_STRINGS), strings(*ODD_STRINGS[::-1])],
        [strings(*ODD_STRINGS).reshape(2, 3), strings(b"x").reshape(1, 1), strings()],
        [strings().reshape(0, 3), strings().reshape(0, 3)],
        [np.zeros((0, 3), np.int16), np.zeros((0, 3), np.int16)],
        [np.zeros((0, 3), np.int16), np.zeros((2, 0), np.int16), np.ones((1, 1), np.int16)],
        [np.int8(1), np.float32(2), np.arange(3), b"four", strings(b"5")],
        [Ragged([1.5, 2.5], np.array([0, 0, 2], np.int32)), Ragged([1.0], [0, 1])],
        [Ragged(Ragged(strings(b"a", b"", b"c\0"), [0, 1, 3]), [0, 2]), Ragged([b""], [0, 1])],
        [Ragged(np.zeros((2, 3, 4)), [0, 2]), Ragged(np.zeros((0, 3, 4)), [0, 0, 0])],
        [Sparse([[0, 1]], [5], (3, 2)), Sparse(np.zeros((0, 2)), np.zeros(0, np.int64), (0, 9))],
        [Sparse([[7]], strings(b"x\0"), (1 << 40,)), Sparse([[0, 0, 0]], [True], (1, 1, 1))],
        [None, None],
        [(), ()],
        [{}, {}],
        [{"b": np.int64(1), "a": (b"x", None, {})}, {"b": np.int64(2), "a": (b"y", None, {})}],
        [{2: np.int64(1), 1: b"int keys"}] * 2,
        [Point(np.int64(1), (np.zeros(2), b"")), Point(np.int64(2), (np.zeros(3), b"z"))],
    ],
    ids=str,
)
def test_elements_come_back_as_they_were(tmp_path: Path, rows: list[Any]) -> None:
    check_round_trip(tmp_path / "f", rows)


def test_dataclasses_come_back_as_named_tuples_of_one_class(tmp_path: Path) -> None:
    rows = [Pixel(Point(np.int64(i), b"y"), np.float32(i)) for i in range(3)]
    got = read(write(tmp_path / "f", rows[:2], rows[2:]))
    assert [type(row).__name__ for row in got] == ["Pixel"] * 3
    assert len({type(row) for row in got}) == len({type(row.place) for row in got}) == 1
    assert got[2].place == (2, b"y")
    assert structure_of(got[0]) == structure_of(rows[0])


def test_what_a_file_cannot_hold_is_an_error(tmp_path: Path) -> None:
    private = namedtuple("private", "a")
    private.__name__ = "not a name"
    with pytest.raises(ElementError, match="use strings as keys"):
        write(tmp_path / "f", [{(1, 2): np.int64(1)}])
    with pytest.raises(ElementError, match="not a name"):
        write(tmp_path / "f", [private(np.int64(1))])
    with pytest.raises(ElementError, match="type object cannot be kept"):
        write(tmp_path / "f", [object()])
    with pytest.raises(ElementError, match="only bytes"):
        write(tmp_path / "f", [strings(1)])
    assert os.listdir(tmp_path) == []


def test_uniform_columns_are_read_only_views_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "f", [{"a": np.arange(100), "b": np.float64(1)}] * 50)
    columns = ChunkFileReader(path).chunk(0).columns
    for column in columns:
        assert isinstance(column, np.ndarray)
        assert not column.flags.owndata
        assert not column.flags.writeable
        assert column.ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        ChunkFileReader(path).chunk(0).rows[0]["a"][0] = 1


def test_leaves_and_strings_are_read_only_too(tmp_path: Path) -> None:
    rows = [np.arange(2), strings(b"a"), Ragged([1], [0, 1])]
    reader = ChunkFileReader(write(tmp_path / "f", rows, [b"a", b"b"]))
    array, text, ragged = reader.chunk(0).rows
    for part in (array, text, ragged.values, ragged.row_splits, reader.chunk(1).columns[0]):
        assert isinstance(part, np.ndarray)
        assert not part.flags.writeable


def test_chunks_and_where_they_begin(tmp_path: Path) -> None:
    parts = [[np.int64(i) for i in range(a, b)] for a, b in ((0, 3), (3, 4), (4, 9))]
    reader = ChunkFileReader(
        write(tmp_path / "f", parts[0], [], parts[1], parts[2], note={"k": [1]})
    )
    assert (len(reader), reader.first_rows) == (3, [0, 3, 4, 9])
    assert [reader.chunk(number).rows for number in range(3)] == parts
    assert reader.note == {"k": [1]}
    assert reader.spec == (TensorSpec((), np.int64),)


def test_a_file_without_elements(tmp_path: Path) -> None:
    reader = ChunkFileReader(write(tmp_path / "f"))
    assert (len(reader), reader.first_rows, reader.spec, reader.note) == (0, [0], None, None)


def test_the_spec_covers_all_chunks(tmp_path: Path) -> None:
    def spec(*chunks: list[Any]) -> Any:
        return ChunkFileReader(write(tmp_path / "f", *chunks)).spec

    assert spec([np.zeros(2)], [np.zeros(3), np.zeros(4)]) == (TensorSpec((None,), np.float64),)
    assert spec([(b"", None)], [(b"x", None)]) == ((TensorSpec((), bytes), None),)
    ragged = [Ragged([1], [0, 1]), Ragged([1], [0, 0, 1])]
    assert spec(ragged) == (RaggedTensorSpec((None, None), np.int64),)
    assert spec([np.zeros(2)], [b"no common type"], [np.zeros(2)]) is None


def test_many_rows_without_bytes_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_file, "_MOST_ROWS", 10)
    reader = ChunkFileReader(write(tmp_path / "f", [None] * 25))
    assert reader.first_rows == [0, 10, 20, 25]


# Damage.


def small_file(path: Path) -> bytes:
    rows = [{"n": np.int16(i), "s": b"s" * i, "v": np.arange(i)} for i in range(3)]
    return Path(write(path, rows[:2], rows[2:], note={"draws": {}})).read_bytes()


def check_damaged(path: Path, content: bytes) -> None:
    # The mapping of a file that is rewritten in place would change under an older reader.
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    with pytest.raises(CorruptCacheError) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert " at byte " in text
    assert text.endswith("delete the file to compute it again")
    assert caught.value.path == str(path)
    assert f" at byte {caught.value.byte} " in text
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.path, copy.byte) == (text, str(path), caught.value.byte)


def test_a_file_cut_at_any_byte_is_found_out(tmp_path: Path) -> None:
    whole = small_file(tmp_path / "f")
    for length in range(len(whole)):
        check_damaged(tmp_path / "g", whole[:length])
    check_damaged(tmp_path / "g", whole + b"\0")
    note_counts("changed bytes", {"files": 1, "cuts": len(whole)})


def test_any_flipped_bit_is_found_out(tmp_path: Path) -> None:
    whole = small_file(tmp_path / "f")
    for byte in range(len(whole)):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[byte] ^= 1 << bit
            check_damaged(tmp_path / "g", bytes(flipped))
    note_counts("changed bytes", {"flips": 8 * len(whole)})


def test_damage_in_one_chunk_leaves_the_others(tmp_path: Path) -> None:
    rows = [[np.int64(i)] * 5 for i in range(3)]
    path = write(tmp_path / "f", *rows)
    reader = ChunkFileReader(path)
    content = bytearray(Path(path).read_bytes())
    content[reader._offsets[1] + 70] ^= 1
    os.unlink(path)
    Path(path).write_bytes(content)
    reader = ChunkFileReader(path)
    assert reader.chunk(0).rows == rows[0]
    assert reader.chunk(2).rows == rows[2]
    with pytest.raises(CorruptCacheError, match=r"chunk 1 at byte \d+ fails its checksum"):
        reader.chunk(1)


def test_files_of_other_kinds_and_versions(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no cache file at all " * 100)
    with pytest.raises(CorruptCacheError, match="not that of a Keepset cache file"):
        ChunkFileReader(str(tmp_path / "text"))
    content = bytearray(small_file(tmp_path / "f"))
    content[8] = 9
    content[60:64] = struct.pack("<I", zlib.crc32(content[:60]))
    (tmp_path / "new").write_bytes(content)
    with pytest.raises(CorruptCacheError, match="names version 9, but 1 is known"):
        ChunkFileReader(str(tmp_path / "new"))


def resealed(content: bytes) -> bytes:
    """A changed file with all its checksums made right again."""
    raw = bytearray(content)
    end = len(raw) - 64
    offset = struct.unpack_from("<Q", raw, end + 8)[0]
    if 64 <= offset < end:
        (length,) = struct.unpack_from("<Q", raw, offset)
        at = offset + 8 + length + -(8 + length) % 64
        position = 64
        while at + 24 <= end and position < offset:
            size = struct.unpack_from("<Q", raw, at)[0]
            raw[at + 16 : at + 24] = struct.pack("<q", zlib.crc32(raw[position : position + size]))
            position, at = position + size, at + 24
        raw[end + 24 : end + 28] = struct.pack("<I", zlib.crc32(raw[offset:end]))
    for start, stop in ((0, 60), (end, len(raw) - 4)):
        raw[stop : stop + 4] = struct.pack("<I", zlib.crc32(raw[start:stop]))
    return bytes(raw)


def test_resealing_an_unchanged_file_changes_nothing(tmp_path: Path) -> None:
    whole = small_file(tmp_path / "f")
    assert resealed(whole) == whole


@given(data=st.data())
def test_a_file_changed_on_purpose_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    content = bytearray(small_file(folder / "f"))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.binary(min_size=1, max_size=8))
        content[at : at + len(new)] = new[: len(content) - at]
    (folder / "g").write_bytes(resealed(bytes(content)))
    with suppress(CorruptCacheError):
        read(folder / "g")


def reframed(content: bytes, change: Any) -> bytes:
    """A file of one chunk whose header was changed, with sizes and checksums to match."""
    (length,) = struct.unpack_from("<Q", content, 64)
    header = json.loads(content[72 : 72 + length])
    buffers = content[64 + 8 + length + -(8 + length) % 64 :]
    change(header)
    text = json.dumps(header).encode()
    frame = struct.pack("<Q", len(text)) + text
    frame += bytes(-len(frame) % 64)
    (old_index,) = struct.unpack_from("<Q", content, len(content) - 64 + 8)
    kept = old_index - (len(content) - len(buffers))
    frame += buffers[:kept]
    raw = bytearray(content[:64] + frame + buffers[kept:])
    end = len(raw) - 64
    struct.pack_into("<Q", raw, end + 8, 64 + len(frame))
    (length,) = struct.unpack_from("<Q", raw, 64 + len(frame))
    at = 64 + len(frame) + 8 + length + -(8 + length) % 64
    struct.pack_into("<q", raw, at, len(frame))
    return resealed(bytes(raw))


HUGE = 1 << 60
LEAF = {"tensor": {"shape": None, "dtype": "string"}}


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(rows=HUGE),
        lambda h: h.update(rows=-1),
        lambda h: h.update(rows=True),
        lambda h: h.update(buffers=[HUGE]),
        lambda h: h.update(buffers=[]),
        lambda h: h.update(columns=[]),
        lambda h: h.update(columns=5),
        lambda h: h.update(columns=[None]),
        lambda h: h.update(structure={"record": "x", "fields": [["import os", LEAF]]}),
        lambda h: h.update(structure={"dict": [[["list"], LEAF]]}),
        lambda h: h.update(structure={"tuple": [LEAF, LEAF]}),
        lambda h: h.update(structure="leaf"),
        *(
            (lambda h, kind=kind: h.update(columns=[{"array": kind}]))
            for kind in (
                "pickle",
                ["array", "object", 1],
                ["array", "i4,i4", 1],
                ["array", "float16", 1],
                ["array", "int64", 2],
                ["array", "int64", HUGE],
                ["array", "int64", -1],
                ["scalar", "int64"],
                ["strings", 1],
            )
        ),
        *(
            (lambda h, kinds=kinds: h.update(columns=[{"leaves": kinds}]))
            for kinds in (
                [],
                [["array", "int64", HUGE]],
                [["array", "int64", 1], ["bytes"]],
                [["ragged", "float32", ["array", "int64", 1]]],
                [["ragged", "int64", ["array", "int64", 1]]],
                [["sparse", ["array", "int64", 1]]],
                [["unknown"]],
                [["bytes"]],
                [["strings", 1]],
                [["strings", HUGE]],
            )
        ),
    ],
)
def test_lies_in_a_header_are_refused(tmp_path: Path, change: Any) -> None:
    content = Path(write(tmp_path / "f", [np.arange(2), np.arange(3)])).read_bytes()
    assert reframed(content, lambda header: None)[64:72] != b""
    check_damaged(tmp_path / "g", reframed(content, change))


def test_an_unchanged_header_survives_reframing(tmp_path: Path) -> None:
    content = Path(write(tmp_path / "f", [np.arange(2), np.arange(3)])).read_bytes()
    (tmp_path / "g").write_bytes(reframed(content, lambda header: None))
    assert [row.tolist() for row in read(tmp_path / "g")] == [[0, 1], [0, 1, 2]]


# Writing.


@pytest.fixture(params=["unnamed", "named"])
def drafts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of writing: a file without a name, and one with a temporary name."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("the system has no files without a name")
    return str(request.param)


def test_nothing_is_there_before_commit(tmp_path: Path, drafts: str) -> None:
    path = tmp_path / "f"
    writer = ChunkFileWriter(str(path))
    writer.append(Chunk.from_rows([np.int64(1)]))
    assert not path.exists()
    assert drafts == "named" or os.listdir(tmp_path) == []
    writer.commit()
    assert os.listdir(tmp_path) == ["f"]
    assert read(path) == [1]
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_discarded_or_dropped_writer_leaves_nothing(tmp_path: Path, drafts: str) -> None:
    writer = ChunkFileWriter(str(tmp_path / "f"))
    writer.append(Chunk.from_rows([np.int64(1)]))
    writer.discard()
    writer.discard()
    ChunkFileWriter(str(tmp_path / "f")).append(Chunk.from_rows([np.int64(1)]))
    assert os.listdir(tmp_path) == []


def test_a_second_writer_replaces_and_older_readers_go_on(tmp_path: Path, drafts: str) -> None:
    path = tmp_path / "f"
    one, two = ChunkFileWriter(str(path)), ChunkFileWriter(str(path))
    one.append(Chunk.from_rows([np.int64(1)]))
    two.append(Chunk.from_rows([np.int64(2)]))
    one.commit()
    reader = ChunkFileReader(str(path))
    two.commit()
    assert reader.chunk(0).rows == [1]
    assert read(path) == [2]
    assert os.listdir(tmp_path) == ["f"]


def test_a_file_is_copied_where_it_cannot_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert read(write(tmp_path / "f", [np.int64(1)])) == [1]
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_in_commit_leaves_the_older_file(
    tmp_path: Path, drafts: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "f", [np.int64(1)])

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, step, fail)
        with pytest.raises(OSError, match="No space"):
            write(tmp_path / "f", [np.int64(2)])
    assert read(path) == [1]
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_a_killed_writer_leaves_nothing(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, numpy as np\n"
        "from keepset.core.chunk import Chunk\n"
        "from keepset.format.chunk_file import ChunkFileWriter\n"
        "writer = ChunkFileWriter(sys.argv[1])\n"
        "writer.append(Chunk.from_rows([np.zeros(1 << 18)] * 4))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "f")], check=False)
    assert done.returncode == -9
    assert os.listdir(tmp_path) == []


leaves = st.one_of(
    st.binary(max_size=5),
    st.integers(-100, 100).map(np.int64),
    st.floats(width=32).map(np.float32),
    st.lists(st.integers(0, 255), max_size=4).map(lambda values: np.array(values, np.uint8)),
    st.lists(st.binary(max_size=3), max_size=3).map(lambda values: strings(*values)),
    st.lists(st.lists(st.floats(), max_size=3).map(np.array), min_size=1, max_size=3).map(
        Ragged.from_rows
    ),
    st.lists(st.integers(0, 1), min_size=1, max_size=4).map(Sparse.from_dense),
)


@given(chunks=st.lists(st.lists(st.tuples(leaves, leaves), min_size=1, max_size=5), max_size=4))
def test_whatever_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[list[Any]]
) -> None:
    path = write(tmp_path_factory.mktemp("any") / "f", *chunks)
    assert bits(tuple(read(path))) == bits(tuple(row for rows in chunks for row in rows))
