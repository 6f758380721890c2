"""Large random images through the functions of tf.image that are not random: TensorFlow's numbers.

How far they may differ is stated for each: floats by rounding, whole numbers by one level where a
float lies between two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keepset.tf

pytestmark = pytest.mark.interop

_DRAWS = np.random.default_rng(7)
PHOTO = _DRAWS.integers(0, 256, (2, 233, 187, 3)).astype(np.uint8)
LIGHT = _DRAWS.uniform(0, 1, (2, 151, 209, 3)).astype(np.float32)
SOUND = _DRAWS.normal(0, 0.3, (3, 8000)).astype(np.float32)
METHODS = ["bilinear", "nearest", "bicubic", "area"]
METHODS += ["lanczos3", "lanczos5", "gaussian", "mitchellcubic"]

Call = Callable[[Any], Any]


def _resizings() -> dict[str, tuple[Call, float]]:
    def call(size: list[int], method: str, antialias: bool) -> Call:
        return lambda tf: tf.image.resize(PHOTO, size, method, antialias=antialias)

    return {
        f"{method} to {size}, antialias={antialias}": (
            call(size, method, antialias),
            0 if method == "nearest" else 1e-3,  # of 255
        )
        for method in METHODS
        for size in ([224, 224], [60, 301], [400, 33])
        for antialias in (False, True)
    }


CALLS: dict[str, tuple[Call, float]] = {
    **_resizings(),
    "within 128": (lambda tf: tf.image.resize(LIGHT, [128, 128], preserve_aspect_ratio=True), 1e-6),
    "with pad": (lambda tf: tf.image.resize_with_pad(LIGHT, 256, 256), 1e-6),
    "crop or pad": (lambda tf: tf.image.resize_with_crop_or_pad(PHOTO, 224, 224), 0),
    "central crop": (lambda tf: tf.image.central_crop(PHOTO, 0.875), 0),
    "crops": (
        lambda tf: tf.image.crop_and_resize(
            LIGHT, [[0.1, 0.2, 0.9, 0.7], [-0.1, 0, 1.2, 1]], [0, 1], [96, 96]
        ),
        1e-6,
    ),
    "brightness": (lambda tf: tf.image.adjust_brightness(PHOTO, 0.2), 0),
    "contrast": (lambda tf: tf.image.adjust_contrast(PHOTO, 1.7), 1),
    "contrast of floats": (lambda tf: tf.image.adjust_contrast(LIGHT, 0.6), 1e-6),
    "gamma": (lambda tf: tf.image.adjust_gamma(PHOTO, 0.7, 1.1), 1),
    "saturation": (lambda tf: tf.image.adjust_saturation(PHOTO, 1.4), 1),
    "saturation of floats": (lambda tf: tf.image.adjust_saturation(LIGHT, 0.4), 1e-6),
    "hue": (lambda tf: tf.image.adjust_hue(PHOTO, 0.15), 1),
    "hue of floats": (lambda tf: tf.image.adjust_hue(LIGHT, -0.3), 2e-6),
    "standardization": (lambda tf: tf.image.per_image_standardization(PHOTO), 1e-5),
    "gray": (lambda tf: tf.image.rgb_to_grayscale(PHOTO), 1),
    "gray of floats": (lambda tf: tf.image.rgb_to_grayscale(LIGHT), 1e-6),
    "hsv": (lambda tf: tf.image.rgb_to_hsv(LIGHT), 1e-6),
    "rgb of hsv": (lambda tf: tf.image.hsv_to_rgb(LIGHT), 1e-6),
    "yuv": (lambda tf: tf.image.rgb_to_yuv(LIGHT), 1e-6),
    "rgb of yuv": (lambda tf: tf.image.yuv_to_rgb(LIGHT), 1e-6),
    "yiq": (lambda tf: tf.image.rgb_to_yiq(LIGHT), 1e-6),
    "rgb of yiq": (lambda tf: tf.image.yiq_to_rgb(LIGHT), 1e-6),
    "sobel": (lambda tf: tf.image.sobel_edges(tf.constant(LIGHT)), 5e-6),
    "gradients": (lambda tf: tf.image.image_gradients(tf.constant(LIGHT))[0], 0),
    "variation": (lambda tf: tf.image.total_variation(tf.constant(LIGHT)), 0.1),  # of 60,000
    "patches": (
        lambda tf: tf.image.extract_patches(
            PHOTO, [1, 16, 16, 1], [1, 16, 16, 1], [1, 1, 1, 1], "VALID"
        ),
        0,
    ),
    "psnr": (lambda tf: tf.image.psnr(LIGHT, LIGHT[:, ::-1], 1.0), 1e-4),
    "converted": (lambda tf: tf.image.convert_image_dtype(LIGHT, tf.uint8, saturate=True), 0),
    "spectra": (lambda tf: tf.signal.stft(SOUND, 256, 128), 2e-5),
    "spectra of 400": (lambda tf: tf.signal.stft(SOUND, 400, 160, 512, pad_end=True), 2e-5),
    "cepstra": (
        lambda tf: tf.signal.mfccs_from_log_mel_spectrograms(SOUND.reshape(3, 100, 80)),
        1e-5,
    ),
    "WAV": (lambda tf: tf.audio.decode_wav(tf.audio.encode_wav(SOUND.T, 8000)).audio, 0),
    "numbers": (lambda tf: tf.random.stateless_uniform([100_000], (3, 4)), 0),
    "normal numbers": (lambda tf: tf.random.stateless_normal([100_000], (3, 4)), 1e-6),
    "truncated numbers": (lambda tf: tf.random.stateless_truncated_normal([99_999], (3, 4)), 1e-6),
    "gamma numbers": (lambda tf: tf.random.stateless_gamma([20_000], (3, 4), 0.2), 1e-6),
    "counts": (lambda tf: tf.random.stateless_poisson([20_000], (3, 4), 25.0), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_large_input_gives_tensorflows_numbers(name: str) -> None:
    import tensorflow as tf

    call, tolerance = CALLS[name]
    expected, got = call(tf).numpy(), call(keepset.tf).numpy()
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    difference = np.abs(got.astype(np.complex128) - expected)
    assert difference.max() <= tolerance, difference.max()
    if expected.dtype.kind == "u" and tolerance:
        assert np.mean(difference > 0) < 0.001  # where a float lies next to a whole number


def augmented(tf: Any) -> list[Any]:
    """As in TensorFlow's guide to data augmentation: seeds from a generator, for each image."""
    seeds = tf.random.Generator.from_seed(123, alg="philox")
    images = np.random.default_rng(1).integers(0, 256, (8, 30, 30, 3)).astype(np.uint8)

    def augment(image: Any, label: Any) -> Any:
        seed = seeds.make_seeds(2)[0]
        image = tf.cast(image, tf.float32) / 255.0
        image = tf.image.resize_with_crop_or_pad(image, 36, 36)
        other = tf.random.split(seed, num=1)[0]
        image = tf.image.stateless_random_crop(image, size=[30, 30, 3], seed=seed)
        return tf.image.stateless_random_brightness(image, max_delta=0.5, seed=other), label

    ds = tf.data.Dataset.from_tensor_slices((images, np.arange(8))).map(augment)
    return [image.numpy() for image, _ in ds]


def test_an_augmented_dataset_is_that_of_tensorflow() -> None:
    import tensorflow as tf

    for got, expected in zip(augmented(keepset.tf), augmented(tf), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-6)
