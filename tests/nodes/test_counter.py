"""Numbers without end."""

from itertools import islice
from typing import Any

import numpy as np
import pytest

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE
from keepset.core.run import look
from keepset.errors import InvalidArgumentError
from keepset.nodes.counter import Counter
from keepset.testing import check_dataset


@pytest.mark.parametrize(
    ("start", "step", "dtype", "expected"),
    [
        (0, 1, np.int64, [0, 1, 2, 3]),
        (5, -2, np.int64, [5, 3, 1, -1]),
        (5, 0, np.int32, [5, 5, 5, 5]),
        (126, 1, np.int8, [126, 127, -128, -127]),
        (5.5, 0.5, np.float32, [5.5, 6.0, 6.5, 7.0]),
    ],
)
def test_numbers_go_on_in_steps(start: Any, step: Any, dtype: Any, expected: Any) -> None:
    node = Counter(start=start, step=step, dtype=np.dtype(dtype))
    numbers = list(islice(iterate(node), 4))
    assert numbers == expected
    assert {x.dtype for x in numbers} == {np.dtype(dtype)}
    assert node.spec() == TensorSpec((), dtype)
    check_dataset(lambda: Dataset(node).take(4), expected=[dtype(x) for x in expected])


def test_any_position_can_be_had_at_once() -> None:
    node = Counter(start=7, step=3)
    assert node.gather(np.array([10**9, 0]), look(node)).rows == [3 * 10**9 + 7, 7]
    assert node.cardinality() == INFINITE


def test_integers_do_not_take_fractions() -> None:
    with pytest.raises(InvalidArgumentError, match="needs integers"):
        Counter(start=0.5)
