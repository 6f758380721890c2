"""From arrays: nobody downstream can write to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.nodes.from_tensor_slices import FromTensorSlices


@pytest.mark.parametrize("make", [lambda x: (x,), lambda x: {"x": x}, lambda x: ({"x": x}, x)])
def test_read_only_arrays_are_not_copied(make: Any) -> None:
    x = np.arange(12).reshape(4, 3)
    x.flags.writeable = False
    node = ks.Dataset.from_tensor_slices(make(x))._node
    assert isinstance(node, FromTensorSlices)
    assert all(np.shares_memory(column, x) for column in node._columns)


def test_nobody_can_write_to_the_arrays_through_elements() -> None:
    x = np.arange(12).reshape(4, 3)
    for row, expected in zip(ks.Dataset.from_tensor_slices(x), x, strict=True):
        assert row.tolist() == expected.tolist()
        with pytest.raises(ValueError, match="read-only"):
            row[:] = 0
