"""LocalStore: whole and durable files, whatever the operating system does."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepset.errors import InvalidArgumentError, StorageError
from keepset.storage import LocalStore, durable, steps

DATA = b"0123456789" * 1000


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def temporary_files(store: LocalStore) -> list[str]:
    return [str(path) for path in Path(store.url).rglob(".tmp-*")]


class FailingCall:
    """An operation of the system that fails the ``nth`` time it is called, and all later times."""

    def __init__(self, function: Callable[..., Any], nth: int, number: int, *, once: bool) -> None:
        self._function, self._nth, self._number, self._once = function, nth, number, once
        self.calls = 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls == self._nth or (self.calls > self._nth and not self._once):
            raise OSError(self._number, os.strerror(self._number))
        return self._function(*arguments, **options)


def create(store: LocalStore, name: str, data: bytes) -> None:
    assert store.create(name, data)


def put(store: LocalStore, name: str, data: bytes) -> None:
    store.put(name, data)


def write(store: LocalStore, name: str, data: bytes) -> None:
    with store.writer(name) as writer:
        writer.write(data[:5])
        writer.write(data[5:])


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EPERM])
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
@pytest.mark.parametrize("call", ["writev", "fsync", "link", "replace", "unlink", "mkdir"])
@pytest.mark.parametrize("change", [create, put, write])
def test_a_failing_call_never_makes_a_half_object(
    local: LocalStore,
    no_pauses: None,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[LocalStore, str, bytes], None],
    call: str,
    nth: int,
    number: int,
    once: bool,
) -> None:
    failing = FailingCall(getattr(os, call), nth, number, once=once)
    error = None
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        try:
            change(local, "folder/x", DATA)
        except StorageError as caught:
            error = caught
    if error is None:
        assert local.read("folder/x") == DATA
    else:
        assert failing.calls >= nth
        assert error.errno == number
        assert "folder/x" in str(error)
        assert not local.exists("folder/x") or local.read("folder/x") == DATA
    assert [info.name for info in local.list()] in ([], ["folder/x"])
    if call != "unlink":
        assert temporary_files(local) == []
    # What was not done can be done again, and what was done is still known as ours.
    change(local, "folder/x", DATA)
    assert local.read("folder/x") == DATA


@pytest.mark.parametrize("call", ["writev", "fsync", "replace"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("change", [put, write])
def test_a_failing_call_never_harms_what_is_replaced(
    local: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[LocalStore, str, bytes], None],
    call: str,
    nth: int,
) -> None:
    local.put("x", b"old")
    monkeypatch.setattr(os, call, FailingCall(getattr(os, call), nth, errno.EIO, once=False))
    try:
        change(local, "x", DATA)
        done = {DATA}
    except StorageError:
        done = {b"old", DATA}
    assert local.read("x") in done


def test_a_full_disk_is_explained(local: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "writev", FailingCall(os.writev, 1, errno.ENOSPC, once=False))
    with pytest.raises(StorageError, match="free some space and run again") as caught:
        local.create("x", DATA)
    assert local.object_url("x") in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_a_writer_that_failed_cannot_be_closed(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = local.writer("x")
    monkeypatch.setattr(os, "writev", FailingCall(os.writev, 1, errno.ENOSPC, once=True))
    with pytest.raises(StorageError):
        writer.write(bytes(1 << 20))  # what is small may wait until the writer is closed
    with pytest.raises(InvalidArgumentError, match="aborted"):
        writer.close()
    assert not local.exists("x")


def test_a_small_write_that_fails_when_the_writer_is_closed_leaves_nothing(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = local.writer("x")
    writer.write(DATA)
    monkeypatch.setattr(os, "writev", FailingCall(os.writev, 1, errno.ENOSPC, once=True))
    with pytest.raises(StorageError, match="free some space"):
        writer.close()
    assert not local.exists("x")
    assert list(local.list()) == []


@pytest.mark.parametrize("change", [create, put, write])
def test_short_writes_are_continued(
    local: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[LocalStore, str, bytes], None],
) -> None:
    real = os.write
    monkeypatch.setattr(os, "writev", lambda file, pieces: real(file, b"".join(pieces)[:7]))
    change(local, "x", DATA)
    assert local.read("x") == DATA


def test_short_reads_are_continued(local: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    local.put("x", DATA)
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, at: real(file, min(size, 7), at))
    assert local.read_range("x", 3, 50) == DATA[3:53]


@pytest.mark.parametrize("number", [errno.EEXIST, errno.EIO, errno.ESTALE, errno.ETIMEDOUT])
def test_a_link_that_was_made_and_denied_is_ours(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real = os.link

    def link_then_fail(*arguments: Any) -> None:
        real(*arguments)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link_then_fail)
    assert local.create("x", DATA)
    assert local.read("x") == DATA


def test_a_link_that_is_denied_for_anothers_is_theirs(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.put("x", b"theirs")
    monkeypatch.setattr(os, "link", FailingCall(os.link, 1, errno.EIO, once=False))
    assert not local.create("x", DATA)
    assert local.read("x") == b"theirs"


def test_a_name_that_is_taken_and_empty_is_tried_again(
    local: LocalStore, no_pauses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = FailingCall(os.link, 1, errno.EEXIST, once=True)
    monkeypatch.setattr(os, "link", failing)
    assert local.create("x", DATA)
    assert failing.calls == 2


def test_tries_end(local: LocalStore, no_pauses: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", FailingCall(os.link, 1, errno.EEXIST, once=False))
    with pytest.raises(StorageError, match="4 tries failed") as caught:
        local.create("x", DATA)
    assert caught.value.errno == errno.EEXIST
    assert temporary_files(local) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS])
def test_without_hard_links_a_rename_creates(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "link", FailingCall(os.link, 1, number, once=False))
    assert local.create("x", DATA)
    assert not local.create("x", b"another")
    assert local.create("x", DATA)
    assert local.read("x") == DATA
    assert temporary_files(local) == []


def test_without_links_and_renames_nothing_is_created(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", FailingCall(os.link, 1, errno.EPERM, once=False))
    monkeypatch.setattr(durable, "_renameat2", lambda: None)
    with pytest.raises(StorageError, match="neither hard links nor renames") as caught:
        local.create("x", DATA)
    assert caught.value.errno == errno.ENOTSUP
    assert list(local.list()) == []
    assert temporary_files(local) == []


class Recorder:
    """Writes down which files and folders are synced and named, in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, str]] = []
        for call in ("fsync", "link", "replace"):
            patch.setattr(os, call, self._recorded(call, getattr(os, call)))

    def _recorded(self, call: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def record(*arguments: Any) -> Any:
            target = arguments[-1]
            path = os.readlink(f"/proc/self/fd/{target}") if call == "fsync" else target
            self.events.append((call, path))
            return function(*arguments)

        return record


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("change", [create, put, write])
def test_contents_are_synced_before_the_name_and_the_folders_after_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[LocalStore, str, bytes], None],
) -> None:
    root = tmp_path / "new" / "store"
    recorder = Recorder(monkeypatch)
    change(LocalStore(root), "a/b/x", DATA)
    naming = "link" if change is create else "replace"
    at = recorder.events.index((naming, str(root / "a/b/x")))
    assert ".tmp-" in recorder.events[at - 1][1]
    assert recorder.events[at + 1 :] == [("fsync", str(root / "a/b"))]
    # Every folder that was made has its own entry synced.
    parents = {tmp_path, root.parent, root, root / "a"}
    assert parents <= {Path(path) for call, path in recorder.events[:at] if call == "fsync"}


def test_a_folder_that_was_removed_is_made_again(local: LocalStore) -> None:
    local.put("folder/x", b"1")
    local.delete(["folder/x"])
    os.rmdir(Path(local.url) / "folder")
    assert local.create("folder/x", b"2")


def test_unfinished_files_are_listed_apart_and_can_be_discarded(local: LocalStore) -> None:
    writer = local.writer("folder/alive")
    writer.write(b"1")
    for name in ("folder/.tmp-0123", ".tmp-0123", "other/.tmp-0123"):
        old = Path(local.url) / name
        old.parent.mkdir(exist_ok=True)
        old.write_bytes(b"left behind")
    assert list(local.list()) == []
    assert len(list(local.unfinished())) == 4
    found = {info.name: info.size_bytes for info in local.unfinished(("other/",))}
    assert found == {".tmp-0123": 11, "other/.tmp-0123": 11}
    local.discard([*found, "folder/.tmp-0123", "folder/.tmp-gone"])
    assert len(list(local.unfinished())) == 1
    writer.close()
    assert [info.name for info in local.list()] == ["folder/alive"]


KILLS = """
import json, os, signal, sys
from pathlib import Path
from keepset.storage import LocalStore, steps

def write(store, name, data):
    with store.writer(name) as writer:
        writer.write(data[:5])
        writer.write(data[5:])

changes = {"create": LocalStore.create, "put": LocalStore.put, "writer": write}

def run(store, change, wanted):
    def hook(step):
        if step == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
    steps.hook = hook
    changes[change](store, "folder/x", b"0123456789")

for number, step in enumerate(sys.argv[2:]):
    store = LocalStore(Path(sys.argv[1]) / str(number))
    pid = os.fork()
    if pid == 0:
        run(store, step.partition(":")[0], step)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), step
"""

STEPS = {
    "create:written": False,
    "create:synced": False,
    "create:linked": True,
    "create:unlinked": True,
    "create:folder-synced": True,
    "put:written": False,
    "put:synced": False,
    "put:replaced": True,
    "put:folder-synced": True,
    "writer:written": False,
    "writer:synced": False,
    "writer:replaced": True,
    "writer:folder-synced": True,
}


def test_a_killed_process_leaves_a_whole_object_or_none(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLS, tmp_path, *STEPS], check=True)
    for number, (step, is_there) in enumerate(STEPS.items()):
        store = LocalStore(tmp_path / str(number))
        assert [info.name for info in store.list()] == ["folder/x"] * is_there, step
        # Somebody else may have the name, or learns whose it is.
        assert store.create("folder/x", b"another's") == (not is_there), step
        assert store.read("folder/x") == (b"0123456789" if is_there else b"another's"), step
        store.discard(info.name for info in store.unfinished())
        assert temporary_files(store) == [], step


def test_the_steps_are_those_that_are_killed_at(local: LocalStore) -> None:
    seen: list[str] = []
    steps.hook = seen.append
    for change in (create, put, write):
        change(local, f"{change.__name__}d", DATA)
    assert list(dict.fromkeys(seen)) == list(STEPS)


def test_a_view_survives_its_file(local: LocalStore) -> None:
    local.put("x", DATA)
    part = local.view("x")[10:20]
    local.delete(["x"])
    assert part == DATA[10:20]


def test_odd_paths_are_paths(tmp_path: Path) -> None:
    for odd in ("a b", "[a-z]*?", "50%20#1", "ünï\ncode", "~", "a:b", "-rf", "back\\slash"):
        store = LocalStore(f"{tmp_path}/{odd}/")
        assert store.create("new\nline\t*", b"1")
        assert [info.name for info in store.list()] == ["new\nline\t*"]
        assert (tmp_path / odd / "new\nline\t*").read_bytes() == b"1"


def test_a_relative_path_means_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = LocalStore("here")
    sub = store.sub("below")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.put("x", b"1")
    sub.put("y", b"2")
    store.sub("late").put("z", b"3")
    assert sorted(path.name for path in (tmp_path / "here").rglob("?")) == ["x", "y", "z"]
    assert store.url == str(tmp_path / "here")


def test_links_are_followed_but_not_in_circles(local: LocalStore, tmp_path: Path) -> None:
    local.put("folder/x", b"1")
    folder = Path(local.url) / "folder"
    (folder / "back").symlink_to(local.url)
    (folder / "broken").symlink_to("nowhere")
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside" / "y").write_bytes(b"22")
    (folder / "linked").symlink_to(tmp_path / "aside")
    found = [(info.name, info.size_bytes) for info in local.list()]
    assert found == [("folder/linked/y", 2), ("folder/x", 1)]


def test_a_file_in_place_of_a_folder_is_explained(local: LocalStore) -> None:
    local.put("x", b"1")
    with pytest.raises(StorageError, match="in the place of a folder"):
        local.put("x/below", b"2")


@pytest.fixture
def locked_folder(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() == 0:
        pytest.skip("the superuser may do everything")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    yield folder
    folder.chmod(0o700)


def test_a_missing_permission_is_explained(locked_folder: Path) -> None:
    with pytest.raises(StorageError, match="check who owns it") as caught:
        LocalStore(locked_folder).create("x", b"1")
    assert caught.value.errno == errno.EACCES


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgumentError):
        LocalStore(path)


def test_files_obey_the_umask(local: LocalStore) -> None:
    before = os.umask(0o027)
    try:
        local.put("x", b"1")
        local.create("y", b"1")
    finally:
        os.umask(before)
    assert {os.stat(Path(local.url) / name).st_mode & 0o777 for name in "xy"} == {0o640}


def test_importing_the_storage_does_not_import_obstore() -> None:
    program = "import json, sys, keepset.storage.objects; print(json.dumps([*sys.modules]))"
    modules = json.loads(subprocess.check_output([sys.executable, "-c", program], text=True))
    assert "keepset.storage.objects" in modules
    assert "obstore" not in modules


def test_the_disk_begins_while_a_file_is_written(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []

    def note(descriptor: int, offset: int, length: int) -> None:
        assert os.fstat(descriptor).st_size == offset + length
        begun.append((offset, length))

    monkeypatch.setattr(durable, "_begin_write_back", note)
    part = bytes(durable._WRITE_BACK_BYTES // 2)
    with local.writer("x") as writer:
        for _ in range(5):
            writer.write(part)
        writer.write(3 * part)
        assert begun == [
            (0, 2 * len(part)),
            (2 * len(part), 2 * len(part)),
            (4 * len(part), 4 * len(part)),
        ]
    assert local.size("x") == 8 * len(part)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system in the way of Linux")
def test_what_the_disk_has_begun_with_is_synced_all_the_same(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert durable._sync_file_range() is not None
    writer = local.writer("x")
    monkeypatch.setattr(os, "fsync", FailingCall(os.fsync, 1, errno.EIO, once=False))
    writer.write(bytes(durable._WRITE_BACK_BYTES))
    with pytest.raises(StorageError):
        writer.close()
    assert not local.exists("x")


def test_without_a_way_to_begin_early_files_are_written_all_the_same(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "_sync_file_range", lambda: None)
    data = bytes(range(256)) * (durable._WRITE_BACK_BYTES // 128)
    with local.writer("x") as writer:
        writer.write(data)
    assert local.read("x") == data
