"""edit_distance: how many items must be put in, taken out or replaced."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.tensor import Tensor


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None
) -> Tensor:
    """The Levenshtein distance of sequences, which are the rows of sparse tensors.

    Args:
        hypothesis: The sequences; what is missing at their ends is not there.
        truth: What they ought to be.
        normalize: Whether to divide by the length of what ought to be.

    Example:
        >>> import keepset.tf as tf
        >>> found = tf.sparse.from_dense([["a", "b"], ["c", ""]])
        >>> tf.edit_distance(found, tf.sparse.from_dense([["a", "c"], ["c", "d"]])).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    for each, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(each, SparseTensor):
            raise TypeError(f"{what} must be a SparseTensor.")
    if hypothesis.dtype is not truth.dtype:
        raise DtypeError(
            f"sequences of {hypothesis.dtype.name} and {truth.dtype.name} cannot be compared"
        )
    sizes = [each.dense_shape.numpy()[:-1] for each in (hypothesis, truth)]
    if len(sizes[0]) != len(sizes[1]):
        raise InvalidArgumentError("hypothesis and truth must have as many dimensions")
    one, two = _rows(hypothesis), _rows(truth)
    made = np.zeros(np.maximum(*sizes), np.float32)
    for place in one.keys() | two.keys():
        distance, length = _distance(one[place], two[place]), len(two[place])
        if normalize:
            distance = distance / length if length else float("inf") if distance else 0
        made[place] = distance
    return Tensor(made if made.ndim else made[()])


def _rows(given: SparseTensor) -> defaultdict[tuple[int, ...], list[Any]]:
    """The sequences by where they are."""
    rows: defaultdict[tuple[int, ...], list[Any]] = defaultdict(list)
    places = given.indices.numpy()[:, :-1].tolist()
    for place, value in zip(places, np.asarray(given.values.numpy()).tolist(), strict=True):
        rows[tuple(place)].append(value)
    return rows


def _distance(one: list[Any], two: list[Any]) -> float:
    costs = list(range(len(two) + 1))
    for row, left in enumerate(one, 1):
        before, costs[0] = costs[0], row
        for column, right in enumerate(two, 1):
            cost = before if left == right else 1 + min(before, costs[column], costs[column - 1])
            before, costs[column] = costs[column], cost
    return costs[-1]


__all__ = ["edit_distance"]
