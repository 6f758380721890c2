"""A filter that passed none of its elements says so at the end of the pass."""

import functools
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import keepset as ks
from keepset.nodes.compared_str import compared_str, str_compared_with_element

WORDS = {"x", "y"}


def words() -> ks.Dataset:
    return ks.Dataset.from_tensor_slices(["a", "b", "c"])


def warnings_of(*passes: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for each in passes:
            list(each)
    return [str(warning.message) for warning in told]


def test_a_comparison_with_str_is_named() -> None:
    [message] = warnings_of(words().filter(lambda x: x == "a"))
    assert message.startswith("filter(<lambda>) passed none of its 3 elements, by the predicate")
    assert "compares with the str 'a', and text in elements is bytes" in message
    assert "compare with b'a'" in message
    assert 'encoding="utf-8"' in message


def test_a_predicate_is_named_without_the_functions_around_it() -> None:
    [message] = warnings_of(words().filter((lambda: lambda x: False)()))
    assert "by the predicate <lambda> (" in message


def test_another_comparison_is_not_called_one_with_str() -> None:
    [message] = warnings_of(words().filter(lambda x: x == b"z", name="last"))
    assert message.startswith("filter(<lambda>) named 'last' passed none of its 3 elements")
    assert "the str" not in message


def test_numbers_are_not_said_to_be_bytes() -> None:
    [message] = warnings_of(ks.Dataset.range(2).filter(lambda x: x == "a"))
    assert "the str" not in message


def test_the_warning_names_the_line_of_the_loop() -> None:
    with pytest.warns(UserWarning, match="passed none") as told:
        list(words().filter(lambda x: False))
    assert told[0].filename == __file__


def test_a_filter_that_passes_some_says_nothing() -> None:
    assert warnings_of(words().filter(lambda x: x == b"c")) == []


def test_no_elements_are_no_reason_to_warn() -> None:
    assert warnings_of(words().take(0).filter(lambda x: x == "a")) == []


def test_only_the_first_of_several_filters_that_pass_nothing_warns() -> None:
    ds = words().filter(lambda x: True).filter(lambda x: x == "q").filter(lambda x: False)
    [message] = warnings_of(ds)
    assert "its 3 elements" in message
    assert "'q'" in message


@pytest.mark.parametrize("behind", [lambda ds: ds.map(len), lambda ds: ds.batch(2), lambda ds: ds])
@pytest.mark.parametrize("before", [lambda ds: ds.map(lambda x: x), lambda ds: ds.shuffle(3, 1)])
def test_neighbours_make_no_difference(before: Any, behind: Any) -> None:
    [message] = warnings_of(behind(before(words()).filter(lambda x: x == "a")))
    assert "its 3 elements" in message
    assert "str 'a'" in message
    assert warnings_of(behind(before(words()).filter(lambda x: x == b"a"))) == []


@pytest.mark.parametrize("position", range(3))
def test_one_element_that_passes_is_enough_wherever_it_is(position: int) -> None:
    ds = ks.Dataset.range(3000).filter(lambda x: x == position * 1499)
    assert warnings_of(ds, ds.batch(1), ds.prefetch(2)) == []
    assert [int(x) for x in ds] == [position * 1499]


def test_a_pass_that_does_not_reach_the_end_says_nothing() -> None:
    ds = ks.Dataset.range(10).map(lambda x: x).filter(lambda x: x > 20)
    assert warnings_of(ks.Dataset.range(10).filter(lambda x: x > 20).take(0)) == []
    it = iter(ks.Dataset.range(10).filter(lambda x: x > 4))
    next(it)
    assert warnings_of(ds.take_while(lambda x: False).take(0)) == []


def test_a_take_while_before_the_filter_ends_the_input() -> None:
    ds = ks.Dataset.range(10).take_while(lambda x: x < 5).filter(lambda x: x > 20)
    assert list(ds) == []  # and no warning: what is behind might have passed


def test_passes_warn_once_for_each_stage() -> None:
    ds = words().filter(lambda x: x == "a")
    assert len(warnings_of(ds, ds, ds.repeat(3), ds.batch(2))) == 1


def test_a_pipeline_that_an_element_stands_for_may_be_empty() -> None:
    ds = ks.Dataset.range(3).flat_map(lambda i: ks.Dataset.range(i).filter(lambda j: j > 5))
    assert warnings_of(ds) == []


def test_an_iterator_that_goes_on_in_the_middle_does_not_know() -> None:
    ds = ks.Dataset.range(6).filter(lambda x: x < 3)
    it = ds.iterate()
    assert [int(next(it)) for _ in range(3)] == [0, 1, 2]
    assert warnings_of(ds.iterate(it.state())) == []


def test_elements_that_raise_are_no_reason_to_warn() -> None:
    def fails(x: Any) -> bool:
        raise ValueError(x)

    assert warnings_of(words().filter(fails).ignore_errors()) == []


def test_a_take_while_behind_a_last_filter_still_ends() -> None:
    ds = ks.Dataset.range(10).take_while(lambda x: x < 5).filter(lambda x: x % 2 == 1)
    assert [int(x) for x in ds] == [1, 3]


class Chosen:
    def __call__(self, row: Any) -> bool:
        return bool(row["kind"] == "word")


def test_comparisons_are_found_in_code() -> None:
    local = "local"
    cases: list[tuple[Any, str | None]] = [
        (lambda x: x == "a", "a"),
        (lambda x: "a" == x, "a"),  # noqa: SIM300
        (lambda row: row["name"] == "ada", "ada"),
        (lambda row: "ad" in row["name"], "ad"),
        (lambda x: x in ("b", "c"), "b"),
        (lambda x: x in WORDS and x, min(WORDS)),
        (lambda x: x == local, "local"),
        (lambda x: x > 3 and x["b"] < "m", "m"),
        (lambda x: any(item == "inner" for item in x), "inner"),
        (functools.partial(lambda y, x: x == "p", 1), "p"),
        (Chosen(), "word"),
        (lambda row: row["name"] == b"ada", None),
        (lambda row: row["x"] > 1, None),
        (lambda x: x.startswith("a"), None),
        (len, None),
    ]
    for function, word in cases:
        found = compared_str(function)
        value = None if found is None else found.value
        assert (value in WORDS) if word in WORDS else (value == word)


def test_the_value_of_a_variable_is_not_shown() -> None:
    api_key = "Hq8vRt2LmXw70140Kp3Ny6Bt"
    for predicate in (lambda x: x == api_key, lambda x: x == "Hq8vRt2LmXw70140Kp3Ny6Bt"):
        with pytest.warns(UserWarning, match="passed none of its 2 elements") as caught:
            list(ks.Dataset.from_tensor_slices([b"a", b"b"]).filter(predicate))
        [warning] = caught
        assert "is bytes" in str(warning.message)
        if predicate.__code__.co_freevars:
            assert api_key not in str(warning.message)


def rows() -> ks.Dataset:
    return ks.Dataset.from_tensor_slices({"split": ["train", "test", "train"], "x": [1, 2, 3]})


@pytest.mark.parametrize("behind", [lambda ds: ds.map(len), lambda ds: ds.batch(2), lambda ds: ds])
@pytest.mark.parametrize(
    "predicate",
    [
        lambda row: row["split"] != "test",
        lambda row: "test" != row["split"],  # noqa: SIM300
        lambda row: row["split"] not in {"test"},
        lambda row: not row["split"] == "test",  # noqa: SIM201
    ],
)
def test_a_filter_that_passes_all_because_it_compares_with_str_warns(
    predicate: Any, behind: Any
) -> None:
    ds = behind(rows().filter(predicate))
    [message] = warnings_of(ds, ds)
    assert "passed all of its 3 elements, by the predicate" in message
    assert "compares with the str 'test', and text in elements is bytes" in message


def test_a_filter_that_passes_all_for_other_reasons_says_nothing() -> None:
    mode = "train"
    predicates: list[Any] = [
        lambda row: row["split"] != b"other",
        lambda row: row["split"].decode() != "other",
        lambda row: str(row["split"], "utf-8") != "other",
        lambda row: "split" in row,
        lambda row: mode == "train" or row["x"] > 9,
        lambda row: row["x"] > 0,
    ]
    for predicate in predicates:
        assert str_compared_with_element(predicate) is None
        assert warnings_of(rows().filter(predicate)) == []
    not_one = rows().filter(lambda row: row["split"] != "test" and row["x"] > 1)
    assert warnings_of(not_one) == []
    assert warnings_of(ks.Dataset.range(3).filter(lambda x: x != "a")) == []
    assert warnings_of(rows().filter(lambda row: row["split"] != "test").take(1)) == []


CONFIG = SimpleNamespace(split="train")
OPTIONS: dict[str, Any] = {"split": "train", "names": {b"a": "x"}}


class Keeping:
    mode = "train"

    def keep(self, row: Any) -> bool:
        return self.mode != "test"

    def __call__(self, row: Any) -> bool:
        return self.mode != "test"


class KeepingOne:
    def __call__(self, row: Any) -> bool:
        return bool(row["split"] != "test")


def of_cell(row: Any) -> bool:
    return bool(row["split"] != "test" or any(row["x"] == i for i in range(3)))


def test_what_is_no_part_of_an_element_may_be_compared_with_str() -> None:
    option = SimpleNamespace(split="train")
    for predicate in (
        lambda row: CONFIG.split != "test" or row["x"] > 9,
        lambda row: OPTIONS["split"] != "test" or row["x"] > 9,
        lambda row: OPTIONS["names"].get(row["split"]) != "test",
        lambda row: option.split != "test",
        lambda row: "test" != option.split,  # noqa: SIM300
        lambda row: sys.platform not in {"other"},
        lambda row, options=option: options.split != "test",
        lambda row, *, options=option: options.split != "test",
        functools.partial(lambda options, row: options.split != "test", option),
        functools.partial(lambda row, options: options.split != "test", options=option),
        Keeping().keep,
        Keeping(),
    ):
        assert str_compared_with_element(predicate) is None
        assert warnings_of(rows().filter(predicate)) == []
    for predicate in (
        lambda row: CONFIG.split != "test" and row["split"] != "other",
        functools.partial(lambda options, row: row["split"] != "test", option),
        KeepingOne(),
        of_cell,
    ):
        assert str_compared_with_element(predicate) is not None


def test_a_filter_with_str_that_passes_all_goes_on_from_a_state() -> None:
    ds = rows().filter(lambda row: row["split"] != "test")
    it = ds.iterate()
    next(it)
    rest = ds.iterate(it.state())
    assert warnings_of(rest) == []
    assert [int(row["x"]) for row in ds.iterate(it.state())] == [2, 3]


def test_a_take_while_that_compares_with_str_warns() -> None:
    for behind in (lambda ds: ds, lambda ds: ds.batch(2), lambda ds: ds.filter(lambda row: True)):
        ds = behind(rows().take_while(lambda row: row["split"] == "train"))
        [message] = warnings_of(ds, ds)
        assert "take_while(<lambda>) ended at its first element, by the predicate" in message
        assert "the str 'train'" in message
    [message] = warnings_of(rows().take_while(lambda row: row["split"] != "test"))
    assert "take_while(<lambda>) passed all of its 3 elements" in message


def test_a_take_while_that_ends_for_other_reasons_says_nothing() -> None:
    for ds in (
        rows().take_while(lambda row: row["split"] == b"test"),
        rows().take_while(lambda row: row["x"] < 2),
        rows().take_while(lambda row: row["x"] < 2 or row["split"] == "train"),
    ):
        assert warnings_of(ds, ds.batch(2)) == []
