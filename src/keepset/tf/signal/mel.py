"""Spectra on the mel scale, which is that of hearing, and their cepstra."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.signal.fourier import dct
from keepset.tf.tensors.conversion import value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor, wrapped

_BREAK_HERTZ, _FACTOR = 700.0, 1127.0


def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = "float32",
    name: str | None = None,
) -> Tensor:
    """What a spectrogram is multiplied by to have bands of the mel scale.

    Args:
        num_mel_bins: How many bands there are.
        num_spectrogram_bins: How many frequencies the spectrogram has, ``fft_length // 2 + 1``.
        sample_rate: The samples per second.
        lower_edge_hertz: Where the first band begins.
        upper_edge_hertz: Where the last band ends, at most at half the sample rate.
        dtype: A float dtype.
        name: Of no effect.
    """
    bands, bins = int(value_of(num_mel_bins)), int(value_of(num_spectrogram_bins))
    rate = float(value_of(sample_rate))
    edges = float(value_of(lower_edge_hertz)), float(value_of(upper_edge_hertz))
    _check(bands, rate, edges, sample_rate)
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise InvalidArgumentError(f"dtype must be a floating point type, not {wanted.name}")
    # The first frequency, zero, is in no band.
    places = _mel(np.linspace(0, rate / 2, bins)[1:])[:, None]
    first, last = _mel(np.array(edges))
    ends = np.linspace(first, last, bands + 2)
    low, middle, high = ends[:-2], ends[1:-1], ends[2:]
    rising, falling = (places - low) / (middle - low), (high - places) / (high - middle)
    weights = np.maximum(0, np.minimum(rising, falling))
    return wrapped(np.pad(weights, [(1, 0), (0, 0)]).astype(wanted.storage))


def _check(bands: int, rate: float, edges: tuple[float, float], shown: Any) -> None:
    if bands <= 0:
        raise InvalidArgumentError(f"num_mel_bins must be positive, not {bands}")
    if not 0 <= edges[0] < edges[1]:
        raise InvalidArgumentError(
            f"lower_edge_hertz must be from 0 to below upper_edge_hertz, not {edges}"
        )
    if rate <= 0:
        raise InvalidArgumentError(f"sample_rate must be positive, not {shown}")
    if edges[1] > rate / 2:
        raise InvalidArgumentError(
            f"upper_edge_hertz must not be larger than half the sample_rate, {rate / 2}; "
            f"it is {edges[1]}"
        )


def _mel(hertz: Any) -> Any:
    return _FACTOR * np.log1p(hertz / _BREAK_HERTZ)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """The cepstral coefficients of spectrograms that are the logarithms of mel bands."""
    value = value_of(log_mel_spectrograms)
    if np.ndim(value) and value.shape[-1] == 0:
        raise InvalidArgumentError(f"num_mel_bins must be positive; the shape is {value.shape}")
    found = dct(Tensor(value))
    return wrapped(found._value / found.dtype.storage.type(np.sqrt(2 * value.shape[-1])))


__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]
