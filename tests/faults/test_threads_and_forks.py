"""Threads and forks: every stage read by four threads at once, and forked while they read.

The threads get each element once, and all find the end. A process that is forked in the middle is
told that it cannot go on with the iterator, never hangs, and reads anew what it likes; its parent
goes on as if nothing had been.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.faults.tally import note_counts
from tests.snapshot.declared_examples import EXAMPLES
from tests.stand_ins import STAND_INS
from tests.test_contract import CASES, Case, parameter

import keepset as ks
from keepset.core.node import Node
from keepset.errors import StorageError
from keepset.testing.isolation import _forked, check_fork, check_shared_iterator

THREADS = 4
_MOST = 20  # elements of an example that has no end


@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_four_threads_read_on_while_the_process_is_forked(case: Case) -> None:
    check_shared_iterator(case.make(), THREADS)
    check_fork(case.make, ordered=case.how.get("ordered", True), num_threads=THREADS)
    note_counts("threads and forks", {"pipelines": 1, "threads": 2 * THREADS, "forks": 1})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stage", EXAMPLES)
def test_four_threads_and_forks_of_an_example_of_every_stage(tmp_path: Path, stage: str) -> None:
    """Readers of files and snapshots too; that the table has all stages is tested beside it.

    Without threads the process is forked in the middle for certain: nobody reads on to the end.
    """
    made = ks.Dataset(EXAMPLES[stage].node(tmp_path))
    ds = made.take(_MOST) if made.cardinality() == ks.INFINITE_CARDINALITY else made
    check_shared_iterator(ds, THREADS)
    for threads in (0, THREADS):
        check_fork(lambda: ds, num_threads=threads)
    note_counts("threads and forks", {"pipelines": 1, "threads": 2 * THREADS, "forks": 2})


def test_every_stage_is_read_by_threads_and_forked(tmp_path: Path) -> None:
    """All subclasses of Node, found by importing the library; adapters need their frameworks."""
    for module in pkgutil.walk_packages(ks.__path__, "keepset."):
        if not module.name.startswith(("keepset.adapters", "keepset.tf", "keepset.__main__")):
            importlib.import_module(module.name)
    read: set[type[Node]] = {type(node) for case in CASES for node in case.make()._node.walk()}
    for name, example in EXAMPLES.items():
        (tmp_path / name).mkdir()
        read |= {type(node) for node in example.node(tmp_path / name).walk()}
    missing = {
        f"{kind.__module__}.{kind.__name__}"
        for kind in _below(Node)
        if kind.__module__.startswith("keepset.") and not inspect.isabstract(kind)
    } - {f"{kind.__module__}.{kind.__name__}" for kind in read}
    assert missing == STAND_INS


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def same(x: Any) -> Any:
    return x


COUNT = 300
RIGHT = list(range(COUNT))


def numbers() -> ks.Dataset:
    return ks.Dataset.range(COUNT).map(same)


# What is under way in a process that is forked.
BUSY: dict[str, Callable[[Path], ks.Dataset]] = {
    "threads": lambda path: ks.Dataset.range(COUNT).map(same, 3),
    "processes": lambda path: ks.Dataset.range(COUNT).map(same, 1, executor="process"),
    "prefetch": lambda path: numbers().prefetch(4),
    "interleave": lambda path: numbers().interleave(ks.Dataset.from_tensors, 3, 1, 3),
    "cache file": lambda path: numbers().cache(path / "cache"),
    "snapshot": lambda path: numbers().snapshot(path / "written", fingerprint="f", chunk_bytes=80),
    "replay": lambda path: numbers().snapshot(path / "stored", fingerprint="f"),
    "bucket": lambda path: ks.load("memory://forks/numbers"),
}


def in_child(path: Path) -> Iterator[Any]:
    """What a process does anew, whatever its parent was doing."""
    yield numbers().map(same, 3)
    yield numbers().prefetch(4)
    yield numbers().interleave(ks.Dataset.from_tensors, 3, 1, 3)
    yield numbers().cache(path / "child" / "cache")
    for _ in range(2):
        yield numbers().snapshot(path / "child", fingerprint="f")
    yield numbers().snapshot(path / "stored", fingerprint="f")
    ks.save(numbers(), path / "saved")
    yield ks.load(path / "saved")


@pytest.mark.parametrize("what", BUSY)
def test_a_fork_can_do_everything_whatever_its_parent_does(tmp_path: Path, what: str) -> None:
    (tmp_path / "child").mkdir()
    ks.save(numbers(), "memory://forks/numbers")
    list(BUSY["replay"](tmp_path))
    iterator = iter(BUSY[what](tmp_path))
    begun = [int(x) for x in islice(iterator, COUNT // 2)]
    with _forked() as is_child:
        if is_child:
            for anew in in_child(tmp_path):
                assert [int(x) for x in anew] == RIGHT
            # The threads of its client stayed behind, and this is said.
            with suppress(StorageError):
                ks.load("memory://forks/numbers")
                raise AssertionError("a bucket was read without the threads that it takes")
    assert begun + [int(x) for x in iterator] == RIGHT
    note_counts("threads and forks", {"parents_at_work": 1, "forks": 1})
