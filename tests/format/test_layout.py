"""Every element that has a spec comes back from a record batch to the last bit."""

from __future__ import annotations

import io
import json
from collections import namedtuple
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.format.bits import bits

from keepset.core.chunk import Chunk
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import common_supertype, spec_of
from keepset.errors import ElementError
from keepset.format.encodings.encoding import TooLargeError
from keepset.format.layout import Layout
from keepset.format.message import Decompressor

Point = namedtuple("Point", ["x", "y"])

DTYPES = [
    *(np.dtype(code) for code in "?bhilqBHILQefdgFDG"),
    *map(np.dtype, ("M8[D]", "M8[ns]", "M8[s]", "m8[25s]", "m8[us]", "M8", "m8")),
    *(
        np.dtype(getattr(ml_dtypes, name))
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "int2")
    ),
]


def through_ipc(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(batch.serialize(), batch.schema)


def decompressed(batch: pa.RecordBatch, codec: str) -> pa.RecordBatch:
    """The batch as it comes back from a compressed message that is read once more."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    data = memoryview(sink.getvalue())
    schema_bytes = 8 + int.from_bytes(data[4:8], "little")
    return Decompressor(batch.schema, codec).read(data[schema_bytes:])


def check_round_trip(rows: list[Any], wide: bool = False) -> pa.RecordBatch:
    layout = Layout(common_supertype([spec_of(row) for row in rows]), wide)
    batch = layout.encode(Chunk.from_rows(rows))
    batch.validate(full=True)
    assert batch.schema.equals(layout.schema, check_metadata=True)
    read = layout.decode(through_ipc(batch), len(rows))
    assert bits(tuple(read.rows)) == bits(tuple(rows))
    for codec in ("lz4", "zstd") if layout.encodings else ():
        again = decompressed(batch, codec)
        again.validate(full=True)
        assert bits(tuple(layout.decode(again, len(rows)).rows)) == bits(tuple(rows))
    for row in read.rows:
        for leaf in read.structure.leaves(row):
            if isinstance(leaf, np.ndarray) and leaf.size:
                assert not leaf.flags.writeable
    return batch


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_comes_back_as_it_was(dtype: np.dtype[Any], wide: bool) -> None:
    # All patterns of a byte that every one of these dtypes can hold.
    raw = np.arange(3 * 4 * dtype.itemsize, dtype=np.uint8) % 2
    array = raw.view(dtype).reshape(3, 4)
    check_round_trip(list(array), wide)
    check_round_trip(list(array[0]), wide)
    check_round_trip([array, array[:2]], wide)
    check_round_trip([array[0], array[1, :2], array, array[0, 0]], wide)
    check_round_trip([Ragged(array[0], [0, 1, 1, 4])] * 2, wide)
    check_round_trip([Sparse([[1], [5]], array[0, :2], (9,))] * 2, wide)


def test_the_bits_of_every_nan_are_kept() -> None:
    patterns = np.array([0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8DEADBEEF0001], np.uint64)
    check_round_trip(list(patterns.view(np.float64)))
    halves = np.arange(1 << 16, dtype=np.uint16)
    check_round_trip([halves.view(np.float16), halves.view(np.float16)])
    check_round_trip([halves.view(ml_dtypes.bfloat16)] * 2)


def strings(*items: Any) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


ODD_STRINGS = [b"", b"\0", b"a\0\0", b"a", b"\xff" * 300, "ä".encode()]
ROWS: list[list[Any]] = [
    ODD_STRINGS,
    [strings(*ODD_STRINGS), strings(*ODD_STRINGS[::-1])],
    [strings(*ODD_STRINGS).reshape(2, 3), strings(b"x").reshape(1, 1)],
    [strings(*ODD_STRINGS).reshape(2, 3), strings(), b"one"],
    [strings().reshape(0, 3), strings().reshape(0, 3)],
    [np.zeros((0, 3), np.int16), np.zeros((0, 3), np.int16)],
    [np.zeros((0, 3), np.int16), np.zeros((2, 0), np.int16), np.ones((1, 1), np.int16)],
    [np.zeros(0, np.complex64), np.ones(3, np.complex64)],
    [Ragged([1.5, 2.5], [0, 0, 2]), Ragged([1.0], [0, 1]), Ragged(np.zeros(0), [0])],
    [Ragged([1.5, 2.5], np.array([0, 0, 2], np.int32))],
    [Ragged(Ragged(strings(b"a", b"", b"c\0"), [0, 1, 3]), [0, 2])],
    [Ragged(np.zeros((2, 3, 4)), [0, 2]), Ragged(np.zeros((0, 3, 4)), [0, 0, 0])],
    [Ragged(np.zeros((2, 3)), [0, 2]), Ragged(np.zeros((1, 5)), [0, 1])],
    [Sparse([[0, 1]], [5], (3, 2)), Sparse(np.zeros((0, 2)), np.zeros(0, np.int64), (0, 9))],
    [Sparse([[7]], strings(b"x\0"), (1 << 40,))],
    [Sparse([[0, 1]], [5], (3, 2)), Sparse([[0, 0, 0]], [1], (1, 1, 1))],
    [{"b": np.int8(1), "a": (np.arange(3), None)}, {"b": np.int8(2), "a": (np.arange(3), None)}],
    [{"a": {"b": np.int8(1)}, "a.b": np.int8(2)}],
    [Point(np.arange(2), {"z": b"q"}), Point(np.arange(2), {"z": b""})],
    [{1: np.int8(1), 2: ()}],
    [None, None],
    [(), ()],
]


@pytest.mark.parametrize("rows", ROWS, ids=repr)
def test_odd_elements_come_back_as_they_were(rows: list[Any]) -> None:
    check_round_trip(rows)
    check_round_trip(rows, wide=True)


leaf_shapes = st.lists(st.integers(0, 3), max_size=3)


@given(st.lists(leaf_shapes, min_size=1, max_size=6), st.sampled_from(DTYPES))
def test_arrays_of_any_shapes_come_back(shapes: list[list[int]], dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(len(shapes))
    rows = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
    check_round_trip([row if row.ndim else row[()] for row in rows])


def test_fixed_shapes_are_arrows_own_tensors_without_a_copy() -> None:
    images = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    chunk = Chunk.from_rows([{"image": image, "ok": np.bool_(True)} for image in images])
    layout = Layout(spec_of(chunk.rows[0]))
    batch = layout.encode(chunk)
    assert batch.schema.field("image").type == pa.fixed_shape_tensor(pa.uint8(), (4, 4, 3))
    assert batch.schema.field("ok").type == pa.bool8()
    message = batch.serialize()
    image = layout.decode(pa.ipc.read_record_batch(message, layout.schema), 2).columns[0]
    assert isinstance(image, np.ndarray)
    address = image.__array_interface__["data"][0]
    assert message.address <= address < message.address + message.size


def test_the_schema_says_what_the_elements_are() -> None:
    layout = Layout({"x": spec_of(np.zeros(3, ml_dtypes.bfloat16)), "y": (spec_of(b"q"),)})
    assert layout.schema.names == ["x", "y.0"]
    assert layout.schema.field("x").metadata[b"keepset.dtype"] == b"bfloat16"
    facts = json.loads(layout.schema.metadata[b"keepset"])
    assert facts["format"] == 1
    assert facts["spec"]["dict"][0][0] == "x"


def test_a_chunk_too_large_for_narrow_offsets_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("encoding", "strings"):
        monkeypatch.setattr(f"keepset.format.encodings.{module}._LARGEST_OFFSET", 10)
    for rows in ([b"eleven char"], [np.zeros(11), np.zeros(3)]):
        with pytest.raises(TooLargeError):
            check_round_trip(list(rows))
        check_round_trip(list(rows), wide=True)


def test_other_elements_than_promised_are_refused() -> None:
    layout = Layout({"x": spec_of(np.int64(1))})
    with pytest.raises(ElementError, match="one structure"):
        layout.encode(Chunk.from_rows([np.int64(1)]))
