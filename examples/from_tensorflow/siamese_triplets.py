"""Anchors, positives and negatives: datasets zipped together, two of them shuffled with seeds."""

import os
import pathlib
import tempfile

import numpy as np

import keepset.tf as tf

target_shape = (10, 10)
cache_dir = pathlib.Path(tempfile.mkdtemp())
anchor_images_path, positive_images_path = cache_dir / "left", cache_dir / "right"
for folder in (anchor_images_path, positive_images_path):
    folder.mkdir()
    for number in range(8):
        array = np.full((12, 14, 3), number * 30, np.uint8)
        tf.io.write_file(str(folder / f"{number}.png"), tf.io.encode_png(array))


def preprocess_image(filename):
    """Load the specified file as an image, preprocess it and resize it to the target shape."""
    image_string = tf.io.read_file(filename)
    image = tf.image.decode_png(image_string, channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    return tf.image.resize(image, target_shape)


def preprocess_triplets(anchor, positive, negative):
    return preprocess_image(anchor), preprocess_image(positive), preprocess_image(negative)


# We need to make sure both the anchor and positive images are loaded in sorted order.
anchor_images = sorted(str(anchor_images_path / f) for f in os.listdir(anchor_images_path))
positive_images = sorted(str(positive_images_path / f) for f in os.listdir(positive_images_path))
image_count = len(anchor_images)
anchor_dataset = tf.data.Dataset.from_tensor_slices(anchor_images)
positive_dataset = tf.data.Dataset.from_tensor_slices(positive_images)

# To generate the list of negative images, let's shuffle the list of available images.
rng = np.random.RandomState(seed=42)
rng.shuffle(anchor_images)
rng.shuffle(positive_images)
negative_images = anchor_images + positive_images
np.random.RandomState(seed=32).shuffle(negative_images)
negative_dataset = tf.data.Dataset.from_tensor_slices(negative_images)
negative_dataset = negative_dataset.shuffle(buffer_size=4096)

dataset = tf.data.Dataset.zip((anchor_dataset, positive_dataset, negative_dataset))
dataset = dataset.shuffle(buffer_size=1024, seed=3, reshuffle_each_iteration=False)
dataset = dataset.map(preprocess_triplets)
train_dataset = dataset.take(round(image_count * 0.75))
val_dataset = dataset.skip(round(image_count * 0.75))
train_dataset = train_dataset.batch(4, drop_remainder=False).prefetch(tf.data.AUTOTUNE)
val_dataset = val_dataset.batch(4, drop_remainder=False).prefetch(8)
print(train_dataset.element_spec[0])
seen = []
for ds in (train_dataset, val_dataset):
    for anchor, positive, negative in ds:
        print(anchor.shape, bool(tf.reduce_all(tf.equal(anchor, positive))), negative.shape)
        seen += (anchor.numpy()[:, 0, 0, 0] * 255 / 30).round().astype(int).tolist()
print(sorted(seen))

# Two shuffles with the same seed go the same way.
numbers = tf.data.Dataset.range(10)
one, two = numbers.shuffle(10, seed=5), numbers.map(lambda x: x * 10).shuffle(10, seed=5)
print(all(int(a) * 10 == int(b) for a, b in tf.data.Dataset.zip((one, two))))


# Pairs with a label whether they belong together.
def make_pairs(images, labels):
    generator = np.random.default_rng(0)
    places = [np.where(labels == i)[0] for i in range(3)]
    for i, label in enumerate(labels):
        other = generator.choice(places[label])
        yield (images[i], images[other]), 0.0
        other = generator.choice(places[(label + 1) % 3])
        yield (images[i], images[other]), 1.0


labels = np.arange(9) % 3
images = np.repeat(labels[:, None], 4, axis=1).astype(np.float32)
image_spec = tf.TensorSpec((4,), tf.float32)
pairs = tf.data.Dataset.from_generator(
    lambda: make_pairs(images, labels),
    output_signature=((image_spec, image_spec), tf.TensorSpec((), tf.float32)),
)


def euclidean_distance(x, y):
    sum_square = tf.math.reduce_sum(tf.math.square(x - y), axis=1, keepdims=True)
    return tf.math.sqrt(tf.math.maximum(sum_square, 1e-7))


def contrastive_loss(y_true, distance, margin=1.0):
    square_pred = tf.math.square(distance)
    margin_square = tf.math.square(tf.math.maximum(margin - distance, 0))
    return tf.math.reduce_mean((1 - y_true) * square_pred + y_true * margin_square)


for (x, y), label in pairs.batch(6):
    distance = euclidean_distance(x, y)
    loss = contrastive_loss(label[:, tf.newaxis], distance)
    print(distance.shape, distance.numpy()[:2, 0].round(4), label.numpy(), loss.numpy().round(5))
