"""tf.signal gives TensorFlow's numbers, which were written down from TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import keepset.tf as tf
from keepset.errors import DtypeError, InvalidArgumentError, NotCoveredError

SOUND = np.random.default_rng(1).normal(size=(2, 100)).astype(np.float32)
Call = Callable[[], Any]
GOLDEN: dict[str, tuple[Call, Any]] = {
    "spectra": (
        lambda: tf.abs(tf.signal.stft(np.arange(8, dtype=np.float32), 4, 2)),
        [[4, 2.236068, 0], [8, 4.1231055, 0], [12, 6.0827627, 0]],
    ),
    "periodic": (lambda: tf.signal.hann_window(4), [0, 0.5, 1, 0.5]),
    "whole": (lambda: tf.signal.hann_window(4, periodic=False), [0, 0.75, 0.75, 0]),
    "cosines": (lambda: tf.signal.dct([1.0, 2.0, 3.0]), [12, -3.4641013, 0]),
    "lengths": (
        lambda: tf.signal.dct([1.0, 2.0, 3.0], norm="ortho"),
        [3.4641016, -1.4142134, 0],
    ),
    "mel": (
        lambda: tf.signal.linear_to_mel_weight_matrix(3, 5, 8000),
        [
            [0, 0, 0],
            [0.2952627, 0.7047374, 0],
            [0, 0.2044583, 0.7955418],
            [0, 0, 0.4615394],
            [0] * 3,
        ],
    ),
    "cepstra": (
        lambda: tf.signal.mfccs_from_log_mel_spectrograms([[1.0, 2.0, 3.0]]),
        [[4.8989792, -1.4142134, 0]],
    ),
    "frames": (lambda: tf.signal.frame([1, 2, 3, 4, 5], 3, 2), [[1, 2, 3], [3, 4, 5]]),
    "to the end": (
        lambda: tf.signal.frame([1, 2, 3, 4], 3, 2, pad_end=True, pad_value=9),
        [[1, 2, 3], [3, 4, 9]],
    ),
    "added": (lambda: tf.signal.overlap_and_add([[1, 2, 3], [4, 5, 6]], 2), [1, 2, 7, 5, 6]),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_numbers_are_those_of_tensorflow(name: str) -> None:
    call, expected = GOLDEN[name]
    assert_allclose(call().numpy(), expected, rtol=1e-6, atol=1e-6)


def test_a_signal_comes_back_from_its_spectra() -> None:
    spectra = tf.signal.stft(SOUND, 16, 4)
    assert spectra.dtype == tf.complex64
    assert spectra.shape == [2, 22, 9]
    back = tf.signal.inverse_stft(
        spectra, 16, 4, window_fn=tf.signal.inverse_stft_window_fn(4)
    ).numpy()
    assert_allclose(back[:, 16:-16], SOUND[:, 16:-16], atol=1e-6)


def test_transforms_keep_the_width_of_their_input() -> None:
    assert tf.signal.rfft(tf.constant(SOUND, tf.float64)).dtype == tf.complex128
    assert tf.signal.rfft(SOUND.astype(np.float64)).dtype == tf.complex64
    half = tf.signal.rfft(SOUND)
    assert_allclose(tf.signal.irfft(half).numpy(), SOUND, atol=1e-6)
    whole = tf.signal.fft2d(tf.cast(SOUND, tf.complex64))
    assert_allclose(tf.signal.ifft2d(whole).numpy().real, SOUND, atol=1e-6)
    for kind in (2, 3, 4):
        there = tf.signal.dct(SOUND, kind, norm="ortho")
        assert_allclose(tf.signal.idct(there, kind, norm="ortho").numpy(), SOUND, atol=1e-5)


ERRORS: dict[str, tuple[Call, type[Exception], str]] = {
    "dtype": (lambda: tf.signal.rfft(tf.constant([1, 2])), InvalidArgumentError, "use tf.cast"),
    "length": (lambda: tf.signal.rfft(SOUND, 64), DtypeError, r"as in \[256\]"),
    "short": (lambda: tf.signal.stft(SOUND, 200, 8), InvalidArgumentError, "pad_end=True"),
    "whole": (lambda: tf.signal.frame(SOUND, 2.0, 1), DtypeError, "whole number"),
    "step": (lambda: tf.signal.frame(SOUND, 2, 0), InvalidArgumentError, "must be positive"),
    "window": (lambda: tf.signal.hann_window(4, dtype=tf.int32), InvalidArgumentError, "floats"),
    "Nyquist": (
        lambda: tf.signal.linear_to_mel_weight_matrix(20, 129, 8000, 125.0, 5000.0),
        InvalidArgumentError,
        "half the sample_rate",
    ),
    "axis": (lambda: tf.signal.dct(SOUND, axis=0), NotImplementedError, "tf.transpose"),
    "name": (lambda: tf.signal.mdct, NotCoveredError, "not part of keepset.tf"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_do(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()
