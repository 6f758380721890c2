"""TFRecord files as data sets."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.core.run import start
from keepset.exchange.tensorflow import compression as compressions
from keepset.exchange.tensorflow import tfrecord
from keepset.exchange.tensorflow.record_index import SUFFIX
from keepset.exchange.tensorflow.records import frame
from keepset.storage import open_store
from keepset.testing.contract import check_dataset

WORDS = [f"{n}-{'x' * (n % 17)}".encode() for n in range(50)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.tfrecord"
    path.write_bytes(b"".join(map(frame, WORDS)))
    return path


def written(path: Path, words: list[bytes], compression: str | None) -> Path:
    with ks.TFRecordWriter(path, compression_type=compression) as writer:
        for word in words:
            writer.write(word)
    return path


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB", "SNAPPY"])
def test_what_was_written_is_read(compression: str | None, tmp_path: Path) -> None:
    path = written(tmp_path / "f", WORDS, compression)
    for asked in {compression, None}:
        assert list(ks.TFRecordDataset(path, asked)) == WORDS
    check_dataset(lambda: ks.TFRecordDataset(path), expected=WORDS, quick=True)


def test_it_keeps_the_contract_of_every_stage(file: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.tfrecord", WORDS[:7], "GZIP")
    check_dataset(lambda: ks.TFRecordDataset([file, other]), expected=WORDS + WORDS[:7])


def test_indexed_records_keep_it_too(file: Path) -> None:
    check_dataset(lambda: ks.TFRecordDataset(file)[:], expected=WORDS)


def test_files_that_others_compressed_are_read(tmp_path: Path) -> None:
    data = b"".join(map(frame, WORDS))
    (tmp_path / "a.gz").write_bytes(gzip.compress(data[:200]) + gzip.compress(data[200:]))
    (tmp_path / "b.z").write_bytes(zlib.compress(data))
    assert list(ks.TFRecordDataset(tmp_path / "a.gz")) == WORDS
    assert list(ks.TFRecordDataset(tmp_path / "b.z", "ZLIB")) == WORDS


def test_files_are_given_in_many_ways(file: Path, tmp_path: Path) -> None:
    written(tmp_path / "more.tfrecord", [b"more"], None)
    pattern = f"{tmp_path}/*.tfrecord"
    assert list(ks.TFRecordDataset(pattern)) == [b"more", *WORDS]
    names = ks.Dataset.from_tensor_slices([str(file), str(tmp_path / "more.tfrecord")])
    assert list(ks.TFRecordDataset(names)) == [*WORDS, b"more"]
    assert list(ks.TFRecordDataset([file, str(file)])) == WORDS * 2
    with pytest.raises(ks.NoFilesError, match="no file matches"):
        ks.TFRecordDataset(f"{tmp_path}/*.none")
    with pytest.raises(FileNotFoundError):
        list(ks.TFRecordDataset(tmp_path / "absent"))
    with pytest.raises(ks.InvalidArgumentError, match="not int"):
        ks.TFRecordDataset([3])


def test_a_name_with_wildcards_may_be_that_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path / "odd[1]*.tfrecord", WORDS, None)
    assert list(ks.TFRecordDataset(path)) == WORDS


def test_several_files_may_be_read_in_turn(tmp_path: Path) -> None:
    paths = [written(tmp_path / str(n), [b"%d%d" % (n, i) for i in range(3)], None) for n in (1, 2)]
    found = list(ks.TFRecordDataset(paths, num_parallel_reads=2))
    assert found == [b"10", b"20", b"11", b"21", b"12", b"22"]


def test_records_are_had_by_position(file: Path, tmp_path: Path) -> None:
    ds = ks.TFRecordDataset([file, file])
    assert ds.cardinality() == ks.UNKNOWN_CARDINALITY
    assert (ds[0], ds[49], ds[50], ds[-1]) == (WORDS[0], WORDS[49], WORDS[0], WORDS[49])
    assert list(ds[48:52]) == [*WORDS[48:], *WORDS[:2]]
    assert file.with_name(file.name + SUFFIX).exists()
    shuffled = list(ds.map(lambda x: x).shuffle(ks.GLOBAL, seed=1))
    assert sorted(shuffled) == sorted(WORDS * 2)
    assert shuffled != WORDS * 2
    kept = tmp_path / "indexes"
    assert ks.TFRecordDataset(file, index_dir=kept)[3] == WORDS[3]
    assert len(list(kept.iterdir())) == 1


def test_an_index_is_made_once_and_again_when_the_file_changes(file: Path) -> None:
    index = file.with_name(file.name + SUFFIX)
    assert ks.TFRecordDataset(file)[1] == WORDS[1]
    before = index.stat().st_mtime_ns
    assert ks.TFRecordDataset(file)[2] == WORDS[2]
    assert index.stat().st_mtime_ns == before
    written(file, [b"another"], None)
    assert ks.TFRecordDataset(file)[0] == b"another"
    index.write_bytes(index.read_bytes()[:-3] + b"xyz")
    assert ks.TFRecordDataset(file)[0] == b"another"


def test_an_index_goes_to_the_cache_where_the_folder_is_not_ours(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Root may write anywhere, so the place beside the file is taken by a folder.
    file.with_name(file.name + SUFFIX).mkdir()
    assert ks.TFRecordDataset(file)[5] == WORDS[5]
    assert len(list(cache.rglob(f"*{SUFFIX}"))) == 1


def test_compressed_records_are_not_had_by_position(tmp_path: Path) -> None:
    ds = ks.TFRecordDataset(written(tmp_path / "f", WORDS, "GZIP"))
    with pytest.raises(ks.NotAddressableError, match=r"GZIP.*save"):
        ds[0]


def test_damage_says_where_and_may_be_left_out(file: Path) -> None:
    data = bytearray(file.read_bytes())
    starts = [0]
    for word in WORDS:
        starts.append(starts[-1] + len(word) + 16)
    data[starts[7] + 12] ^= 1  # what is in it
    data[starts[20]] ^= 1  # its length
    file.write_bytes(bytes(data))
    with pytest.raises(ks.CorruptRecordError, match=f"record 7 at byte {starts[7]}") as caught:
        list(ks.TFRecordDataset(file))
    assert (caught.value.record, caught.value.byte) == (7, starts[7])
    sound = [word for n, word in enumerate(WORDS) if n not in (7, 20)]
    with pytest.warns(ks.CorruptRecordWarning, match="2 places"):
        assert list(ks.TFRecordDataset(file, on_corrupt="skip")) == sound
    with pytest.warns(ks.CorruptRecordWarning, match="1 place"):
        assert list(ks.TFRecordDataset(file, on_corrupt="stop")) == WORDS[:7]
    assert list(ks.TFRecordDataset(file).ignore_errors()) == sound
    with pytest.raises(ks.InvalidArgumentError, match="'error', 'skip', 'stop'"):
        ks.TFRecordDataset(file, on_corrupt="hide")


def test_a_cut_file_is_an_error_where_tensorflow_is_silent(file: Path) -> None:
    os.truncate(file, file.stat().st_size - len(WORDS[-1]) - 16 + 5)
    with pytest.raises(ks.CorruptRecordError, match="cut"):
        list(ks.TFRecordDataset(file))
    with pytest.warns(ks.CorruptRecordWarning):
        assert list(ks.TFRecordDataset(file, on_corrupt="stop")) == WORDS[:-1]


def test_a_wrong_compression_says_what_it_is(file: Path) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="not compressed"):
        list(ks.TFRecordDataset(file, "GZIP"))
    with pytest.raises(ks.InvalidArgumentError, match="no compression 'LZ4'"):
        ks.TFRecordDataset(file, "LZ4")


def test_files_in_a_bucket_are_read_too() -> None:
    store = open_store("memory://records")
    store.put("a/one.tfrecord", b"".join(map(frame, WORDS)))
    store.put("a/two.tfrecord", b"".join(map(frame, [b"two"])))
    assert list(ks.TFRecordDataset("memory://records/a/*.tfrecord")) == [*WORDS, b"two"]
    ds = ks.TFRecordDataset("memory://records/a/one.tfrecord")
    assert ds[17] == WORDS[17]
    with ks.TFRecordWriter("memory://records/b/three.tfrecord") as writer:
        writer.write(b"three")
    assert list(ks.TFRecordDataset("memory://records/b/three.tfrecord")) == [b"three"]


def test_a_snapshot_of_records_notices_that_a_file_changed(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert len(list(ks.TFRecordDataset(file).snapshot(kept))) == 50
    assert ks.explain(ks.TFRecordDataset(file), kept).hit
    written(file, [b"changed"], None)
    assert not ks.explain(ks.TFRecordDataset(file), kept).hit
    assert list(ks.TFRecordDataset(file).snapshot(kept)) == [b"changed"]


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"")
    assert list(ks.TFRecordDataset(tmp_path / "none")) == []
    for compression in ("GZIP", "ZLIB", "SNAPPY"):
        path = written(tmp_path / compression, [], compression)
        assert list(ks.TFRecordDataset(path)) == []


def test_a_writer_that_fails_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "f"

    def fail() -> None:
        with ks.TFRecordWriter(path) as writer:
            writer.write(b"one")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = ks.TFRecordWriter(tmp_path / "f", "GZIP")
    writer.write(b"one")
    writer.flush()
    writer.close()
    writer.close()
    for use in (lambda: writer.write(b"two"), writer.flush):
        with pytest.raises(ks.InvalidArgumentError, match="closed"):
            use()
    assert list(ks.TFRecordDataset(tmp_path / "f")) == [b"one"]


def test_options_are_those_of_tensorflow(tmp_path: Path) -> None:
    options = ks.TFRecordOptions(compression_type="GZIP", compression_level=9)
    with ks.TFRecordWriter(tmp_path / "f", options) as writer:
        writer.write("text")
    assert (tmp_path / "f").read_bytes()[:2] == b"\x1f\x8b"
    assert list(ks.TFRecordDataset(tmp_path / "f")) == [b"text"]
    with pytest.raises(ks.InvalidArgumentError, match="not both"):
        ks.TFRecordWriter(tmp_path / "f", options, compression_type="GZIP")


def test_files_on_s3_are_read_and_written(s3_url: str) -> None:
    for number, compression in enumerate((None, "GZIP")):
        with ks.TFRecordWriter(f"{s3_url}/part-{number}.tfrecord", compression) as writer:
            for word in WORDS:
                writer.write(word)
    assert list(ks.TFRecordDataset(f"{s3_url}/part-*.tfrecord")) == WORDS * 2
    assert ks.TFRecordDataset(f"{s3_url}/part-0.tfrecord")[-1] == WORDS[-1]
    ds = ks.Dataset.range(20).map(lambda x: {"x": x})
    ks.save(ds, f"{s3_url}/saved", "SNAPPY", format="tensorflow")
    ks.assert_equal(ks.load(f"{s3_url}/saved"), ds)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_pass_goes_on_from_behind_damage(tmp_path: Path, is_packed: bool) -> None:
    """At any place, where the next record was not searched for yet as well."""
    data = bytearray(b"".join(map(frame, WORDS)))
    for word in (3, 20, 21):
        data[sum(len(frame(each)) for each in WORDS[:word])] ^= 1
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(data) if is_packed else data)
    ds = ks.TFRecordDataset(path, on_corrupt="skip")
    with pytest.warns(ks.CorruptRecordWarning):
        whole = list(ds)
    assert whole == [word for n, word in enumerate(WORDS) if n not in (3, 20, 21)]
    node = ks.TFRecordDataset(path)._node
    cursor, found, was_lost = node.cursor(start(node)), list[bytes](), False
    while True:
        state = cursor.state()
        was_lost |= state.get("is_lost", False)
        cursor.close()
        cursor = node.cursor(start(node))
        cursor.restore(state)
        try:
            chunk = cursor.read(4)
        except ks.CorruptRecordError:
            continue
        if not len(chunk):
            break
        found += chunk.rows
    cursor.close()
    assert found == whole
    assert was_lost


def test_a_compressed_file_of_another_kind_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(100_000_000), 1))
    unpacked = []

    def watched(*arguments: Any) -> Iterator[memoryview]:
        for piece in compressions.pieces_of(*arguments):
            unpacked.append(len(piece))
            yield piece

    monkeypatch.setattr(tfrecord, "pieces_of", watched)
    with pytest.raises(ks.CorruptRecordError, match="is this a TFRecord file"):
        list(ks.TFRecordDataset(tmp_path / "a.gz"))
    assert 0 < sum(unpacked) <= compressions.PIECE_BYTES
