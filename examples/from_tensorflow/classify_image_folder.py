"""Flowers in folders, one for each class: the input of an image classifier, split in two."""

import os
import pathlib
import tempfile

import numpy as np

import keepset.tf as tf

AUTOTUNE = tf.data.AUTOTUNE
BATCH_SIZE = 4
IMG_HEIGHT, IMG_WIDTH = 18, 24

# JPEGs of one colour each, which every decoder reads alike but for a level or two.
data_dir = pathlib.Path(tempfile.mkdtemp()) / "flower_photos"
colours = {"daisy": (240, 240, 240), "roses": (200, 30, 60), "tulips": (250, 180, 20)}
for name, colour in colours.items():
    (data_dir / name).mkdir(parents=True)
    for number in range(4):
        image = np.full((30 + number, 40, 3), colour, np.uint8)
        encoded = tf.io.encode_jpeg(image, quality=95)
        tf.io.write_file(str(data_dir / name / f"{number}.jpg"), encoded)

image_count = len(list(data_dir.glob("*/*.jpg")))
print(image_count)
class_names = np.array(sorted(item.name for item in data_dir.glob("*")))
print(class_names)

list_ds = tf.data.Dataset.list_files(str(data_dir / "*/*"), shuffle=False)
list_ds = list_ds.shuffle(image_count, seed=5, reshuffle_each_iteration=False)
for f in list_ds.take(3):
    print(os.path.splitext(f.numpy())[1])

val_size = int(image_count * 0.25)
train_ds = list_ds.skip(val_size)
val_ds = list_ds.take(val_size)
print(tf.data.experimental.cardinality(train_ds).numpy())
print(tf.data.experimental.cardinality(val_ds).numpy())


def get_label(file_path):
    # Convert the path to a list of path components
    parts = tf.strings.split(file_path, os.path.sep)
    # The second to last is the class-directory
    one_hot = parts[-2] == class_names
    return tf.argmax(one_hot)


def decode_img(img):
    img = tf.io.decode_jpeg(img, channels=3)
    return tf.image.resize(img, [IMG_HEIGHT, IMG_WIDTH])


def process_path(file_path):
    label = get_label(file_path)
    img = tf.io.read_file(file_path)
    return decode_img(img), label


train_ds = train_ds.map(process_path, num_parallel_calls=AUTOTUNE)
val_ds = val_ds.map(process_path, num_parallel_calls=AUTOTUNE)
print(train_ds.element_spec)

seen = set()
for image, label in train_ds.concatenate(val_ds):
    name = class_names[label.numpy()]
    mean = tf.reduce_mean(image, axis=[0, 1])
    assert np.abs(mean.numpy() - colours[name]).max() < 4, name
    seen.add(str(name))
print(sorted(seen))


def configure_for_performance(ds):
    ds = ds.cache()
    ds = ds.shuffle(buffer_size=1000)
    ds = ds.batch(BATCH_SIZE)
    return ds.prefetch(buffer_size=AUTOTUNE)


train_ds = configure_for_performance(train_ds)
val_ds = configure_for_performance(val_ds)
for image_batch, label_batch in train_ds:
    print(image_batch.shape, image_batch.dtype, label_batch.shape, label_batch.dtype)
images, labels = next(iter(val_ds))
print(images.shape, sorted(labels.numpy().tolist()) == sorted(labels.numpy()))
