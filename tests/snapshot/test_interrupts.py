"""Ctrl-C at any line of a writer: nothing wrong is committed, and the next run goes on.

By default at one line of six; KEEPSET_KILLS of more than 100 tries all of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.format.log import Log
from keepset.snapshot import stage
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.writing import first_pass, lease, recorder, saving
from keepset.storage import open_store

COUNT = 8
STEP = 1 if int(os.environ.get("KEEPSET_KILLS", "0")) > 100 else 6
FILES = {module.__file__ for module in (first_pass, lease, recorder, saving, stage)}


class Interrupt:
    """Raises KeyboardInterrupt before the n-th line that this thread runs in the files above."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __enter__(self) -> Interrupt:
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(None)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._on_line if frame.f_code.co_filename in FILES else None

    def _on_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._on_line


def was_interrupted(nth: int, action: Callable[[], object]) -> bool:
    try:
        with Interrupt(nth):
            action()
    except KeyboardInterrupt:
        return True
    return False


@pytest.fixture(autouse=True)
def _a_commit_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every third element, whatever the clock says."""
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 3))


def numbers(path: Path) -> ks.Dataset:
    # All elements are alike, so that going on from the wrong one would not be noticed by itself.
    ds = ks.Dataset.range(COUNT).map(lambda x: x // 100)
    return ds.snapshot(path, fingerprint="f", chunk_bytes=16)


def committed(path: Path) -> int:
    store = open_store(path).sub("f/")
    state = Log(store).state()
    manifest = state.kept if state.version is None else state.version.manifest
    if manifest is None:
        return 0
    kept = Kept(store, manifest)
    assert [int(x) for i in range(len(kept)) for x in kept.gather(np.array([i])).rows] == [0] * len(
        kept
    )
    return len(kept)


def test_a_first_pass_is_interrupted_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for nth in count(1, STEP):
        path = tmp_path / str(nth)
        if not was_interrupted(nth, partial(list, numbers(path))):
            break
        before = committed(path)
        assert list(map(int, numbers(path))) == [0] * COUNT
        # As a process that comes later sees it.
        with monkeypatch.context() as patch:
            patch.setattr(lease.Holder, "is_alive", lambda self, expiry_s: False)
            assert list(map(int, numbers(path))) == [0] * COUNT
        assert before <= committed(path) == COUNT
        assert list(map(int, ks.load(path))) == [0] * COUNT
        kinds = [commit.kind for commit in Log(open_store(path).sub("f/")).history()]
        assert "reset" not in kinds
    assert nth > 100


def test_a_save_is_interrupted_anywhere(tmp_path: Path) -> None:
    for nth in count(1, STEP):
        path = tmp_path / str(nth)
        ks.Dataset.range(3).save(path)
        save = partial(ks.Dataset.range(5).save, path, chunk_bytes=16)
        if not was_interrupted(nth, save):
            break
        assert list(map(int, ks.load(path))) in ([0, 1, 2], [0, 1, 2, 3, 4])
        save()
        assert list(map(int, ks.load(path))) == [0, 1, 2, 3, 4]
    assert nth > 50
