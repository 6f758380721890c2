"""The order of shards is the same after any way of keeping it."""

from __future__ import annotations

import json
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.format import order as order_module
from keepset.format.order import OrderBuilder, join_orders, order_from_json, order_of

shard_lists = st.one_of(
    st.lists(st.integers(0, 3), max_size=40),
    st.builds(
        lambda pattern, n: [pattern[i % len(pattern)] for i in range(n)],
        st.lists(st.integers(0, 5), min_size=1, max_size=6),
        st.integers(0, 60),
    ),
)


@given(shard_lists)
def test_an_order_is_kept(shards: list[int]) -> None:
    order = order_from_json(json.loads(json.dumps(order_of(np.array(shards, np.int64)).to_json())))
    assert order.between(0, order.elements).tolist() == shards
    assert order.counts() == {shard: shards.count(shard) for shard in set(shards)}


@given(shard_lists)
def test_every_element_is_found_in_its_shard(shards: list[int]) -> None:
    order = order_of(np.array(shards, np.int64))
    found, ranks = order.places(np.arange(len(shards)))
    assert found.tolist() == shards
    assert ranks.tolist() == [shards[:i].count(shard) for i, shard in enumerate(shards)]


@given(st.lists(shard_lists, min_size=1, max_size=4))
def test_orders_are_joined(parts: list[list[int]]) -> None:
    joined = join_orders([order_of(np.array(part, np.int64)) for part in parts])
    assert joined.between(0, joined.elements).tolist() == [
        shard for part in parts for shard in part
    ]


def test_the_usual_order_takes_no_room_however_it_was_cut() -> None:
    shards = np.arange(100_003) % 7
    cuts = [0, 10, 1003, 50_000, 100_003]
    joined = join_orders([order_of(shards[a:b]) for a, b in pairwise(cuts)])
    assert len(json.dumps(joined.to_json())) < 100


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"pattern": [], "elements": 1},
        {"pattern": [1.5], "elements": 1},
        {"pattern": [0], "elements": -1},
        {"packed": "AAAA", "elements": 1},
        {"packed": "!", "elements": 1},
        {"packed": order_of(np.array([1, 2, 2, 3])).to_json()["packed"], "elements": 3},
        {"packed": order_of(np.array([1, 2, 2, 3])).to_json()["packed"], "elements": 10**12},
    ],
)
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"order|shard|base64"):
        order_from_json(value)


@pytest.mark.parametrize("block", [1, 4, 1 << 16])
@given(parts=st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=8), repeats=st.booleans())
def test_an_order_that_is_built_bit_by_bit_is_the_same(
    block: int, parts: list[list[int]], repeats: bool
) -> None:
    if repeats:  # a pattern, handed over in pieces of any size
        sizes = map(len, parts)
        turns = iter(range(100))
        parts = [[next(turns) % 3 for _ in range(size)] for size in sizes]
    with mock.patch.object(order_module, "_BLOCK", block):
        builder = OrderBuilder()
        for _ in range(2):  # what was taken is not taken again
            for part in parts:
                builder.add(np.array(part, np.int64))
            built, told = builder.take(), [shard for part in parts for shard in part]
            found = [] if built is None else built.between(0, built.elements).tolist()
            assert found == told
            if repeats and built is not None and len(told) > 3:
                assert len(built.pattern) == 3


def test_an_order_that_repeats_takes_no_memory_while_it_is_built() -> None:
    builder = OrderBuilder()
    for _ in range(40):
        builder.add(np.arange(10_000) % 100)
    assert builder._recent_elements < 100_000
    assert builder._blocks == []
    built = builder.take()
    assert built is not None
    assert (len(built.pattern), built.elements) == (100, 400_000)
