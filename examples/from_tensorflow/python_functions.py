"""Python within a pipeline: py_function and numpy_function, called and as decorators."""

import random

import numpy as np

import keepset.tf as tf


def random_rotate_image(image, turns):
    return np.rot90(image, turns, axes=(0, 1))


images = tf.data.Dataset.from_tensor_slices(
    np.arange(2 * 4 * 6, dtype=np.int32).reshape(2, 4, 6, 1)
)


def tf_random_rotate_image(image, label):
    im_shape = image.shape
    [image] = tf.py_function(lambda x: random_rotate_image(x.numpy(), 2), [image], [tf.int32])
    image.set_shape(im_shape)
    return image, label


labelled = tf.data.Dataset.zip((images, tf.data.Dataset.range(2)))
rotated = labelled.map(tf_random_rotate_image)
print(rotated.element_spec[0])
for image, label in rotated:
    print(image.shape, image.numpy()[0, :3, 0], int(label))


# Several values, of several dtypes, out of one function.
def describe(text):
    text = text.numpy().decode()
    return len(text), text[::-1], np.float32(len(set(text)) / len(text))


texts = tf.data.Dataset.from_tensor_slices(["abab", "noon", "xyz"])
described = texts.map(lambda t: tf.py_function(describe, [t], [tf.int32, tf.string, tf.float32]))
for length, turned, share in described:
    print(length.numpy(), turned.numpy(), np.round(share.numpy(), 3), length.dtype.name)


# NumPy functions get arrays, and give arrays.
def log_histogram(x):
    counts, _ = np.histogram(x, bins=3)
    return np.log1p(counts).astype(np.float32)


def pipeline_step(x):
    y = tf.numpy_function(log_histogram, [x], tf.float32)
    y.set_shape([3])
    return tf.ensure_shape(y, [3])


numbers = tf.data.Dataset.from_tensor_slices(np.random.default_rng(2).normal(size=(3, 20)))
for histogram in numbers.map(pipeline_step, num_parallel_calls=tf.data.AUTOTUNE).batch(3):
    print(histogram.shape, histogram.dtype.name, np.round(histogram.numpy()[0], 3))


@tf.numpy_function(Tout=tf.float32)
def double(x):
    return (x * 2).astype(np.float32)


@tf.py_function(Tout=[tf.int64, tf.int64])
def split_number(x):
    return int(x) // 3, int(x) % 3


print([x.numpy().tolist() for x in tf.data.Dataset.range(3).map(double)])
print([(int(a), int(b)) for a, b in tf.data.Dataset.range(3, 6).map(split_number)])

# Nothing to return, and something remembered outside.
seen = []


def remember(x):
    seen.append(int(x))


def with_side_effect(x):
    tf.py_function(remember, [x], [])
    return x


total = tf.data.Dataset.range(4).map(with_side_effect).reduce(np.int64(0), lambda a, b: a + b)
print(int(total), seen)

# State of one's own, such as a generator of random numbers.
generator = random.Random(5)


def pick(words):
    return generator.choice(words.numpy().tolist())


choices = tf.data.Dataset.from_tensors(["a", "b", "c"]).repeat(6)
picked = choices.map(lambda w: tf.py_function(pick, [w], tf.string))
print(all(x.numpy() in (b"a", b"b", b"c") for x in picked))


# Errors come out of the pipeline, whichever kind they were.
def refuse(x):
    if x == 2:
        raise ValueError("two is refused")
    return x


refusing = tf.data.Dataset.range(4).map(lambda x: tf.numpy_function(refuse, [x], tf.int64))
got = []
try:
    for x in refusing:
        got.append(int(x))  # noqa: PERF401
except tf.errors.InvalidArgumentError as error:
    print(got, "two is refused" in str(error))
try:
    next(iter(tf.data.Dataset.range(1).map(lambda x: tf.numpy_function(np.sqrt, [x], tf.int64))))
except tf.errors.InvalidArgumentError:
    print("sqrt gives float64, not int64")
