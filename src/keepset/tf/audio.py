"""``tf.audio``: WAV files of 16 bits, as bytes and as floats from -1 to 1."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.files.wav import DecodeWav, parse_wav
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.conversion import dtype_of, int_of, value_of
from keepset.tf.tensors.tensor import Tensor

_HIGHEST = 2**15


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """The samples of a WAV file of 16-bit PCM, as float32 from -1 to 1.

    Args:
        contents: The bytes of a file.
        desired_channels: How many channels there are to be; the last one is repeated, and others
            are left out. -1 for those of the file.
        desired_samples: How many samples; zeros are added, and others left out. -1 for all.
        name: Of no effect.

    Example:
        >>> import keepset.tf as tf
        >>> data = tf.audio.encode_wav([[0.0], [0.5], [-1.0]], sample_rate=8000)
        >>> audio, rate = tf.audio.decode_wav(data)
        >>> audio.numpy()[:, 0].tolist(), rate.numpy()
        ([0.0, 0.5, -1.0], np.int32(8000))

    Raises:
        InvalidArgumentError: The bytes are no such file, which is said with what is wrong.
    """
    data = value_of(contents)
    if type(data) is not bytes:
        kind = InvalidArgumentError if data.dtype.kind == "O" else DtypeError
        raise kind(
            f"contents must be the bytes of one file, not {dtype_of(data).name} of "
            f"{list(np.shape(data))}; tf.io.read_file reads them"
        )
    form, samples = parse_wav(data)
    for what, number in (("channels", desired_channels), ("samples", desired_samples)):
        if number < -1:
            raise InvalidArgumentError(f"desired_{what} must be >= -1, got {number}")
    audio = samples.reshape(-1, form.channels).astype(np.float32) * np.float32(1 / _HIGHEST)
    if desired_channels != -1:
        audio = audio[:, np.minimum(np.arange(desired_channels), form.channels - 1)]
    if desired_samples != -1:
        missing = max(desired_samples - len(audio), 0)
        audio = np.pad(audio[:desired_samples], [(0, missing), (0, 0)])
    rate = np.array(form.rate, np.uint32).astype(np.int32)[()]
    return DecodeWav(Tensor(audio), Tensor(rate))


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """The bytes of a WAV file of 16-bit PCM; what is beyond -1 to 1 is cut off.

    Args:
        audio: Rows of channels, as floats.
        sample_rate: How many rows there are in a second.
        name: Of no effect.
    """
    samples, rate = value_of(audio, "float32"), value_of(sample_rate, "int32")
    if np.ndim(samples) != 2 or samples.shape[1] == 0:
        raise InvalidArgumentError(
            f"audio must be 2-dimensional, rows of channels, not {list(np.shape(samples))}; "
            "tf.expand_dims(audio, -1) makes one channel"
        )
    if np.ndim(rate) or int(rate) <= 0:
        raise InvalidArgumentError(f"sample_rate must be a number above 0, not {sample_rate}")
    scaled = samples * np.float32(_HIGHEST)
    # Halves are rounded away from zero, as C does.
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    body = np.clip(rounded, -_HIGHEST, _HIGHEST - 1).astype("<i2").tobytes()
    channels = samples.shape[1]
    form = struct.pack("<HHIIHH", 1, channels, rate, int_of(rate) * 2 * channels, 2 * channels, 16)
    parts = _chunk(b"fmt ", form) + _chunk(b"data", body)
    return Tensor(_chunk(b"RIFF", b"WAVE" + parts))


def _chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body


__all__ = ["decode_wav", "encode_wav"]

__getattr__ = not_covered("tf.audio")
