"""Random flips, crops and colours on the training set, and none on the test set."""

import numpy as np

import keepset.tf as tf

AUTO = tf.data.AUTOTUNE
IMG_SIZE = 24
BATCH_SIZE = 5

rng = np.random.default_rng(0)
x_train = rng.integers(0, 256, (12, 20, 20, 3), dtype=np.uint8)
y_train = rng.integers(0, 10, (12, 1), dtype=np.uint8)


def resize_and_rescale(image, label):
    image = tf.cast(image, tf.float32)
    image = tf.image.resize(image, [IMG_SIZE, IMG_SIZE])
    image = image / 255.0
    return image, label


def augment(image, label):
    image, label = resize_and_rescale(image, label)
    # Add 6 pixels of padding, and crop at random back to the size.
    image = tf.image.resize_with_crop_or_pad(image, IMG_SIZE + 6, IMG_SIZE + 6)
    image = tf.image.random_crop(image, size=[IMG_SIZE, IMG_SIZE, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_flip_up_down(image)
    image = tf.image.random_brightness(image, max_delta=0.5)
    image = tf.image.random_contrast(image, lower=0.8, upper=1.2)
    image = tf.image.random_saturation(image, 0.8, 1.2)
    image = tf.image.random_hue(image, 0.08)
    image = tf.clip_by_value(image, 0, 1)
    return image, label


dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train))
train_ds = (
    dataset.shuffle(1000)
    .map(augment, num_parallel_calls=AUTO)
    .batch(BATCH_SIZE, drop_remainder=True)
    .prefetch(AUTO)
)
print(train_ds.element_spec)
for images, labels in train_ds:
    print(images.shape, images.dtype.name, labels.shape, labels.dtype.name)
    print(float(tf.reduce_min(images)) >= 0.0, float(tf.reduce_max(images)) <= 1.0)

test_ds = dataset.map(resize_and_rescale, num_parallel_calls=AUTO).batch(BATCH_SIZE)
for images, labels in test_ds:
    print(np.round(tf.reduce_mean(images).numpy(), 4), labels.numpy()[:, 0])


# A coin for each picture.
@tf.function
def random_invert_img(x, p=0.5):
    if tf.random.uniform([]) < p:
        x = 255 - x
    return x


first = tf.constant(x_train[0])
inverted = 255 - first
kept, turned = 0, 0
for _ in range(40):
    result = random_invert_img(tf.cast(first, tf.int32))
    assert result.dtype == tf.int32
    kept += bool(tf.reduce_all(result == tf.cast(first, tf.int32)))
    turned += bool(tf.reduce_all(result == tf.cast(inverted, tf.int32)))
print(kept + turned, kept > 0, turned > 0)

# Quarter turns, chosen at random.
k = tf.random.uniform([], minval=0, maxval=4, dtype=tf.int32)
print(tf.image.rot90(first, k=k).shape, int(tf.reduce_sum(tf.cast(first, tf.int32))))
print(tf.image.rot90(first)[0, :3, 0].numpy(), x_train[0][:3, -1, 0])
