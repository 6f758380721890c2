"""Segmentation with an augmentation class: files of masks, label maps, and overlaps as a metric."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

NUM_CLASSES = 4
IMAGE_SIZE = 12

folder = tempfile.mkdtemp()
for number in range(4):
    mask = (np.indices((10, 10)).sum(0) + number) % 4 * 60
    image = np.repeat(mask[..., None], 3, axis=2) // 2
    for kind, array in (("mask", mask[..., None]), ("image", image)):
        path = os.path.join(folder, f"{number}_{kind}.png")
        tf.io.write_file(path, tf.io.encode_png(tf.cast(array, tf.uint8)))

image_paths = sorted(tf.io.gfile.glob(os.path.join(folder, "*_image.png")))
mask_paths = sorted(tf.io.gfile.glob(os.path.join(folder, "*_mask.png")))


def read_image(image_path, mask=False):
    image = tf.io.read_file(image_path)
    if mask:
        image = tf.image.decode_png(image, channels=1)
        image.set_shape([None, None, 1])
        image = tf.image.resize(images=image, size=[IMAGE_SIZE, IMAGE_SIZE], method="nearest")
        return tf.cast(image, tf.int32) // 60
    image = tf.image.decode_png(image, channels=3)
    image.set_shape([None, None, 3])
    image = tf.image.resize(images=image, size=[IMAGE_SIZE, IMAGE_SIZE])
    return image / 127.5 - 1


class Augment:
    """Flip picture and mask by one coin, made from one seed."""

    def __init__(self, seed=42):
        self.seed = seed

    def __call__(self, image, mask, number):
        coin = tf.random.stateless_uniform(
            [], seed=tf.stack([self.seed, tf.cast(number, tf.int32)])
        )
        flip = coin < 0.5
        image = tf.cond(flip, lambda: tf.reverse(image, axis=[1]), lambda: image)
        mask = tf.cond(flip, lambda: tf.reverse(mask, axis=[1]), lambda: mask)
        return image, mask


def load_data(image_path, mask_path):
    return read_image(image_path), read_image(mask_path, mask=True)


dataset = tf.data.Dataset.from_tensor_slices((image_paths, mask_paths)).map(load_data)
print(dataset.element_spec)
for image, mask in dataset:
    print(np.round(image.numpy()[0, :3, 0], 4), mask.numpy()[0, :6, 0])

numbered = dataset.enumerate().map(lambda number, pair: (*pair, number))
augmented = numbered.map(Augment(seed=7)).batch(4)
images, masks = next(iter(augmented))
print(images.shape, masks.numpy()[:, 0, :3, 0].tolist())


# How many pixels there are of each class, and the overlap of masks with themselves, moved.
def add_counts(counts, element):
    _, mask = element
    return counts + tf.math.bincount(tf.reshape(mask, [-1]), minlength=NUM_CLASSES)


counts = dataset.reduce(np.zeros(NUM_CLASSES, np.int32), add_counts)
print(counts.numpy())


def iou(y_true, y_pred):
    one, other = tf.one_hot(y_true, NUM_CLASSES), tf.one_hot(y_pred, NUM_CLASSES)
    intersection = tf.reduce_sum(one * other, axis=(0, 1))
    union = tf.reduce_sum(tf.maximum(one, other), axis=(0, 1))
    return tf.math.divide_no_nan(intersection, union)


for _, mask in dataset.take(2):
    flat = tf.squeeze(mask, axis=-1)
    print(np.round(iou(flat, tf.roll(flat, shift=1, axis=0)).numpy(), 4))
    print(tf.argmax(tf.one_hot(flat, NUM_CLASSES), axis=-1).shape)
