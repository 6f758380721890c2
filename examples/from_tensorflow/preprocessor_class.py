"""A preprocessor with a configuration, tf.function on its methods, and counters in variables."""

import dataclasses
from typing import Optional

import numpy as np

import keepset.tf as tf


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """What the input of a task looks like."""

    image_size: tuple = (8, 8)
    global_batch_size: int = 4
    is_training: bool = False
    dtype: str = "float32"
    mean_rgb: tuple = (0.485 * 255, 0.456 * 255, 0.406 * 255)
    stddev_rgb: tuple = (0.229 * 255, 0.224 * 255, 0.225 * 255)
    num_classes: int = 3
    cache: bool = True
    shuffle_buffer_size: int = 16
    limit: Optional[int] = None  # noqa: UP045


class Preprocessor:
    """Make what a model takes from what files hold."""

    def __init__(self, config: DataConfig):
        self.config = config
        self._dtype = tf.as_dtype(config.dtype)
        self._mean = tf.constant(config.mean_rgb, shape=[1, 1, 3], dtype=tf.float32)
        self._stddev = tf.constant(config.stddev_rgb, shape=[1, 1, 3], dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3], tf.uint8)])
    def normalize(self, image):
        image = tf.cast(image, tf.float32)
        return (image - self._mean) / self._stddev

    @tf.function
    def center_crop(self, image, padding=1):
        height, width = tf.shape(image)[0], tf.shape(image)[1]
        size = tf.minimum(height, width) - padding
        top, left = (height - size) // 2, (width - size) // 2
        return tf.image.crop_to_bounding_box(image, top, left, size, size)

    def __call__(self, features):
        image = self.center_crop(features["image"])
        image = tf.image.resize(self.normalize(image), self.config.image_size)
        image = tf.cast(image, self._dtype)
        label = tf.one_hot(features["label"], self.config.num_classes, dtype=self._dtype)
        return image, label


class InputReader:
    def __init__(self, config, preprocess_fn):
        self._config, self._preprocess_fn = config, preprocess_fn

    def read(self, source):
        dataset = source
        if self._config.limit is not None:
            dataset = dataset.take(self._config.limit)
        if self._config.cache:
            dataset = dataset.cache()
        if self._config.is_training:
            dataset = dataset.shuffle(self._config.shuffle_buffer_size).repeat()
        dataset = dataset.map(self._preprocess_fn, num_parallel_calls=tf.data.experimental.AUTOTUNE)
        dataset = dataset.batch(
            self._config.global_batch_size, drop_remainder=self._config.is_training
        )
        return dataset.prefetch(tf.data.experimental.AUTOTUNE)


rng = np.random.default_rng(11)
source = tf.data.Dataset.from_tensor_slices(
    {"image": rng.integers(0, 256, (10, 9, 12, 3), dtype=np.uint8), "label": np.arange(10) % 3}
)
config = DataConfig()
for images, labels in InputReader(config, Preprocessor(config)).read(source):
    print(images.shape, images.dtype.name, tf.argmax(labels, axis=1).numpy())
    print(np.round(images.numpy().mean(axis=(0, 1, 2)), 3))

training = dataclasses.replace(config, is_training=True, dtype="float16", limit=6)
batches = InputReader(training, Preprocessor(training)).read(source)
print(batches.element_spec)
images, labels = next(iter(batches))
print(images.dtype == tf.float16, tf.reduce_sum(labels).numpy(), labels.shape)


# A method's function with control flow, and a variable that it changes.
class Clipper(tf.Module):
    def __init__(self, limit):
        super().__init__(name="clipper")
        self.limit = limit
        self.calls = tf.Variable(0, trainable=False)

    @tf.function
    def __call__(self, x):
        self.calls.assign_add(1)
        if tf.reduce_max(x) > self.limit:
            x = x / tf.reduce_max(x) * self.limit
        for _ in tf.range(2):
            x = x + 1.0
        return x


clipper = Clipper(2.0)
for row in tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [4.0, 8.0]]):
    print(clipper(row).numpy())
print(int(clipper.calls))


@tf.function
def collatz(n):
    steps = 0
    while n != 1:
        n = tf.where(n % 2 == 0, n // 2, 3 * n + 1)
        steps += 1
    return steps


print([int(collatz(n)) for n in tf.data.Dataset.range(1, 8)])
print([int(steps) for steps in tf.data.Dataset.range(1, 8).map(collatz)])
composed = tf.data.Dataset.range(3).map(lambda n: tf.map_fn(lambda x: x * x, tf.range(n)))
print([x.numpy().tolist() for x in composed])
