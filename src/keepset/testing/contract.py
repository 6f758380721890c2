"""The contract: what every stage, and so every pipeline, promises."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keepset.core.cursor import Cursor, State
from keepset.core.node import UNKNOWN, Node
from keepset.core.run import start
from keepset.core.spec import LeafSpec, is_compatible, map_spec
from keepset.dataset import Dataset
from keepset.errors import ElementIndexError, NotAddressableError
from keepset.testing.equality import assert_elements_equal, assert_same_elements
from keepset.testing.isolation import check_elements_are_apart, check_shared_iterator
from keepset.testing.resources import nothing_left_behind

_READ_SIZES = (1, 2, 3, 7, 1000)
# Up to this many elements every position is restored; beyond, the ends and some between.
_FEW_ELEMENTS = 24
_SAMPLED_POSITIONS = 10


@dataclass(frozen=True)
class _Case:
    """A pipeline under test, and what is known about it."""

    make: Callable[[], Dataset]
    expected: list[Any] | None
    repeatable: bool
    ordered: bool
    quick: bool

    def compare(self, got: _Outcome, wanted: _Outcome) -> None:
        """Assert that two passes which began alike gave the same."""
        if self.ordered:
            assert_elements_equal(got.elements, wanted.elements)
            assert got.error == wanted.error, f"it ended with {got.error}, not {wanted.error}"
        else:
            assert_same_elements(got.elements, wanted.elements)


class _Outcome(NamedTuple):
    """The elements of a pass, and the error that ended it, if one did."""

    elements: list[Any]
    error: str | None = None


def check_dataset(
    make: Callable[[], Dataset],
    *,
    expected: list[Any] | None = None,
    repeatable: bool = True,
    ordered: bool = True,
    quick: bool = False,
) -> None:
    """Assert that a pipeline keeps every promise that Keepset makes; it must be finite.

    It is built and run many times: read in chunks of all sizes, left and restored at every
    element, pickled, closed early, run from several threads, written to, addressed by position.

    Args:
        make: Builds the pipeline anew, from its sources.
        expected: Its elements; as plain Python values if you like.
        repeatable: Whether every pass gives the same order. If not, each pass must still give the
            ``expected`` elements, if there are any.
        ordered: Whether two passes that draw the same random numbers agree. Parallel stages with
            ``deterministic=False`` do not.
        quick: Whether to try only a few sizes and positions, for pipelines that start slowly.

    Example:
        >>> from keepset import Dataset
        >>> check_dataset(lambda: Dataset.range(5).map(lambda x: x * x), expected=[0, 1, 4, 9, 16])
        >>> check_dataset(
        ...     lambda: Dataset.range(5).shuffle(3, seed=1), expected=[*range(5)], repeatable=False
        ... )
    """
    case = _Case(make, expected, repeatable and ordered, ordered, quick)
    _check_expected(case)
    _check_read_sizes(case)
    _check_restore(case)
    if not quick:
        _check_restore_of_cursors(case)
    _check_spec(case)
    _check_cardinality(case)
    _check_pickles(case)
    _check_closes_early(case)
    _check_second_pass(case)
    _check_threads(case)
    check_shared_iterator(make(), num_threads=2 if quick else 4)
    check_elements_are_apart(make, ordered=ordered)
    _check_addressing(case)


def _check_expected(case: _Case) -> None:
    """A pass gives the expected elements, and nothing after the end."""
    iterator = iter(case.make())
    outcome = _drain(iterator)
    if case.expected is not None and case.repeatable:
        assert_elements_equal(outcome.elements, case.expected)
    elif case.expected is not None:
        assert_same_elements(outcome.elements, case.expected)
    assert list(iterator) == [], "an iterator that has ended began to give elements again"


def _check_read_sizes(case: _Case) -> None:
    """The concatenation of what a cursor gives does not depend on the sizes asked for."""
    node = _node(case.make())
    draws = start(node).session.draws
    sizes: list[Iterator[int]] = [itertools.repeat(size) for size in _READ_SIZES]
    sizes += [_mixed_sizes(seed) for seed in range(3)]
    wanted, *others = (
        _read_all(node, draws, size) for size in (sizes[::3] if case.quick else sizes)
    )
    for got in others:
        case.compare(got, wanted)


def _check_restore(case: _Case) -> None:
    """A state taken anywhere, sent through JSON, resumes at exactly the next element."""
    length = len(_drain(iter(case.make())).elements)
    for position in [length // 2] if case.quick else _positions(length):
        dataset = case.make()
        iterator = iter(dataset)
        head = list(itertools.islice(iterator, position))
        state = _through_json(iterator.state())
        rest = _drain(iterator)
        _check_rest(case, head, rest, case.make(), state)
        if not case.quick:
            # Also on the very object that has gone on in the meantime.
            _check_rest(case, head, rest, dataset, state)
    if not case.quick:
        _check_restore_of_second_pass(case, length // 2)


def _check_restore_of_second_pass(case: _Case, position: int) -> None:
    """A state of a later pass resumes that pass, also where the earlier ones never ran."""
    dataset = case.make()
    _drain(iter(dataset))
    iterator = iter(dataset)
    try:
        head = list(itertools.islice(iterator, position))
    except Exception:  # a pass that ends with an error may be shorter than the first
        return
    state = _through_json(iterator.state())
    _check_rest(case, head, _drain(iterator), case.make(), state)


def _check_rest(
    case: _Case, head: list[Any], rest: _Outcome, dataset: Dataset, state: State
) -> None:
    """The rest of a pass comes out of its state, and once more out of a state taken on the way."""
    where = f"restored behind {len(head)} of {len(head) + len(rest.elements)} elements"
    restored = dataset.iterate(state)
    step = min(2, len(rest.elements))
    middle = list(itertools.islice(restored, step))
    second_state = _through_json(restored.state())
    whole = _Outcome(head + rest.elements, rest.error)
    outcomes = {
        where: (middle, _drain(restored)),
        f"{where}, and again {step} later": (middle, _drain(dataset.iterate(second_state))),
    }
    for place, (between, end) in outcomes.items():
        try:
            case.compare(_Outcome(head + between + end.elements, end.error), whole)
        except AssertionError as error:
            error.add_note(place)
            raise


def _check_restore_of_cursors(case: _Case) -> None:
    """The same for cursors, read in chunks of odd sizes on both sides."""
    node = _node(case.make())
    draws = start(node).session.draws
    whole = _read_all(node, draws, itertools.repeat(1000))
    for before, after, reads in itertools.product((1, 3, 7), (2, 1000), (0, 1, 2, 5)):
        run = start(node, draws)
        cursor = node.cursor(run)
        head, failure = _read_some(cursor, itertools.repeat(before, reads))
        state = _through_json(cursor.state())
        cursor.close()
        run.session.close()
        if failure is not None:
            continue  # a cursor that has raised stands behind the element that failed
        rest = _read_all(node, draws, itertools.repeat(after), state)
        try:
            case.compare(_Outcome(head + rest.elements, rest.error), whole)
        except AssertionError as error:
            error.add_note(f"cursor restored after {reads} reads of {before} rows")
            raise


def _check_spec(case: _Case) -> None:
    """Every element is of the ``element_spec``.

    Where that was found by running a first element, the shapes of others may differ from it.
    """
    dataset = case.make()
    elements = _drain(iter(dataset)).elements
    if not elements:
        return
    spec = dataset.element_spec
    if _node(dataset).known_spec() is None:
        spec = map_spec(_without_shape, spec)
    for i, element in enumerate(elements):
        assert is_compatible(spec, element), f"element {i}, {element!r}, is not of the spec {spec}"


def _without_shape(leaf: LeafSpec) -> LeafSpec:
    return leaf.with_shape(None)


def _check_cardinality(case: _Case) -> None:
    """A cardinality that is a number is the number of elements, and ``len`` says the same."""
    dataset = case.make()
    cardinality = dataset.cardinality()
    outcome = _drain(iter(dataset))
    assert bool(dataset), "a data set is true, however many elements it has"
    if cardinality >= 0:
        assert len(dataset) == cardinality
        assert outcome.error or len(outcome.elements) == cardinality, (
            f"the cardinality is {cardinality}, but there are {len(outcome.elements)} elements"
        )
    else:
        assert cardinality == UNKNOWN, "check_dataset needs a finite data set; add take(count)"
        try:
            len(dataset)
        except TypeError:
            return
        raise AssertionError("len() of a data set of unknown cardinality must be a TypeError")


def _check_pickles(case: _Case) -> None:
    """A copy that went through pickle gives the same elements."""
    dataset = case.make()
    copied = pickle.loads(pickle.dumps(dataset))
    state = iter(dataset).state()
    case.compare(_drain(copied.iterate(state)), _drain(dataset.iterate(state)))


def _check_closes_early(case: _Case) -> None:
    """Leaving at any point, by ``close`` or by dropping the iterator, leaves nothing behind."""
    dataset = case.make()
    for _ in range(2):  # what is imported or opened for good is there from here on
        _drain(iter(dataset))
    for count, closes in itertools.product((1,) if case.quick else (0, 1, 3), (True, False)):
        with nothing_left_behind():
            iterator = iter(dataset)
            try:
                list(itertools.islice(iterator, count))
            except Exception:  # the error of this pass, which other checks look at
                iterator.close()
            if closes:
                iterator.close()
                iterator.close()
                assert list(iterator) == [], "a closed iterator gave another element"
            del iterator


def _check_second_pass(case: _Case) -> None:
    """A second pass is as right as the first."""
    dataset = case.make()
    first, second = _drain(iter(dataset)), _drain(iter(dataset))
    if case.repeatable:
        case.compare(second, first)
    elif case.expected is not None:
        assert_same_elements(second.elements, case.expected)


def _check_threads(case: _Case) -> None:
    """Several threads that iterate over one data set at once do not disturb each other."""
    dataset = case.make()
    state = iter(dataset).state()
    outcomes: list[_Outcome] = []

    def iterate() -> None:
        outcomes.append(_drain(dataset.iterate(state)))

    threads = [threading.Thread(target=iterate) for _ in range(2 if case.quick else 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == len(threads), "a thread failed"
    for outcome in outcomes[1:]:
        case.compare(outcome, outcomes[0])


def _check_addressing(case: _Case) -> None:
    """Elements by position are those of the first pass; or an error says which stage cannot."""
    dataset = case.make()
    node = _node(dataset).addressable()
    if node.obstacle() is not None:
        node = node.positional()  # what stages remember
    if node.obstacle() is not None or node.cardinality() == UNKNOWN:
        _check_not_addressable(dataset)
        return
    first = _drain(iter(dataset))
    if first.error is not None:
        return
    order = first.elements
    count = len(order)
    if not case.ordered:
        assert_same_elements(dataset.gather(range(count)), order)
        return
    chosen = random.Random(count)
    indices = [chosen.randrange(-count, count) for _ in range(2 * count)]
    assert_elements_equal(dataset.gather(indices), [order[i] for i in indices])
    for i in indices[:5]:
        assert_elements_equal(dataset[i], order[i])
    if case.repeatable:
        for cut in _slices():
            assert_elements_equal(list(dataset[cut]), order[cut])
    for outside in (count, -count - 1):
        try:
            dataset[outside]
        except ElementIndexError:
            continue
        raise AssertionError(f"position {outside} of {count} elements must be an ElementIndexError")


def _check_not_addressable(dataset: Dataset) -> None:
    try:
        dataset[0]
    except NotAddressableError as error:
        message = str(error)
    else:
        raise AssertionError("a data set that cannot jump must raise NotAddressableError for ds[0]")
    stages = {stage.kind for stage in _node(dataset).walk()}
    assert any(f"{kind}(" in message for kind in stages), f"{message} names none of {stages}"


def _slices() -> tuple[slice, ...]:
    bounds = (None, 1, None), (None, -1, None), (2, 5, None), (None, None, 2), (None, None, -1)
    return tuple(slice(*bound) for bound in (*bounds, (-4, None, 3), (5, 2, None), (7, 0, -2)))


def check_calls(
    make: Callable[[Callable[[Any], None]], Dataset], expected: list[Any], *, ordered: bool = True
) -> None:
    """Assert that a user's function is called once per element, in order.

    Args:
        make: Builds the pipeline; its function calls what ``make`` was given with whatever shows
            which element it was called for.
        expected: What one whole pass calls it with.
        ordered: Whether the order counts; with several workers it does not.

    Example:
        >>> from keepset import Dataset
        >>> def make(note):
        ...     return Dataset.range(3).map(lambda x: note(x) or x).batch(2)
        >>> check_calls(make, [0, 1, 2])
    """
    calls: list[Any] = []
    dataset = make(calls.append)
    assert calls == [], "a function was called before anybody asked for an element"
    for count in (2, 5, None):
        calls.clear()
        iterator = iter(dataset)
        list(itertools.islice(iterator, count))
        iterator.close()
        made = np.array(calls).tolist()
        if not ordered:
            made, wanted = sorted(made), sorted(expected)
        else:
            wanted = expected if count is None else expected[: len(made)]
        if ordered or count is None:
            assert made == wanted, f"the calls were {made}, not {wanted}"
        else:
            assert len(set(made)) == len(made), f"an element was worked on twice: {made}"


def _drain(iterator: Iterator[Any]) -> _Outcome:
    elements: list[Any] = []
    try:
        elements.extend(_one_by_one(iterator))
    except _Ended as end:
        return _Outcome(elements, str(end))
    return _Outcome(elements)


class _Ended(Exception):  # noqa: N818  # a signal, not a failure
    """Carries the text of the error that a pass ended with."""


def _one_by_one(iterator: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from iterator
    except Exception as error:
        raise _Ended(f"{type(error).__name__}: {error}") from error


def _read_all(
    node: Node, draws: dict[str, list[int]], sizes: Iterator[int], state: State | None = None
) -> _Outcome:
    run = start(node, draws)
    try:
        cursor = node.cursor(run)
        if state is not None:
            cursor.restore(state)
        outcome = _read_some(cursor, sizes)
        if outcome.error is None:
            assert not any(len(cursor.read(size)) for size in (1, 5)), "it gave rows after the end"
        cursor.close()
        return outcome
    finally:
        run.session.close()


def _read_some(cursor: Cursor, sizes: Iterator[int]) -> _Outcome:
    """Read chunks of these sizes, up to the end or the first error."""
    elements: list[Any] = []
    for size in sizes:
        try:
            chunk = cursor.read(size)
        except Exception as error:
            return _Outcome(elements, f"{type(error).__name__}: {error}")
        assert len(chunk) <= size, f"read({size}) gave {len(chunk)} rows"
        assert len(chunk.rows) == len(chunk), "a chunk is not as long as it says"
        if not len(chunk):
            break
        elements.extend(chunk.rows)
    return _Outcome(elements)


def _mixed_sizes(seed: int) -> Iterator[int]:
    chosen = random.Random(seed)
    while True:
        yield chosen.choice((1, 1, 2, 3, 5, 8, 100))


def _positions(length: int) -> list[int]:
    if length <= _FEW_ELEMENTS:
        return [*range(length + 1)]
    between = random.Random(length).sample(range(length), _SAMPLED_POSITIONS)
    return sorted({0, 1, 2, *between, length - 1, length})


def _through_json(state: State) -> State:
    text = json.dumps(state, allow_nan=False)
    result: State = json.loads(text)
    return result


def _node(dataset: Dataset) -> Node:
    return dataset.__keepset_node__()
