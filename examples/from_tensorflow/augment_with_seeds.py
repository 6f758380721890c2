"""Augmentation that comes out the same each time, because each picture has a seed of its own."""

import numpy as np

import keepset.tf as tf

IMG_SIZE = 12
AUTOTUNE = tf.data.AUTOTUNE

pictures = np.arange(4 * 12 * 12 * 3, dtype=np.uint32).reshape(4, 12, 12, 3) % 251
train_datasets = tf.data.Dataset.from_tensor_slices((pictures.astype(np.uint8), [0, 1, 2, 3]))


def resize_and_rescale(image, label):
    image = tf.cast(image, tf.float32)
    image = tf.image.resize(image, [IMG_SIZE, IMG_SIZE])
    image = image / 255.0
    return image, label


def augment(image_label, seed):
    image, label = image_label
    image, label = resize_and_rescale(image, label)
    image = tf.image.resize_with_crop_or_pad(image, IMG_SIZE + 6, IMG_SIZE + 6)
    # Make a new seed.
    new_seed = tf.random.split(seed, num=1)[0, :]
    # Random crop back to the original size.
    image = tf.image.stateless_random_crop(image, size=[IMG_SIZE, IMG_SIZE, 3], seed=seed)
    # Random brightness.
    image = tf.image.stateless_random_brightness(image, max_delta=0.5, seed=new_seed)
    image = tf.clip_by_value(image, 0, 1)
    return image, label


# Option 1: tf.data.experimental.Counter
counter = tf.data.experimental.Counter()
train_ds = tf.data.Dataset.zip((train_datasets, (counter, counter)))
train_ds = train_ds.map(augment, num_parallel_calls=AUTOTUNE).batch(2).prefetch(AUTOTUNE)
epochs = [[image.numpy() for image, _ in train_ds] for _ in range(2)]
print(all(np.array_equal(a, b) for a, b in zip(*epochs, strict=True)))
for images, labels in train_ds:
    print(images.shape, labels.numpy(), np.round(tf.reduce_mean(images, (1, 2, 3)).numpy(), 4))

# The operations one by one, with the same seeds.
image = tf.constant(pictures[0].astype(np.uint8))
for i in range(3):
    seed = (i, 0)  # tuple of size (2,)
    bright = tf.image.stateless_random_brightness(image, max_delta=0.95, seed=seed)
    contrast = tf.image.stateless_random_contrast(image, lower=0.1, upper=0.9, seed=seed)
    crop = tf.image.stateless_random_crop(image, size=[6, 8, 3], seed=seed)
    flipped = tf.image.stateless_random_flip_left_right(image, seed=seed)
    print(bright.dtype, bright.numpy()[0, :2, 0], contrast.shape)
    print(crop.shape, crop.numpy()[0, 0], flipped.numpy()[0, 0])

saturated = tf.image.stateless_random_saturation(image, 0.5, 1.0, seed=(1, 2))
hue = tf.image.stateless_random_hue(image, 0.2, seed=(1, 2))
quality = tf.image.stateless_random_flip_up_down(image, seed=(4, 2))
print(saturated.shape, hue.shape, quality.numpy()[0, 0])

# The numbers below all that.
print(np.round(tf.random.stateless_uniform([3], seed=(2, 3)).numpy(), 5))
print(tf.random.stateless_uniform([4], seed=(2, 3), maxval=100, dtype=tf.int32).numpy())
print(np.round(tf.random.stateless_normal([3], seed=[5, 6]).numpy(), 4))
print(tf.random.split([3, 4], num=2).shape, tf.random.fold_in([3, 4], 1).shape)
