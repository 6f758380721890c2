"""The warning of a map whose function takes the bytes of elements for str."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import keepset as ks

LABELS = {"cat": 0, "dog": 1}
BYTE_LABELS = {b"cat": 0, b"dog": 1}
WANTED = "cat"


class Row(NamedTuple):
    """An element with names."""

    label: Any
    x: Any


class Judge:
    """A function that is an object."""

    def __call__(self, e: Any) -> bool:
        return bool(e["label"] == "cat")


DICTS = ks.Dataset.from_tensor_slices({"label": ["cat", "dog"], "x": [1, 2]})
PAIRS = ks.Dataset.from_tensor_slices((["cat", "dog"], [1, 2]))
TEXTS = ks.Dataset.from_tensor_slices(["cat", "dog"])
ROWS = ks.Dataset.from_tensor_slices(Row(["cat", "dog"], [1, 2]))

WRONG: dict[str, tuple[ks.Dataset, Callable[..., Any], str]] = {
    "a comparison": (DICTS, lambda e: e["label"] == "cat", r"the str 'cat'.*compare with b'cat'"),
    "from the left": (DICTS, lambda e: e["label"] != "cat", "the str 'cat'"),
    "with a variable": (DICTS, lambda e: e["label"] == WANTED, "compares with a str"),
    "one of several": (DICTS, lambda e: e["label"] in ("cat", "dog"), "compares with the str"),
    "keys of a dict": (DICTS, lambda e: e["label"] in LABELS, "compares with a str"),
    "a component": (PAIRS, lambda label, x: (label == "cat", x), "the str 'cat'"),
    "the element": (TEXTS, lambda e: e == "cat", "the str 'cat'"),
    "an attribute": (ROWS, lambda row: row.label == "cat", "the str 'cat'"),
    "an object": (DICTS, Judge(), "the str 'cat'"),
    "a lookup": (DICTS, lambda e: LABELS.get(e["label"], -1), r"looks up.*call \.decode\(\)"),
    "a lookup of all": (TEXTS, lambda e: LABELS.get(e, -1), "looks up text"),
    "an f-string": (DICTS, lambda e: f"/data/{e['label']}.jpg", r"b'\.\.\.': call \.decode\(\)"),
    "an f-string, wide": (PAIRS, lambda label, x: f"{label!s:>9}{x}", "formats text"),
    "behind a filter": (DICTS.filter(lambda e: e["x"] > 0), lambda e: f"{e['label']}", "formats"),
}
RIGHT: dict[str, tuple[ks.Dataset, Callable[..., Any]]] = {
    "bytes": (DICTS, lambda e: e["label"] == b"cat"),
    "decoded": (DICTS, lambda e: e["label"].decode() == "cat"),
    "decoded before": (TEXTS, lambda e: f"{e.decode()}"),
    "a dict of bytes": (DICTS, lambda e: BYTE_LABELS.get(e["label"], -1)),
    "a number": (DICTS, lambda e: f"{e['x']}"),
    "a number in a dict": (PAIRS, lambda label, x: LABELS.get(x, -1)),
    "a key": (DICTS, lambda e: "label" in e),
    "either kind": (TEXTS, lambda e: e if isinstance(e, str) else e == "cat"),
    "what it looks like": (TEXTS, lambda e: f"{e!r}"),
    "another variable": (DICTS, lambda e, names=("a",): "a" in names),
    "the result of another map": (TEXTS.map(len), lambda e: f"{e}"),
}


@pytest.mark.parametrize("parallel", [None, 2])
@pytest.mark.parametrize("name", WRONG)
def test_a_function_that_takes_bytes_for_str_is_named_once(name: str, parallel: int | None) -> None:
    ds, function, words = WRONG[name]
    mapped = ds.map(function, num_parallel_calls=parallel)
    with pytest.warns(UserWarning, match=words) as caught:
        assert len(list(mapped)) == len(list(mapped)) == 2
    [warning] = caught
    assert "test_bytes_watch.py" in str(warning.message)
    assert 'encoding="utf-8"' in str(warning.message)


@pytest.mark.parametrize("name", RIGHT)
def test_other_functions_are_not_warned_of(name: str) -> None:
    ds, function = RIGHT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(ds.map(function))) == 2


def test_text_that_is_str_may_be_compared(tmp_path: Any) -> None:
    path = tmp_path / "some.txt"
    path.write_text("cat\ndog\n")
    ds = ks.read_text(path, encoding="utf-8").map(lambda e: f"{e}" == WANTED and e == "cat")
    assert [bool(each) for each in ds] == [True, False]


def test_a_text_that_is_only_raised_is_not_warned_of() -> None:
    def checked(e: Any) -> Any:
        if e["x"] > 10:
            raise ValueError(f"{e['label']} is too large")
        return e["x"]

    assert [int(x) for x in DICTS.map(checked)] == [1, 2]


def test_a_value_outside_the_function_is_not_shown() -> None:
    with pytest.warns(UserWarning, match="compares with a str") as caught:
        list(DICTS.map(lambda e: e["label"] == WANTED))
    assert "'cat'" not in str(caught[0].message)


def test_results_stay_what_they_were() -> None:
    seen: list[type] = []

    def noted(e: Any) -> Any:
        seen.append(e["label"].__class__)
        return e["label"] == "cat"

    with pytest.warns(UserWarning, match="uses bytes as str"):
        assert [bool(each) for each in DICTS.map(noted)] == [False, False]
    assert seen == [bytes, bytes]


def test_batches_of_text_count_too() -> None:
    with pytest.warns(UserWarning, match="uses bytes as str"):
        list(DICTS.batch(2).map(lambda e: np.asarray(e["label"] == "cat")))
