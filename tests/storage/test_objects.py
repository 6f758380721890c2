"""ObjectStore: conditional puts over HTTP, unclear answers, and what users are told."""

import errno
import functools
import http.server
import os
import pickle
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from keepset.errors import InvalidArgumentError, ObjectMissingError, StorageError
from keepset.storage import Store, open_store
from keepset.storage.clients import obstore
from keepset.storage.objects import ObjectStore


@pytest.fixture
def s3(s3_url: str) -> Store:
    return open_store(s3_url)


def test_the_server_refuses_a_conditional_put_of_a_key_that_exists(s3: Store) -> None:
    # What the other tests of create() on S3 stand on.
    assert isinstance(s3, ObjectStore)
    s3.put("x", b"1")
    with pytest.raises(Exception, match="412 Precondition Failed"):
        obstore().put(s3._client, s3._key("x"), b"2", mode="create")
    assert s3.read("x") == b"1"


def test_the_environment_cannot_switch_conditions_off(
    s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    store = open_store(s3_url)
    assert store.create("x", b"1")
    assert not store.create("x", b"2")


def test_without_conditional_puts_nothing_is_created(s3_url: str) -> None:
    store = open_store(s3_url, conditional_put="disabled")
    with pytest.raises(StorageError) as caught:
        store.create("x", b"1")
    assert caught.value.errno == errno.ENOTSUP
    assert not store.exists("x")


@pytest.mark.parametrize("fault", ["fault-lost", "fault-conflict"])
def test_an_unclear_answer_is_settled_by_looking(s3: Store, fault: str) -> None:
    assert s3.create(fault, b"mine")
    assert s3.read(fault) == b"mine"
    assert not s3.create(fault, b"theirs")
    assert s3.create(fault, b"mine")


def test_a_clear_refusal_is_not_tried_again(s3: Store) -> None:
    with pytest.raises(StorageError, match="check the credentials") as caught:
        s3.create("fault-forbidden", b"mine")
    assert caught.value.errno == errno.EACCES
    assert s3.object_url("fault-forbidden") in str(caught.value)
    assert not s3.exists("fault-forbidden")


def test_a_conflict_in_memory_of_ours_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"memory://{uuid4().hex}")
    obs = obstore()
    real = obs.put

    def put_then_lose(*arguments: object, **options: object) -> None:
        real(*arguments, **options)
        raise obs.exceptions.GenericError("the connection was reset")

    with monkeypatch.context() as patch:
        patch.setattr(obs, "put", put_then_lose)
        assert store.create("x", b"mine")
    assert store.read("x") == b"mine"


def test_tries_end(no_pauses: None, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"memory://{uuid4().hex}")
    obs = obstore()

    def lose(*_: object, **__: object) -> None:
        raise obs.exceptions.GenericError("the connection was reset\n\nDebug source: ...")

    monkeypatch.setattr(obs, "put", lose)
    with pytest.raises(StorageError, match=r"connection was reset.*it may still appear") as caught:
        store.create("x", b"mine")
    assert "Debug" not in str(caught.value)


def test_a_missing_bucket_is_explained(s3_url: str) -> None:
    store = open_store("s3://there-is-no-such-bucket/folder")
    for write in (lambda: store.create("x", b"1"), lambda: store.put("x", b"1")):
        with pytest.raises(StorageError, match="'there-is-no-such-bucket' does not exist; create"):
            write()
    with pytest.raises(ObjectMissingError, match="'there-is-no-such-bucket' does not exist"):
        store.read("x")


def test_a_server_that_is_away_is_explained(s3_url: str) -> None:
    # Port 9 of the loopback, which nobody listens on.
    store = open_store(s3_url, endpoint="http://127.0.0.1:9", retry_config={"max_retries": 0})
    for use in (
        lambda: store.read("x"),
        lambda: store.exists("x"),
        lambda: list(store.list()),
        lambda: store.create("x", b"1"),
        lambda: store.put("x", b"1"),
        lambda: store.delete(["x"]),
        lambda: store.writer("x").close(),
    ):
        with pytest.raises(StorageError, match="check the network") as caught:
            use()
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.errno, again.url) == (
            str(caught.value), errno.EIO, caught.value.url,
        )  # fmt: skip


def test_a_store_that_minds_missing_objects_still_deletes_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, obs = open_store(f"memory://{uuid4().hex}"), obstore()
    for name in ("a", "b"):
        store.put(name, b"1")
    real = obs.delete

    def delete(client: object, keys: str | list[str]) -> None:
        # As Google Cloud does: it stops at the first that is not there.
        for key in [keys] if isinstance(keys, str) else keys:
            obs.head(client, key)
            real(client, key)

    monkeypatch.setattr(obs, "delete", delete)
    store.delete(["a", "missing", "b"])
    assert list(store.list()) == []


def test_distant_ranges_are_read_at_once(s3: Store) -> None:
    data = bytes(range(256)) * (5 << 12)
    s3.put("x", data)
    ranges = [(4 << 20, 100), (0, 10), (5, 20), (2 << 20, 1), (len(data) - 1, 1), (7, 0)]
    assert [bytes(part) for part in s3.read_ranges("x", ranges)] == [
        data[offset : offset + length] for offset, length in ranges
    ]


def test_a_marker_of_a_folder_is_no_object(s3: Store, s3_endpoint: str) -> None:
    s3.put("folder/x", b"1")
    marker = f"{s3_endpoint}/bucket/{s3.url.removeprefix('s3://bucket/')}/"
    urllib.request.urlopen(urllib.request.Request(marker, b"", method="PUT")).close()
    assert [info.name for info in s3.list()] == ["folder/x"]


def test_memory_of_one_name_is_one_store() -> None:
    name = uuid4().hex
    open_store(f"memory://{name}/folder").put("x", b"1")
    assert open_store(f"MEMORY://{name}/").read("folder/x") == b"1"
    assert not open_store(f"memory://{name}2").exists("folder/x")
    open_store("memory://").sub(name).put("x", b"2")
    assert open_store(open_store("memory://").object_url(name)).read("x") == b"2"


@pytest.mark.parametrize("name", ["a\nb", "tab\t"])
def test_names_that_a_bucket_cannot_hold_are_refused(name: str) -> None:
    store = open_store("memory://names")
    for use in (
        lambda: store.put(name, b"1"),
        lambda: store.create(name, b"1"),
        lambda: store.read(name),
        lambda: store.writer(name).close(),
    ):
        with pytest.raises(InvalidArgumentError, match="cannot name an object"):
            use()


FORKED = """
import os, sys
from keepset.errors import StorageError
from keepset.storage import open_store
store = open_store("memory://x")
if sys.argv[1] == "used":
    store.put("x", b"1")
pid = os.fork()
if pid == 0:
    try:
        store.put("x", b"2")
    except StorageError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("before", "complaint"), [("used", "spawn"), ("opened", "")])
def test_a_forked_process_is_told_rather_than_hung(before: str, complaint: str) -> None:
    command = [sys.executable, "-c", FORKED, before]
    said = subprocess.check_output(command, text=True, timeout=30)
    assert complaint in said
    assert bool(said) == bool(complaint)


@pytest.fixture
def web_url(tmp_path: Path) -> Iterator[str]:
    """A plain web server over a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_web_can_be_read_and_not_written(web_url: str, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "50%20").write_bytes(b"data")
    store = open_store(f"{web_url}/a%20b")
    assert store.read("50%20") == b"data"
    assert store.size("50%20") == 4
    assert not store.exists("missing")
    for write in (
        lambda: store.create("x", b"1"),
        lambda: store.put("x", b"1"),
        lambda: store.writer("x"),
        lambda: store.delete(["50%20"]),
    ):
        with pytest.raises(StorageError, match="can only be read"):
            write()
