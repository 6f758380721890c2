"""``tf.image``: images of height, width and channels, one or a batch of them, on NumPy.

What is not random gives TensorFlow's numbers, floats within 1e-5 of their range. The random
functions draw as ``tf.random`` does: those without a state give the image that TensorFlow gives.
"""

from __future__ import annotations

from keepset.tf.image.adjusting import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_jpeg_quality,
    adjust_saturation,
    random_brightness,
    random_contrast,
    random_hue,
    random_jpeg_quality,
    random_saturation,
    stateless_random_brightness,
    stateless_random_contrast,
    stateless_random_hue,
    stateless_random_jpeg_quality,
    stateless_random_saturation,
)
from keepset.tf.image.boxes import (
    crop_and_resize,
    draw_bounding_boxes,
    non_max_suppression,
)
from keepset.tf.image.codecs import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
    extract_jpeg_shape,
    is_jpeg,
)
from keepset.tf.image.colors import (
    grayscale_to_rgb,
    hsv_to_rgb,
    rgb_to_grayscale,
    rgb_to_hsv,
    rgb_to_yiq,
    rgb_to_yuv,
    yiq_to_rgb,
    yuv_to_rgb,
)
from keepset.tf.image.cropping import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    random_crop,
    resize_with_crop_or_pad,
    stateless_random_crop,
)
from keepset.tf.image.distortion import (
    sample_distorted_bounding_box,
    stateless_sample_distorted_bounding_box,
)
from keepset.tf.image.encoding import encode_jpeg, encode_png
from keepset.tf.image.filters import (
    extract_patches,
    image_gradients,
    per_image_standardization,
    psnr,
    sobel_edges,
    total_variation,
)
from keepset.tf.image.flipping import (
    flip_left_right,
    flip_up_down,
    random_flip_left_right,
    random_flip_up_down,
    rot90,
    stateless_random_flip_left_right,
    stateless_random_flip_up_down,
    transpose,
)
from keepset.tf.image.pixels import (
    convert_image_dtype,
)
from keepset.tf.image.resizing import (
    ResizeMethod,
    resize,
    resize_with_pad,
)
from keepset.tf.image.similarity import ssim, ssim_multiscale
from keepset.tf.not_covered import not_covered

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_jpeg_quality",
    "stateless_random_saturation",
    "stateless_sample_distorted_bounding_box",
    "total_variation",
    "transpose",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

__getattr__ = not_covered("tf.image")
