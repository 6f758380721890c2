"""Snapshots on every store: each codec, each kind of column, sizes around the parts of an upload.

A store joins by one line in ``STORES``, a kind of column by one in ``KINDS``.
"""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import ml_dtypes
import numpy as np
import pytest
from tests.format.bits import bits
from tests.snapshot.watched import PATIENCE_S
from tests.storage.holding_client import holding
from tests.storage.s3_proxy import S3Proxy, uploads_at

import keepset as ks
from keepset.errors import SnapshotMissingError, StorageError
from keepset.format import segment
from keepset.snapshot.writing import first_pass
from keepset.storage import multipart_upload, open_store

CODECS = [None, "AUTO", "LZ4", "ZSTD", "GZIP", "SNAPPY"]
COUNT = 40
CHUNK = 512  # of bytes: many more chunks than there are blocks to stage them in
LARGE_CHUNK = 15_000  # for elements that are all kinds together


def _held(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue("_holding")
    return f"memory://{uuid4().hex}/a"


STORES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "local": lambda request: str(request.getfixturevalue("tmp_path") / "a"),
    "memory": lambda request: f"memory://{uuid4().hex}/a",
    "s3": lambda request: request.getfixturevalue("s3_url"),
    # Memory behind a client that holds each buffer until the end, and compares it.
    "holding": _held,
}


def _numbers(dtype: Any, *shape: int) -> Callable[[int], Any]:
    """Arrays of which no two are alike."""
    size = int(np.prod(shape, dtype=int))

    def make(i: int) -> Any:
        return (np.arange(size) * 7 + i * 31).astype(np.uint8).astype(dtype).reshape(shape)

    return make


# From the number of an element to the element. Scalars are left as NumPy's own.
KINDS: dict[str, Callable[[int], Any]] = {
    "bool": lambda i: np.arange(100) * i % 3 == 0,
    "uint8": _numbers(np.uint8, 16, 16, 3),
    "int16": _numbers(np.int16, 50),
    "int64": _numbers(np.int64, 9, 3),
    "float16": _numbers(np.float16, 50),
    "float32": _numbers(np.float32, 64),
    "float64": lambda i: np.random.default_rng(i).normal(size=30),
    "complex64": _numbers(np.complex64, 20),
    "bfloat16": _numbers(ml_dtypes.bfloat16, 60),
    "float8": _numbers(ml_dtypes.float8_e4m3fn, 128),
    "int4": lambda i: ((np.arange(100) + i) % 8).astype(ml_dtypes.int4),
    "datetime64": lambda i: np.arange(i, i + 20).astype("datetime64[s]"),
    "scalars": lambda i: (np.int32(i), np.float32(i) / 3, np.bool_(i % 2), np.complex128(1j * i)),
    "bytes": lambda i: bytes(range(i % 200)) * 2,
    "text": lambda i: f"äöü{i}" * (i % 30),
    "strings": lambda i: np.array([b"a" * (i % 9), str(i).encode(), b""], object),
    "ragged": lambda i: ks.Ragged(np.arange(i % 40) + i, [0, i % 40 // 2, i % 40]),
    "sparse": lambda i: ks.Sparse([[i % 5, 1], [4, i % 7]], [i, i + 1], (5, 7)),
    "varying": lambda i: np.full((i % 5, 1 + i % 3, 4), i, np.float32),
    "lists": lambda i: np.arange(i % 70, dtype=np.int32),
    "no bytes": lambda i: np.zeros((0, 3), np.float32),
    "nested": lambda i: {"a": (np.full(33, i, np.int16), b"x" * i), "b": {"c": np.float32(i)}},
    "batches of bytes": lambda i: np.array([b"%d" % n * (i % 3) for n in range(8)], object),
}  # fmt: skip


def everything(i: int) -> dict[str, Any]:
    return {name: make(i) for name, make in KINDS.items()}


@pytest.fixture(autouse=True)
def _views_of_small_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are handed on as views from the size of a line on, as large ones always are."""
    monkeypatch.setattr(segment, "_LARGE_BYTES", 64)


@pytest.fixture
def _holding() -> Iterator[None]:
    with holding():
        yield


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest) -> str:
    """A url or a path where nothing is yet."""
    return STORES[request.param](request)


@pytest.fixture
def part_bytes(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda size: monkeypatch.setattr(multipart_upload, "PART_BYTES", size)


def dataset_of(make: Callable[[int], Any], count: int = COUNT) -> ks.Dataset:
    def generate() -> Iterator[Any]:
        yield from map(make, range(count))

    return ks.Dataset.from_generator(generate)


def saved(make: Callable[[int], Any], url: str, codec: str | None, count: int = COUNT) -> int:
    """Save elements, and see that they come back; how large the largest file is."""
    chunk_bytes = LARGE_CHUNK if make is everything else CHUNK
    expected = tuple(dataset_of(make, count))
    dataset_of(make, count).save(url, codec, chunk_bytes=chunk_bytes)
    assert bits(tuple(ks.load(url))) == bits(expected)
    return max(info.size_bytes for info in open_store(url).list("segments/"))


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["holding"], indirect=True)
def test_each_kind_comes_back_whatever_the_size_of_a_part(
    place: str, codec: str | None, kind: str, part_bytes: Callable[[int], None]
) -> None:
    part_bytes(700)
    size = saved(KINDS[kind], f"{place}/several parts", codec)
    part_bytes(size - 1)
    saved(KINDS[kind], f"{place}/a part and a byte", codec)


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("place", ["local", "memory"], indirect=True)
def test_each_kind_comes_back(
    place: str, codec: str | None, part_bytes: Callable[[int], None]
) -> None:
    for kind, make in KINDS.items():
        saved(make, f"{place}/{kind}, tiny", codec, count=1)
        part_bytes(700)
        size = saved(make, f"{place}/{kind}", codec)
        if place.startswith("memory:"):  # local files have no parts
            part_bytes(size - 1)
            saved(make, f"{place}/{kind} in a part and a byte", codec)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_comes_back_over_http_in_few_parts(
    s3_url: str, kind: str, part_bytes: Callable[[int], None]
) -> None:
    # Kinds take turns with codecs; the slow test below has all pairs, in many small parts. One
    # tiny element of all kinds goes over HTTP further below.
    codec = CODECS[list(KINDS).index(kind) % len(CODECS)]
    size = saved(KINDS[kind], f"memory://{uuid4().hex}/a", codec, count=12)
    part_bytes(size - 1)
    assert saved(KINDS[kind], f"{s3_url}/a part and a byte", codec, count=12) == size
    part_bytes(size // 3)
    saved(KINDS[kind], f"{s3_url}/several parts", codec, count=12)


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_comes_back_over_http(
    s3_url: str, codec: str | None, kind: str, part_bytes: Callable[[int], None]
) -> None:
    test_each_kind_comes_back_whatever_the_size_of_a_part(s3_url, codec, kind, part_bytes)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_all_kinds_together_come_back(
    place: str, codec: str | None, part_bytes: Callable[[int], None]
) -> None:
    saved(everything, f"{place}/tiny", codec, count=1)
    part_bytes(7000)
    size = saved(everything, f"{place}/several parts", codec, count=30)
    part_bytes(size)
    saved(everything, f"{place}/one part", codec, count=30)


def test_arrays_of_the_usual_sizes_come_back(place: str) -> None:
    # No size is changed: chunks of 2 MiB, and an object of more than one part.
    ds = ks.Dataset.range(6000).map(lambda x: np.full(512, x, np.float32))
    ks.save(ds, place, None)
    assert [e.tolist() for e in ks.load(place).batch(1000).map(lambda b: b[:, 7])] == [
        list(range(start, start + 1000)) for start in range(0, 6000, 1000)
    ]


def test_views_of_an_array_that_is_changed_behind_them(place: str) -> None:
    # Slices of a read-only array are written from where they lie.
    rows = np.arange(1 << 21, dtype=np.float32).reshape(-1, 512)
    ds = ks.Dataset.from_tensor_slices(rows)
    ks.save(ds, place, None)
    expected = rows.copy()
    rows[:] = -1
    assert np.array_equal(np.stack(list(ks.load(place))), expected)


@pytest.fixture
def _frequent_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every tenth element or so, whatever the clock says."""
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 10))


@pytest.mark.usefixtures("_frequent_commits")
@pytest.mark.parametrize("codec", [None, "GZIP"], ids=str)
@pytest.mark.parametrize("shards", [1, 3])
def test_a_first_pass_is_interrupted_gone_on_with_and_replayed(
    place: str, codec: str | None, shards: int, part_bytes: Callable[[int], None]
) -> None:
    part_bytes(20_000)
    computed: list[int] = []

    def make(x: Any) -> Any:
        computed.append(int(x))
        return {"n": x, **everything(int(x))}

    plain = ks.Dataset.range(COUNT).map(make)
    ds = plain.snapshot(
        place, codec, fingerprint="f", chunk_bytes=15_000, segment_bytes=60_000,
        shard_func=None if shards == 1 else lambda e: e["n"] % shards,
    )  # fmt: skip
    expected = bits(tuple(plain))
    iterator = iter(ds)
    for _ in range(COUNT // 2):
        next(iterator)
    iterator.close()
    del computed[:]
    assert bits(tuple(ds)) == expected
    assert 0 < min(computed) < COUNT - 1  # it went on, and did not begin again
    del computed[:]
    replayed = tuple(ds)
    key = (lambda e: int(e["n"])) if shards > 1 else (lambda e: 0)
    assert bits(tuple(sorted(replayed, key=key))) == expected
    assert not computed


@pytest.fixture
def left(s3_endpoint: str, s3_url: str) -> Callable[[], list[str]]:
    """The keys of uploads to this place that are neither completed nor aborted."""
    prefix = s3_url.removeprefix("s3://bucket/")
    return lambda: [key for key in uploads_at(s3_endpoint) if key.startswith(prefix)]


@pytest.fixture
def fails_while_uploading(
    left: Callable[[], list[str]], part_bytes: Callable[[int], None]
) -> Callable[[type[BaseException]], Callable[[Any], Any]]:
    """A function for ``map`` that raises when parts of what came before are in the bucket."""
    part_bytes(4096)

    def of(kind: type[BaseException]) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            if x == 150:
                deadline = time.monotonic() + PATIENCE_S
                while not left():
                    assert time.monotonic() < deadline, "no upload began"
                    time.sleep(0.005)
                raise kind("on purpose")
            return np.full(200, x, np.float32)

        return function

    return of


WRITERS: dict[str, Callable[[ks.Dataset, str], object]] = {
    "save": lambda ds, url: ds.save(url, None, chunk_bytes=CHUNK),
    "save shards": lambda ds, url: ds.save(
        url, None, lambda x: 0 if x[0] < 140 else 1, chunk_bytes=CHUNK
    ),
    "snapshot": lambda ds, url: list(ds.snapshot(url, None, chunk_bytes=CHUNK, fingerprint="f")),
    "tfrecord": lambda ds, url: ds.map(lambda x: x.tobytes()).write_tfrecord(f"{url}/a.tfrecord"),
    "tensorflow": lambda ds, url: ds.save(url, format="tensorflow"),
}


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("writer", WRITERS)
def test_an_error_aborts_the_upload(
    s3_url: str,
    left: Callable[[], list[str]],
    fails_while_uploading: Callable[[type[BaseException]], Callable[[Any], Any]],
    writer: str,
    kind: type[BaseException],
) -> None:
    ds = ks.Dataset.range(1000).map(fails_while_uploading(kind))
    with pytest.raises(kind, match="on purpose"):
        WRITERS[writer](ds, s3_url)
    gc.collect()
    assert left() == []


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_an_iterator_that_is_left_aborts_or_completes_its_upload(
    s3_url: str, left: Callable[[], list[str]], part_bytes: Callable[[int], None], how: str
) -> None:
    part_bytes(4096)
    ds = ks.Dataset.range(1000).map(lambda x: np.full(200, x, np.float32))
    iterator: Any = iter(ds.snapshot(s3_url, None, chunk_bytes=CHUNK, fingerprint="f"))
    for _ in range(150):
        next(iterator)
    deadline = time.monotonic() + PATIENCE_S
    while not left():
        assert time.monotonic() < deadline, "no upload began"
        time.sleep(0.005)
    if how == "closed":
        iterator.close()
    del iterator
    gc.collect()
    assert left() == []


@pytest.mark.parametrize("fault", ["500", "cut", "unanswered"])
@pytest.mark.parametrize(
    "kind", ["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "PutObject"]
)
def test_faults_of_a_save_leave_the_version_before(
    s3_url: str, s3_endpoint: str, part_bytes: Callable[[int], None], kind: str, fault: str
) -> None:
    part_bytes(4096)
    proxy = S3Proxy(s3_endpoint)
    never = {"max_retries": 0}
    options: Any = {"endpoint": proxy.endpoint, "chunk_bytes": CHUNK, "retry_config": never}
    old, new = (ks.Dataset.range(40).map(lambda x, n=n: np.full(64, x * n)) for n in (1, 2))
    old.save(s3_url, None, **options)
    before, after = bits(tuple(old)), bits(tuple(new))
    for nth in sorted({0, proxy.seen[kind] - 1}):
        proxy.seen.clear()
        proxy.rule = lambda seen, number, nth=nth: fault if (seen, number) == (kind, nth) else None
        try:
            new.save(s3_url, None, **options)
            before = after
        except StorageError:
            pass
        proxy.rule = None
        found = bits(tuple(ks.load(s3_url)))
        # A commit whose answer is lost may be there.
        assert found == before or (fault == "unanswered" and found == after)
    proxy.close()


KILLED = """
import os, sys, time
import numpy as np
import keepset as ks
from keepset.storage import multipart_upload
multipart_upload.PART_BYTES = 4096
def dying(x):
    if x == 150:
        time.sleep(0.2)  # so that some parts are there; without any there is nothing to load either
        os.kill(os.getpid(), 9)
    return np.full(200, x, np.float32)
ks.Dataset.range(1000).map(dying).save(sys.argv[1], None, chunk_bytes=512)
"""


def test_a_save_that_was_killed_leaves_nothing_to_load(s3_url: str) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, s3_url], timeout=60)
    assert ended.returncode == -9
    assert list(open_store(s3_url).list("segments/")) == []
    with pytest.raises(SnapshotMissingError):
        ks.load(s3_url)
    saved(KINDS["float32"], s3_url, None)


def test_the_holding_store_notices_a_buffer_that_is_filled_again(
    monkeypatch: pytest.MonkeyPatch, part_bytes: Callable[[int], None]
) -> None:
    # What the other tests stand on.
    part_bytes(4096)
    monkeypatch.setattr(
        multipart_upload.MultipartUpload, "_free_part",
        lambda self: self._given[0][0] if self._given else np.empty(4096, np.uint8),
    )  # fmt: skip
    with holding(), suppress(StorageError):
        writer = open_store(f"memory://{uuid4().hex}").writer("x")
        writer.write(b"1" * 4096 + b"2" * 4096)
        with pytest.raises(AssertionError, match="filled again"):
            writer.close()


@pytest.mark.parametrize("kind", ["CreateMultipartUpload", "PutObject", "any"])
def test_a_pass_goes_on_when_its_bucket_refuses(
    s3_url: str, s3_endpoint: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The credentials expire in the middle of a pass, or are wrong from its beginning."""
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 50))
    proxy = S3Proxy(s3_endpoint)
    options: Any = {"endpoint": proxy.endpoint, "chunk_bytes": 200, "segment_bytes": 400}
    ds = ks.Dataset.range(400).map(lambda x: x * 2)
    expected = [2 * i for i in range(400)]
    for allowed in (0, 1, 4, 9):
        path = f"{s3_url}/{kind}-{allowed}"
        proxy.seen.clear()
        proxy.rule = lambda seen, number, allowed=allowed: (
            "403" if kind in (seen, "any") and number >= allowed else None
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert [int(x) for x in ds.snapshot(path, **options)] == expected
        said = [str(each.message) for each in caught]
        assert len(said) <= 1
        assert said or kind == "any" or proxy.seen.get(kind, 0) <= allowed
        assert all("not stored" in each for each in said)
        proxy.rule = None
        assert [int(x) for x in ds.snapshot(path, **options)] == expected
        assert ks.explain(ds, path).hit
    proxy.close()


@pytest.mark.parametrize("kind", ["CreateMultipartUpload", "CompleteMultipartUpload"])
def test_an_answer_that_breaks_off_once_is_not_noticed(
    s3_url: str, s3_endpoint: str, kind: str, part_bytes: Callable[[int], None]
) -> None:
    part_bytes(4096)
    proxy = S3Proxy(s3_endpoint)
    options: Any = {"endpoint": proxy.endpoint, "chunk_bytes": CHUNK}
    ds = ks.Dataset.range(300).map(lambda x: np.full(64, x))
    for number, url in enumerate((f"{s3_url}/saved", f"{s3_url}/snapshot")):
        proxy.seen.clear()
        proxy.rule = lambda seen, count: "half" if (seen, count) == (kind, 0) else None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if number == 0:
                ds.save(url, None, **options)
            else:
                list(ds.snapshot(url, None, **options))
                assert ks.explain(ds, url).hit
        assert proxy.seen[kind]
        assert bits(tuple(ks.load(url))) == bits(tuple(ds))
    proxy.close()


@pytest.mark.slow
def test_a_pass_waits_for_a_bucket_that_comes_back(
    s3_url: str, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More refusals than a person would wait for, within the minute that a pass waits."""
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 50))
    proxy = S3Proxy(s3_endpoint)
    options: Any = {"endpoint": proxy.endpoint, "chunk_bytes": 200, "segment_bytes": 400}
    ds = ks.Dataset.range(400).map(lambda x: x * 2)
    proxy.rule = lambda seen, number: "503" if seen == "PutObject" and 6 <= number < 18 else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [int(x) for x in ds.snapshot(s3_url, **options)] == [2 * i for i in range(400)]
    assert proxy.seen["PutObject"] > 18
    assert ks.explain(ds, s3_url).hit
    proxy.close()


def takes_away(path: Path, how: str) -> None:
    away = path.rename(f"{path}.away")
    if how == "removed":
        shutil.rmtree(away, ignore_errors=True)  # a writer may still write to it
    elif how == "replaced by a file":
        file = path.with_name("file")
        file.touch()
        while True:
            try:
                file.rename(path)
                break
            except IsADirectoryError:  # a writer has made the folder anew in between
                shutil.rmtree(path.rename(f"{path}.anew"), ignore_errors=True)


@pytest.mark.filterwarnings("ignore:.*not stored")
@pytest.mark.parametrize("at", [100, 1500, 3999])
def test_a_place_that_is_moved_and_copied_back_has_no_cut_segment(tmp_path: Path, at: int) -> None:
    """The writer goes on with the file that was moved, while the copy has its name."""
    path = tmp_path / "kept"
    ds = ks.Dataset.range(4000).map(lambda x: np.random.default_rng(int(x)).bytes(1000))
    expected = [bytes(x) for x in ds]
    stored, got = ds.snapshot(path, chunk_bytes=200_000, segment_bytes=1_000_000), []
    for x in stored:
        got.append(bytes(x))
        if len(got) == at and path.exists():
            away = path.rename(f"{path}.away")
            # The writer may remove what is being copied, or make the folder anew before.
            with suppress(shutil.Error, FileExistsError):
                shutil.copytree(away, path)
    assert got == expected
    assert [bytes(x) for x in stored] == expected
    assert ks.explain(ds, path).hit


@pytest.mark.parametrize("how", ["removed", "moved away", "replaced by a file"])
@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("on_write_error", ["warn", "raise"])
def test_a_place_that_vanishes_in_the_middle_of_a_pass_is_said(
    tmp_path: Path, how: str, stopped: bool, on_write_error: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 20))
    path = tmp_path / "kept"
    ds = ks.Dataset.range(300).map(lambda x: x * 2)
    stored = ds.snapshot(path, on_write_error=on_write_error, chunk_bytes=80, segment_bytes=160)
    got = []
    with warnings.catch_warnings(record=True) as caught, ExitStack() as stack:
        warnings.simplefilter("always")
        if on_write_error == "raise":
            stack.enter_context(pytest.raises(StorageError))
        it = iter(stored)
        for x in it:
            got.append(int(x))
            if len(got) == 100:
                takes_away(path, how)
            if stopped and len(got) == 200:
                it.close()
    if on_write_error == "warn":
        assert got == [2 * i for i in range(200 if stopped else 300)]
        assert len(caught) == 1, [str(each.message) for each in caught]
        assert "not stored" in str(caught[0].message)
    else:
        assert got == [2 * i for i in range(len(got))]
    if how == "replaced by a file":
        path.unlink()
    assert [int(x) for x in ds.snapshot(path)] == [2 * i for i in range(300)]
    assert ks.explain(ds, path).hit
