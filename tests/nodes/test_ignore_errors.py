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
