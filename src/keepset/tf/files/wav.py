"""WAV files: what they say about their samples, and the samples."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.tensors.tensor import Tensor

# The chunks that may be in front of the format.
_BEFORE = {b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml"}
_SETTLE = "convert it to 16-bit PCM, as with: ffmpeg -i in.wav -c:a pcm_s16le out.wav"


class DecodeWav(NamedTuple):
    """The samples of a file as rows of channels, and how many there are in a second."""

    audio: Tensor
    sample_rate: Tensor


@dataclass(frozen=True)
class WavFormat:
    """What a file says about its samples."""

    channels: int
    rate: int


class _Reader:
    """Bytes that are read one part after the other, and may be cut off."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) < size:
            raise InvalidArgumentError(
                f"WAV: data too short: {size} bytes are missing at byte {self.at} of "
                f"{len(self.data)}; the file is cut off or is no WAV"
            )
        self.at += size
        return part

    def number(self) -> int:
        found: int = struct.unpack("<I", self.take(4))[0]
        return found

    def expect(self, text: bytes) -> None:
        if (found := self.take(4)) != text:
            raise InvalidArgumentError(
                f"WAV: header mismatch: expected {text!r} but found {found!r} at byte "
                f"{self.at - 4}; the file is no WAV"
            )


def parse_wav(data: bytes) -> tuple[WavFormat, Any]:
    """The format and the samples, all channels in turn."""
    reader = _Reader(data)
    reader.expect(b"RIFF")
    reader.number()
    reader.expect(b"WAVE")
    while (name := reader.take(4)) != b"fmt ":
        if name not in _BEFORE:
            raise InvalidArgumentError(f"WAV: unexpected field {name!r} at byte {reader.at - 4}")
        reader.take(reader.number())
    form = _parse_format(reader)
    samples = None
    while reader.at < len(data):
        name, size = reader.take(4), reader.number()
        if size > 2**31 - 1:
            raise InvalidArgumentError(f"WAV: chunk {name!r} is too large: {size} bytes")
        if name != b"data":
            reader.at += size
            continue
        if samples is not None:
            raise InvalidArgumentError("WAV: more than one data chunk")
        whole = size // (2 * form.channels) * 2 * form.channels
        samples = np.frombuffer(reader.take(whole), "<i2")
    if samples is None:
        raise InvalidArgumentError("WAV: no data chunk; the file has no samples")
    return form, samples


def _parse_format(reader: _Reader) -> WavFormat:
    size = reader.number()
    if size not in (16, 18):
        raise InvalidArgumentError(f"WAV: format chunk of {size} bytes, not 16 or 18; {_SETTLE}")
    code, channels, rate, per_second, per_row, bits = struct.unpack("<HHIIHH", reader.take(16))
    if code != 1:
        raise InvalidArgumentError(f"WAV: audio format {code}, not 1 (PCM); {_SETTLE}")
    if channels < 1:
        raise InvalidArgumentError("WAV: there are no channels")
    if bits != 16:
        raise InvalidArgumentError(
            f"can only read 16-bit WAV files, but received {bits}; {_SETTLE}"
        )
    if per_row != 2 * channels or per_second != per_row * rate % 2**32:
        raise InvalidArgumentError(
            f"WAV: {per_row} bytes per sample and {per_second} per second do not fit {channels} "
            f"channels at {rate}; {_SETTLE}"
        )
    reader.at += size - 16
    return WavFormat(channels, rate)
