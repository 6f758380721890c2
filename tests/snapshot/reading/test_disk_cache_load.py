"""load and snapshot with a cache on the local disk: what was read once is not fetched again."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from tests.snapshot.watched import Watched, loaded

import keepset as ks
from keepset.errors import InvalidArgumentError, ObjectMissingError
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import Location, locate
from keepset.storage import Store, disk_cache, open_store
from keepset.storage.disk_cache import CachedStore

ROWS = 600
CHUNK = 2048


def numbers() -> ks.Dataset:
    return ks.Dataset.range(ROWS).map(lambda x: (x, np.full(8, x, np.float64)))


def firsts(ds: ks.Dataset) -> list[int]:
    return [int(row[0]) for row in ds]


@pytest.fixture(params=["memory", "s3"])
def url(request: pytest.FixtureRequest) -> str:
    """A place in an object store with a data set of many chunks."""
    place = f"memory://{uuid4().hex}/a" if request.param == "memory" else None
    place = place or request.getfixturevalue("s3_url")
    numbers().save(place, "LZ4", chunk_bytes=CHUNK, segment_bytes=16 * CHUNK)
    return place


def disk_bytes(folder: Path) -> int:
    size = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # it had to make room
            size += file.stat().st_size
    return size


def remove_segments(store: Store) -> None:
    store.delete([info.name for info in store.list("") if "segments/" in info.name])


def test_a_second_pass_needs_nothing_from_afar(url: str, tmp_path: Path) -> None:
    ds = ks.load(url, cache_dir=tmp_path)
    assert firsts(ds) == list(range(ROWS))
    remove_segments(open_store(url))
    again = ks.load(url, cache_dir=tmp_path)
    assert firsts(again) == list(range(ROWS))
    assert sorted(firsts(again.shuffle(ks.GLOBAL, seed=1))) == list(range(ROWS))
    with pytest.raises(ObjectMissingError):
        firsts(ks.load(url))


def test_each_block_is_fetched_once_by_all_threads(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "BLOCK_BYTES", 3000)
    far = Watched(open_store(url))
    found = locate(url)
    far.hold_until(2, "keepset-background")
    for _ in range(2):
        kept = Kept(CachedStore(far, tmp_path, 1 << 30), found.kept.manifest)
        assert firsts(loaded(Location(url, found.commit, {}, True, kept))) == list(range(ROWS))
    blocks = sum(-(-s.entry.size_bytes // 3000) for s in found.kept.manifest.segments)
    assert far.most_in_flight > 1
    assert set(far.reads.values()) == {1}
    # The very end of a segment holds no chunk, and need not be fetched.
    assert blocks - len(found.kept.manifest.segments) <= len(far.reads) <= blocks


def test_the_cache_goes_along_to_other_processes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ds = ks.load(url, cache_dir="cache", cache_bytes=1 << 30)
    assert firsts(ds) == list(range(ROWS))
    remove_segments(open_store(url))
    travelled = pickle.dumps(ds)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert firsts(pickle.loads(travelled)) == list(range(ROWS))


@pytest.mark.parametrize("sharded", [False, True])
def test_a_snapshot_reads_through_the_cache(url: str, tmp_path: Path, sharded: bool) -> None:
    calls = []

    def compute(x: int) -> tuple[int, int]:
        calls.append(x)
        return x, x

    def run() -> list[int]:
        return firsts(
            ks.Dataset.range(100)
            .map(compute)
            .snapshot(
                f"{url}/kept",
                shard_func=(lambda x, y: x % 3) if sharded else None,
                fingerprint="f",
                cache_dir=tmp_path / "cache",
            )
        )

    for _ in range(2):
        assert run() == list(range(100))
    remove_segments(open_store(f"{url}/kept"))
    assert run() == list(range(100))
    assert len(calls) == 100


def test_reader_functions_read_through_the_cache(url: str, tmp_path: Path) -> None:
    def reader(shards: ks.Dataset) -> ks.Dataset:
        return shards.interleave(lambda shard: shard, cycle_length=2)

    for remove in (True, False):
        ds = ks.load(url, reader_func=reader, num_shards=2, cache_dir=tmp_path)
        assert firsts(ds) == list(range(ROWS))
        if remove:
            remove_segments(open_store(url))


def test_the_cache_takes_no_more_than_it_may(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "BLOCK_BYTES", 1000)
    ds = ks.load(url, cache_dir=tmp_path, cache_bytes=10_000)
    for _ in range(2):
        for position, row in enumerate(ds):
            assert int(row[0]) == position
            # Each thread may have put down a block before it makes room for it.
            assert disk_bytes(tmp_path) <= 10_000 + 8 * 1016


def test_ten_gibibytes_are_allowed_by_default(url: str, tmp_path: Path) -> None:
    store = locate(url, options={"cache_dir": tmp_path}).kept.store
    assert isinstance(store, CachedStore)
    assert store._max_bytes == 10 << 30


def test_a_damaged_cache_does_no_harm(url: str, tmp_path: Path) -> None:
    assert firsts(ks.load(url, cache_dir=tmp_path)) == list(range(ROWS))
    for file in tmp_path.iterdir():
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert firsts(ks.load(url, cache_dir=tmp_path)) == list(range(ROWS))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cache_dir": "{tmp}/file"}, "is not a local folder"),
        ({"cache_dir": "s3://bucket/cache"}, "cache_dir is local"),
        ({"cache_bytes": 1 << 20}, "without cache_dir"),
        ({"cache_dir": "{tmp}", "cache_bytes": 0}, "cache_bytes must be at least 1"),
        ({"cache_dir": "{tmp}", "cache_bytes": "10GB"}, "cache_bytes"),
    ],
)
def test_a_cache_that_cannot_be_is_refused_at_once(
    tmp_path: Path, options: dict[str, object], complaint: str
) -> None:
    (tmp_path / "file").write_bytes(b"")
    given = {
        key: value.format(tmp=tmp_path) if isinstance(value, str) else value
        for key, value in options.items()
    }
    url = f"memory://{uuid4().hex}"
    numbers().save(url)
    with pytest.raises(InvalidArgumentError, match=complaint):
        ks.load(url, **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=complaint):
        numbers().snapshot(f"{url}/kept", fingerprint="f", **given)  # type: ignore[arg-type]


def test_a_local_path_needs_no_cache(tmp_path: Path) -> None:
    numbers().save(tmp_path / "kept")
    with pytest.raises(InvalidArgumentError, match="is a local path, which needs no cache"):
        ks.load(tmp_path / "kept", cache_dir=tmp_path / "cache")
    with pytest.raises(InvalidArgumentError, match="is a local path, which needs no cache"):
        numbers().snapshot(tmp_path / "kept", fingerprint="f", cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


PROGRAM = """
    import sys
    import numpy as np
    import keepset as ks

    def anonymous():
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])

    url, cache = sys.argv[1:]
    most, before = 0, anonymous()
    for _ in range(2):
        for element in ks.load(url, cache_dir=cache):
            most = max(most, anonymous())
    print((most - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_memory_is_bounded(tmp_path: Path, s3_url: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8)
    ks.Dataset.range(300).map(lambda i: {"i": i, "block": np.roll(noise, i)}).save(s3_url, "LZ4")
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), s3_url, str(tmp_path)]
    assert int(subprocess.check_output(command, text=True)) < 200
