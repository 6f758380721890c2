"""Two views of each picture: SimCLR's augmentation, and labelled beside unlabelled data."""

import numpy as np

import keepset.tf as tf

AUTOTUNE = tf.data.AUTOTUNE
IMAGE_SIZE = 16
CROP_TO = 12
SEED = 26

rng = np.random.default_rng(1)
x_train = rng.random((12, IMAGE_SIZE, IMAGE_SIZE, 3)).astype(np.float32)
y_train = np.arange(12) % 5


def flip_random_crop(image, seed):
    # With random crops we also apply horizontal flipping.
    image = tf.image.stateless_random_flip_left_right(image, seed=seed)
    return tf.image.stateless_random_crop(image, (CROP_TO, CROP_TO, 3), seed=seed + 1)


def color_jitter(x, seed, strength=(0.4, 0.4, 0.4, 0.1)):
    x = tf.image.stateless_random_brightness(x, max_delta=0.8 * strength[0], seed=seed)
    x = tf.image.stateless_random_contrast(
        x, lower=1 - 0.8 * strength[1], upper=1 + 0.8 * strength[1], seed=seed
    )
    x = tf.image.stateless_random_saturation(
        x, lower=1 - 0.8 * strength[2], upper=1 + 0.8 * strength[2], seed=seed
    )
    # Affine transformations can disturb the natural range of RGB images, hence this is needed.
    return tf.clip_by_value(x, clip_value_min=0, clip_value_max=1)


def color_drop(x):
    x = tf.image.rgb_to_grayscale(x)
    return tf.tile(x, [1, 1, 3])


def random_apply(func, x, p, seed):
    if tf.random.stateless_uniform([], minval=0, maxval=1, seed=seed) < p:
        return func(x)
    else:
        return x


def custom_augment(image, seed):
    image = flip_random_crop(image, seed)
    image = random_apply(lambda x: color_jitter(x, seed + 2), image, p=0.8, seed=seed + 3)
    return random_apply(color_drop, image, p=0.2, seed=seed + 4)


def views(salt):
    seeds = tf.data.Dataset.range(1000).map(lambda i: tf.stack([i, tf.constant(salt, tf.int64)]))
    ds = tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(x_train), seeds))
    return ds.map(custom_augment, num_parallel_calls=AUTOTUNE).batch(5).prefetch(AUTOTUNE)


ssl_ds = tf.data.Dataset.zip((views(1), views(2)))
print(ssl_ds.element_spec)
for one, two in ssl_ds:
    print(one.shape, two.shape, np.round(tf.reduce_mean(one, axis=[1, 2, 3]).numpy(), 3))
    assert not bool(tf.reduce_all(one == two))
gray = [bool(tf.reduce_all(x[..., 0] == x[..., 1])) for x in views(3).unbatch()]
print(sum(gray), "of", len(gray), "are gray")

# The other way: each picture twice within one batch.
doubled = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(4)
doubled = doubled.map(lambda x, y: (tf.concat([x, x[:, ::-1]], axis=0), tf.concat([y, y], 0)))
for x, y in doubled.take(1):
    positives = tf.cast(y[:, None] == y[None, :], tf.float32)
    positives = tf.linalg.set_diag(positives, tf.zeros([8]))
    print(x.shape, tf.reduce_sum(positives, axis=1).numpy())

# Labelled and unlabelled batches in each step, of different sizes.
unlabelled = tf.data.Dataset.from_tensor_slices(x_train).shuffle(12, seed=SEED).batch(4)
labelled = tf.data.Dataset.from_tensor_slices((x_train[:6], y_train[:6])).shuffle(6).batch(2)
train_dataset = tf.data.Dataset.zip((unlabelled, labelled)).prefetch(buffer_size=AUTOTUNE)
for free, (images, labels) in train_dataset:
    print(free.shape, images.shape, labels.dtype)


# NT-Xent's similarities, with numbers in place of a network.
def similarities(a, b, temperature=0.5):
    a = tf.math.l2_normalize(tf.reshape(a, [tf.shape(a)[0], -1]), axis=1)
    b = tf.math.l2_normalize(tf.reshape(b, [tf.shape(b)[0], -1]), axis=1)
    return tf.matmul(a, b, transpose_b=True) / temperature


first = next(iter(views(1)))
scores = similarities(first, first)
print(scores.shape, np.round(tf.linalg.diag_part(scores).numpy(), 3))
print(tf.argmax(scores, axis=1).numpy(), np.round(tf.reduce_mean(scores).numpy(), 3))
