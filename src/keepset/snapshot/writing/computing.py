"""Computing: the stages before a snapshot at work, and the first pass that keeps what they give."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.chunk_spec import TypesSoFar
from keepset.core.cursor import Marked
from keepset.core.dtypes import Array
from keepset.core.node import Node
from keepset.core.pace import Pace
from keepset.core.run import Run, counted_draws, start_below, used_draws
from keepset.core.spec import Spec
from keepset.core.warn import warn_user
from keepset.errors import StateError, StorageError, WorkerDiedError
from keepset.format.log import Append
from keepset.nodes.prefetch import Prefetch
from keepset.snapshot.files.source_keeper import changed_text
from keepset.snapshot.identity.pass_identity import (
    Moved,
    PassIdentity,
    changes_text,
    disturbed_text,
    unknown_text,
    unlike_text,
)
from keepset.snapshot.identity.unfilled_state import unfilled_text
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.writing.filling import are_same
from keepset.snapshot.writing.first_pass import FirstPass
from keepset.snapshot.writing.resume_state import counted_state, state_for
from keepset.snapshot.writing.sharding import shards_of
from keepset.snapshot.writing.staging import frozen


class KeepingStage(Protocol):
    """The snapshot stage whose elements are stored."""

    @property
    def shard_func(self) -> Callable[..., Any] | None: ...

    def goes_on_without(self, error: StorageError, *, has_begun: bool = False) -> bool:
        """Whether a pass goes on if its elements cannot be stored because of an error."""


class Computing:
    """Gives elements from some position on; keeps them if it was told to, and is still the one."""

    def __init__(
        self,
        node: Node,
        run: Run,
        upstream: Marked,
        position: int = 0,
        before: Spec | None = None,
    ) -> None:
        self._node, self._run, self._upstream = node, run, upstream
        self._position = position
        self._has_prefix = position > 0
        self._types = TypesSoFar(before)
        self._pace = Pace(node.may_run_ahead)
        self._in_background = any(map(_runs_in_background, node.walk()))
        self._has_failed = False
        self._pass: FirstPass | None = None
        self._identity: PassIdentity | None = None
        self._is_first = True
        self._stage: KeepingStage | None = None
        self._url = ""

    @classmethod
    def begin(cls, node: Node, run: Run) -> Computing:
        """From the first element on."""
        return cls(node, run, Marked(node.cursor(run)))

    def watch(self, identity: PassIdentity) -> None:
        """Let a later pass of this process find what another process stores of this one."""
        self._identity = identity
        identity.begin_computing(self._run.session)

    def keep(
        self,
        first: FirstPass,
        identity: PassIdentity,
        stage: KeepingStage,
        url: str,
    ) -> None:
        """Store what is computed from now on, as long as the identity of the pass holds."""
        self._pass, self._identity = first, identity
        self._stage, self._url = stage, url
        # A function that names shards runs behind what an inner snapshot gives.
        identity.begin_computing(None if stage.shard_func is not None else self._run.session)

    def read(self, position: int, max_rows: int) -> Chunk:
        """Elements from ``position`` on, which is never before the last one that was given."""
        while self._position < position:
            if not len(self._take(min(max_rows, position - self._position))):
                return EMPTY
        return frozen(self._take(max_rows))

    def _take(self, max_rows: int) -> Chunk:
        self._note_found()
        if self._has_failed:
            self._leave_out_failed()
        if self._identity is not None:
            self._check_disturbed(self._identity)
        chunk, shards = self._run_functions(max_rows)
        if self._pass is not None:
            try:
                self._keep(self._pass, chunk, shards)
            except StorageError as error:
                self._go_on_without(error)
            except BaseException:
                self._stop_keeping(commit=False)
                raise
            finally:
                self._position += len(chunk)
        else:
            self._position += len(chunk)
            if not len(chunk):
                self._remember_own_state()
        return chunk

    def _run_functions(self, max_rows: int) -> tuple[Chunk, Array | None]:
        """The next elements, and their shards if they are stored."""
        identity = self._identity
        if identity is not None:
            identity.begin_functions()
        try:
            chunk = self._compute(max_rows)
            if self._pass is not None and self._pass.lost:
                self._leave(self._pass)
            return chunk, None if self._pass is None else self._shards(chunk)
        finally:
            if identity is not None:
                identity.end_functions()

    def _compute(self, max_rows: int) -> Chunk:
        # Elements that were kept came quickly; those that are computed may not.
        began = time.perf_counter()
        try:
            chunk = self._upstream.read(min(max_rows, self._pace.size))
        except BaseException:
            self._has_failed = True
            raise
        self._pace.adapt(time.perf_counter() - began, chunk.own_bytes)
        return self._types.typed(chunk) if len(chunk) else chunk

    def _note_found(self) -> None:
        if self._identity is not None:
            self._identity.note_found(in_background=self._in_background)

    def _leave_out_failed(self) -> None:
        """Store nothing behind an element that failed: the consumer goes on without it."""
        if self._pass is not None:
            self._commit_rest()  # before the warning, which may be an error
            self._has_failed = False
            warn_user(failed_text(self._position, self._url))
        self._has_failed = False

    def _check_disturbed(self, identity: PassIdentity) -> None:
        if identity.is_disturbed and self._pass is not None:
            self._withdraw(self._pass, disturbed_text(self._url))
        identity.note_move()

    def _shards(self, chunk: Chunk) -> Array | None:
        if self._stage is None or self._stage.shard_func is None or not len(chunk):
            return None
        return shards_of(chunk, self._stage.shard_func, self._position)

    def _leave(self, first: FirstPass) -> None:
        """Store nothing more: another writer is ahead, or what was stored is gone."""
        if first.removed is not None:
            self._go_on_without(first.removed)
        else:
            self._stop_keeping(commit=False)  # so that nobody waits for it

    def _go_on_without(self, error: StorageError) -> None:
        """Store nothing more of this pass, because its place does not take it; elements still flow.

        What was committed stays, and the next pass goes on behind it.
        """
        first, stage = self._pass, self._stage
        if stage is None or first is None or not stage.goes_on_without(error, has_begun=True):
            self._stop_keeping(commit=False)
            raise error
        self._pass = None
        self._forget_identity()
        with suppress(StorageError):
            first.close()
        warn_user(not_stored_text(error, self._url, first.committed))

    def _keep(self, first: FirstPass, chunk: Chunk, shards: Array | None) -> None:
        if not len(chunk):
            self._finish(first)
            return
        # The place is noted now and not when it is needed: by then a read may have failed.
        first.add(chunk, shards, counted_state(self._node, self._upstream.before_last()))
        if self._is_first and self._identity is not None:
            self._is_first = False
            self._identity.note_first_element()
        if first.is_due and self._is_unmoved(first):
            first.commit(self.draws)

    def _finish(self, first: FirstPass) -> None:
        """Commit the whole, if the pipeline is still what it was when the pass began."""
        moved = self._compare(first, thorough=True)
        if moved is None:
            return
        changed = first.changed_files()
        if changed:
            self._withdraw(first, changed_text(changed, self._url))
            return
        unfilled = {} if self._identity is None else self._identity.wrongly_filled()
        if unfilled:
            self._withdraw(first, unfilled_text(list(unfilled.values()), self._url))
            return
        first.complete(self.used_draws, moved.settled, moved.moves)
        if first.removed is not None:
            self._leave(first)
            return
        self._remember(moved)
        self._stop_keeping(commit=False)

    def _is_unmoved(self, first: FirstPass) -> bool:
        began = time.perf_counter()
        moved = self._compare(first, thorough=False)
        first.note_check(time.perf_counter() - began)
        return moved is not None and moved.is_known

    def _compare(self, first: FirstPass, *, thorough: bool) -> Moved | None:
        """What has moved since the pass began; None if nothing more is stored because of it."""
        if self._run.session.unlike:
            self._withdraw(first, unlike_text(self._run.session.unlike, self._url))
            return None
        moved = Moved() if self._identity is None else self._identity.moved(thorough=thorough)
        if not moved.is_known and thorough:
            self._withdraw(first, unknown_text(self._url))
            return None
        if moved.outside:
            self._withdraw(first, changes_text(moved.outside, self._url))
            return None
        return moved

    def _withdraw(self, first: FirstPass, reason: str) -> None:
        """Store nothing more of this pass, and void what it has stored; elements still flow."""
        self._pass = None
        if self._identity is not None:
            self._identity.forget_files()
        self._forget_identity()
        first.withdraw(reason)
        warn_user(reason)

    def _remember(self, moved: Moved) -> None:
        if self._identity is not None:
            self._identity.remember(moved)
        self._forget_identity()

    def _forget_identity(self) -> None:
        identity, self._identity = self._identity, None
        if identity is not None:
            identity.end_computing()

    def _remember_own_state(self) -> None:
        """Note how a pass that stores nothing leaves the state that its functions move."""
        identity = self._identity
        if identity is not None and identity.has_own_state and not identity.is_disturbed:
            moved = identity.moved(thorough=False)
            if moved.is_known and not moved.outside:
                identity.remember(moved)
        self._forget_identity()

    @property
    def draws(self) -> dict[str, list[int]]:
        """The seeds of the stages before the snapshot, by places that are to be stored."""
        return counted_draws(self._node, self._run.session.draws)

    @property
    def used_draws(self) -> dict[str, list[int]]:
        """Those of them that the elements so far depend on, or may depend on."""
        if self._has_prefix:
            return self.draws  # nobody knows what the earlier pass has used
        session = self._run.session
        return used_draws(self._node, session.draws, session.opened_random)

    def _stop_keeping(self, commit: bool) -> None:
        first, self._pass = self._pass, None
        if first is not None:
            first.close((lambda: self.draws) if commit else None)

    def close(self) -> None:
        try:
            self._note_found()
            # Before anything is compared: threads may still be at work on what it compares.
            self._upstream.close()
        finally:
            first = self._pass
            try:
                self._commit_rest()
            except StorageError as error:
                stage = self._stage
                if (
                    first is None
                    or stage is None
                    or not stage.goes_on_without(error, has_begun=True)
                ):
                    raise
                warn_user(not_stored_text(error, self._url, first.committed))

    @property
    def _has_given_all(self) -> bool:
        # A number that a user has promised is not a fact.
        unsure = any(each.reads_to_count or each.promises_count for each in self._node.walk())
        return not unsure and self._position == self._node.cardinality()

    def _commit_rest(self) -> None:
        """Commit what was added since the last commit, as the consumer has stopped early."""
        first = self._pass
        if first is not None and first.lost:
            self._leave(first)
        if first is None or first.lost or not first.has_elements:
            self._stop_keeping(commit=False)
            self._forget_identity()
            return
        if self._has_given_all and not self._has_failed:
            # All there are: a consumer that counts does not ask for the end.
            try:
                self._finish(first)
            except BaseException:
                self._stop_keeping(commit=False)
                raise
            return
        try:
            moved = self._compare(first, thorough=True)
            changed = [] if self._identity is None else self._identity.changed_files()
        except BaseException:
            self._stop_keeping(commit=False)
            raise
        if moved is not None and changed:
            self._withdraw(first, changed_text(changed, self._url))
        elif moved is not None:
            self._stop_keeping(commit=True)
            if self._identity is not None and self._identity.has_own_state:
                # It is where this pass has left it: nothing can go on behind what is stored.
                self._forget_identity()
            self._remember(moved)


def _runs_in_background(node: Node) -> bool:
    """Whether a stage may run functions while the consumer is at work."""
    if isinstance(node, Prefetch):
        return node.buffer_size != 0
    if getattr(node, "parallelism", None) is not None:
        return True
    # The pipelines that a function opens may have such stages.
    return node.opens_pipelines and node.kind != "snapshot"


def not_stored_text(error: StorageError, url: str, committed: int) -> str:
    """A warning that a pass goes on without storing its elements."""
    stored = f"its first {committed:,} elements are, and" if committed else "and"
    return (
        f"{error}: the elements from here on are not stored in {url}, {stored} the next pass tries "
        'again; snapshot(path, on_write_error="raise") stops in place of going on'
    )


def failed_text(element: int, url: str) -> str:
    """A warning that a pass goes on behind an error."""
    return (
        f"element {element} failed, and the pass goes on without it: what comes behind is not "
        f"stored in {url}, and the next pass computes it again; put ignore_errors() before "
        "snapshot() to store what is left"
    )


def not_restored_text(error: WorkerDiedError, stored: int, url: str) -> str:
    """A warning that a pass goes on behind what is stored without the state recorded with it."""
    return (
        f"{error}: this happened while the pass was being resumed behind the {stored:,} elements "
        f"that are stored in {url}, so the stages before the snapshot begin at their first element "
        "again and skip to that place, and what is stored is still used"
    )


def computing_behind(
    node: Node, last: Append, kept: Kept, within: Run, url: str
) -> Computing | None:
    """Stand behind the last kept element; None if it comes out differently this time.

    What it takes ends with the run ``within``.
    """
    run = start_below(node, within.input(0), last.resume.get("draws"))
    upstream = Marked(node.cursor(run))
    is_same = False
    try:
        try:
            upstream.restore(state_for(node, last.resume["state"]))
            again = upstream.read(1)
        except (StateError, LookupError, TypeError, ValueError, WorkerDiedError) as error:
            # An error in a function of the user says where it was. Else it is the state: workers,
            # or a prefetch between other stages, were added since and have states of their own.
            if hasattr(error, "__notes__"):
                raise
            upstream.close()
            run.session.close()
            if isinstance(error, WorkerDiedError):
                # A state that ends its workers must not make what is stored unusable for ever.
                warn_user(not_restored_text(error, last.stop, url))
            run = start_below(node, within.input(0), last.resume.get("draws"))
            upstream = Marked(node.cursor(run))
            upstream.skip(last.stop - 1)
            again = upstream.read(1)
        # Seeds are known by the places of their stages. If those have moved, others were drawn,
        # and one element that is the same by chance proves nothing.
        drawn = counted_draws(node, run.session.draws)
        if drawn.keys() != (last.resume.get("draws") or {}).keys():
            return None
        place = kept.rows_at(np.array([last.stop - 1]))
        is_same = len(again) == 1 and are_same(again, kept.gather(place))
    except StateError:
        return None  # a snapshot before this one has other elements now
    finally:
        if not is_same:
            upstream.close()
            run.session.close()
    if not is_same:
        return None
    return Computing(node, run, upstream, last.stop, kept.spec)
