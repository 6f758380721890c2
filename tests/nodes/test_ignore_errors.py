"""IgnoreErrors: errors of elements are skipped and logged, errors of programs are not."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.run import Run
from keepset.errors import NotCoveredError


def misspelt(x: Any) -> Any:
    return unknown_name + x  # type: ignore[name-defined] # noqa: F821


def unbound(x: Any) -> Any:
    if x < 0:
        later = x
    return later


def no_such_attribute(x: Any) -> Any:
    return np.no_such_function(x)  # type: ignore[attr-defined]


def no_such_module(x: Any) -> Any:
    import no_such_module_at_all  # type: ignore[import-not-found]

    return no_such_module_at_all.load(x)


def not_covered(x: Any) -> Any:
    raise NotCoveredError("tf.no_such_name")


def endless(x: Any) -> Any:
    return endless(x)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (misspelt, NameError),
        (unbound, UnboundLocalError),
        (no_such_attribute, AttributeError),
        (no_such_module, ImportError),
        (not_covered, NotCoveredError),
        (endless, RecursionError),
    ],
)
@pytest.mark.parametrize("calls", [None, 2])
def test_errors_of_a_program_pass(
    function: Callable[[Any], Any], error: type[Exception], calls: int | None
) -> None:
    with pytest.raises(error):
        list(ks.Dataset.range(3).map(function, calls).ignore_errors())


def takes_nothing() -> int:
    return 1


def takes_two(x: Any, y: Any) -> Any:
    return x + y


def gives_an_object(x: Any) -> Any:
    return object()


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("function", [takes_nothing, takes_two, divmod])
def test_functions_that_cannot_be_called_are_not_skipped(
    function: Callable[..., Any], calls: int | None
) -> None:
    with pytest.raises(TypeError, match="argument"):
        list(ks.Dataset.range(3).map(function, calls).ignore_errors())


@pytest.mark.parametrize(
    "stage",
    [
        lambda ds: ds.map(gives_an_object),
        lambda ds: ds.map(gives_an_object, 2),
        lambda ds: ds.map(gives_an_object, 2, executor="process"),
        lambda ds: ds.filter(lambda x: None),
        lambda ds: ds.take_while(lambda x: "yes"),
        lambda ds: ds.flat_map(lambda x: x),
        lambda ds: ds.interleave(lambda x: x),
        lambda ds: ds.scan(np.int64(0), lambda state, x: state),
        lambda ds: ds.group_by_window(lambda x: "a", lambda key, ds: ds, 2),
    ],
)
def test_functions_that_return_what_no_stage_can_use_are_not_skipped(
    stage: Callable[[ks.Dataset], ks.Dataset],
) -> None:
    with pytest.raises(ks.ResultError):
        list(stage(ks.Dataset.range(3)).ignore_errors())


def test_a_generator_that_cannot_be_called_is_not_skipped() -> None:
    with pytest.raises(TypeError, match="argument"):
        list(ks.Dataset.from_generator(takes_two, args=(1,)).ignore_errors())


def test_a_wrong_call_within_a_function_is_skipped() -> None:
    def odd(x: Any) -> Any:
        return takes_two(x) if x == 1 else x  # type: ignore[call-arg]

    assert list(ks.Dataset.range(3).map(odd).ignore_errors()) == [0, 2]


def fails_at(*numbers: int) -> Callable[[Any], Any]:
    def check(x: Any) -> Any:
        if x in numbers:
            raise ValueError(f"{x} is bad")
        return x

    return check


def messages(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_what_is_skipped_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "keepset")
    bad = range(0, 40, 5)
    ds = ks.Dataset.range(40).map(fails_at(*bad)).ignore_errors()
    assert [int(x) for x in ds] == [x for x in range(40) if x % 5]
    *each, last = messages(caplog)
    assert [level for level, _ in each] == [logging.INFO] * 5 + [logging.DEBUG] * 3
    assert each[1][1] == (
        "ignore_errors() skipped element 5: ValueError: 5 is bad (in map(check), at element 5)"
    )
    assert last == (
        logging.INFO,
        "ignore_errors() skipped 8 of 40 elements in this pass, because they raised errors",
    )


def test_more_than_half_skipped_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "keepset")
    ds = ks.Dataset.range(4).map(fails_at(0, 1, 2)).ignore_errors()
    assert [int(x) for x in ds] == [3]
    assert len(messages(caplog)) == 1
    assert "skipped 3 of 4" in caplog.text


def test_each_one_is_a_warning_if_wished(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "keepset")
    assert len(list(ks.Dataset.range(9).map(fails_at(2, 7)).ignore_errors(log_warning=True))) == 7
    assert ["element 2" in caplog.text, "element 7" in caplog.text] == [True, True]


def test_nothing_is_logged_where_nothing_fails(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "keepset")
    list(ks.Dataset.range(9).ignore_errors())
    assert caplog.records == []


def test_numbers_go_on_behind_a_state(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "keepset")
    ds = ks.Dataset.range(9).map(fails_at(2, 7)).batch(1).ignore_errors()
    it = iter(ds)
    for _ in range(4):
        next(it)
    state = it.state()
    it.close()
    caplog.clear()
    assert len(list(ds.iterate(state))) == 3
    assert "skipped element 7" in caplog.text
    assert "skipped 2 of 9" in caplog.text


def test_a_generator_that_raises_has_ended_and_that_is_said() -> None:
    def rows() -> Any:
        yield from range(3)
        raise ValueError("a bad row")

    ds = ks.Dataset.from_generator(rows).ignore_errors()
    with pytest.warns(UserWarning, match="generator has ended, and nothing comes behind it"):
        assert [int(x) for x in ds] == [0, 1, 2]


def test_the_log_hides_passwords(caplog: pytest.LogCaptureFixture) -> None:
    def fetch(x: Any) -> Any:
        raise OSError("cannot open https://bob:Zq8vKx2LmW4tRb7Yp1Nd@example.com/data")

    with caplog.at_level(logging.INFO, "keepset"):
        assert list(ks.Dataset.range(2).map(fetch).ignore_errors()) == []
    assert "example.com" in caplog.text
    assert "Zq8vKx2LmW4tRb7Yp1Nd" not in caplog.text


@stage
class Stuck(Node):
    """Elements up to ``length``, and then the same error for ever."""

    length: int

    def cursor(self, run: Run) -> Cursor:
        return _StuckCursor(self.length)

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Any]) -> Any:
        return ks.TensorSpec([], "int64")


class _StuckCursor(PositionCursor):
    def __init__(self, length: int) -> None:
        super().__init__(self._between, -1)
        self._end = length

    def _between(self, start: int, stop: int) -> Chunk:
        if start >= self._end:
            raise OSError("the connection is lost")
        return Chunk.from_rows([np.int64(x) for x in range(start, min(stop, self._end))])


def always(x: Any) -> Any:
    raise ValueError("no good")


STAGES: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "nothing": lambda ds: ds,
    "map": lambda ds: ds.map(lambda x: x),
    "map on threads": lambda ds: ds.map(lambda x: x, 2),
    "map on threads in any order": lambda ds: ds.map(lambda x: x, 2, deterministic=False),
    "filter": lambda ds: ds.filter(lambda x: True),
    "scan": lambda ds: ds.scan(np.int64(0), lambda state, x: (state, x)),
    "batch": lambda ds: ds.batch(3),
    "padded_batch": lambda ds: ds.padded_batch(3),
    "ragged_batch": lambda ds: ds.ragged_batch(3),
    "batch and unbatch": lambda ds: ds.batch(3).unbatch(),
    "rebatch": lambda ds: ds.batch(3).rebatch(2),
    "window": lambda ds: ds.window(2).flat_map(lambda w: w),
    "windows apart": lambda ds: ds.window(2, shift=5).flat_map(lambda w: w),
    "shuffle": lambda ds: ds.shuffle(4, seed=1),
    "shuffle all": lambda ds: ds.shuffle(1000, seed=1),
    "prefetch": lambda ds: ds.prefetch(2),
    "cache": lambda ds: ds.cache(),
    "repeat": lambda ds: ds.repeat(2),
    "repeat without end": lambda ds: ds.repeat(),
    "take": lambda ds: ds.take(1000),
    "skip": lambda ds: ds.skip(1),
    "shard": lambda ds: ds.shard(3, 1),
    "shard zero": lambda ds: ds.shard(3, 0),
    "enumerate": lambda ds: ds.enumerate(),
    "unique": lambda ds: ds.unique(),
    "concatenate": lambda ds: ds.concatenate(ks.Dataset.range(3)),
    "zip": lambda ds: ks.Dataset.zip((ds, ks.Dataset.counter())),
    "zip behind": lambda ds: ks.Dataset.zip((ks.Dataset.counter(), ds)),
    "flat_map": lambda ds: ds.flat_map(lambda x: ks.Dataset.range(2)),
    "interleave": lambda ds: ds.interleave(lambda x: ks.Dataset.range(2), cycle_length=2),
    "interleave on threads": lambda ds: ds.interleave(
        lambda x: ks.Dataset.range(2), cycle_length=2, num_parallel_calls=2
    ),
    "within flat_map": lambda ds: ks.Dataset.range(2).flat_map(lambda x: ds),
    "within interleave": lambda ds: ks.Dataset.range(2).interleave(lambda x: ds, cycle_length=2),
    "within interleave on threads": lambda ds: ks.Dataset.range(2).interleave(
        lambda x: ds, cycle_length=2, num_parallel_calls=2
    ),
    "sample": lambda ds: ks.Dataset.sample_from_datasets([ds, ds], seed=1),
    "choose": lambda ds: ks.Dataset.choose_from_datasets([ds, ds], ks.Dataset.range(2).repeat()),
    "group_by_window": lambda ds: ds.group_by_window(lambda x: x % 2, lambda k, w: w, 3),
    "rejection_resample": lambda ds: ds.rejection_resample(lambda x: x % 2, [0.5, 0.5], seed=1),
    "assert_cardinality": lambda ds: ds.assert_cardinality(1000),
    "ignore_errors": lambda ds: ds.ignore_errors(),
}


@pytest.mark.timeout(20)
@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("length", [0, 7])
@pytest.mark.parametrize("stage_name", STAGES)
def test_an_input_that_does_not_go_on_raises(stage_name: str, length: int) -> None:
    ds = STAGES[stage_name](ks.Dataset(Stuck(length=length))).ignore_errors()
    with pytest.raises(OSError, match="the connection is lost"):
        list(ds)


@pytest.mark.timeout(20)
@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("stage_name", [name for name in STAGES if name != "assert_cardinality"])
def test_equal_errors_of_a_thousand_elements_are_skipped(stage_name: str) -> None:
    ds = STAGES[stage_name](ks.Dataset.range(1000).map(always)).ignore_errors()
    assert len(list(ds)) == (3 if stage_name == "concatenate" else 0)


def is_fatal(x: Any) -> Any:
    if x == 15:
        os._exit(3)
    return x


def not_sent() -> Callable[[Any], Any]:
    lock = threading.Lock()
    return lambda x: (lock.locked(), x)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("ds", "error"),
    [
        (ks.Dataset.range(3).assert_cardinality(5), ks.CardinalityError),
        (ks.Dataset.range(3).assert_cardinality(2), ks.CardinalityError),
        (ks.Dataset.range(20).map(is_fatal, 2, executor="process"), ks.WorkerDiedError),
        (ks.Dataset.range(20).map(is_fatal, 2, executor="process").shuffle(4), ks.WorkerDiedError),
        (ks.Dataset.range(3).map(not_sent(), 2, executor="process"), ks.InvalidArgumentError),
    ],
    ids=["too few", "too many", "dead worker", "dead worker, shuffled", "not sent"],
)
def test_errors_of_the_pipeline_pass_at_once(
    ds: ks.Dataset, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "keepset"), pytest.raises(error):
        list(ds.ignore_errors())
    assert "skipped" not in caplog.text


def test_errors_of_pipelines_that_elements_stand_for_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b\n")
    names = ks.Dataset.from_tensor_slices([f"{tmp_path}/{name}.txt" for name in "abc"])
    ds = names.flat_map(lambda name: ks.read_text(name.decode())).ignore_errors()
    assert list(ds) == [b"b"]


class Lost:
    """An iterator that raises for ever."""

    def __iter__(self) -> Lost:
        return self

    def __next__(self) -> int:
        raise OSError("the connection is lost")


def no_iterator() -> Any:
    raise OSError("the connection is lost")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("function", [Lost, no_iterator])
def test_an_iterator_that_only_raises_is_not_asked_for_ever(function: Callable[[], Any]) -> None:
    with pytest.raises(OSError, match="the connection is lost"):
        list(ks.Dataset.from_generator(function).ignore_errors())


def test_an_error_that_is_raised_after_all_says_why() -> None:
    with pytest.raises(OSError, match="lost") as caught:
        list(ks.Dataset(Stuck(length=1)).ignore_errors())
    assert "ignore_errors() raises this error because" in caught.value.__notes__[-1]


@pytest.mark.timeout(20)
def test_a_restored_shuffle_does_not_wait_for_an_input_that_does_not_go_on() -> None:
    ds = ks.Dataset(Stuck(length=7)).shuffle(4, seed=1)
    it = iter(ds)
    for _ in range(3):
        next(it)
    with pytest.raises(OSError, match="lost"):
        next(it)
    with pytest.raises(OSError, match="lost"):
        list(ds.iterate(it.state()))
