"""A password in a URL is used, and never shown."""

from __future__ import annotations

import pickle

import pytest

import keepset as ks
from keepset.errors import KeepsetError
from keepset.storage import open_store
from keepset.storage.private_url import PrivateUrl, private_url, whole_url

URL = "https://bob:hunter2@host/a"


def test_it_opens_as_it_is_and_is_shown_without_its_secrets() -> None:
    url = private_url(URL)
    assert url == URL
    assert whole_url(url) == URL
    assert type(whole_url(url)) is str
    for shown in (str(url), repr(url), f"{url}", f"{url!r:>9}", "%s" % url, "{}".format(url)):  # noqa: UP031, UP032
        assert "hunter2" not in shown
        assert "@host/a" in shown
    again = pickle.loads(pickle.dumps(url))
    assert type(again) is PrivateUrl
    assert again == URL


def test_a_url_without_secrets_is_a_plain_text() -> None:
    assert type(private_url("s3://bucket/train/part-0.parquet")) is str


def test_stores_below_one_with_a_password_have_it_too() -> None:
    store = open_store("memory://bob:hunter2@host/a").sub("b")
    assert store.url == "memory://bob:hunter2@host/a/b"
    assert open_store(store.url).create("c", b"1")
    assert store.read("c") == b"1"
    assert store.object_url("c") == "memory://bob:hunter2@host/a/b/c"
    assert "hunter2" not in repr(store) + str(store.object_url("c"))
    again = pickle.loads(pickle.dumps(store))
    assert again.url == store.url


def read_missing() -> None:
    open_store("memory://bob:hunter2@host/a").read("nothing")


def write_to_the_web() -> None:
    open_store(URL).create("b", b"")


def unknown_scheme() -> None:
    open_store("ftp://bob:hunter2@host/a")


def no_local_file() -> None:
    open_store("file://bob:hunter2@host")


def wrong_options() -> None:
    open_store("s3://bob:hunter2@host/a", nonsense=object())


def no_such_file() -> None:
    ks.read_csv("memory://bob:hunter2@host/*.csv")


def folder() -> None:
    list(ks.read_csv("memory://bob:hunter2@empty/"))


def damaged_file() -> None:
    store = open_store("memory://bob:hunter2@damaged")
    store.put("a.csv", b"a,b\n1\n")
    list(ks.read_csv("memory://bob:hunter2@damaged/*.csv"))


@pytest.mark.parametrize(
    "action",
    [
        *(read_missing, write_to_the_web, unknown_scheme, no_local_file, wrong_options),
        *(no_such_file, folder, damaged_file),
    ],
)
def test_no_error_of_ours_shows_a_password(action: object) -> None:
    assert callable(action)
    with pytest.raises(KeepsetError) as raised:
        action()
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(raised.value)
    assert "<secret sha256:" in str(raised.value)
