"""What does not hang on chance: crops, padding, resizing methods, colours."""

import numpy as np

import keepset.tf as tf

image = np.zeros((6, 8, 3), np.uint8)
image[..., 0] = np.arange(8) * 30
image[..., 1] = np.arange(6)[:, None] * 40
image[..., 2] = 128
image = tf.constant(image)


def show(name, result, digits=3):
    values = np.asarray(result.numpy(), np.float64)
    print(name, result.shape, result.dtype.name, np.round(values.mean(), digits) + 0.0, end=" ")
    print(np.round(values.reshape(-1)[:4], digits))


# Crops and padding.
show("central", tf.image.central_crop(image, central_fraction=0.5))
show("crop", tf.image.crop_to_bounding_box(image, 1, 2, 3, 4))
show("pad", tf.image.pad_to_bounding_box(image, 2, 1, 10, 10))
show("crop or pad", tf.image.resize_with_crop_or_pad(image, 4, 12))
show("with pad", tf.image.resize_with_pad(image, 8, 8))
show("tf.pad", tf.pad(image, [[1, 1], [2, 2], [0, 0]], mode="REFLECT"))

# Methods of resizing, by name and by attribute.
for method in ("bilinear", "nearest", "bicubic", "area"):
    show(method, tf.image.resize(image, (4, 5), method=method), 2)
show("nearest", tf.image.resize(image, [3, 3], tf.image.ResizeMethod.NEAREST_NEIGHBOR))
show("antialias", tf.image.resize(image, [3, 3], antialias=True), 2)
show("kept", tf.image.resize(image, [12, 12], preserve_aspect_ratio=True), 2)

# Colours.
floats = tf.image.convert_image_dtype(image, tf.float32)
show("float", floats)
show("back", tf.image.convert_image_dtype(floats, tf.uint8, saturate=True))
show("gray", tf.image.rgb_to_grayscale(image), 2)
show("rgb", tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(floats)))
show("brightness", tf.image.adjust_brightness(floats, 0.3))
show("contrast", tf.image.adjust_contrast(floats, 2.0), 2)
show("gamma", tf.image.adjust_gamma(floats, 2.2), 2)
show("saturation", tf.image.adjust_saturation(floats, 3), 2)
show("hue", tf.image.adjust_hue(floats, 0.2), 2)
show("hsv", tf.image.rgb_to_hsv(floats), 2)
show("standard", tf.image.per_image_standardization(image), 2)

# Turns and mirrors.
show("rot90", tf.image.rot90(image))
show("transpose", tf.image.transpose(image))
show("left right", tf.image.flip_left_right(image))
show("up down", tf.image.flip_up_down(image))

# In a pipeline of batches.
batches = tf.data.Dataset.from_tensors(image).repeat(4).batch(2)
for batch in batches.map(lambda x: tf.image.resize_with_crop_or_pad(x, 5, 5)).take(1):
    show("batch", batch)
for batch in batches.map(lambda x: tf.image.central_crop(x, 0.5)).take(1):
    show("batch", batch)
