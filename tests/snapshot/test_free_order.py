"""A snapshot stores elements in their order, so that ``deterministic`` need not count."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import keepset as ks


def slow_first(x: Any) -> Any:
    if x % 8 == 0:
        time.sleep(0.01)
    return x


@pytest.mark.parametrize("where", ["stage", "before", "behind"])
def test_what_is_stored_is_in_order(where: str, tmp_path: Path) -> None:
    free = ks.Options(deterministic=False)
    ds = ks.Dataset.range(48).map(slow_first, 4, deterministic=False if where == "stage" else None)
    if where == "before":
        ds = ds.with_options(free)
    ds = ds.snapshot(tmp_path)
    if where == "behind":
        ds = ds.with_options(free)
    assert [int(x) for x in ds] == list(range(48))
    ordered = ks.Dataset.range(48).map(slow_first).snapshot(tmp_path, mode="read")
    assert [int(x) for x in ordered] == list(range(48))
