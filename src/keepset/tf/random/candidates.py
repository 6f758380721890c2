"""Candidates: classes drawn as negative examples, with how often each was to be expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.random.philox import Stream
from keepset.tf.random.stateful import operation_stream
from keepset.tf.tensors.conversion import int_of, value_of
from keepset.tf.tensors.tensor import Tensor

# TensorFlow sets this many blocks of random words aside for each candidate.
_BLOCKS = 512


class LogUniformCandidateSampler(NamedTuple):
    """Classes, and how often the true ones and these were to be expected among them."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: Any,
    num_sampled: Any,
    unique: Any,
    range_max: Any,
    seed: Any = None,
    name: str | None = None,
) -> LogUniformCandidateSampler:
    """Classes of which low ones are the likelier, as of words sorted by how frequent they are.

    Args:
        true_classes: The classes that are true, int64, in rows of ``num_true``.
        num_true: How many are true in each row.
        num_sampled: How many to draw.
        unique: Whether no class is drawn twice.
        range_max: How many classes there are.
        seed: As for the other functions of ``tf.random``.
        name: Ignored.
    """
    count, classes = int_of(num_sampled), int_of(range_max)
    true = _true_classes(true_classes, int_of(num_true), classes)
    if count < 1 or (unique and count > classes):
        raise InvalidArgumentError(
            f"num_sampled must be at least 1 and, with unique=True, at most range_max: {count} of "
            f"{classes} classes"
        )
    logs = np.log1p(classes)

    def drawn(words: Any) -> Any:
        return (np.exp(_doubles(words) * logs).astype(np.int64) - 1) % classes

    # Calls with other sizes are other operations, each with a counter of its own.
    operation = f"LogUniformCandidateSampler {true.shape[1]} {count} {bool(unique)} {classes}"
    stream = operation_stream(operation, seed, _BLOCKS * count)
    found, tries = _sampled(stream, count, bool(unique), drawn)

    def expected(of: Any) -> Tensor:
        chance = (np.log(of + 2.0) - np.log(of + 1.0)) / logs
        often = chance * count if tries == count else -np.expm1(tries * np.log1p(-chance))
        return Tensor(often.astype(np.float32))

    return LogUniformCandidateSampler(Tensor(found), expected(true), expected(found))


def _true_classes(given: Any, num_true: int, classes: int) -> Any:
    true = value_of(given, "int64")
    if np.ndim(true) != 2 or num_true < 1 or true.shape[1] != num_true:
        raise InvalidArgumentError(
            f"true_classes must have rows of num_true={num_true} classes, not the shape "
            f"{np.shape(true)}; use tf.expand_dims"
        )
    if true.size and not 0 <= true.min() <= true.max() < classes:
        raise InvalidArgumentError(
            f"true_classes must be from 0 to {classes - 1}; pass a larger range_max"
        )
    return true


def _sampled(
    stream: Stream, count: int, unique: bool, drawn: Callable[[Any], Any]
) -> tuple[Any, int]:
    """What was drawn, and in how many tries."""
    tries = count
    while True:
        found = drawn(stream.first(2 * tries))
        if not unique:
            return found, tries
        places = np.sort(np.unique(found, return_index=True)[1])[:count]
        if len(places) == count:
            return found[places], int(places[-1]) + 1
        tries *= 2


def _doubles(words: Any) -> Any:
    """Numbers from 0 to 1, each of two words."""
    high, low = words[::2].astype(np.uint64), words[1::2].astype(np.uint64)
    bits = np.uint64(1023 << 52) | (high & np.uint64(0xFFFFF)) << np.uint64(32) | low
    return bits.view(np.float64) - 1.0


__all__ = ["LogUniformCandidateSampler", "log_uniform_candidate_sampler"]
