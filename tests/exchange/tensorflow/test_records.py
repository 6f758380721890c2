"""Records in any pieces, sound or damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepset.errors import CorruptRecordError
from keepset.exchange.tensorflow.masked_crc import (
    checksums_of_lengths,
    mask_all,
    masked_crc,
    unmasked,
)
from keepset.exchange.tensorflow.record_scan import FRAME_BYTES
from keepset.exchange.tensorflow.record_writer import frames
from keepset.exchange.tensorflow.records import RecordReader, frame

records_of_all_kinds = st.one_of(
    st.lists(st.binary(max_size=30), max_size=60),
    # Runs of one length take another way through the reader.
    st.tuples(st.integers(0, 12), st.integers(0, 80)).map(
        lambda both: [bytes([n % 256]) * both[0] for n in range(both[1])]
    ),
)


def pieces(data: bytes, sizes: list[int] | None = None) -> Iterator[memoryview]:
    """The bytes in pieces of these sizes, over and over; or whole."""
    if not sizes:
        yield memoryview(data)
        return
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield memoryview(data[at : at + size])
        at, turn = at + size, turn + 1


def read_all(reader: RecordReader, most: int = 1000) -> list[bytes]:
    found: list[bytes] = []
    while len(some := reader.read(most)):
        assert len(some) <= most
        found += map(bytes, some.pieces)
    return found


@pytest.mark.parametrize(
    ("record", "stored"),
    [
        (b"", "0000000000000000 29039807 d8ea82a2"),
        (b"hello", "0500000000000000 eab2043e 68656c6c6f bb1f1c19"),
        (b"x" * 10, "0a00000000000000 aea3bf3a 78787878787878787878 cf2bb7d1"),
    ],
)
def test_records_stand_in_files_as_tensorflow_writes_them(record: bytes, stored: str) -> None:
    assert frame(record) == bytes.fromhex(stored)


@given(records_of_all_kinds)
def test_records_of_one_length_are_written_as_others(records: list[bytes]) -> None:
    assert frames(records) == b"".join(map(frame, records))


@given(st.lists(st.integers(0, (1 << 63) - 1), min_size=1))
def test_checksums_of_lengths_are_those_of_their_bytes(lengths: list[int]) -> None:
    wanted = [masked_crc(length.to_bytes(8, "little")) for length in lengths]
    assert checksums_of_lengths(np.array(lengths)).tolist() == wanted


@given(st.lists(st.integers(0, (1 << 32) - 1), min_size=1))
def test_checksums_are_hidden_and_found_again(values: list[int]) -> None:
    plain = np.array(values, np.uint64)
    assert unmasked(mask_all(plain)).tolist() == values


@given(
    records_of_all_kinds,
    st.lists(st.integers(1, 40), max_size=5),
    st.integers(1, 50),
    st.booleans(),
)
def test_records_come_back_whatever_the_pieces(
    records: list[bytes], sizes: list[int], most: int, as_bytes: bool
) -> None:
    data = b"".join(map(frame, records))
    reader = RecordReader(pieces(data, sizes), "f", as_bytes=as_bytes)
    assert read_all(reader, most) == records
    assert (reader.record, reader.offset) == (len(records), len(data))


@given(records_of_all_kinds, st.lists(st.integers(1, 40), max_size=3), st.data())
def test_a_reader_can_begin_at_any_record(
    records: list[bytes], sizes: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(records)))
    whole = b"".join(map(frame, records))
    start = sum(len(record) + FRAME_BYTES for record in records[:place])
    reader = RecordReader(pieces(whole[start:], sizes), "f", first=place, offset=start)
    assert read_all(reader) == records[place:]
    advanced = RecordReader(pieces(whole, sizes), "f")
    advanced.advance_to(place)
    assert (advanced.record, advanced.offset) == (place, start)
    assert read_all(advanced) == records[place:]


@settings(max_examples=300)
@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=20),
    st.lists(st.integers(1, 40), max_size=3),
    st.data(),
)
def test_a_cut_file_gives_its_whole_records_and_says_so(
    records: list[bytes], sizes: list[int], data: st.DataObject
) -> None:
    whole = b"".join(map(frame, records))
    cut = data.draw(st.integers(0, len(whole) - 1))
    reader = RecordReader(pieces(whole[:cut], sizes), "f")
    found: list[bytes] = []
    ends = np.cumsum([len(record) + FRAME_BYTES for record in records])
    with suppress(CorruptRecordError):
        while len(some := reader.read(7)):
            found += map(bytes, some.pieces)
        assert cut in (0, *ends.tolist()), "a file that ends within a record seemed whole"
    assert found == records[: int(np.searchsorted(ends, cut, side="right"))]


@settings(max_examples=300)
@given(
    st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=20),
    st.lists(st.integers(1, 40), max_size=3),
    st.data(),
)
def test_a_flipped_bit_costs_its_record_and_no_other(
    records: list[bytes], sizes: list[int], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(map(frame, records)))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    ends = np.cumsum([len(record) + FRAME_BYTES for record in records])
    bad = int(np.searchsorted(ends, place, side="right"))
    reader = RecordReader(pieces(bytes(whole), sizes), "some/file")
    found: list[bytes] = []
    errors: list[CorruptRecordError] = []
    while True:
        try:
            some = reader.read(5)
        except CorruptRecordError as error:
            errors.append(error)
            continue
        if not len(some):
            break
        found += map(bytes, some.pieces)
    assert found == records[:bad] + records[bad + 1 :]
    [only] = errors
    assert (only.record, only.path) == (bad, "some/file")
    assert only.byte == (0, *ends.tolist())[bad]
    assert f"some/file: record {bad} at byte {only.byte}" in str(only)


def test_damage_comes_next_until_it_was_told() -> None:
    whole = bytearray(b"".join(map(frame, [b"one", b"two", b"three"])))
    whole[len(frame(b"one")) + 13] ^= 1
    reader = RecordReader(pieces(bytes(whole)), "f")
    assert [bytes(piece) for piece in reader.read(9).pieces] == [b"one"]
    assert (reader.record, reader.offset) == (1, 19)
    with pytest.raises(CorruptRecordError):
        reader.read(9)
    assert (reader.record, reader.offset) == (2, 38)
    assert read_all(reader) == [b"three"]


@given(st.integers(1, 4), st.integers(0, 30), st.lists(st.integers(1, 40), max_size=3), st.data())
def test_records_that_belong_together_come_together(
    group: int, count: int, sizes: list[int], data: st.DataObject
) -> None:
    records = data.draw(
        st.lists(st.binary(max_size=9), min_size=group * count, max_size=group * count)
    )
    reader = RecordReader(pieces(b"".join(map(frame, records)), sizes), "f", group=group)
    found: list[bytes] = []
    while len(some := reader.read(2 * group, 1)):
        assert len(some) % group == 0
        found += map(bytes, some.pieces)
    assert found == records


def test_a_file_that_ends_within_a_group_is_damaged() -> None:
    data = b"".join(map(frame, [b"a", b"b", b"c"]))
    reader = RecordReader(pieces(data), "f", group=2)
    assert len(reader.read(10)) == 2
    with pytest.raises(CorruptRecordError, match="record 3"):
        reader.read(10)


def test_a_length_beyond_reason_is_damage_even_with_a_checksum() -> None:
    length = (1 << 40).to_bytes(8, "little")
    data = length + masked_crc(length).to_bytes(4, "little") + b"x" * 100
    with pytest.raises(CorruptRecordError, match="record 0 at byte 0"):
        RecordReader(pieces(data), "f").read(10)


def test_a_broken_stream_gives_what_came_before_it() -> None:
    def failing() -> Iterator[memoryview]:
        yield memoryview(frame(b"whole") + frame(b"half")[:9])
        raise ValueError("the stream is broken")

    reader = RecordReader(failing(), "f")
    assert len(reader.read(10)) == 1
    with pytest.raises(CorruptRecordError, match="the stream is broken"):
        reader.read(10)
    assert len(reader.read(10)) == 0


def test_no_more_is_read_than_is_needed_to_say_that_it_is_no_record() -> None:
    """What is packed in a small file may be large."""
    asked = []

    def zeros() -> Iterator[memoryview]:
        for number in range(1000):
            asked.append(number)
            yield memoryview(bytes(1000))

    reader = RecordReader(zeros(), "a.gz")
    with pytest.raises(CorruptRecordError, match=r"record 0 at byte 0 .*is this a TFRecord"):
        reader.read(10)
    assert asked == [0]
    assert not len(reader.read(10))  # who goes on has the rest searched
    assert len(asked) == 1000


def test_what_is_closed_behind_damage_is_not_searched() -> None:
    asked = []

    def data() -> Iterator[memoryview]:
        for number in range(5):
            asked.append(number)
            yield memoryview(bytes(100) if number < 4 else frame(b"a"))

    reader = RecordReader(data(), "a")
    with pytest.raises(CorruptRecordError):
        reader.read(1)
    reader.close()
    assert not len(reader.read(1))
    assert asked == [0]
