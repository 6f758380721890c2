"""WAV files: what is written is read again, and what is wrong with others is said."""

from __future__ import annotations

import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import keepset.tf as tf
from keepset.errors import InvalidArgumentError, NotCoveredError

SOUND = np.random.default_rng(1).integers(-(2**15), 2**15, (50, 2)) / 2**15
DATA = tf.audio.encode_wav(SOUND, 16000).numpy()


def test_what_is_written_is_read() -> None:
    audio, rate = tf.audio.decode_wav(DATA)
    assert_array_equal(audio.numpy(), SOUND.astype(np.float32))
    assert (audio.dtype, rate.dtype, int(rate)) == (tf.float32, tf.int32, 16000)


def test_pythons_own_files_are_read(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 3, "NONE", ""))
        file.writeframes(np.array([0, 16384, -32768], "<i2").tobytes())
    audio = tf.audio.decode_wav(tf.io.read_file(str(tmp_path / "a.wav"))).audio
    assert audio.numpy()[:, 0].tolist() == [0, 0.5, -1]


def test_channels_and_samples_as_desired() -> None:
    audio = tf.audio.decode_wav(DATA, desired_channels=3, desired_samples=60).audio.numpy()
    assert audio.shape == (60, 3)
    assert_array_equal(audio[:50, 2], SOUND[:, 1].astype(np.float32))
    assert audio[50:].max() == 0
    assert tf.audio.decode_wav(DATA, 1, 10).audio.shape == [10, 1]


def test_beyond_one_is_cut_off_and_halves_are_rounded_away_from_zero() -> None:
    data = tf.audio.encode_wav([[2.0], [-2.0], [0.5 / 2**15], [-0.5 / 2**15]], 8000).numpy()
    assert struct.unpack("<4h", data[44:]) == (2**15 - 1, -(2**15), 1, -1)


WRONG = {
    "no file": (b"RIFX" + DATA[4:], "no WAV"),
    "cut off": (DATA[:-1], "cut off"),
    "compressed": (DATA[:20] + b"\x03" + DATA[21:], "ffmpeg"),
    "8 bits": (DATA[:34] + b"\x08" + DATA[35:], "16-bit"),
    "extensible": (DATA[:16] + b"\x28" + DATA[17:], "ffmpeg"),
    "wrong channels": (DATA[:22] + b"\x03" + DATA[23:], "do not fit"),
    "no data": (DATA[:36], "no samples"),
    "two chunks": (DATA + DATA[36:], "more than one"),
    "unknown chunk": (DATA[:12] + b"LIST\x02\0\0\0ab" + DATA[12:], "unexpected field"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(name: str) -> None:
    data, message = WRONG[name]
    with pytest.raises(InvalidArgumentError, match=message):
        tf.audio.decode_wav(data)


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidArgumentError, match=r"tf\.expand_dims"):
        tf.audio.encode_wav([0.0], 8000)
    with pytest.raises(InvalidArgumentError, match="above 0"):
        tf.audio.encode_wav([[0.0]], 0)
    with pytest.raises(InvalidArgumentError, match="read_file"):
        tf.audio.decode_wav(["a"])
    with pytest.raises(InvalidArgumentError, match=">= -1"):
        tf.audio.decode_wav(DATA, -2)
    with pytest.raises(NotCoveredError):
        tf.audio.decode_mp3  # noqa: B018
