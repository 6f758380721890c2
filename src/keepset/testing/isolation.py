"""Isolation: what threads, forks and writers to elements must not be able to disturb."""

from __future__ import annotations

import copy
import dataclasses
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from keepset.core.dtypes import Array, is_text
from keepset.core.iterate import DatasetIterator
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.structure import structure_of
from keepset.dataset import Dataset
from keepset.errors import StateError
from keepset.testing.equality import assert_elements_equal, assert_same_elements

# How long a thread or a process may take that ought to end at once.
_PATIENCE_S = 60.0


def check_shared_iterator(dataset: Dataset, num_threads: int = 4) -> None:
    """Assert that threads which share one iterator get each element once, and all find the end.

    Example:
        >>> check_shared_iterator(Dataset.range(100).map(lambda x: x + 1).prefetch(2))
    """
    state = iter(dataset).state()
    wanted, error = _drain(dataset.iterate(state))
    iterator = dataset.iterate(state)
    outcomes: list[tuple[list[Any], str | None]] = []
    start = threading.Barrier(num_threads)

    def take() -> None:
        start.wait()
        outcomes.append(_drain(iterator))

    threads = [threading.Thread(target=take, daemon=True) for _ in range(num_threads)]
    with _quick_switches():
        for thread in threads:
            thread.start()
        for _ in range(3):
            iterator.state()
        for thread in threads:
            thread.join(_PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    assert len(outcomes) == len(threads), "a thread failed"
    assert_same_elements([element for taken, _ in outcomes for element in taken], wanted)
    errors = [error for _, error in outcomes if error is not None]
    assert errors == ([] if error is None else [error]), f"the threads met {errors}, not {error}"


def _drain(iterator: Iterator[Any]) -> tuple[list[Any], str | None]:
    """The elements, and the error that ended them; without ``for``, which asks for ``__iter__``."""
    elements: list[Any] = []
    while True:
        try:
            elements.append(next(iterator))
        except StopIteration:
            return elements, None
        except Exception as error:
            return elements, f"{type(error).__name__}: {error}"


@contextmanager
def _quick_switches() -> Iterator[None]:
    """Let threads interrupt each other all the time."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def check_elements_are_apart(make: Callable[[], Dataset], *, ordered: bool = True) -> None:
    """Assert that writing to an element fails, or changes nothing that anyone else gets.

    Neither another element, nor one of another iterator or of a later pass.

    Example:
        >>> check_elements_are_apart(lambda: Dataset.from_tensors(np.zeros(3)).repeat(2))
    """
    dataset = make()
    state = iter(dataset).state()
    wanted = [copy.deepcopy(element) for element in _drain(dataset.iterate(state))[0]]
    compare = assert_elements_equal if ordered else assert_same_elements
    # Each element is written to while those of another iterator, and those before it, are held.
    taken, beside = dataset.iterate(state), dataset.iterate(state)
    others, seen = _drain(beside)[0], []
    for element in _until_error(taken):
        seen.append(copy.deepcopy(element))
        _overwrite(element)
    compare(seen, wanted)
    compare(others, wanted)
    compare(_drain(dataset.iterate(state))[0], wanted)
    if ordered and dataset._node.addressable().obstacle() is None:
        for position in range(min(3, len(wanted))):
            element = copy.deepcopy(dataset[position])
            _overwrite(dataset[position])
            _overwrite(dataset.gather([position])[0])
            assert_elements_equal(dataset[position], element)


def _until_error(iterator: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from iterator
    except Exception:
        return  # other checks look at it


def _overwrite(element: Any) -> None:
    """Write to every array of an element that does not refuse it."""
    for leaf in structure_of(element).leaves(element):
        for array in _arrays(leaf):
            if array.flags.writeable:
                array[...] = _spoilt(array)
    _clear(element)


def _spoilt(array: Array) -> Any:
    if array.dtype == object:
        return "?" if is_text(array) else b"?"
    return np.zeros((), array.dtype)


def _clear(element: Any) -> None:
    """Spoil every container of an element that can be changed."""
    if isinstance(element, tuple | dict):
        for item in element.values() if isinstance(element, dict) else element:
            _clear(item)
    if isinstance(element, dict):
        element.clear()
    elif dataclasses.is_dataclass(element) and not isinstance(element, type):
        for field in dataclasses.fields(element):
            _clear(getattr(element, field.name))
            with suppress(dataclasses.FrozenInstanceError):
                setattr(element, field.name, None)


def _arrays(leaf: Any) -> list[Any]:
    if isinstance(leaf, Ragged):
        return [*_arrays(leaf.values), leaf.row_splits]
    if isinstance(leaf, Sparse):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    return [leaf] if isinstance(leaf, np.ndarray) else []


def check_fork(make: Callable[[], Dataset], *, ordered: bool = True, num_threads: int = 0) -> None:
    """Assert that a forked process cannot go on with an iterator, and can begin anew.

    The iterator of the parent is not disturbed.

    Args:
        make: Builds the pipeline anew, from its sources.
        ordered: Whether two passes that draw the same random numbers agree.
        num_threads: How many threads of the parent read on while it is forked; 0 to fork while
            nothing is read.

    Example:
        >>> check_fork(lambda: Dataset.range(100).map(lambda x: x + 1).prefetch(2), num_threads=4)
    """
    dataset = make()
    state = iter(dataset).state()
    wanted, error = _drain(dataset.iterate(state))
    iterator = dataset.iterate(state)
    taken = [_drain_some(iterator, len(wanted) // 2)]
    start = threading.Barrier(num_threads + 1)

    def take() -> None:
        start.wait()
        taken.append(_drain(iterator)[0])

    threads = [threading.Thread(target=take, daemon=True) for _ in range(num_threads)]
    with _quick_switches() if threads else nullcontext():
        for thread in threads:
            thread.start()
        start.wait()
        with _forked() as is_child:
            if is_child:
                sys.setswitchinterval(0.005)
                _check_left_to_parent(iterator, may_be_over=bool(threads))
                again = _drain(dataset.iterate(state))[0]
                (assert_elements_equal if ordered else assert_same_elements)(again, wanted)
        for thread in threads:
            thread.join(_PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    rest, end = _drain(iterator)
    found = [element for each in taken for element in each] + rest
    (assert_elements_equal if ordered and not threads else assert_same_elements)(found, wanted)
    assert threads or end == error, f"the parent met {end}, not {error}"


def _drain_some(iterator: Iterator[Any], count: int) -> list[Any]:
    return [next(iterator) for _ in range(count)]


def _check_left_to_parent(iterator: DatasetIterator, may_be_over: bool) -> None:
    """Assert that an iterator that came with a fork says so, unless its end came before."""
    try:
        element = next(iterator)
        raise AssertionError(f"a forked process got {element!r}, not a StateError")
    except StateError:
        pass
    except StopIteration:
        assert may_be_over, "a forked process found an end where there is none"
        iterator.state()
        return
    try:
        state = iterator.state()
        raise AssertionError(f"a forked process got {state!r}, not a StateError")
    except StateError:
        iterator.close()


@contextmanager
def _forked() -> Iterator[bool]:
    """Run the body in a child too, which must end well."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads are what this is about
        child = os.fork()
    if child == 0:
        code = 1
        try:
            yield True
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    yield False
    deadline = time.monotonic() + _PATIENCE_S
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the forked process waits for ever")
        time.sleep(0.002)
    assert ended[1] == 0, f"the forked process failed (status {ended[1]}; see its output)"
