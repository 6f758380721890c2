"""A folder of pictures: read, decoded, resized, and labelled by the folder that each lies in."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

# Pictures to load: two classes, as PNG, which every decoder reads alike.
folder = tempfile.mkdtemp()
class_names = np.array(["bright", "dark"])
for number in range(6):
    name = class_names[number % 2]
    level = 200 if name == "bright" else 40
    image = np.full((20, 24, 3), level + number, np.uint8)
    path = os.path.join(folder, name, f"{number}.png")
    tf.io.gfile.makedirs(os.path.dirname(path))
    tf.io.write_file(path, tf.io.encode_png(image))

list_ds = tf.data.Dataset.list_files(os.path.join(folder, "*", "*.png"), shuffle=False)
print(len(list(list_ds)), "files")


def get_label(file_path):
    parts = tf.strings.split(file_path, os.path.sep)
    return tf.argmax(tf.cast(parts[-2] == class_names, tf.int32))


def decode_image(contents):
    image = tf.io.decode_png(contents, channels=3)
    return tf.image.resize(image, [8, 8])


def process_path(file_path):
    label = get_label(file_path)
    image = tf.io.read_file(file_path)
    return decode_image(image), label


images = list_ds.map(process_path, num_parallel_calls=tf.data.AUTOTUNE)
for image, label in images.take(2):
    print(image.shape, image.dtype.name, float(tf.reduce_mean(image)), int(label))


def configure_for_performance(dataset):
    return dataset.cache().batch(4).prefetch(buffer_size=tf.data.AUTOTUNE)


for batch, labels in configure_for_performance(images):
    print(batch.shape, labels.numpy())

scaled = images.map(
    lambda image, label: (tf.image.convert_image_dtype(image / 255.0, tf.float32), label)
)
print(max(float(tf.reduce_max(image)) for image, _ in scaled))
standard = images.map(lambda image, label: tf.image.per_image_standardization(image))
print(max(abs(float(tf.reduce_mean(image))) for image in standard) < 1e-3)
