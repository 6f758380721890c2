"""IgnoreErrors: errors of elements are skipped and logged, errors of programs are not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keepset as ks
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
