"""Elements that are in memory already."""

import numpy as np

from keepset import Dataset, TensorSpec
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.iterate import iterate
from keepset.nodes.rows import Rows
from keepset.testing import check_dataset


def test_rows_keep_every_promise() -> None:
    rows = [{"x": np.int64(i), "y": np.ones(i % 3)} for i in range(5)]
    check_dataset(lambda: Dataset(Rows(chunk=Chunk.from_rows(rows))), expected=rows)


def test_the_promised_spec_wins_over_the_rows() -> None:
    chunk = Chunk.from_rows([np.ones(2)])
    promised = TensorSpec([None], "float64")
    assert Rows(chunk=chunk, promised=(promised,)).spec() == promised
    assert Rows(chunk=chunk).spec() == TensorSpec([2], "float64")
    assert Rows(chunk=chunk).known_spec() is None


def test_no_rows() -> None:
    assert list(iterate(Rows(chunk=EMPTY))) == []
