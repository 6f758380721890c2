"""Records: values like data classes, whose methods are shared."""

from __future__ import annotations

import copy
import pickle
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.record import mutable_record, record


@record
class Place:
    """Somewhere."""

    shard: int
    rank: int = 0
    names: list[str] = field(default_factory=list, repr=False)
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.shard < 0:
            raise ValueError("there is no such shard")


@dataclass(frozen=True)
class Model:
    """What a record should behave like."""

    shard: int
    rank: int = 0
    names: list[str] = field(default_factory=list, repr=False)
    note: str = field(default="", compare=False)


@record
class Other:
    shard: int


@record
class Above(Place):
    height: int = 1


@mutable_record
class Counter:
    count: int = 0


values = st.fixed_dictionaries(
    {"shard": st.integers(0, 2)},
    optional={
        "rank": st.integers(0, 1),
        "names": st.lists(st.sampled_from("ab"), max_size=1),
        "note": st.sampled_from(["", "x"]),
    },
)


@given(one=values, other=values)
def test_it_does_what_a_data_class_does(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert repr(Place(**one)) == repr(Model(**one)).replace("Model", "Place")
    assert (Place(**one) == Place(**other)) == (Model(**one) == Model(**other))
    changed = replace(Place(**one), rank=5)
    assert (changed.shard, changed.rank) == (one["shard"], 5)
    assert [each.name for each in fields(changed)] == [each.name for each in fields(Model)]


def test_values_may_come_without_names() -> None:
    assert Place(1, 2, ["a"]) == Place(names=["a"], rank=2, shard=1)
    assert Above(1, height=3).height == 3
    assert Place(1) not in [Other(1), Above(1)]
    assert hash(Other(1)) == hash(Other(1))
    assert len({Other(1), Other(1), Other(2)}) == 2


def test_defaults_are_not_shared() -> None:
    assert Place(1).names is not Place(1).names


@pytest.mark.parametrize(
    ("given", "named", "complaint"),
    [
        ((), {}, "needs shard"),
        ((1, 2, [], "", 5), {}, "takes no further values"),
        ((1,), {"shard": 2}, "got shard twice"),
        ((1,), {"colour": 2}, "takes no colour"),
    ],
)
def test_wrong_values_are_refused(
    given: tuple[Any, ...], named: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TypeError, match=complaint):
        Place(*given, **named)


def test_a_value_may_be_anything() -> None:
    anything: Any = MISSING
    for made in Other(anything), Other(shard=anything):
        assert vars(made) == {"shard": MISSING}


def test_what_is_checked_is_checked() -> None:
    with pytest.raises(ValueError, match="no such shard"):
        Place(-1)


def test_a_record_never_changes() -> None:
    place = Place(1)
    with pytest.raises(FrozenInstanceError, match="rank"):
        place.rank = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="rank"):
        del place.rank
    assert copy.copy(place) == copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place


def test_another_kind_may_change_and_is_only_itself() -> None:
    counter = Counter()
    counter.count += 1
    assert counter.count == 1
    assert counter != Counter(1)
    assert repr(counter) == "Counter(count=1)"
