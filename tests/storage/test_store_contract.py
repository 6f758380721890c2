"""What every store promises. A store joins by one line in conftest.py."""

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepset.errors import InvalidArgumentError, ObjectMissingError, StorageError
from keepset.storage import Store, open_store

# The store is shared by all examples of a test, which therefore leave nothing behind.
shared_store = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

ODD_NAMES = [
    "a b",
    "[a]*?.txt",
    "%41%20#frag?query=1",
    "ünïcödé/日本",
    "a&b+c=d;e,f'(g)!@$",
    "~home",
    ".hidden/..twodots.",
    'x:y|z^`<>"{}\\',
    "deep/er/and/deep/er",
]


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 5000])
def test_what_is_put_is_read(store: Store, data: bytes) -> None:
    store.put("folder/name", data)
    assert store.read("folder/name") == data
    assert store.size("folder/name") == len(data)
    assert store.exists("folder/name")
    assert bytes(store.read_range("folder/name", 0, len(data))) == data


@shared_store
@given(data=st.binary(max_size=300), picks=st.lists(st.tuples(st.integers(0), st.integers(0))))
def test_ranges_are_slices(store: Store, data: bytes, picks: list[tuple[int, int]]) -> None:
    starts = [start % (len(data) + 1) for start, _ in picks]
    ranges = [
        (start, length % (len(data) - start + 1))
        for start, (_, length) in zip(starts, picks, strict=True)
    ]
    store.put("plain", data)
    found = store.read_ranges("plain", ranges)
    assert [bytes(part) for part in found] == [data[o : o + n] for o, n in ranges]
    assert [bytes(store.read_range("plain", *pick)) for pick in ranges] == list(map(bytes, found))


@pytest.mark.parametrize("name", ["plain", "segments/immutable"])
@pytest.mark.parametrize(
    ("offset", "length", "got"), [(0, 11, 10), (7, 4, 3), (10, 1, 0), (99, 5, 0), (5 << 20, 5, 0)]
)
def test_a_short_object_is_an_error_that_says_how_short(
    store: Store, name: str, offset: int, length: int, got: int
) -> None:
    store.put(name, b"0123456789")
    for read in (
        lambda: store.read_range(name, offset, length),
        lambda: store.read_ranges(name, [(0, 1), (offset, length)]),
        lambda: store.read_ranges(name, [(offset, length), (offset + length, 3)]),
    ):
        with pytest.raises(StorageError) as caught:
            read()
        assert store.object_url(name) in str(caught.value)
        assert f"{length} bytes were wanted at byte {offset}, and there are {got}" in str(
            caught.value
        )


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, -1)])
def test_a_negative_range_is_refused(store: Store, offset: int, length: int) -> None:
    store.put("plain", b"0123456789")
    with pytest.raises(InvalidArgumentError):
        store.read_range("plain", offset, length)


@pytest.mark.parametrize("data", [b"", b"0123456789"])
def test_a_view_is_the_object_or_none(store: Store, data: bytes) -> None:
    store.put("plain", data)
    view = store.view("plain")
    assert (view is None) == store.is_remote
    if view is not None:
        assert view.readonly
        assert view == data


READS: dict[str, Callable[[Store, str], object]] = {
    "read": lambda store, name: store.read(name),
    "read_range": lambda store, name: store.read_range(name, 0, 1),
    "read nothing": lambda store, name: store.read_range(name, 0, 0),
    "read_ranges": lambda store, name: store.read_ranges(name, [(0, 1), (5, 5)]),
    "size": lambda store, name: store.size(name),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", ["missing", "segments/missing", "folder", "folder/file/below"])
def test_a_missing_object_is_an_error_that_names_it(store: Store, read: str, name: str) -> None:
    store.put("folder/file", b"1")
    with pytest.raises(ObjectMissingError) as caught:
        READS[read](store, name)
    assert store.object_url(name) in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert not store.exists(name)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_names(store: Store, name: str) -> None:
    assert store.create(name, b"1")
    assert not store.create(name, b"2")
    store.put(name, b"3")
    with store.writer(name + "w") as writer:
        writer.write(b"4")
    assert [info.name for info in store.list()] == [name, name + "w"]
    assert (store.read(name), bytes(store.read_range(name + "w", 0, 1))) == (b"3", b"4")
    store.delete([name, name + "w"])
    assert list(store.list()) == []


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", ".", "a/../b", "a/.", "a\0b", ".tmp-1"])
def test_what_is_no_name_is_refused(store: Store, name: str) -> None:
    for use in (
        *(lambda read=read: read(store, name) for read in READS.values()),
        lambda: store.exists(name),
        lambda: store.create(name, b""),
        lambda: store.put(name, b""),
        lambda: store.writer(name),
        lambda: store.delete([name]),
    ):
        with pytest.raises(InvalidArgumentError):
            use()
    assert list(store.list()) == []


def test_a_listing_is_sorted_by_the_whole_name_and_complete(store: Store) -> None:
    names = ["a", "a-b", "a.b/c", "b/x", "b/y/z", "b-c", "b0", "c/ü", "c/z", "c/Z"]
    for name in reversed(names):
        store.put(name, name.encode())
    found = list(store.list())
    assert [info.name for info in found] == sorted(names)
    assert [info.size_bytes for info in found] == [len(name.encode()) for name in sorted(names)]
    assert [info.name for info in store.list("b/")] == ["b/x", "b/y/z"]
    assert [info.name for info in store.list("b/y/")] == ["b/y/z"]
    assert list(store.list("nothing/")) == []
    assert list(store.list("a/")) == []


def test_names_are_those_right_below_a_prefix(store: Store) -> None:
    for name in ("a/b", "a/c", "a/d/e", "b"):
        store.put(name, b"x")
    folders = set() if store.is_remote else {"a/d"}
    assert set(store.names("a/")) == {"a/b", "a/c"} | folders
    assert list(store.names("nothing/")) == []
    assert set(store.obstacles("a/")) == folders


def test_a_prefix_without_its_slash_is_refused_at_once(store: Store) -> None:
    with pytest.raises(InvalidArgumentError, match="must end with '/'"):
        store.list("b")


def test_a_listing_tells_what_has_changed(store: Store) -> None:
    store.put("x", b"old")
    [before] = store.list()
    store.put("x", b"new bytes")
    [after] = store.list()
    assert (after.size_bytes, after.modified_s >= before.modified_s) == (9, True)
    if store.is_remote:
        assert before.version
        assert after.version != before.version


def test_only_the_first_to_create_succeeds(store: Store) -> None:
    assert store.create("commits/0", b"mine")
    assert not store.create("commits/0", b"theirs")
    assert store.read("commits/0") == b"mine"


def test_creating_again_what_is_ours_is_ours(store: Store) -> None:
    assert store.create("commits/0", b"run 1")
    assert store.create("commits/0", b"run 1")


def test_one_of_many_threads_creates(store: Store) -> None:
    barrier = threading.Barrier(8)

    def race(number: int) -> list[bool]:
        wins = []
        for turn in range(5):
            barrier.wait()
            wins.append(store.create(f"race/{turn}", b"by %d" % number))
        return wins

    with ThreadPoolExecutor(8) as pool:
        wins = list(pool.map(race, range(8)))
    for turn, column in enumerate(zip(*wins, strict=True)):
        assert sum(column) == 1
        assert store.read(f"race/{turn}") == b"by %d" % column.index(True)


RACER = """
import sys
from keepset.storage import open_store
store, number = open_store(sys.argv[1]), sys.argv[2]
store.exists("ready")
print("ready", flush=True)
sys.stdin.readline()
print("".join("01"[store.create(f"race/{turn}", number.encode())] for turn in range(20)))
"""


@pytest.mark.parametrize("store", ["local", "s3"], indirect=True)
def test_one_of_many_processes_creates(store: Store) -> None:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, store.url, str(number)], **pipes)
        for number in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    wins = [racer.communicate()[0].strip() for racer in racers]
    for turn, column in enumerate(zip(*wins, strict=True)):
        assert column.count("1") == 1
        assert store.read(f"race/{turn}") == str(column.index("1")).encode()


def test_readers_see_the_old_bytes_or_the_new(store: Store) -> None:
    versions = [bytes([n]) * (20_000 + 1000 * n) for n in range(4)]
    store.put("lease", versions[0])
    stop = threading.Event()

    def read() -> set[bytes]:
        seen = set()
        while not stop.is_set():
            seen.add(store.read("lease"))
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for turn in range(40):
            store.put("lease", versions[turn % 4])
        stop.set()
    assert set().union(*(reader.result() for reader in readers)) <= set(versions)


@shared_store
@given(pieces=st.lists(st.binary(max_size=50)))
def test_a_writer_joins_its_pieces(store: Store, pieces: list[bytes]) -> None:
    forms = [bytes, bytearray, memoryview]
    with store.writer("segments/of pieces") as writer:
        for number, piece in enumerate(pieces):
            assert writer.tell() == sum(map(len, pieces[:number]))
            writer.write(forms[number % 3](piece))
    assert store.read("segments/of pieces") == b"".join(pieces)


def test_a_writer_takes_more_than_it_holds(store: Store) -> None:
    piece = bytes(range(256)) * 4096 * 9  # more than one part of an upload
    with store.writer("large") as writer:
        writer.write(piece)
        writer.write(memoryview(piece).cast("I"))
    assert writer.tell() == store.size("large") == 2 * len(piece)
    assert store.read_range("large", len(piece) - 5, 10) == piece[-5:] + piece[:5]


@pytest.mark.parametrize("size", [1, 1000, 70_000, 3 << 20, (8 << 20) - 1, 8 << 20, (8 << 20) + 1])
def test_what_was_written_may_be_changed_at_once(store: Store, size: int) -> None:
    buffer, expected = bytearray(size), bytearray()
    with store.writer("x") as writer:
        for turn in range(3 if size > 1 << 20 else 50):
            buffer[:] = bytes([turn + 1]) * size
            expected += buffer
            writer.write(buffer)
        buffer[:] = bytes(size)
    assert store.read("x") == expected


@pytest.mark.parametrize("size", [1, 1000, 6 << 20])
def test_what_was_put_may_be_changed_at_once(store: Store, size: int) -> None:
    buffer: Any = bytearray(b"1" * size)
    store.put("put", buffer)
    assert store.create("created", buffer)
    buffer[:] = bytes(size)
    assert store.read("put") == store.read("created") == b"1" * size


def test_an_object_is_not_there_before_its_writer_is_closed(store: Store) -> None:
    writer = store.writer("x")
    writer.write(b"half")
    assert not store.exists("x")
    assert list(store.list()) == []
    writer.close()
    writer.close()
    assert store.read("x") == b"half"
    writer.abort()
    assert store.exists("x")


def test_an_aborted_writer_leaves_nothing(store: Store) -> None:
    with suppress(ZeroDivisionError), store.writer("x") as writer:
        writer.write(b"half")
        raise ZeroDivisionError
    with store.writer("y") as writer:
        writer.abort()
        writer.abort()
    with pytest.raises(InvalidArgumentError, match="aborted"):
        writer.close()
    with pytest.raises(InvalidArgumentError, match="aborted"):
        writer.write(b"more")
    assert list(store.list()) == []


def test_deleting_takes_some_and_forgives_what_is_missing(store: Store) -> None:
    for name in ("a", "b/c", "b/d"):
        store.put(name, b"1")
    store.delete(["missing", "b/c", "a", "b/c", "a/below"])
    store.delete(iter(["b/missing"]))
    store.delete([])
    assert [info.name for info in store.list()] == ["b/d"]


def test_deletions_can_be_made_durable_also_where_there_were_none(store: Store) -> None:
    store.put("b/c", b"1")
    store.delete(["b/c"])
    for prefix in ("b/", "missing/", "b/missing/", ""):
        store.sync(prefix)
    assert not store.exists("b/c")


def test_a_sub_store_is_a_folder(store: Store) -> None:
    sub = store.sub("one/two")
    assert sub.is_remote == store.is_remote
    assert sub.url == store.object_url("one/two")
    assert sub.create("three/x", b"1")
    store.put("one/twofold", b"2")
    assert [info.name for info in sub.list()] == ["three/x"]
    assert store.read("one/two/three/x") == b"1"
    assert store.sub("one/").sub("two").read("three/x") == b"1"
    sub.delete(["three/x"])
    assert [info.name for info in store.list()] == ["one/twofold"]


def test_a_store_can_be_pickled_and_printed(store: Store) -> None:
    store.put("x", b"1")
    again = pickle.loads(pickle.dumps(store.sub("deep")))
    again.put("y", b"2")
    assert store.read("deep/y") == b"2"
    assert repr(store) == f"{type(store).__name__}({store.url!r})"


def test_a_url_opens_the_same_place(store: Store) -> None:
    store.sub("deep/er").put("x", b"1")
    assert open_store(store.sub("deep").url).read("er/x") == b"1"
    assert open_store(store.url).read("deep/er/x") == b"1"


CHANGES = st.tuples(
    st.sampled_from(["create", "put", "write", "delete"]),
    st.sampled_from(["a", "b/c", "b/d", "segments/e"]),
    st.binary(max_size=3),
)


@shared_store
@given(changes=st.lists(CHANGES, max_size=12))
def test_a_store_is_a_dict(store: Store, changes: list[tuple[str, str, bytes]]) -> None:
    model: dict[str, bytes] = {}
    for number, (kind, name, data) in enumerate(changes):
        # The cache rightly trusts that nothing below segments/ is ever replaced.
        data += b"-%d" % number
        if kind == "create":
            assert store.create(name, data) == (name not in model)
            model.setdefault(name, data)
        elif kind == "delete":
            store.delete([name])
            model.pop(name, None)
        else:
            model[name] = data
            if kind == "put":
                store.put(name, data)
            else:
                with store.writer(name) as writer:
                    writer.write(data)
    assert {info.name: info.size_bytes for info in store.list()} == {
        name: len(data) for name, data in model.items()
    }
    assert {name: store.read(name) for name in model} == model
    store.delete(model)
