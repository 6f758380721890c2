"""Pictures and their masks, which are flipped and cropped together: the pets tutorial."""

import numpy as np

import keepset.tf as tf

BUFFER_SIZE = 100
BATCH_SIZE = 3
SIZE = 16

rng = np.random.default_rng(1)
images = rng.integers(0, 256, (7, 20, 24, 3), dtype=np.uint8)
# A mask of 1, 2, 3, which repeats what is in the picture.
masks = (images[..., :1] // 100 + 1).astype(np.uint8)
raw = tf.data.Dataset.from_tensor_slices({"image": images, "segmentation_mask": masks})
print(raw.element_spec)


def normalize(input_image, input_mask):
    input_image = tf.cast(input_image, tf.float32) / 255.0
    input_mask -= 1
    return input_image, input_mask


def load_image(datapoint):
    input_image = tf.image.resize(datapoint["image"], (SIZE, SIZE), method="nearest")
    input_mask = tf.image.resize(
        datapoint["segmentation_mask"],
        (SIZE, SIZE),
        method=tf.image.ResizeMethod.NEAREST_NEIGHBOR,
    )
    return normalize(input_image, input_mask)


def augment(input_image, input_mask):
    if tf.random.uniform(()) > 0.5:
        input_image = tf.image.flip_left_right(input_image)
        input_mask = tf.image.flip_left_right(input_mask)
    return input_image, input_mask


def crop_together(input_image, input_mask):
    both = tf.concat([input_image, tf.cast(input_mask, tf.float32)], axis=-1)
    both = tf.image.random_crop(both, size=(8, 8, 4))
    return both[..., :3], tf.cast(both[..., 3:], tf.uint8)


train = raw.map(load_image, num_parallel_calls=tf.data.AUTOTUNE)
for image, mask in train.take(1):
    print(image.dtype, mask.dtype, np.unique(mask), mask.numpy()[0, :6, 0])

train_batches = (
    train.cache()
    .shuffle(BUFFER_SIZE)
    .map(augment)
    .map(crop_together)
    .batch(BATCH_SIZE)
    .repeat(2)
    .prefetch(buffer_size=tf.data.AUTOTUNE)
)
count = 0
for image, mask in train_batches:
    # Whatever chance did, each mask still belongs to its picture.
    levels = tf.cast(tf.round(image[..., :1] * 255), tf.int32) // 100
    assert bool(tf.reduce_all(levels == tf.cast(mask, tf.int32)))
    count += int(image.shape[0])
print(count, image.shape, mask.shape)

# Weights for each class, and one-hot masks.
class_weights = tf.constant([2.0, 2.0, 1.0])
class_weights = class_weights / tf.reduce_sum(class_weights)


def add_sample_weights(image, label):
    sample_weights = tf.gather(class_weights, indices=tf.cast(label, tf.int32))
    return image, label, sample_weights


for _, label, weights in train.batch(2).map(add_sample_weights).take(1):
    print(weights.shape, weights.numpy()[0, 0, :4, 0], label.numpy()[0, 0, :4, 0])
one_hot = train.map(lambda image, mask: tf.one_hot(tf.squeeze(mask, -1), 3, dtype=tf.uint8))
print(one_hot.element_spec, next(iter(one_hot)).numpy().sum(axis=(0, 1)))
