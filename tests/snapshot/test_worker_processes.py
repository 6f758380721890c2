"""A snapshot whose stages run in worker processes: what it stores, and how it goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import keepset as ks


def test_an_interrupted_pass_goes_on_behind_a_shuffle_of_an_interleave(tmp_path: Path) -> None:
    def make(place: str) -> ks.Dataset:
        ds = ks.Dataset.range(12).interleave(
            lambda x: ks.Dataset.range(3), 2, num_parallel_calls=2, executor="process"
        )
        return ds.shuffle(8, seed=2).snapshot(str(tmp_path / place))

    whole = [int(x) for x in make("whole")]
    assert len(whole) == 36
    assert [int(x) for x in make("cut").take(10)] == whole[:10]
    assert [int(x) for x in make("cut")] == whole


def test_a_worker_that_dies_while_a_pass_is_resumed_costs_time_and_no_elements(
    tmp_path: Path,
) -> None:
    bomb = tmp_path / "bomb"

    def slow(x: np.int64) -> int:
        if bomb.exists():
            bomb.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return int(x) * 2

    def make() -> ks.Dataset:
        ds = ks.Dataset.range(9).map(slow, num_parallel_calls=1, executor="process")
        return ds.snapshot(str(tmp_path / "kept"), fingerprint="doubled")

    assert [int(x) for x in make().take(4)] == [0, 2, 4, 6]
    bomb.touch()
    with pytest.warns(UserWarning, match="while the pass was being resumed behind the 4 elements"):
        got = [int(x) for x in make()]
    assert got == list(range(0, 18, 2))
