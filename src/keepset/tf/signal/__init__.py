"""``tf.signal``: spectra of signals, on NumPy, within 1e-5 of TensorFlow's."""

from __future__ import annotations

from keepset.tf.not_covered import not_covered
from keepset.tf.signal.fourier import (
    dct,
    fft,
    fft2d,
    fft3d,
    fftshift,
    idct,
    ifft,
    ifft2d,
    ifft3d,
    ifftshift,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)
from keepset.tf.signal.frames import (
    frame,
    hamming_window,
    hann_window,
    inverse_stft,
    inverse_stft_window_fn,
    kaiser_window,
    overlap_and_add,
    stft,
    vorbis_window,
)
from keepset.tf.signal.mel import (
    linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms,
)

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "stft",
    "vorbis_window",
]

__getattr__ = not_covered("tf.signal")
