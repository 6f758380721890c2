"""Errors of object stores: one line that names the bucket, what is wrong and what to do."""

from __future__ import annotations

import errno
import gc
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import keepset

import keepset as ks
from keepset.errors import StorageError
from keepset.storage import Store, open_store

# What a save says of itself behind what went wrong.
OUTCOME = "(; nothing of this save is stored, [^;]*)?"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
DENIED = (
    "<?xml version='1.0'?>\n<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does "
    f"not match.</Message><StringToSign>{SECRET}</StringToSign></Error>"
)
MALFORMED = (
    "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong; "
    "expecting 'eu-west-1'</Message><Region>eu-west-1</Region></Error>"
)
ANSWERS = {"denied": (403, DENIED), "moved": (301, ""), "regional": (400, MALFORMED)}


class Server(BaseHTTPRequestHandler):
    """Answers what the bucket is called."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status, text = ANSWERS[self.path.split("/")[1].partition("?")[0]]
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode() if self.command != "HEAD" else b"")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def options(endpoint: str, **others: Any) -> dict[str, Any]:
    return {
        "endpoint": endpoint,
        "access_key_id": "AKIAIOSFODNN7EXAMPLE",
        "secret_access_key": SECRET,
        "region": "us-east-1",
        "allow_http": "true",
        "retry_config": {"max_retries": 0},
        **others,
    }


NUMBERS = ks.Dataset.range(5)
USES: dict[str, Callable[..., Any]] = {
    "save": lambda url, **options: NUMBERS.save(url, **options),
    "load": lambda url, **options: ks.load(url, **options),
    "Snapshot": lambda url, **options: ks.Snapshot(url, **options),
    "read_text": lambda url, **options: ks.read_text(f"{url}/*.txt", **options),
    "write_csv": lambda url, **options: NUMBERS.map(lambda x: {"x": x}).write_csv(
        f"{url}/a.csv", **options
    ),
}


def complaint(use: str, url: str, **given: Any) -> StorageError:
    with pytest.raises(StorageError) as caught:
        USES[use](url, **given)
    text = str(caught.value)
    assert url in text
    assert "\n" not in text
    assert SECRET not in text
    assert "AKIAIOSFODNN7EXAMPLE" not in text
    return caught.value


@pytest.mark.parametrize("use", USES)
def test_a_bucket_that_is_missing(s3_endpoint: str, use: str) -> None:
    error = complaint(use, "s3://gone/x", **options(s3_endpoint))
    assert "the bucket 'gone' does not exist; create it, or check the name" in str(error)
    assert error.errno == errno.ENOENT


@pytest.mark.parametrize("use", USES)
def test_http_that_was_not_allowed(s3_endpoint: str, use: str) -> None:
    given = options(s3_endpoint)
    del given["allow_http"]
    error = complaint(use, "s3://bucket/x", **given)
    assert f"{s3_endpoint} is not encrypted, and http was not allowed; pass allow_http" in str(
        error
    )


@pytest.mark.parametrize("use", USES)
def test_credentials_that_are_refused(endpoint: str, use: str) -> None:
    error = complaint(use, "s3://denied/x", **options(endpoint))
    assert "the bucket 'denied' denies it (SignatureDoesNotMatch: The sig" in str(error)
    assert re.search(f"; check the credentials and what they allow{OUTCOME}$", str(error))
    assert error.errno == errno.EACCES


@pytest.mark.parametrize("use", USES)
def test_a_bucket_in_another_region(endpoint: str, use: str) -> None:
    text = str(complaint(use, "s3://moved/x", **options(endpoint)))
    remedy = "'moved' is in another region; pass its region, as in region=\"eu-west-1\""
    assert re.search(f"{remedy}{OUTCOME}$", text)
    text = str(complaint(use, "s3://regional/x", **options(endpoint)))
    remedy = "'regional' is in another region; pass region=\"eu-west-1\""
    assert re.search(f"{remedy}{OUTCOME}$", text)


@pytest.mark.parametrize("use", USES)
def test_an_endpoint_that_refuses_the_connection(use: str) -> None:
    # Port 9 of the loopback, which nobody listens on.
    error = complaint(use, "s3://bucket/x", **options("http://127.0.0.1:9"))
    assert "http://127.0.0.1:9 cannot be reached" in str(error)
    assert "check the network and the endpoint" in str(error)


def test_an_endpoint_that_is_no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="endpoint='localhost:9000' is not a url"):
        ks.load("s3://bucket/x", **options("localhost:9000"))
    monkeypatch.setenv("AWS_ENDPOINT", "localhost")
    with pytest.raises(ks.InvalidArgumentError, match="AWS_ENDPOINT='localhost' is not a url"):
        ks.load("s3://bucket/x")


def test_an_object_of_a_missing_bucket(s3_endpoint: str) -> None:
    with pytest.raises(ks.ObjectMissingError, match="check the path and the bucket"):
        list(ks.read_text("s3://gone/a.txt", **options(s3_endpoint)))


def test_a_snapshot_is_not_computed_for_nothing(s3_endpoint: str) -> None:
    with pytest.raises(StorageError, match="the bucket 'gone' does not exist"):
        list(NUMBERS.snapshot("s3://gone/x", **options(s3_endpoint)))


def test_the_command_line_says_it_in_one_line(s3_endpoint: str) -> None:
    given = {key: value for key, value in options(s3_endpoint).items() if isinstance(value, str)}
    arguments = [part for key, value in given.items() for part in ("-o", f"{key}={value}")]
    result = keepset("ls", "s3://gone/x", *arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "error: cannot list s3://gone/x/: the bucket 'gone' does not exist; create it, or check "
        "the name and the endpoint\n"
    )


LOCAL: dict[str, Callable[..., Any]] = {
    "save": lambda path, **options: ks.save(NUMBERS, path, **options),
    "snapshot": lambda path, **options: NUMBERS.snapshot(path, **options),
    "load": lambda path, **options: ks.load(path, **options),
    "read_text": lambda path, **options: ks.read_text(f"{path}/a.txt", **options),
}


@pytest.mark.parametrize("use", LOCAL)
@pytest.mark.parametrize("place", ["path", "bucket"])
def test_an_argument_with_a_typing_error(use: str, place: str, tmp_path: Path) -> None:
    where = str(tmp_path) if place == "path" else "s3://bucket/x"
    with pytest.raises(ks.InvalidArgumentError) as caught:
        LOCAL[use](where, compresion="LZ4")
    expected = f"{use}() has no argument 'compresion'; did you mean compression=? ("
    assert str(caught.value).startswith(expected)


def test_an_option_with_a_typing_error(tmp_path: Path) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=r"'regoin'; did you mean region=\?"):
        ks.load("s3://bucket/x", regoin="eu-west-1")
    text = keepset("ls", "s3://bucket/x", "-o", "regoin=eu-west-1").stderr
    assert "there is no option 'regoin'; did you mean region=?" in text


def test_an_option_that_a_path_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(
        ks.InvalidArgumentError, match="local path, which takes no options, but got region; leave"
    ):
        ks.load(tmp_path, region="eu-west-1")
    with pytest.raises(ks.InvalidArgumentError, match="memory:// takes no options, but got region"):
        ks.load("memory://x", region="eu-west-1")


def test_an_error_that_was_caught_holds_nothing() -> None:
    class Held:
        """Stands for an iterator, which ends a first pass when it is dropped."""

    def use(store: Store) -> weakref.ref[Held]:
        held = Held()
        with pytest.raises(ks.ObjectMissingError) as caught:
            store.read("x")
        del caught
        return weakref.ref(held)

    gc.disable()
    try:
        assert use(open_store("memory://holds-nothing"))() is None
    finally:
        gc.enable()
