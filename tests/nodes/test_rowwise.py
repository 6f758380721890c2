"""Fused row stages: calls in the order of a plain loop, errors with stage and position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
import keepset.tf as tf

Call = tuple[str, int]


def recorder(log: list[Call], name: str, function: Callable[[int], Any]) -> Callable[..., Any]:
    def call(x: np.int64) -> Any:
        log.append((name, int(x)))
        return function(int(x))

    call.__name__ = name
    return call


STAGES: dict[str, Callable[[int], Any]] = {
    "double": lambda x: 2 * x,
    "odd": lambda x: x % 2 == 1,
    "small": lambda x: x < 40,
    "shift": lambda x: x - 3,
}


def by_loop(size: int, stages: list[str], log: list[Call]) -> list[int]:
    out = []
    for start in range(size):
        x, keep = start, True
        for name in stages:
            log.append((name, x))
            result = STAGES[name](x)
            if name in ("odd", "small"):
                keep = result
                if not keep:
                    break
            else:
                x = result
        if keep:
            out.append(x)
    return out


@pytest.mark.filterwarnings("ignore:.*passed none of its")
@given(size=st.integers(0, 60), stages=st.lists(st.sampled_from(sorted(STAGES)), max_size=6))
def test_functions_are_called_as_a_plain_loop_would_call_them(size: int, stages: list[str]) -> None:
    log: list[Call] = []
    ds = ks.Dataset.range(size)
    for name in stages:
        function = recorder(log, name, STAGES[name])
        ds = ds.filter(function) if name in ("odd", "small") else ds.map(function)
    expected_log: list[Call] = []
    assert [int(x) for x in ds] == by_loop(size, stages, expected_log)
    assert log == expected_log


def test_between_two_functions_values_become_elements() -> None:
    seen: list[type] = []
    results: list[Any] = [1, 2.0, True, "text", [1, 2], (1, "a"), {"k": None}, np.zeros(())]

    def look(*args: Any) -> int:
        seen.append(type(args[0]))
        return 0

    list(ks.Dataset.range(len(results)).map(lambda i: results[i]).map(look))
    plain = [np.int64, np.float64, np.bool_, bytes, np.int64, np.int64, dict, np.float64]
    assert seen == plain


def test_a_list_returned_is_a_tuple_and_a_list_inside_is_an_array() -> None:
    element = next(iter(ks.Dataset.range(1).map(lambda x: [x, [1, 2]])))
    assert isinstance(element, tuple)
    assert element[1].tolist() == [1, 2]


def test_an_error_says_the_stage_and_the_position_in_its_input() -> None:
    def fails_late(x: np.int64) -> np.int64:
        if x == 8:
            raise KeyError("eight")
        return x

    ds = ks.Dataset.range(20).filter(lambda x: x % 4 == 0).map(fails_late, name="checker")
    seen: list[int] = []
    with pytest.raises(KeyError) as caught:
        seen.extend(int(x) for x in ds)
    assert seen == [0, 4]
    assert caught.value.__notes__ == ["in map(fails_late) named 'checker', at element 2"]
    assert caught.traceback[-1].name == "fails_late"


def test_the_note_is_added_once_however_deep_the_pipeline() -> None:
    def fail(x: np.int64) -> np.int64:
        raise ValueError("no")

    inner = ks.Dataset.range(3).map(fail)
    ds = ks.Dataset.range(2).flat_map(lambda _: inner).map(lambda x: x).batch(2).prefetch(1)
    with pytest.raises(ValueError, match="no") as caught:
        list(ds)
    assert caught.value.__notes__ == ["in map(fail), at element 0"]


def test_stop_iteration_in_a_function_is_an_error_and_not_the_end() -> None:
    def stop(x: np.int64) -> np.int64:
        if x == 2:
            raise StopIteration
        return x

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(ks.Dataset.range(5).map(stop))


def test_values_that_cannot_be_elements_are_refused_with_their_type() -> None:
    with pytest.raises(ks.ElementError, match="set"):
        list(ks.Dataset.range(1).map(lambda x: {1, 2}))


def test_an_output_signature_converts_and_checks() -> None:
    spec = ks.TensorSpec([2], "float32")
    ds = ks.Dataset.range(2).map(lambda x: [1, 2] if x == 0 else [1, 2, 3], output_signature=spec)
    ds = ks.Dataset.range(1).map(lambda x: np.array([1, 2]), output_signature=spec)
    assert ds.element_spec == spec
    with pytest.raises(ks.ElementError, match="promised"):
        list(ds)
    good = ks.Dataset.range(1).map(
        lambda x: (1, "a"),
        output_signature=(ks.TensorSpec([], "int8"), ks.TensorSpec([], ks.string)),
    )
    assert next(iter(good)) == (np.int8(1), b"a")
    assert next(iter(good))[0].dtype == np.int8


def test_take_while_does_not_call_functions_beyond_the_end() -> None:
    calls: list[int] = []

    def note(x: np.int64) -> np.int64:
        calls.append(int(x))
        return x

    ds = ks.Dataset.range(1000).map(note).take_while(lambda x: x < 5)
    assert [int(x) for x in ds] == [0, 1, 2, 3, 4]
    assert calls == [0, 1, 2, 3, 4, 5]


class Proxy:
    """As of a method of a server: it answers for every attribute with another one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __getattr__(self, name: str) -> Any:
        if name == "function" or name.startswith(("__reduce", "__getstate", "__setstate")):
            raise AttributeError(name)  # or no copy can be made of it
        return Proxy(self.function)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


@pytest.mark.filterwarnings("ignore:.*returned None")
def test_a_proxy_that_answers_for_every_attribute_is_a_function(tmp_path: Path) -> None:
    double, nothing = Proxy(lambda x: x * 2), Proxy(lambda *_: None)
    ds = ks.Dataset.range(3).map(double)
    assert repr(ds).startswith("<Dataset map(Proxy): 3 elements")
    in_processes = ks.Dataset.range(3).map(double, num_parallel_calls=2, executor="process")
    for each in (ds, ds.snapshot(tmp_path), ds.snapshot(tmp_path), in_processes):
        assert list(each) == [0, 2, 4]
    assert list(tf.data.Dataset.range(3).map(double)) == [0, 2, 4]
    assert list(ks.Dataset.range(2).map(nothing)) == [None, None]
    with pytest.raises(ks.ElementError, match=r"predicate Proxy \(.*test_rowwise.py"):
        list(ks.Dataset.range(3).filter(nothing))
    words = ks.Dataset.from_tensor_slices([b"a", b"b"])
    with pytest.warns(UserWarning, match="passed none"):
        assert list(words.filter(Proxy(lambda word: word == "a"))) == []
