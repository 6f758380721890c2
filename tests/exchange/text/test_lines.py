"""Plain text and records of a fixed length."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.testing import assert_elements_equal, check_dataset


def test_lines_end_in_two_ways(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(b"one\r\n\ntwo\rthree\nfour")
    assert list(ks.read_text(path)) == [b"one", b"", b"two\rthree", b"four"]


def test_gzip_is_found_from_the_content(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.gz", tmp_path / "b.txt"
    plain.write_bytes(b"not packed\n")
    packed.write_bytes(gzip.compress(b"packed\n"))
    assert list(ks.read_text([plain, packed])) == [b"not packed", b"packed"]
    assert list(ks.read_text(packed, compression="GZIP")) == [b"packed"]
    with pytest.raises(ks.CorruptRecordError, match=r"a\.gz"):
        list(ks.read_text(plain, compression="GZIP"))
    with pytest.raises(ks.InvalidArgumentError, match="SNAPPY"):
        ks.read_text(plain, compression="SNAPPY")


def test_text_that_is_packed_is_written_by_its_name(tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensor_slices(["a", "b"])
    for name in ("one.txt.gz", "two.txt.gz"):
        assert ds.write_text(tmp_path / name) == 2
    with gzip.open(tmp_path / "one.txt.gz") as file:
        assert file.read() == b"a\nb\n"
    assert (tmp_path / "one.txt.gz").read_bytes() == (tmp_path / "two.txt.gz").read_bytes()


@pytest.mark.parametrize("line", [b"a\nb", b"a\r", b"\n"])
def test_lines_that_would_come_back_otherwise_are_refused(tmp_path: Path, line: bytes) -> None:
    ds = ks.Dataset.from_tensor_slices([b"sound", line])
    with pytest.raises(ks.ElementError, match=r"element 1: .* holds the end of a line"):
        ds.write_text(tmp_path / "some.txt")
    assert list(tmp_path.iterdir()) == []


def test_only_texts_are_lines(tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match="make texts of them"):
        ks.Dataset.range(3).write_text(tmp_path / "some.txt")


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.binary(max_size=6).filter(lambda x: b"\n" not in x and x[-1:] != b"\r")))
def test_any_lines_come_back(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "some.txt"
    signature = ks.TensorSpec((), ks.string)
    ds = ks.Dataset.from_generator(lambda: iter(lines), output_signature=signature)
    assert ds.write_text(path) == len(lines)
    assert list(ks.read_text(path)) == lines


# Records of a fixed length.


def records(count: int, size: int = 5) -> list[bytes]:
    return [bytes([n % 256]) * size for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("packed", [False, True])
def test_records_keep_the_promises_of_a_source(tmp_path: Path, count: int, packed: bool) -> None:
    for name in "ab":
        data = b"HEAD" + b"".join(records(count)) + b"END"
        (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)

    def read() -> ks.Dataset:
        return ks.read_fixed_length(tmp_path / "?", 5, header_bytes=4, footer_bytes=3)

    check_dataset(read, expected=records(count) * 2, quick=True)
    assert read().element_spec == ks.TensorSpec((), ks.string)
    if packed:
        with pytest.raises(ks.NotAddressableError, match="compressed"):
            read()[0]
    else:
        assert len(read()) == 2 * count
        if count:
            assert read()[count] == read()[0] == records(1)[0]


@pytest.mark.parametrize("packed", [False, True])
def test_many_records_are_read_from_anywhere(tmp_path: Path, packed: bool) -> None:
    size, count = 1000, 3000  # three pieces of what is read at a time
    numbers = np.arange(count, dtype=">i4").repeat(size // 4)
    data = b"HEAD" + numbers.tobytes() + b"END"
    (tmp_path / "some").write_bytes(gzip.compress(data, 1) if packed else data)
    ds = ks.read_fixed_length(tmp_path / "some", size, header_bytes=4, footer_bytes=3)
    values = ds.map(lambda record: np.frombuffer(record, ">i4")[0])
    assert [int(x) for x in values] == list(range(count))
    iterator = iter(values)
    for _ in range(1500):
        next(iterator)
    assert [int(x) for x in values.iterate(iterator.state())] == list(range(1500, count))
    if not packed:
        assert [int(x) for x in values.gather([2999, 0, 1049])] == [2999, 0, 1049]


@pytest.mark.parametrize("packed", [False, True])
def test_a_part_of_a_record_is_noticed(tmp_path: Path, packed: bool) -> None:
    data = b"aabbc"
    (tmp_path / "some").write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(ks.CorruptRecordError, match=r"some has 5 bytes.*records of 2"):
        list(ks.read_fixed_length(tmp_path / "some", 2))
    with pytest.raises(ks.CorruptRecordError, match="header of 9"):
        list(ks.read_fixed_length(tmp_path / "some", 2, header_bytes=9))
    assert list(ks.read_fixed_length(tmp_path / "some", 2, footer_bytes=1)) == [b"aa", b"bb"]


def test_records_may_be_in_a_bucket(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/some.txt"
    ks.Dataset.from_tensor_slices(["a", "b", "c"]).write_text(url)
    ds = ks.read_fixed_length(url, 2)
    assert_elements_equal([*ds, ds[2]], [b"a\n", b"b\n", b"c\n", b"c\n"])


def test_bad_lengths_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "some").write_bytes(b"")
    with pytest.raises(ks.InvalidArgumentError, match="at least 1"):
        ks.read_fixed_length(tmp_path / "some", 0)
    with pytest.raises(ks.InvalidArgumentError, match="header_bytes must be an integer"):
        ks.read_fixed_length(tmp_path / "some", 1, header_bytes=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", [None, "utf-8"])
def test_a_line_without_an_end_is_refused(tmp_path: Path, encoding: str | None) -> None:
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(b"a\nb\n")
        for _ in range(80):
            file.write(b" " * (1 << 20))
    message = r"bomb\.txt\.gz: line 3 does not end within 64 MB; look at what the file holds"
    ds = ks.read_text(path, encoding=encoding)
    assert len(list(ds.take(2))) == 2
    with pytest.raises(ks.CorruptRecordError, match=message) as caught:
        list(ds)
    assert caught.value.record == 3
