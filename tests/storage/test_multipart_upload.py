"""MultipartUpload: parts that are handed over whole, and uploads that leave nothing behind."""

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from tests.storage.s3_proxy import Rule, S3Proxy, uploads_at

from keepset.errors import StorageError
from keepset.storage import Store, multipart_upload, open_store
from keepset.storage.multipart_upload import PARTS_AT_ONCE
from keepset.storage.patience import Patience

REAL_PART_BYTES = multipart_upload.PART_BYTES
PART_BYTES = 64 << 10  # small, to be quick

# Enough to get over one fault, without the pauses that a real network needs.
QUICK_RETRIES = {
    "max_retries": 2,
    "backoff": {
        "init_backoff": timedelta(milliseconds=1),
        "max_backoff": timedelta(milliseconds=2),
    },
}


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart_upload, "PART_BYTES", PART_BYTES)


@pytest.fixture
def proxy(s3_url: str, s3_endpoint: str) -> Iterator[S3Proxy]:
    proxy = S3Proxy(s3_endpoint)
    yield proxy
    proxy.close()


@pytest.fixture
def s3(proxy: S3Proxy, s3_url: str) -> Store:
    """A place in the bucket, behind the proxy."""
    return open_store(s3_url, endpoint=proxy.endpoint, retry_config=QUICK_RETRIES)


@pytest.fixture
def left(s3_endpoint: str, s3_url: str) -> Callable[[], list[str]]:
    """The keys of uploads to this place that are neither completed nor aborted."""
    prefix = s3_url.removeprefix("s3://bucket/")
    return lambda: [key for key in uploads_at(s3_endpoint) if key.startswith(prefix)]


def parts_of(count: int, rest: int = 100) -> bytes:
    return np.random.default_rng(count).bytes(count * PART_BYTES + rest)


def write(store: Store, data: bytes) -> None:
    with store.writer("x") as writer:
        for start in range(0, len(data), PART_BYTES // 3):
            writer.write(data[start : start + PART_BYTES // 3])


def fails(kind: str, fault: str, at: range) -> Rule:
    return lambda seen, number: fault if seen == kind and number in at else None


ONCE, ALWAYS = range(1), range(1000)


def test_parts_are_as_large_as_s3_takes_them() -> None:
    assert 5 << 20 <= REAL_PART_BYTES <= 5 << 30


def test_parts_are_of_one_size_and_few_at_a_time(proxy: S3Proxy, s3: Store) -> None:
    data = parts_of(30)
    write(s3, data)
    assert s3.read("x") == data
    assert sorted(proxy.part_sizes) == [100, *[PART_BYTES] * 30]
    assert proxy.most_at_once <= PARTS_AT_ONCE + 1  # the last one does not wait for the others


def test_the_memory_of_a_writer_is_bounded(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart_upload, "PART_BYTES", 1 << 20)
    store = open_store(s3_url)  # without the proxy, which holds parts in this process too
    tracemalloc.start()
    try:
        with store.writer("x") as writer:
            piece = bytes(1 << 18)
            for _ in range(40 * 4):
                writer.write(piece)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < (PARTS_AT_ONCE + 3) << 20


def test_a_small_object_in_memory_takes_no_whole_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart_upload, "PART_BYTES", 8 << 20)
    store = open_store(f"memory://{uuid4().hex}")
    tracemalloc.start()
    try:
        for number in range(20):
            with store.writer(str(number)) as writer:
                writer.write(b"little")
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert left < 8 << 20


@pytest.mark.parametrize("fault", ["500", "503", "unsent", "unanswered", "cut"])
@pytest.mark.parametrize(
    "kind", ["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "PutObject"]
)
def test_a_fault_that_passes_is_not_noticed(
    proxy: S3Proxy, s3: Store, kind: str, fault: str
) -> None:
    proxy.rule = fails(kind, fault, ONCE)
    data = b"small" if kind == "PutObject" else parts_of(3)
    write(s3, data)
    assert proxy.seen[kind] > 1
    assert s3.read("x") == data


@pytest.mark.parametrize("fault", ["500", "cut"])
@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("UploadPart", ALWAYS),
        ("UploadPart", range(2, 1000)),
        ("UploadPart", range(5, 1000)),
        ("CompleteMultipartUpload", ALWAYS),
    ],
)
def test_a_fault_that_stays_is_an_error_and_leaves_nothing(
    proxy: S3Proxy, s3: Store, left: Callable[[], list[str]], kind: str, at: range, fault: str
) -> None:
    s3.put("x", b"what was there before")
    proxy.rule = fails(kind, fault, at)
    with pytest.raises(StorageError, match=f"cannot write {s3.object_url('x')}"):
        write(s3, parts_of(5))
    assert s3.read("x") == b"what was there before"
    assert left() == []
    proxy.rule = None
    data = parts_of(1)
    write(s3, data)
    assert s3.read("x") == data


@pytest.mark.parametrize("fault", ["half", "short"])
def test_an_upload_is_begun_again_if_the_answer_breaks_off(
    proxy: S3Proxy, s3: Store, left: Callable[[], list[str]], fault: str
) -> None:
    proxy.rule = fails("CreateMultipartUpload", fault, range(2))
    data = parts_of(3)
    write(s3, data)
    assert proxy.seen["CreateMultipartUpload"] == 3
    assert s3.read("x") == data
    assert len(left()) == 2  # without parts, for the rule of the bucket


@pytest.mark.parametrize("fault", ["half", "short"])
def test_an_upload_that_never_begins_is_an_error(
    proxy: S3Proxy, s3: Store, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart_upload, "_PAUSES_S", (0.0, 0.0))
    proxy.rule = fails("CreateMultipartUpload", fault, ALWAYS)
    with pytest.raises(StorageError, match=f"cannot write {s3.object_url('x')}"):
        write(s3, parts_of(3))
    assert proxy.seen["CreateMultipartUpload"] == 3
    assert not s3.exists("x")


def test_a_writer_with_patience_begins_an_upload_more_often(
    proxy: S3Proxy, s3: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart_upload, "_PAUSES_S", (0.0,))
    proxy.rule = fails("CreateMultipartUpload", "half", range(4))
    data = parts_of(1)
    with Patience(60).here():
        write(s3, data)
    assert s3.read("x") == data


@pytest.mark.parametrize("at", [ONCE, ALWAYS])
@pytest.mark.parametrize("abort", [None, "204"])
@pytest.mark.parametrize("fault", ["half", "short", "unanswered"])
def test_a_completion_whose_answer_is_lost_has_written_the_object(
    proxy: S3Proxy, s3: Store, left: Callable[[], list[str]], fault: str, abort: str, at: range
) -> None:
    completion = fails("CompleteMultipartUpload", fault, at)
    proxy.rule = lambda seen, number: (
        abort if seen == "AbortMultipartUpload" else completion(seen, number)
    )
    data = parts_of(2)
    s3.put("x", bytes(len(data)))
    write(s3, data)
    assert s3.read("x") == data
    assert left() == []


@pytest.mark.parametrize("fault", ["404", "500"])
def test_an_object_of_the_same_size_is_not_taken_for_the_one_that_failed(
    proxy: S3Proxy, s3: Store, fault: str
) -> None:
    """After a completion that was refused, and an upload that was gone."""
    old, new = parts_of(2), parts_of(2)[::-1]
    write(s3, old)
    faults = {"CompleteMultipartUpload": fault, "AbortMultipartUpload": "404"}
    proxy.rule = lambda seen, number: faults.get(seen)
    with pytest.raises(StorageError, match=f"cannot write {s3.object_url('x')}"):
        write(s3, new)
    proxy.rule = None
    s3.put("x", old)  # as another program would write it
    proxy.rule = lambda seen, number: faults.get(seen)
    with pytest.raises(StorageError, match="cannot tell whether"):
        write(s3, new)
    assert s3.read("x") == old


@pytest.mark.parametrize("before", [None, b"another size"])
@pytest.mark.parametrize("kind", ["UploadPart", "CompleteMultipartUpload"])
def test_an_upload_that_is_gone_after_an_error_was_not_written(
    proxy: S3Proxy, s3: Store, kind: str, before: bytes | None
) -> None:
    if before is not None:
        s3.put("x", before)
    faults = {kind: "403" if kind == "UploadPart" else "500", "AbortMultipartUpload": "404"}
    proxy.rule = lambda seen, number: faults.get(seen)
    with pytest.raises(StorageError, match=rf"cannot write {s3.object_url('x')}: .*credentials"):
        write(s3, parts_of(1))
    assert s3.exists("x") == (before is not None)


def test_an_upload_that_is_gone_where_nothing_can_be_looked_at_is_unclear(
    proxy: S3Proxy, s3: Store
) -> None:
    faults = {"CompleteMultipartUpload": "403", "AbortMultipartUpload": "404", "HeadObject": "403"}
    proxy.rule = lambda seen, number: faults.get(seen)
    with pytest.raises(StorageError, match=r"cannot tell whether .* a request failed"):
        write(s3, parts_of(1))


def test_an_abort_that_fails_hides_no_error(
    proxy: S3Proxy, s3: Store, left: Callable[[], list[str]]
) -> None:
    proxy.rule = fails("AbortMultipartUpload", "500", ALWAYS)
    with suppress(ZeroDivisionError), s3.writer("x") as writer:
        writer.write(parts_of(1))
        raise ZeroDivisionError
    assert not s3.exists("x")
    assert len(left()) == 1  # for the rule of the bucket


def test_an_abort_waits_a_while_only(
    proxy: S3Proxy, s3: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart_upload, "_LONGEST_ABORT_S", 0.1)
    writer = s3.writer("x")
    writer.write(parts_of(1))
    proxy.rule = fails("AbortMultipartUpload", "silent", ALWAYS)
    writer.abort()  # returns, though no answer comes before the proxy is closed
    assert not proxy.closed.is_set()


def test_a_writer_that_is_aborted_or_dropped_leaves_nothing(
    s3: Store, left: Callable[[], list[str]]
) -> None:
    writer = s3.writer("x")
    writer.write(parts_of(3))
    assert len(left()) == 1
    writer.abort()
    assert left() == []
    writer = s3.writer("x")
    writer.write(parts_of(3))
    assert len(left()) == 1
    del writer
    gc.collect()
    assert left() == []
    assert list(s3.list()) == []


ENDING = """
import os, sys
from keepset.storage import multipart_upload, open_store
PART_BYTES = multipart_upload.PART_BYTES = 64 << 10
writer = open_store(sys.argv[1]).writer("x")
writer.write(bytes(3 * PART_BYTES))
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
if sys.argv[2] == "forked" and os.fork() == 0:
    sys.exit(0)  # which must not abort what is not its own
if sys.argv[2] == "forked":
    os.wait()
    writer.close()
if sys.argv[2] == "error":
    raise SystemExit(1)
"""


@pytest.mark.parametrize("how", ["error", "end", "killed", "forked"])
def test_a_process_that_ends_leaves_no_object_half_written(
    s3_url: str, left: Callable[[], list[str]], how: str
) -> None:
    command = [sys.executable, "-c", ENDING, s3_url, how]
    ended: Any = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert ended.returncode == {"error": 1, "killed": -9}.get(how, 0), ended.stderr
    assert ended.stderr == ""
    store = open_store(s3_url)
    found = [info.size_bytes for info in store.list()]
    assert found == ([3 * PART_BYTES] if how == "forked" else [])
    assert len(left()) == (how == "killed")
    with store.writer("x") as writer:
        writer.write(b"again")
    assert store.read("x") == b"again"


@pytest.mark.parametrize("fault", ["half", "short"])
def test_a_listing_that_breaks_off_is_repeated(proxy: S3Proxy, s3: Store, fault: str) -> None:
    names = [f"some/{i}" for i in range(20)]
    for name in names:
        s3.put(name, b"x")
    proxy.rule = fails("GET", fault, ONCE)
    assert [info.name for info in s3.list("some/")] == sorted(names)
    assert proxy.seen["GET"] == 2
    proxy.rule = fails("GET", fault, ALWAYS)
    with pytest.raises(StorageError, match="cannot list"):
        s3.list("some/")
