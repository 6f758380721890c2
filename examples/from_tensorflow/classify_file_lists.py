"""Lists of file names and labels, slices of which become pictures: the other usual beginning."""

import glob
import os
import tempfile

import numpy as np

import keepset.tf as tf

IMG_SIZE = (16, 16)
NUM_CLASSES = 3

root = tempfile.mkdtemp()
for number in range(9):
    image = np.zeros((10 + number, 12, 3), np.uint8)
    image[..., number % 3] = 20 * number
    path = os.path.join(root, f"img_{number:03d}_{'abc'[number % 3]}.png")
    with open(path, "wb") as f:
        f.write(tf.io.encode_png(image).numpy())

file_paths = sorted(glob.glob(os.path.join(root, "*.png")))
labels = ["abc".index(p[-5]) for p in file_paths]
print(labels)


def load_image(path, label):
    image = tf.io.read_file(path)
    image = tf.image.decode_png(image, channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, IMG_SIZE)
    label = tf.one_hot(label, NUM_CLASSES)
    return image, label


def make_dataset(paths, targets, batch_size=4, training=False):
    ds = tf.data.Dataset.from_tensor_slices((paths, targets))
    if training:
        ds = ds.shuffle(len(paths), seed=42)
        ds = ds.repeat()
    ds = ds.map(load_image, num_parallel_calls=tf.data.experimental.AUTOTUNE)
    ds = ds.batch(batch_size, drop_remainder=training)
    return ds.prefetch(1)


test_ds = make_dataset(file_paths, labels)
print(test_ds.element_spec)
print(len(test_ds))
for images, targets in test_ds:
    print(images.shape, np.round(tf.reduce_mean(images, axis=(1, 2)).numpy(), 4).tolist())
    print(tf.argmax(targets, axis=1).numpy(), targets.dtype)

steps_per_epoch = len(file_paths) // 4
train_ds = make_dataset(file_paths, labels, training=True)
print(train_ds.cardinality() == tf.data.INFINITE_CARDINALITY)
for step, (images, targets) in enumerate(train_ds.take(steps_per_epoch)):
    print("step", step, images.shape, targets.shape)
    assert images.dtype == tf.float32
    print(float(tf.reduce_sum(targets)), bool(tf.reduce_all(images <= 1.0)))

# The mean colour over all pictures, by hand.
mean = np.zeros(3)
for images, _ in test_ds.unbatch():
    mean += images.numpy().mean(axis=(0, 1)) / len(file_paths)
print(mean.round(4))


def normalize(images, targets):
    return (images - tf.constant(mean, dtype=tf.float32)) / 0.5, targets


images, _ = next(iter(test_ds.map(normalize)))
print(images.dtype, images.shape, np.round(images.numpy().mean(), 4))
