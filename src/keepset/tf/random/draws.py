"""Draws: the random functions, for any place that their words come from.

A :class:`Source` sets words aside: by a seed for stateless functions, by an operation's counter for
those of ``tf.random`` itself, and by its state for a ``Generator``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.random import distributions, rejection
from keepset.tf.random.philox import Stream, stream_of_seed
from keepset.tf.random.shapes import (
    FLOATS,
    SIGNED,
    UNSIGNED,
    bounds,
    dtype_among,
    float_dtype,
    logits_of,
    seeds_of,
    shape_of,
    size_of,
)
from keepset.tf.tensors.conversion import cast_numbers, dtype_of, int_of, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor, wrapped

# Takes the name of TensorFlow's operation, how many blocks of words it sets aside, and what else
# tells its state from that of others.
Source = Callable[..., Stream]
_RESERVED = distributions.RESERVED


def stateless(seed: Any, alg: Any = "auto_select") -> Source:
    """The same words each time, by a seed of two numbers."""
    check_algorithm(alg)
    first, second = seeds_of(seed)
    stream = stream_of_seed(first, second)
    return lambda *_: stream


def uniform(
    source: Source, shape: Any, low: Any, high: Any, dtype: Any, full: bool = False
) -> Tensor:
    """Numbers from ``low`` up to ``high``; of all bits if ``full`` and both are None."""
    wanted = dtype_among(dtype, (*FLOATS, *SIGNED, *(UNSIGNED if full else ())))
    sizes = shape_of(shape)
    count = size_of(sizes)
    if wanted in FLOATS:
        high = 1 if high is None else high
        found = distributions.unit(
            source("RandomUniform", count * _RESERVED, wanted.name), count, wanted
        )
        return _scaled_between(found.reshape(sizes), low, high, wanted)
    if full and low is None and high is None:
        stream = source("RandomUniformFullInt", count * _RESERVED, wanted.name)
        return wrapped(distributions.full_integers(stream, count, wanted).reshape(sizes))
    first, last = _whole_bounds(wanted, low, high, full)
    stream = source("RandomUniformInt", count * _RESERVED, wanted.name)
    return wrapped(distributions.integers(stream, count, wanted, first, last).reshape(sizes))


def _whole_bounds(wanted: DType, low: Any, high: Any, full: bool) -> tuple[int, int]:
    if low is None or high is None:
        both = ", or None for both" if full else ""
        raise InvalidArgumentError(f"whole numbers need a minval and a maxval{both}")
    if wanted in UNSIGNED:
        raise InvalidArgumentError(f"{wanted.name} has no bounds; pass None, or draw tf.int64")
    return bounds(wanted, low, high)


def _scaled_between(found: Any, low: Any, high: Any, wanted: DType) -> Tensor:
    first, last = value_of(low, wanted), value_of(high, wanted)
    return wrapped(run_quietly(lambda: found * (last - first) + first))


def normal(
    source: Source, shape: Any, mean: Any, stddev: Any, dtype: Any, truncated: bool = False
) -> Tensor:
    """Numbers around a mean; those that are truncated within two deviations of it."""
    wanted, sizes = float_dtype(dtype), shape_of(shape)
    middle, deviation = value_of(mean, wanted), value_of(stddev, wanted)
    count = size_of(sizes)
    name = "TruncatedNormal" if truncated else "RandomStandardNormal"
    draw = distributions.truncated_normal if truncated else distributions.normal
    found = draw(source(name, count * _RESERVED, wanted.name), count, wanted).reshape(sizes)
    return wrapped(run_quietly(lambda: found * deviation + middle))


def gamma(
    source: Source, shape: Any, alpha: Any, beta: Any, dtype: Any, inner: bool = True
) -> Tensor:
    """Numbers of gamma distributions; ``inner`` says that the shape comes before that of alpha."""
    wanted = float_dtype(dtype)
    if wanted.name == "bfloat16":
        raise InvalidArgumentError("there are no such numbers of bfloat16; use tf.cast")
    alphas = value_of(alpha, wanted)
    betas = value_of(1 if beta is None else beta, wanted)
    each = np.broadcast_to(alphas, np.broadcast_shapes(np.shape(alphas), np.shape(betas)))
    sizes = _sizes_around(shape, each, inner)
    found = _for_each(rejection.gamma, source, "RandomGamma", sizes, each, wanted)
    least = np.finfo(wanted.storage).tiny
    made = run_quietly(np.divide, cast_numbers(found, wanted.storage), betas)
    return wrapped(np.maximum(made, wanted.storage.type(least)))


def poisson(source: Source, shape: Any, lam: Any, dtype: Any, inner: bool = True) -> Tensor:
    """Counts of events, of which ``lam`` happen on the average."""
    wanted = dtype_among(dtype, (*(each for each in FLOATS if each.name != "bfloat16"), *SIGNED))
    rates = value_of(lam)
    if type(rates) is bytes or rates.dtype.kind not in "if":
        raise InvalidArgumentError(f"rates are numbers, not {dtype_of(rates).name}")
    sizes = _sizes_around(shape, rates, inner)
    kinds = f"{wanted.name} {dtype_of(rates).name}"
    found = _for_each(rejection.poisson, source, "RandomPoisson", sizes, rates, wanted, kinds)
    return wrapped(cast_numbers(found, wanted.storage))


def _sizes_around(shape: Any, each: Any, inner: bool) -> tuple[int, ...]:
    sizes, own = shape_of(shape), np.shape(each)
    if inner:
        return (*sizes, *own)
    if sizes[len(sizes) - len(own) :] != own or len(sizes) < len(own):
        raise InvalidArgumentError(
            f"the shape {list(sizes)} must end with {list(own)}, that of the parameters"
        )
    return sizes


def _for_each(
    draw: Callable[[Stream, Any], Any],
    source: Source,
    name: str,
    sizes: tuple[int, ...],
    each: Any,
    dtype: DType,
    kinds: str = "",
) -> Any:
    """Numbers of which those of one parameter come after one another in the stream."""
    count, parameters = size_of(sizes), np.ravel(each)
    stream = source(name, count * _RESERVED, kinds or dtype.name)
    if not count:
        return np.zeros(sizes)
    times = count // len(parameters)
    found = draw(stream, np.repeat(parameters.astype(np.float64), times))
    return found.reshape(len(parameters), times).T.reshape(sizes)


def categorical(source: Source, logits: Any, num_samples: Any, dtype: Any) -> Tensor:
    """For each row of logits, numbers of columns.

    TensorFlow shares many rows among threads, on which its numbers depend; one row gives the same.
    """
    wanted = dtype_among(as_dtype("int64") if dtype is None else dtype, SIGNED)
    matrix, count = logits_of(logits), int_of(num_samples)
    if count < 0:
        raise InvalidArgumentError(f"num_samples should be non-negative, got {count}")
    blocks = len(matrix) * (-(-count // 4) * 8) * _RESERVED
    stream = source("Multinomial", blocks, f"{dtype_of(matrix).name} {wanted.name}")
    return wrapped(distributions.categories(stream, matrix, count).astype(wanted.storage))


def shuffled(source: Source, value: Any) -> Tensor:
    """The rows of a tensor in another order."""
    rows = value_of(value)
    if np.size(rows) <= 1 or not np.ndim(rows):
        return Tensor(rows)
    name = dtype_of(rows).name
    stream = source("RandomShuffle", -(-(len(rows) - 1) // 4), name)
    return Tensor(rows[distributions.shuffled(stream, len(rows))])


def check_algorithm(alg: Any) -> None:
    """Whether an algorithm is there: on a CPU that is Philox, however it is written."""
    name = getattr(alg, "name", alg)
    text = str(name).strip().lower().replace("-", "").replace("_", "")
    if text not in ("philox", "autoselect", "1", "3", "none"):
        raise InvalidArgumentError(f"the algorithm {name!r} is not there; choose 'philox'")
