"""Writers, readers, kills, repairs, collections and new versions in any order, against a model.

Every element says which data set it is of and where it stands in it, so that whatever is read can
be judged: it must be of one data set, in order, and no other than the log says is kept. There are
no preconditions, since which of two writers comes first is not the same each time.
"""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.snapshot.simulated import dead_writers, failing_at, kill

import keepset as ks
from keepset.errors import KeepsetError, PendingSnapshotError, SnapshotMissingError
from keepset.format.log import Log, LogState
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.snapshot.writing.first_pass import FirstPass
from keepset.storage import open_store, settle

ALL = int(os.environ.get("KEEPSET_KILLS", "0")) > 100
COUNT = 10
MOST = 4  # iterators at once
MANY = 1000  # more than any data set has elements
STEPS = ["writer:written", "writer:synced", "writer:replaced", "create:synced", "create:linked"]
indices = st.integers(0, 5)


@dataclass(eq=False)
class Reader:
    """An iterator, what it has given, and the writer in it if it is one."""

    iterator: Any
    given: list[int]
    first: FirstPass | None = None
    expected: list[int] | None = None  # what it must give, where that is known from the beginning


class Store(RuleBasedStateMachine):
    """One place. What the log says is looked at after each step, and compared with before."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: list[Reader] = []
        self.passes: list[FirstPass] = []
        self.sizes: dict[int, int] = {}  # of the data sets that were saved, by their number
        self.flavour = 1  # which data set the pipeline computes
        self.newest = 1
        self.seen: tuple[bool, list[int]] = (False, [])  # whether it is whole, and the elements
        self.may_change = False  # whether this step may take something back
        self.is_spoiled = False  # whether a byte was changed since the last repair
        self.has_removed = False  # whether files may be gone that a reader of old needs
        self._patches: list[Any] = [
            mock.patch.object(FirstPass, "is_due", property(lambda self: self._added >= 3)),
            mock.patch.object(FirstPass, "__init__", _recorded(self.passes)),
            mock.patch.object(settle, "PAUSES_S", (0.0,) * 3),
        ]
        for patch in self._patches:
            patch.start()
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.filterwarnings("ignore", ".*starts over")

    url = ""

    @property
    def store(self) -> Any:
        return open_store(self.url).sub("f/")

    def teardown(self) -> None:
        for reader in self.readers:
            with suppress(KeepsetError):
                reader.iterator.close()
        self._caught.__exit__(None, None, None)
        for patch in self._patches:
            patch.stop()

    # What there is:

    def elements(self, number: int) -> list[int]:
        return [number * MANY + x for x in range(self.sizes.get(number, COUNT))]

    def pipeline(self, mode: str = "auto", on_pending: str = "passthrough") -> ks.Dataset:
        flavour = self.flavour
        ds = ks.Dataset.range(COUNT).map(lambda x: x + flavour * MANY)
        return ds.snapshot(
            self.url, fingerprint="f", mode=mode, on_pending=on_pending, chunk_bytes=16,
            segment_bytes=40, on_write_error="raise",
        )  # fmt: skip

    def state(self) -> LogState:
        return Log(self.store).state()

    def rows(self, state: LogState) -> list[int]:
        manifest = state.kept if state.version is None else state.version.manifest
        if manifest is None:
            return []
        kept = Kept(self.store, manifest)
        return [int(x) for x in kept.gather(np.arange(len(kept))).rows]

    def has_live_writer(self) -> bool:
        return any(reader.first is not None and reader.first._open for reader in self.readers)

    # Iterators:

    @rule(
        mode=st.sampled_from(["auto"] * 4 + ["write"]),
        pending=st.sampled_from(["passthrough", "passthrough", "error"]),
        is_blind=st.booleans(),
    )
    def open_pipeline(self, mode: str, pending: str, is_blind: bool) -> None:
        """Begin to iterate; ``is_blind`` to other writers, so that two may write at once."""
        if len(self.readers) == MOST:
            return
        whole, before = self.seen
        self.may_change |= mode == "write" or (
            not whole and before != [] and before != self.elements(self.flavour)[: len(before)]
        )
        known = len(self.passes)
        reader = Reader(iter(self.pipeline(mode, pending)), [])
        with dead_writers(is_blind), suppress(KeepsetError):
            self.take(reader, 1)
            if len(self.passes) > known:
                reader.first = self.passes[-1]
            self.readers.append(reader)

    @rule()
    def open_loaded(self) -> None:
        if not self.seen[0] or len(self.readers) == MOST:
            return
        with suppress(KeepsetError):
            reader = Reader(iter(ks.load(self.url)), [])
            if not self.is_spoiled:
                reader.expected = self.seen[1]
            self.take(reader, 1)
            self.readers.append(reader)

    @rule(index=indices, count=st.integers(1, COUNT), step=st.sampled_from([None, None, *STEPS]))
    def advance(self, index: int, count: int, step: str | None) -> None:
        """Take some elements; a write may fail while that happens."""
        if not self.readers:
            return
        reader = self.readers[index % len(self.readers)]
        try:
            with failing_at(step):
                self.take(reader, count)
        except KeepsetError:
            self.readers.remove(reader)

    @rule(index=indices)
    def finish(self, index: int) -> None:
        self.advance(index, MANY, None)

    @rule(index=indices)
    def close(self, index: int) -> None:
        if self.readers:
            reader = self.readers.pop(index % len(self.readers))
            with suppress(KeepsetError):
                reader.iterator.close()

    @rule(index=indices)
    def kill_writer(self, index: int) -> None:
        writers = [(r, r.first) for r in self.readers if r.first is not None and r.first._open]
        if writers:
            reader, first = writers[index % len(writers)]
            kill(first)
            self.readers.remove(reader)

    def take(self, reader: Reader, count: int) -> None:
        """Take elements, each of which must be the next one of one data set."""
        for _ in range(count):
            try:
                value = int(next(reader.iterator))
            except StopIteration:
                self.check_end(reader)
                return
            reader.given.append(value)
            number = reader.given[0] // MANY
            if reader.expected is not None:
                assert reader.given == reader.expected[: len(reader.given)]
            elif number not in self.sizes:
                assert reader.given == self.elements(number)[: len(reader.given)]
            else:  # of a saved data set some may have been dropped by a repair
                assert reader.given == sorted(set(reader.given) & set(self.elements(number)))

    def check_end(self, reader: Reader) -> None:
        if reader in self.readers:
            self.readers.remove(reader)
        if reader.expected is not None:
            assert reader.given == reader.expected
        elif reader.given and reader.given[0] // MANY not in self.sizes:
            assert len(reader.given) == COUNT

    # The place:

    @rule()
    def change_the_pipeline(self) -> None:
        """It computes something else from now on, and nobody is told."""
        self.newest += 1
        self.flavour = self.newest

    @rule(size=st.integers(0, COUNT))
    def save(self, size: int) -> None:
        self.newest += 1
        number = self.newest
        self.sizes[number] = size
        self.may_change = True
        ds = ks.Dataset.range(size).map(lambda x: x + number * MANY)
        with suppress(KeepsetError):
            ds.save(self.store.url, chunk_bytes=16, segment_bytes=40)
            if not self.is_spoiled:
                assert self.rows(self.state()) == self.elements(number)

    @rule()
    def load(self) -> None:
        try:
            found = [int(x) for x in ks.load(self.url)]
        except (PendingSnapshotError, SnapshotMissingError):
            assert not self.seen[0] or self.is_spoiled
        except KeepsetError:
            assert self.is_spoiled
        else:
            assert found == self.rows(self.state())

    @rule(fraction=st.floats(0, 0.999), place=st.floats(0, 0.999))
    def change_a_byte(self, fraction: float, place: float) -> None:
        objects = [o for f in ("commits/", "segments/") for o in self.store.list(f)]
        if objects and not self.has_live_writer():
            chosen = objects[int(fraction * len(objects))].name
            data = bytearray(self.store.read(chosen))
            data[int(place * len(data))] ^= 4
            self.store.put(chosen, bytes(data))
            self.is_spoiled = self.may_change = True

    @rule()
    def verify_and_repair(self) -> None:
        report = check_snapshot(self.store)
        needed = [damage for damage in report.damages if damage.is_needed]
        assert self.is_spoiled or not needed
        self.may_change |= bool(needed)
        try:
            repair_snapshot(self.store, report)
        except PendingSnapshotError:
            assert self.has_live_writer()
            return
        assert not any(damage.is_needed for damage in check_snapshot(self.store).damages)
        self.has_removed = True
        self.is_spoiled = False

    @rule(is_blind=st.booleans())
    def collect_garbage(self, is_blind: bool) -> None:
        """``is_blind`` to live writers, as if they were elsewhere and silent for long."""
        root = open_store(self.url)
        with dead_writers(is_blind), suppress(KeepsetError):
            collect(root, plan_collection(root, grace_s=0.0))
            self.has_removed = True

    @rule()
    def remove(self) -> None:
        self.may_change = True
        try:
            remove_snapshot(self.store)
        except PendingSnapshotError:
            assert self.has_live_writer()
            return
        self.is_spoiled, self.has_removed = False, True
        # A writer that seemed dead may still write, but commits nothing.
        left = [info.name for info in self.store.list("")]
        assert self.has_live_writer() or not left or self.state().removal is not None

    # What always holds:

    @invariant()
    def what_is_kept_is_right_and_never_shrinks(self) -> None:
        self.wait_for_writers()
        if self.is_spoiled:
            self.may_change = True
            return
        state = self.state()
        rows = self.rows(state)
        whole = state.version is not None
        self.check_rows(rows, whole)
        was_whole, before = self.seen
        if not self.may_change:
            assert rows[: len(before)] == before
            assert whole or not was_whole
        self.seen = (whole, rows)
        # While something waits to be computed again, it may turn out that it cannot be.
        self.may_change = state.damaged is not None

    def wait_for_writers(self) -> None:
        """Let the threads of all writers do what they have to do, so that steps can be repeated."""
        for reader in self.readers:
            if reader.first is not None and reader.first._open:
                done = threading.Event()
                reader.first._recorder._jobs.put(done.set)
                assert done.wait(30)

    def check_rows(self, rows: list[int], whole: bool) -> None:
        if not rows:
            return
        number = rows[0] // MANY
        expected = self.elements(number)
        if number in self.sizes:
            assert rows == sorted(set(rows) & set(expected))
        else:
            assert rows == (expected if whole else expected[: len(rows)])


def _recorded(passes: list[FirstPass]) -> Callable[..., None]:
    """The constructor of a first pass, which also notes that there is one more."""
    real = FirstPass.__init__

    def note(self: FirstPass, *arguments: Any, **named: Any) -> None:
        real(self, *arguments, **named)
        passes.append(self)

    return note


class OnDisk(Store):
    @initialize()
    def begin(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.url = self._folder.name

    def teardown(self) -> None:
        super().teardown()
        self._folder.cleanup()


class InMemory(Store):
    @initialize()
    def begin(self) -> None:
        self.url = f"memory://{uuid4().hex}"

    def take(self, reader: Reader, count: int) -> None:
        try:
            super().take(reader, count)
        except ks.ObjectMissingError:
            # Nothing is mapped here: what was removed is gone for those who read it too.
            assert self.has_removed
            raise


_THOROUGH = settings(max_examples=400 if ALL else 20, stateful_step_count=60 if ALL else 30)
# Its writers are all of one process, and stand for several.
pytestmark = pytest.mark.filterwarnings("ignore:another iterator of this process")
TestOnDisk = pytest.mark.timeout(1200)(OnDisk.TestCase)
TestOnDisk.settings = _THOROUGH
TestInMemory = pytest.mark.timeout(1200)(InMemory.TestCase)
TestInMemory.settings = _THOROUGH
