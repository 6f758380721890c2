"""A place that takes nothing, from the start or in the middle of a pass: elements still flow."""

from __future__ import annotations

import errno
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.errors import StorageError
from keepset.format.log import Log
from keepset.snapshot import beginning
from keepset.snapshot.writing import first_pass
from keepset.storage import open_store
from keepset.storage.failures import failed
from keepset.storage.local import LocalStore

COUNT = 300
LASTING = [errno.EROFS, errno.EACCES, errno.ECONNREFUSED]


class Refusal:
    """Refuses what is written to local places, once ``code`` is set.

    Attributes:
        tries: When something was to be written meanwhile.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.code: int | None = None
        self.tries: list[float] = []
        for name in ("_put", "_create", "_writer"):
            patch.setattr(LocalStore, name, self._refusing(getattr(LocalStore, name)))

    def _refusing(self, method: Any) -> Any:
        def call(store: LocalStore, name: str, *given: Any) -> Any:
            code = self.code
            if code is not None:
                self.tries.append(time.monotonic())
                raise failed("write", store.object_url(name), OSError(code, "refused"))
            return method(store, name, *given)

        return call


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> Refusal:
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 20))
    return Refusal(monkeypatch)


def pipeline(path: Path) -> ks.Dataset:
    ds = ks.Dataset.range(COUNT).map(lambda x: x * 2)
    return ds.snapshot(path, fingerprint="f", chunk_bytes=80, segment_bytes=160)


def read(ds: ks.Dataset, refusal: Refusal, code: int, at: int) -> list[str]:
    """The warnings of a pass whose place refuses from the element ``at`` on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, x in enumerate(_all(ds, refusal, code, at)):
            assert int(x) == 2 * number
        assert number == COUNT - 1
    refusal.code = None
    return [str(each.message) for each in caught]


def _all(ds: ks.Dataset, refusal: Refusal, code: int, at: int) -> Iterator[Any]:
    if not at:
        refusal.code = code
    for number, x in enumerate(ds):
        if at and number == at:
            time.sleep(0.05)  # what is committed in the background is done by then
            refusal.code = code
        yield x


@pytest.mark.parametrize("code", LASTING, ids=errno.errorcode.get)
@pytest.mark.parametrize("at", [0, 150])
def test_a_pass_goes_on_at_once_where_time_mends_nothing(
    code: int, at: int, tmp_path: Path, refusal: Refusal
) -> None:
    began = time.monotonic()
    [said] = read(pipeline(tmp_path), refusal, code, at)
    assert time.monotonic() - began < 2.5
    assert "not stored" in said
    store = open_store(tmp_path).sub("f/")
    assert not list(store.list("leases/"))
    kept = Log(store).state().appends
    assert bool(kept) is bool(at)
    if kept:
        assert f"its first {kept[-1].stop:,} elements are" in said
    assert not read(pipeline(tmp_path), refusal, 0, COUNT)
    assert [int(x) for x in ks.load(tmp_path)] == [2 * i for i in range(COUNT)]


def test_the_beginning_waits_for_a_moment_only(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "_BEGINNING_PATIENCE_S", 0.5)
    [said] = read(pipeline(tmp_path), refusal, errno.ENOSPC, 0)
    assert "not stored" in said
    assert 0.5 <= refusal.tries[-1] - refusal.tries[0] < 5
    assert len(refusal.tries) >= 3
    assert beginning._BEGINNING_PATIENCE_S < 5 < beginning._PATIENCE_S


@pytest.mark.parametrize("at", [0, 150])
def test_a_place_that_was_waited_for_in_vain_is_tried_only_once(
    at: int, tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "_PATIENCE_S", 0.3)

    def tries(name: str, first: int = at) -> int:
        refusal.tries.clear()
        ds = ks.Dataset.range(COUNT).map(lambda x: x * 2)
        ds = ds.snapshot(tmp_path, fingerprint=name, chunk_bytes=80, segment_bytes=160)
        [said] = read(ds, refusal, errno.ENOSPC, first)
        assert "not stored" in said
        return len(refusal.tries)

    assert tries("f") >= 3
    # As a lasting error, whose tries are never repeated: another pass, and another pipeline.
    assert tries("g", 0) == 1
    assert tries("f", 0) == 1
    assert not read(pipeline(tmp_path), refusal, 0, COUNT)
    assert tries("h") >= 3


def test_a_disk_that_has_room_again_in_a_moment_is_not_noticed(
    tmp_path: Path, refusal: Refusal
) -> None:
    class Briefly(list[float]):
        def append(self, at: float) -> None:
            super().append(at)
            if len(self) == 3:
                refusal.code = None

    refusal.tries = Briefly()
    assert not read(pipeline(tmp_path), refusal, errno.ENOSPC, 0)
    assert len(refusal.tries) == 3
    assert [int(x) for x in ks.load(tmp_path)] == [2 * i for i in range(COUNT)]


def test_a_pass_waits_with_growing_pauses_and_computes_little_meanwhile(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "_PATIENCE_S", 1.0)
    computed: list[float] = []

    def slowly(x: Any) -> Any:
        computed.append(time.monotonic())
        return x

    count = 100_000
    ds = ks.Dataset.range(count).map(slowly)
    ds = ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=80, segment_bytes=160)

    def whole() -> int:
        number = -1
        for number, x in enumerate(ds):
            assert int(x) == number
            if number == 100:
                refusal.code = errno.ENOSPC
        return number + 1

    with pytest.warns(UserWarning, match="not stored") as caught:
        assert whole() == count
    assert len(caught) == 1
    first, last = refusal.tries[0], max(t for t in refusal.tries if t < refusal.tries[0] + 1.5)
    assert last - first >= 0.9
    pauses = [b - a for a, b in zip(refusal.tries, refusal.tries[1:], strict=False)][:4]
    assert pauses[0] < 0.5 * pauses[2] < pauses[3]
    # The chunks that wait are few, whatever the consumer would take.
    meanwhile = sum(first + 0.2 < at < last for at in computed)
    assert meanwhile < 5_000


def pure() -> Callable[[Any], Any]:
    return lambda x: x


def counter() -> Callable[[Any], Any]:
    calls = 0

    def number(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x + 0 * calls

    return number


def vocabulary() -> Callable[[Any], Any]:
    known: dict[int, int] = {}
    return lambda x: known.setdefault(int(x), int(x))


class Lazy:
    weight: int | None = None

    def __call__(self, x: Any) -> Any:
        if self.weight is None:
            self.weight = 1
        return x * self.weight


FUNCTIONS = [pure, counter, vocabulary, Lazy]


def refuse_names(patch: pytest.MonkeyPatch, code: int, *, below: str = "") -> None:
    """Let no folder be listed whose path has ``below`` in it."""
    names = LocalStore.names

    def refused(store: LocalStore, prefix: str) -> Any:
        folder = f"{store.url}/{prefix}"
        if below in folder:
            raise failed("list", folder, OSError(code, "refused"))
        return names(store, prefix)

    patch.setattr(LocalStore, "names", refused)


@pytest.mark.parametrize("make", FUNCTIONS)
def test_a_place_out_of_reach_is_one_warning_whatever_functions_hold(
    make: Callable[[], Callable[[Any], Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = make()
    ds = ks.Dataset.range(5).map(function).snapshot(tmp_path)
    with monkeypatch.context() as patch:
        refuse_names(patch, errno.ECONNREFUSED)
        with pytest.warns(UserWarning, match="not stored") as caught:
            assert [int(x) for x in ds] == list(range(5))
    assert len(caught) == 1
    for _ in range(2):
        assert [int(x) for x in ds] == list(range(5))


@pytest.mark.parametrize("make", FUNCTIONS)
def test_a_snapshot_that_is_there_and_cannot_be_read_is_an_error_whatever_functions_hold(
    make: Callable[[], Callable[[Any], Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dataset() -> ks.Dataset:
        return ks.Dataset.range(5).map(make()).snapshot(tmp_path)

    list(dataset())
    with monkeypatch.context() as patch:
        refuse_names(patch, errno.EACCES, below="/commits")
        with pytest.raises(StorageError, match="refused"):
            list(dataset())
    with monkeypatch.context() as patch:
        # Nothing says whether it is there.
        refuse_names(patch, errno.EACCES)
        with pytest.warns(UserWarning, match="not stored"):
            assert [int(x) for x in dataset()] == list(range(5))
