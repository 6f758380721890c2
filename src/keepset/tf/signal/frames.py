"""Frames of signals, the windows that they are seen through, and their spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.signal.fourier import irfft, rfft
from keepset.tf.tensors.conversion import dtype_of, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor, wrapped


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Tensor:
    """Parts of a signal of one length, each so many samples after the one before.

    Args:
        signal: Numbers, of which one dimension is time.
        frame_length: The samples of a frame.
        frame_step: How many samples frames begin behind each other.
        pad_end: Whether frames reach over the end, where there is ``pad_value``.
        pad_value: What is behind the end.
        axis: The dimension of time; there are two in its place, frames and samples.
        name: Of no effect.

    Example:
        >>> import keepset.tf as tf
        >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).numpy().tolist()
        [[1, 2, 3], [3, 4, 5]]
    """
    value = _signal(signal, 1)
    length, step = _whole("frame_length", frame_length), _whole("frame_step", frame_step)
    place = range(value.ndim)[_whole("axis", axis, least=-value.ndim)]
    if pad_end:
        filler = value_of(pad_value, dtype_of(value))
        value = _with_end(value, length, step, place, filler)
    if value.shape[place] < length or length == 0:
        sizes = (*value.shape[:place], 0, length, *value.shape[place + 1 :])
        return wrapped(np.zeros(sizes, value.dtype))
    windows = np.lib.stride_tricks.sliding_window_view(value, length, axis=place)
    picked = np.take(windows, np.arange(0, windows.shape[place], step), axis=place)
    return wrapped(np.moveaxis(picked, -1, place + 1))


def _with_end(value: Any, length: int, step: int, axis: int, filler: Any) -> Any:
    count = -(-value.shape[axis] // step)
    missing = max(0, length + step * (count - 1) - value.shape[axis])
    widths = [(0, missing if each == axis else 0) for each in range(value.ndim)]
    return np.pad(value, widths, constant_values=filler)


def _signal(given: Any, rank: int) -> Any:
    value = value_of(given)
    if np.ndim(value) < rank:
        raise InvalidArgumentError(
            f"a signal has at least {rank} dimensions here, not the shape {list(np.shape(value))}"
        )
    return value


def _whole(name: str, given: Any, least: int = 0) -> int:
    value = value_of(given)
    if type(value) is bytes or value.dtype.kind not in "iu":
        raise DtypeError(f"{name} must be a whole number, not {given!r:.60}")
    if np.ndim(value):
        raise InvalidArgumentError(f"{name} must be a single number, not {given!r:.60}")
    if int(value) < least or (name == "frame_step" and int(value) == 0):
        raise InvalidArgumentError(f"{name} must be positive, not {int(value)}")
    return int(value)


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """A signal out of its frames, which are added where they lie over each other."""
    frames, step = _signal(signal, 2), _whole("frame_step", frame_step)
    count, length = frames.shape[-2:]
    parts = -(-length // step)
    outer = [(0, 0)] * (frames.ndim - 1)
    wide = np.pad(frames, [*outer, (0, parts * step - length)])
    wide = wide.reshape(*frames.shape[:-1], parts, step)
    total = np.zeros((*frames.shape[:-2], count + parts - 1, step), frames.dtype)
    for part in range(parts):
        total[..., part : part + count, :] += wide[..., part, :]
    flat = total.reshape(*frames.shape[:-2], -1)
    return wrapped(flat[..., : length + step * (count - 1)])


def _raised_cosine(name: str, mean: float, swing: float) -> Callable[..., Tensor]:
    def window(
        window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None
    ) -> Tensor:
        size, kind = _window_size(window_length, dtype)
        if size == 1:
            return Tensor(np.ones(1, kind))
        around = size - (0 if periodic and size % 2 == 0 else 1)
        found = mean - swing * np.cos(2 * np.pi * np.arange(size) / max(around, 1))
        return wrapped(found.astype(kind))

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"A window of {mean} minus {swing} cosines.\n\n{_PERIODIC}"
    return window


_PERIODIC = """    Args:
        window_length: How many samples it is wide.
        periodic: Whether one of an even length lacks its last sample, which is the first of the
            next one.
        dtype: A float dtype.
        name: Of no effect.
    """
hann_window = _raised_cosine("hann_window", 0.5, 0.5)
hamming_window = _raised_cosine("hamming_window", 0.54, 0.46)


def vorbis_window(window_length: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """The window of Vorbis."""
    size, kind = _window_size(window_length, dtype)
    sines = np.sin(np.pi / max(size, 1) * (np.arange(size) + 0.5))
    return wrapped(np.sin(np.pi / 2 * sines**2).astype(kind))


def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = "float32", name: str | None = None
) -> Tensor:
    """Kaiser's window."""
    size, kind = _window_size(window_length, dtype)
    return wrapped(np.kaiser(size, float(value_of(beta))).astype(kind))


def _window_size(window_length: Any, dtype: Any) -> tuple[int, Any]:
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise InvalidArgumentError(f"a window is of floats, not of {wanted.name}")
    return _whole("window_length", window_length), wanted.storage


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The spectra of the frames of signals, as complex numbers.

    Args:
        signals: Floats, whose last dimension is time.
        frame_length: The samples of a frame.
        frame_step: How many samples frames begin behind each other.
        fft_length: The samples of a transform; the next power of two if None.
        window_fn: Takes a length and a ``dtype``; None for no window.
        pad_end: Whether frames reach over the end, where there are zeros.
        name: Of no effect.
    """
    frames = frame(signals, frame_length, frame_step, pad_end)
    size = _transform_size(frame_length, fft_length)
    if not frames.shape[-2] and frames.shape[-1] < size:
        raise InvalidArgumentError(
            f"signals of {np.shape(value_of(signals))[-1]} samples have no frame of "
            f"{frames.shape[-1]}; pass pad_end=True or a smaller frame_length"
        )
    return rfft(_seen_through(window_fn, frames, frame_length), [size])  # type: ignore[no-any-return]


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Signals out of the spectra of their frames."""
    value = _signal(stfts, 2)
    length = _whole("frame_length", frame_length)
    frames = irfft(Tensor(value), [_transform_size(frame_length, fft_length)])._value
    missing = max(length - frames.shape[-1], 0)
    frames = np.pad(frames[..., :length], [(0, 0)] * (frames.ndim - 1) + [(0, missing)])
    return overlap_and_add(_seen_through(window_fn, Tensor(frames), length), frame_step)


def _seen_through(window_fn: Callable[..., Any] | None, frames: Tensor, length: Any) -> Tensor:
    if window_fn is None:
        return frames
    made: Tensor = frames * window_fn(Tensor(value_of(length)), dtype=frames.dtype)
    return made


def _transform_size(frame_length: Any, fft_length: Any) -> int:
    if fft_length is not None:
        return _whole("fft_length", fft_length)
    return 1 << (max(_whole("frame_length", frame_length), 1) - 1).bit_length()


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The window for ``inverse_stft`` with which signals become what they were."""
    step = _whole("frame_step", frame_step)

    def window(frame_length: Any, dtype: Any) -> Tensor:
        size = _whole("frame_length", frame_length)
        forward = value_of(forward_window_fn(frame_length, dtype=as_dtype(dtype)))
        parts = -(-size // step)
        squares = np.pad(forward**2, (0, parts * step - size)).reshape(parts, step)
        total = np.tile(squares.sum(0), parts)[:size]
        has_any = total != 0
        zero = forward.dtype.type(0)
        return wrapped(np.where(has_any, forward / np.where(has_any, total, 1), zero))

    return window


__all__ = [
    "frame",
    "hamming_window",
    "hann_window",
    "inverse_stft",
    "inverse_stft_window_fn",
    "kaiser_window",
    "overlap_and_add",
    "stft",
    "vorbis_window",
]
