"""Facts survive JSON, and are put together into larger ones."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from keepset.core.fingerprint import (
    combine,
    facts_from_json,
    facts_to_json,
    fingerprint_of_value,
    fingerprints_of_values,
)
from keepset.errors import FingerprintError


def scaled(x: Any, by: float = 2.0) -> Any:
    return np.multiply(x, by)


@pytest.mark.parametrize("value", [1, scaled, {"a": [1, (2, None)]}, np.zeros(3), "\ud800"])
def test_facts_survive_json(value: Any) -> None:
    facts = fingerprint_of_value(value)
    assert facts_from_json(json.loads(json.dumps(facts_to_json(facts)))) == facts


_memo: dict[Any, Any] = {}


def remembered(x: Any) -> Any:
    return _memo.setdefault(x, np.sqrt(x))


@pytest.mark.parametrize("strict", [False, True])
def test_facts_that_are_not_spelled_out_have_the_same_digests(strict: bool) -> None:
    found = [1, scaled, remembered, {"a": [1, (2, None)]}, [1], np.zeros(3), random.Random(1)]
    values = [(f"value {i}", value) for i, value in enumerate(found)]
    whole = fingerprints_of_values(values, strict=strict)
    short = fingerprints_of_values(values, strict=strict, spelled_out=False)
    for one, other in zip(whole, short, strict=True):
        assert (other.digest, other.fixed, other.firm) == (one.digest, one.fixed, one.firm)
        assert other.kind == one.kind
        assert other.text == ""
        assert {child.kind for _, child in other.children} <= {"version"}
    assert whole[2].fixed != whole[2].digest
    assert whole[6].firm != whole[6].digest


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "text",
        {},
        {"digest": 1, "kind": "a", "text": "b"},
        {"digest": "ab", "kind": "a", "text": "b", "children": [1]},
        {"digest": "ab", "kind": "a", "text": "b", "children": [["c", None]]},
        {"digest": "ab", "kind": "a", "text": "b", "children": [[1, {"digest": "ab"}]]},
        {"digest": "ab", "kind": "a", "text": "b", "versions": [1]},
        {"digest": "ab", "kind": "a", "text": "b", "versions": {"numpy": 2}},
    ],
)
def test_other_data_is_refused(data: Any) -> None:
    with pytest.raises(FingerprintError, match="does not describe a fingerprint"):
        facts_from_json(data)


def test_combined_facts_count_kind_labels_and_order_but_not_text() -> None:
    one, two = fingerprint_of_value(1), fingerprint_of_value(2)
    base = combine("batch", "batch(1)", [("size", one), ("rest", two)])
    assert combine("batch", "other text", [("size", one), ("rest", two)]).digest == base.digest
    others = [
        combine("take", "batch(1)", [("size", one), ("rest", two)]),
        combine("batch", "batch(1)", [("count", one), ("rest", two)]),
        combine("batch", "batch(1)", [("size", two), ("rest", two)]),
        combine("batch", "batch(1)", [("rest", two), ("size", one)]),
        combine("batch", "batch(1)", [("size", one)]),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 6


def test_combined_facts_know_the_versions_of_their_parts() -> None:
    facts = combine("map", "map", [("function", fingerprint_of_value(scaled))])
    assert facts.versions == {"numpy": np.__version__}


def test_the_digest_is_the_one_of_the_first_release() -> None:
    # Kept snapshots are found by these: a change here loses what people have kept.
    known = {
        "None": fingerprint_of_value(None).digest,
        "list": fingerprint_of_value([1, 2.5, "a", b"b", {"k": {1, 2}}]).digest,
        "array": fingerprint_of_value(np.arange(6, dtype="f4").reshape(2, 3)).digest,
        "function": fingerprint_of_value(scaled).digest,
    }
    assert known == {
        "None": "4ea62fc062b94db00e9b487d652a2f44",
        "array": "da0af1f359c04359cea0ce5fa67c29f1",
        "function": "52858c6a9b08b4d86681fd75afb447fa",
        "list": "14405b58ac388f6edb4a53d5cfc2c0f6",
    }
