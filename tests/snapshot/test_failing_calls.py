"""Each call to the file system fails once, the first, the second and so on until none is left.

Whatever is done, the law is the same: it ends in an error of the store or is right, nothing that
was committed is lost, nothing wrong is read, and doing it again without the failure succeeds.
By default a full disk and a broken one take turns; KEEPSET_KILLS of more than 100 tries both.
"""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.faults.tally import note_counts
from tests.snapshot.leftovers import only_the_removal_is_left, silence

import keepset as ks
from keepset.errors import KeepsetError, StorageError
from keepset.format.log import Log
from keepset.snapshot import beginning
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.snapshot.writing import first_pass
from keepset.storage import open_store, settle

COUNT = 8
ALL = int(os.environ.get("KEEPSET_KILLS", "0")) > 100
CALLS = ["writev", "fsync", "link", "replace", "unlink", "open", "mkdir"]
CODES = [errno.ENOSPC, errno.EIO]


def pipeline(path: Path, **options: Any) -> ks.Dataset:
    ds = ks.Dataset.range(COUNT).map(lambda x: {"x": x})
    options = {"on_write_error": "raise", "chunk_bytes": 16, "segment_bytes": 40, **options}
    return ds.snapshot(path, fingerprint="f", **options)


def xs(elements: Any) -> list[int]:
    return [int(element["x"]) for element in elements]


def committed(path: Path) -> list[int]:
    """What is kept of a pipeline, finished or not."""
    store = open_store(path).sub("f/")
    state = Log(store).state()
    manifest = state.kept if state.version is None else state.version.manifest
    if manifest is None:
        return []
    kept = Kept(store, manifest)
    return xs(kept.gather(np.arange(len(kept))).rows)


def damage(path: Path) -> None:
    """Change one byte in the middle of the elements of a finished snapshot."""
    store = open_store(path).sub("f/")
    manifest = check_snapshot(store).manifest
    chunk = manifest.chunks[2]
    segment = path / "f" / manifest.segments[chunk.segment].entry.name
    data = bytearray(segment.read_bytes())
    data[chunk.entry.offset + 20] ^= 1
    segment.write_bytes(data)


def repair(path: Path) -> None:
    store = open_store(path).sub("f/")
    repair_snapshot(store, check_snapshot(store))


def gc(path: Path) -> None:
    root = open_store(path)
    plan = plan_collection(root, grace_s=0.0)
    collect(root, plan)
    if plan.problems:  # as the command does
        raise next(iter(plan.problems.values()))


# What is there before:


def nothing(path: Path) -> None:
    path.mkdir()


def unfinished(path: Path) -> None:
    assert xs(pipeline(path).take(4)) == list(range(4))


def finished(path: Path) -> None:
    assert xs(pipeline(path)) == list(range(COUNT))


def damaged(path: Path) -> None:
    finished(path)
    damage(path)


def repaired(path: Path) -> None:
    damaged(path)
    repair(path)


def old_versions(path: Path) -> None:
    """And what a dead writer left."""
    for number in (3, 4, 5):
        ks.Dataset.range(number).map(lambda x: {"x": x}).save(path / "f", chunk_bytes=16)
    with open_store(path / "f").writer("segments/0123456789abcdef-0.arrow") as orphan:
        orphan.write(b"left behind")
    (path / "f" / "leases" / "0123456789abcdef.json").write_text(
        '{"run":"0123456789abcdef","host":"x","boot":"","pid":1,"started":"","since":0,"beat":0}'
    )
    silence(path / "f" / "leases" / "0123456789abcdef.json")


# What is done, and what holds behind it: ``failed`` says whether there was an error.


def a_pass(path: Path) -> None:
    assert xs(pipeline(path)) == list(range(COUNT))


class GoesOnError(StorageError):
    """Stands for the warning of a pass that went on without storing."""


def a_pass_that_goes_on(path: Path, mode: str = "auto", count: int = COUNT) -> None:
    """All elements come, whatever fails, and what fails is said once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ds = pipeline(path, on_write_error="warn", mode=mode)
        assert xs(ds.take(count)) == list(range(count))
    said = [str(each.message) for each in caught if "starts over" not in str(each.message)]
    assert len(said) <= 1
    if said:
        assert "not stored" in said[0]
        raise GoesOnError(said[0])


def a_stopped_pass_that_goes_on(path: Path) -> None:
    a_pass_that_goes_on(path, count=5)


def a_new_beginning_that_goes_on(path: Path) -> None:
    a_pass_that_goes_on(path, mode="write")


def after_a_pass(path: Path, failed: bool) -> None:
    now = committed(path)
    assert now == list(range(len(now)))
    assert failed or len(now) == COUNT


def after_a_resumed_pass(path: Path, failed: bool) -> None:
    after_a_pass(path, failed)
    assert len(committed(path)) >= 4


def a_pass_that_stops(path: Path) -> None:
    assert xs(pipeline(path).take(5)) == list(range(5))


def after_a_pass_that_stops(path: Path, failed: bool) -> None:
    now = committed(path)
    assert now == list(range(len(now)))
    # Whoever heard of no error relies on what was kept.
    assert failed or len(now) >= 5


def a_save(path: Path) -> None:
    ks.Dataset.range(9).map(lambda x: {"x": x}).save(path / "f", chunk_bytes=16, segment_bytes=40)


def after_a_save(path: Path, failed: bool) -> None:
    found = xs(ks.load(path / "f"))
    assert found == list(range(9)) or (failed and found == list(range(5)))


def after_a_repair(path: Path, failed: bool) -> None:
    with suppress(KeepsetError):
        assert xs(ks.load(path)) == list(range(COUNT))
        assert failed
    assert failed or check_snapshot(open_store(path / "f")).is_sound


def after_a_collection(path: Path, failed: bool) -> None:
    assert xs(ks.load(path / "f")) == list(range(5))
    assert failed or len(list((path / "f" / "segments").iterdir())) == 1


def a_removal(path: Path) -> None:
    remove_snapshot(open_store(path / "f"))


def after_a_removal(path: Path, failed: bool) -> None:
    with suppress(KeepsetError):
        assert xs(ks.load(path / "f")) == list(range(5))
        assert failed
    assert failed or only_the_removal_is_left(path / "f")


def begin_anew(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*starts over")
        assert xs(pipeline(path, mode="write")) == list(range(COUNT))


ACTIONS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "pass": (nothing, a_pass),
    "resumed pass": (unfinished, a_pass),
    "stopped pass": (nothing, a_pass_that_stops),
    "pass that goes on": (nothing, a_pass_that_goes_on),
    "resumed pass that goes on": (unfinished, a_pass_that_goes_on),
    "stopped pass that goes on": (nothing, a_stopped_pass_that_goes_on),
    "filling that goes on": (repaired, a_pass_that_goes_on),
    "new beginning that goes on": (finished, a_new_beginning_that_goes_on),
    "save": (old_versions, a_save),
    "repair": (damaged, repair),
    "filling": (repaired, a_pass),
    "collection": (old_versions, gc),
    "removal": (old_versions, a_removal),
    "new beginning": (finished, begin_anew),
}
CHECKS: dict[str, Callable[[Path, bool], None]] = {
    "pass": after_a_pass,
    "resumed pass": after_a_resumed_pass,
    "stopped pass": after_a_pass_that_stops,
    "pass that goes on": after_a_pass,
    "resumed pass that goes on": after_a_resumed_pass,
    "stopped pass that goes on": after_a_pass_that_stops,
    "filling that goes on": after_a_pass,
    "new beginning that goes on": after_a_pass,
    "save": after_a_save,
    "repair": after_a_repair,
    "filling": after_a_pass,
    "collection": after_a_collection,
    "removal": after_a_removal,
    "new beginning": after_a_pass,
}


class Failing:
    """A function of ``os`` that fails the n-th time that a file of ours is concerned."""

    def __init__(self, function: Callable[..., Any], nth: int, code: int) -> None:
        self._function, self._left, self._code = function, nth, code
        self.has_failed = False

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            self.has_failed = True
            raise OSError(self._code, os.strerror(self._code))
        return self._function(*arguments, **named)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(beginning, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 3))


@pytest.mark.parametrize(
    ("what", "code"),
    [
        pytest.param(what, code, id=f"{what}-{errno.errorcode[code]}")
        for number, what in enumerate(ACTIONS)
        for code in (CODES if ALL else CODES[number % 2 :][:1])
    ],
)
def test_each_call_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, code: int
) -> None:
    prepare, act = ACTIONS[what]
    check = CHECKS[what]
    prepare(tmp_path / "before")
    calls = errors = 0
    for call in CALLS:
        for nth in count(1):
            place = tmp_path / "place"
            shutil.copytree(tmp_path / "before", place)
            failing = Failing(getattr(os, call), nth, code)
            failed, told, may_raise = False, None, True
            with monkeypatch.context() as patch:
                patch.setattr(os, call, failing)
                try:
                    act(place)
                except GoesOnError:
                    failed, told = True, code
                except StorageError as error:
                    failed, told = True, error.errno
                    # What is stored and cannot be read is an error in any case.
                    may_raise = not what.endswith("goes on") or "cannot read" in str(error)
            assert may_raise
            calls += failing.has_failed
            errors += failed
            # An unclear answer to a link is settled by another one.
            assert not failed or told == code or call == "link"
            check(place, failed)
            act(place)
            check(place, False)
            shutil.rmtree(place)
            if not failing.has_failed:
                break
    note_counts("failing calls", {"operations": 1, "failed_calls": calls, "errors": errors})
    assert errors > 3


def test_files_that_are_listed_and_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of files is written beside the elements, by a thread of its own."""
    files, place = tmp_path / "files", tmp_path / "place"
    files.mkdir()
    for number in range(3):
        (files / f"{number}.txt").write_text(str(number))

    def pipeline() -> ks.Dataset:
        names = ks.Dataset.list_files(str(files / "*.txt"), shuffle=False)
        return names.map(lambda name: int(Path(name.decode()).read_text())).snapshot(place)

    for call in ("writev", "fsync", "link", "replace"):
        for nth in count(1):
            failing = Failing(getattr(os, call), nth, errno.ENOSPC)
            with monkeypatch.context() as patch, warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*not stored")
                patch.setattr(os, call, failing)
                assert [int(x) for x in pipeline()] == [0, 1, 2]
            assert [int(x) for x in pipeline()] == [0, 1, 2]
            assert [int(x) for x in ks.load(place)] == [0, 1, 2]
            assert ks.explain(pipeline(), place).hit
            shutil.rmtree(place)
            if not failing.has_failed:
                break
        assert nth > 1
