"""Large plain data is hashed without a walk, and counts as any other value."""

# ruff: noqa: E501 - small programs are read more easily on one line each

from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.fingerprint import Ignore, differences, fingerprint_of_value
from keepset.core.fingerprint.plain_data import LARGE, large_plain_digest

Load = Callable[..., ModuleType]

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.binary(max_size=3),
)
NESTED = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2) | st.integers(0, 3), inner, max_size=3)
    ),
    max_leaves=8,
)
ROWS = LARGE


def spelled(value: Any) -> str:
    """All that counts: types, order and values."""
    if isinstance(value, dict):
        return f"dict{[(spelled(k), spelled(v)) for k, v in value.items()]}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}{[spelled(item) for item in value]}"
    return f"{type(value).__name__} {value!r}"


@given(one=NESTED, other=NESTED)
def test_only_equal_data_is_equal(one: Any, other: Any) -> None:
    filling = [0] * ROWS
    digests = [large_plain_digest([filling, each]) for each in (one, other)]
    assert None not in digests
    assert (digests[0] == digests[1]) == (spelled(one) == spelled(other))
    assert large_plain_digest([list(filling), copy.deepcopy(one)]) == digests[0]


@pytest.mark.parametrize(
    "value",
    [
        [0] * (LARGE - 1),
        [0] * LARGE + [object()],
        [0] * LARGE + [{1}],
        [[True] * LARGE, Path("a")],
        {"a": [0] * LARGE, "b": {"c": bytearray(b"d")}},
        ks.Dataset,
        "a" * LARGE,
    ],
    ids=range(7),
)
def test_anything_else_is_walked(value: Any) -> None:
    assert large_plain_digest(value) is None


def test_what_is_shared_or_endless_is_walked() -> None:
    diamond: list[Any] = [1]
    for _ in range(200):
        diamond = [diamond, diamond]
    endless: list[Any] = [0] * LARGE
    endless.append(endless)
    assert large_plain_digest(diamond) is None
    assert large_plain_digest(endless) is None
    assert fingerprint_of_value(endless) == fingerprint_of_value(endless)


def test_deep_data_is_walked() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert large_plain_digest([deep, [0] * LARGE]) is None


def test_the_digest_is_the_same_for_ever() -> None:
    rows = [{"id": i, "box": (1.5, -0.0, 2**70, None), "é": [b"\0", True, ""]} for i in range(999)]
    found = large_plain_digest(rows)
    assert found is not None
    assert found[4:].hex() == "5507177d46430ff58b17bcdc1980e421"


def test_hash_seeds_and_interning_do_not_count() -> None:
    program = (
        "import sys\n"
        "from keepset.core.fingerprint import fingerprint_of_value\n"
        "rows = [{'name': 'a' + str(i % 3), sys.intern('b' + str(i)): 1} for i in range(4000)]\n"
        "if len(sys.argv) > 1: rows = [{k + '': v for k, v in each.items()} for each in rows]\n"
        "print(fingerprint_of_value(rows).digest)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed, arguments in (("1", ()), ("2", ("copied",)))
    }
    assert len(found) == 1


INSIDE = {
    "an inner dict grows": "COUNTS = {'a': {}, 'b': [0] * 9000}\ndef f(x):\n    COUNTS['a'][int(x)] = 1\n    return x",
    "an inner list grows": "SEEN = [[], [0] * 9000]\ndef f(x):\n    SEEN[0].append(int(x))\n    return x",
    "an item is replaced": "STATE = {'n': 0, 'rows': [[i] for i in range(9000)]}\ndef f(x):\n    STATE['n'] += 1\n    return x",
    "a list that is only added to grows": "SEEN = []\nALL = {'seen': SEEN, 'rows': [0] * 9000}\ndef f(x):\n    SEEN.append(int(x))\n    return x + 0 * len(ALL)",
    "all of it grows": "SEEN = [0] * 9000\ndef f(x):\n    SEEN.append(int(x))\n    return x",
}


@pytest.mark.parametrize("program", INSIDE.values(), ids=INSIDE)
def test_own_state_inside_large_data_is_no_change(
    load: Load, tmp_path: Path, program: str, recwarn: pytest.WarningsRecorder
) -> None:
    job = load(program)
    ds = ks.Dataset.range(30).map(job.f).snapshot(tmp_path / "stored")
    for _ in range(3):
        assert [int(x) for x in ds] == list(range(30))
    assert not recwarn.list
    assert len(list((tmp_path / "stored").iterdir())) == 1  # one snapshot, stored once


def test_a_change_beside_own_state_inside_large_data_counts(load: Load) -> None:
    job = load(INSIDE["an inner dict grows"])
    before = fingerprint_of_value(job.f)
    job.f(1)
    moved = fingerprint_of_value(job.f)
    job.COUNTS["b"][77] = 1
    changed = fingerprint_of_value(job.f)
    assert before.fixed == moved.fixed != changed.fixed
    assert before.digest != moved.digest


def test_own_state_that_becomes_large_is_no_change(load: Load) -> None:
    job = load("M = {'seen': [], 'kept': [1, 2]}\ndef f(x):\n    M['seen'].append(x)\n    return x")
    before = fingerprint_of_value(job.f)
    for i in range(2 * LARGE):
        job.f(i)
    assert fingerprint_of_value(job.f).fixed == before.fixed
    job.M["kept"][0] = 3
    assert fingerprint_of_value(job.f).fixed != before.fixed


def test_the_difference_names_the_part(load: Load) -> None:
    old = {"images": [0] * LARGE, "info": {"year": 2024, "licence": "a"}, "api_key": "s3cret"}
    new = json.loads(json.dumps(old)) | {"info": {"year": 2025, "licence": "b"}}
    found = differences(fingerprint_of_value(old), fingerprint_of_value(new), name="ROWS")
    assert [str(each) for each in found] == [
        "ROWS > key 'info' > key 'year': 2024 -> 2025",
        "ROWS > key 'info' > key 'licence': a str has changed",
    ]
    assert "s3cret" not in repr(fingerprint_of_value(old))


def test_an_item_of_large_data_can_be_ignored() -> None:
    one, other = ({"stamp": i, "rows": [0] * LARGE} for i in (1, 2))
    ignore = Ignore(["key 'stamp'"])
    digests = {fingerprint_of_value(each, ignore=ignore).digest for each in (one, other)}
    assert len(digests) == 1
    assert ignore.used == {"key 'stamp'"}


def test_another_thread_may_write_large_data() -> None:
    rows: dict[int, list[int]] = {i: [i] for i in range(LARGE)}
    stop = threading.Event()

    def write() -> None:
        number = LARGE
        while not stop.is_set():
            rows[number % (2 * LARGE)] = [number]
            rows.pop((number - LARGE) % (2 * LARGE), None)
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(30):
            assert fingerprint_of_value(rows).digest
    finally:
        stop.set()
        thread.join()
