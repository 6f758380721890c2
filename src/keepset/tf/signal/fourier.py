"""Fourier and cosine transforms, computed in doubles and rounded to the dtype of the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.conversion import Holder, Value, dtype_of, ints_of, value_of
from keepset.tf.tensors.tensor import Tensor, wrapped

_REAL = {np.dtype(np.complex64): np.float32, np.dtype(np.complex128): np.float64}
_COMPLEX = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}


def _of_dtypes(given: Any, preferred: str, allowed: Any, rank: int) -> Value:
    """An input, which is converted if it is no tensor."""
    value = value_of(given) if isinstance(given, Holder) else value_of(given, preferred)
    if type(value) is bytes or value.dtype not in allowed:
        names = " or ".join(f"tf.{dtype.name}" for dtype in allowed)
        raise InvalidArgumentError(
            f"{names} is needed here, not {dtype_of(value).name}; use tf.cast"
        )
    if np.ndim(value) < rank:
        raise InvalidArgumentError(
            f"at least {rank} dimensions are needed, not the shape {list(np.shape(value))}"
        )
    return value


def _complex(name: str, function: Callable[..., Any], rank: int, what: str) -> Any:
    def transform(input: Any, name: str | None = None) -> Tensor:
        value = _of_dtypes(input, "complex64", _REAL, rank)
        return wrapped(function(value, axes=_axes(rank)).astype(value.dtype))

    return _named(transform, name, f"{what} of complex numbers, over the last dimensions.")


def _forward(name: str, function: Callable[..., Any], rank: int) -> Any:
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        value = _of_dtypes(input_tensor, "float32", _COMPLEX, rank)
        sizes = _lengths(fft_length, rank) or value.shape[-rank:]
        found = function(value, s=sizes, axes=_axes(rank))
        return wrapped(found.astype(_COMPLEX[value.dtype]))

    return _named(transform, name, "The Fourier transform of real numbers, half of it.")


def _inverse(name: str, function: Callable[..., Any], rank: int) -> Any:
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        value = _of_dtypes(input_tensor, "complex64", _REAL, rank)
        own = value.shape[-rank:]
        sizes = _lengths(fft_length, rank) or (*own[:-1], max(0, 2 * (own[-1] - 1)))
        found = function(value, s=sizes, axes=_axes(rank))
        return wrapped(found.astype(_REAL[value.dtype]))

    return _named(transform, name, "Real numbers out of half of their Fourier transform.")


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _lengths(given: Any, rank: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    sizes = ints_of(value_of(given, "int32"))
    if np.ndim(value_of(given, "int32")) != 1 or len(sizes) != rank or min(sizes) < 0:
        raise DtypeError(
            f"fft_length must be a vector of {rank} sizes, as in [256], not {given!r:.60}"
        )
    return sizes


def _named(function: Callable[..., Tensor], name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


_RANKS = (("", 1), ("2d", 2), ("3d", 3))
fft, fft2d, fft3d = (
    _complex(f"fft{end}", np.fft.fftn, rank, "The Fourier transform") for end, rank in _RANKS
)
ifft, ifft2d, ifft3d = (
    _complex(f"ifft{end}", np.fft.ifftn, rank, "The inverse Fourier transform")
    for end, rank in _RANKS
)
rfft, rfft2d, rfft3d = (_forward(f"rfft{end}", np.fft.rfftn, rank) for end, rank in _RANKS)
irfft, irfft2d, irfft3d = (_inverse(f"irfft{end}", np.fft.irfftn, rank) for end, rank in _RANKS)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """With the frequency of zero in the middle."""
    return wrapped(np.fft.fftshift(value_of(x), None if axes is None else ints_of(axes)))


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """With the frequency of zero at the beginning again."""
    return wrapped(np.fft.ifftshift(value_of(x), None if axes is None else ints_of(axes)))


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The cosine transform of the last dimension, of the types 1 to 4.

    Args:
        input: Real numbers.
        type: Which transform: 1, 2, 3 or 4.
        n: The size of the last dimension, which is cut off or filled with zeros before.
        axis: -1.
        norm: ``ortho`` for one that keeps lengths.
        name: Of no effect.
    """
    value = _cosine_input(input, type, n, axis, norm)
    return wrapped(_cosine(value.astype(np.float64), type, norm).astype(value.dtype))


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of a cosine transform, but for a factor if it is not ``ortho``."""
    value = _cosine_input(input, type, n, axis, norm)
    inverse = {1: 1, 2: 3, 3: 2, 4: 4}[type]
    return wrapped(_cosine(value.astype(np.float64), inverse, norm).astype(value.dtype))


def _cosine_input(given: Any, kind: int, n: int | None, axis: int, norm: str | None) -> Any:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1, not {axis}; use tf.transpose")
    if n is not None and n < 1:
        raise InvalidArgumentError(f"n must be at least 1, or None, not {n}")
    if kind not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"the types of cosine transforms are 1 to 4, not {kind}")
    if norm not in (None, "ortho") or (kind == 1 and norm is not None):
        raise InvalidArgumentError(f"norm must be None, or 'ortho' for types 2 to 4, not {norm!r}")
    value = value_of(given)
    if type(value) is bytes or value.dtype not in _COMPLEX or not np.ndim(value):
        raise DtypeError(
            f"float32 or float64 is needed here, not {dtype_of(value).name}; use tf.cast"
        )
    if n is not None:
        missing = max(n - value.shape[-1], 0)
        value = np.pad(value[..., :n], [(0, 0)] * (value.ndim - 1) + [(0, missing)])
    if kind == 1 and value.shape[-1] < 2:
        raise InvalidArgumentError("type 1 needs at least two numbers")
    return value


def _cosine(x: Any, kind: int, norm: str | None) -> Any:
    size = x.shape[-1]
    if kind == 1:
        return np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)).real
    turns = np.exp(-0.5j * np.pi * np.arange(size) / size)
    lengths = np.full(size, np.sqrt(2 * size))
    lengths[0] = 2 * np.sqrt(size)
    if kind == 2:
        found = 2 * (np.fft.rfft(x, 2 * size)[..., :size] * turns).real
        return found / lengths if norm else found
    if kind == 3:
        weighed = x * lengths / 2 if norm else x * size
        return np.fft.irfft(2 * np.conj(turns) * weighed, 2 * size)[..., :size]
    padded = np.concatenate([x, np.zeros_like(x)], axis=-1)
    found = _cosine(padded, 2, None)[..., 1::2]
    return found * np.sqrt(0.5 / size) if norm else found


__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "irfft",
    "irfft2d",
    "irfft3d",
    "rfft",
    "rfft2d",
    "rfft3d",
]
