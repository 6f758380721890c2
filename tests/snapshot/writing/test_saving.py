"""A save that fails says what is there afterwards."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.errors import StorageError
from keepset.format.log import Log
from keepset.snapshot.writing import saving
from keepset.storage import Store, open_store
from keepset.storage.failures import failed

CODES = [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ECONNREFUSED]
NOTHING = "nothing of this save is stored"
BEFORE = "what was saved before is as it was"
UNCLEAR = "whether it was saved is not certain: load it to see, or save it again"


class Refusing:
    """A store that refuses one kind of call with an error of the system."""

    def __init__(self, store: Store, step: str, code: int) -> None:
        self._store, self._step, self._code = store, step, code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _refuse(self, step: str, name: str) -> None:
        if step == self._step:
            url = self._store.object_url(name)
            raise failed("write", url, OSError(self._code, "refused"))

    def names(self, folder: str) -> Any:
        self._refuse("list", folder)
        return self._store.names(folder)

    def put(self, name: str, data: bytes) -> None:
        self._refuse("lease", name)
        self._store.put(name, data)

    def writer(self, name: str) -> Any:
        self._refuse("segment", name)
        return self._store.writer(name)

    def create(self, name: str, data: bytes) -> bool:
        done = self._store.create(name, data)
        if name.startswith("commits/"):
            self._refuse("commit", name)
        return done


def save(path: Path, step: str, code: int, patch: pytest.MonkeyPatch) -> str:
    """What the error says of a save of which one step fails."""
    refusing = Refusing(open_store(path), step, code)
    with patch.context() as inside:
        inside.setattr(saving, "open_store", lambda path: refusing)
        with pytest.raises(StorageError) as caught:
            ks.Dataset.range(5).save(path, progress=False)
    assert caught.value.errno == code
    return str(caught.value)


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("step", ["list", "lease", "segment"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_save_that_fails_says_that_nothing_of_it_is_stored(
    is_first: bool, step: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_first:
        ks.Dataset.range(3).save(tmp_path)
    message = save(tmp_path, step, code, monkeypatch)
    assert NOTHING in message
    assert (BEFORE in message) is (not is_first and step != "list")
    # Where the place does not even say what is there.
    assert ("what may have been saved before is as it was" in message) is (step == "list")
    assert not list(open_store(tmp_path).list("leases/"))
    if is_first:
        assert Log(open_store(tmp_path)).state().version is None
    else:
        assert list(ks.load(tmp_path)) == [0, 1, 2]
    ks.Dataset.range(5).save(tmp_path)
    assert list(ks.load(tmp_path)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_save_whose_commit_fails_says_that_it_is_not_certain(
    is_first: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_first:
        ks.Dataset.range(3).save(tmp_path)
    message = save(tmp_path, "commit", code, monkeypatch)
    assert UNCLEAR in message
    assert NOTHING not in message
    assert list(ks.load(tmp_path)) == [0, 1, 2, 3, 4]


def test_an_error_of_another_place_is_passed_on(tmp_path: Path) -> None:
    def refuse(_: Any) -> Any:
        raise StorageError("the other place is full", url="s3://other/a", number=errno.ENOSPC)

    with pytest.raises(Exception, match="the other place is full") as caught:
        ks.Dataset.range(5).map(refuse).save(tmp_path)
    assert NOTHING not in str(caught.value)
