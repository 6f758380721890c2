"""What a GAN trains on: pictures between -1 and 1, noise, and labels as one more channel."""

import numpy as np

import keepset.tf as tf

BUFFER_SIZE = 60
BATCH_SIZE = 8
NOISE_DIM = 10
NUM_CLASSES = 4

rng = np.random.default_rng(7)
train_images = rng.integers(0, 256, (20, 8, 8), dtype=np.uint8)
train_labels = rng.integers(0, NUM_CLASSES, 20)

train_images = train_images.reshape(train_images.shape[0], 8, 8, 1).astype("float32")
train_images = (train_images - 127.5) / 127.5  # Normalize the images to [-1, 1]

# Batch and shuffle the data
train_dataset = tf.data.Dataset.from_tensor_slices(train_images)
train_dataset = train_dataset.shuffle(BUFFER_SIZE).batch(BATCH_SIZE)
print(train_dataset.element_spec)


@tf.function
def train_step(images):
    noise = tf.random.normal([BATCH_SIZE, NOISE_DIM])
    real = tf.ones_like(images[:, 0, 0])
    fake = tf.zeros([tf.shape(images)[0], 1])
    # Some noise on the labels, an important trick!
    labels = tf.concat([real, fake], axis=0)
    labels += 0.05 * tf.random.uniform(tf.shape(labels))
    return noise, labels


for epoch in range(2):
    for image_batch in train_dataset:
        noise, labels = train_step(image_batch)
        assert noise.shape == (BATCH_SIZE, NOISE_DIM)
        print(epoch, image_batch.shape, labels.shape, bool(tf.reduce_all(labels < 1.05)))
low, high = tf.reduce_min(train_images), tf.reduce_max(train_images)
print(np.round(low.numpy(), 3), np.round(high.numpy(), 3), low.dtype)


# Conditioned on labels.
def add_label_channels(image, label):
    one_hot = tf.one_hot(label, NUM_CLASSES)
    planes = tf.repeat(one_hot[tf.newaxis, tf.newaxis, :], repeats=[8], axis=0)
    planes = tf.repeat(planes, repeats=8, axis=1)
    return tf.concat([image, planes], axis=-1), one_hot


conditional = tf.data.Dataset.from_tensor_slices((train_images, train_labels))
conditional = conditional.map(add_label_channels).batch(BATCH_SIZE, drop_remainder=True)
print(conditional.element_spec)
for images, one_hots in conditional:
    print(images.shape, tf.argmax(images[:, 0, 0, 1:], axis=-1).numpy(), one_hots.shape)

# Two domains side by side, as CycleGAN has them, each shuffled by itself.
horses = tf.data.Dataset.from_tensor_slices(train_images[:5]).cache().shuffle(5).batch(1)
zebras = tf.data.Dataset.from_tensor_slices(train_images[5:12]).cache().shuffle(7).batch(1)
print(len(tf.data.Dataset.zip((horses, zebras))))
for horse, zebra in tf.data.Dataset.zip((horses, zebras)).take(1):
    print(horse.shape, zebra.shape)


# Pix2pix: one picture holds input and target side by side.
def load(image):
    w = tf.shape(image)[1] // 2
    return tf.cast(image[:, w:, :], tf.float32), tf.cast(image[:, :w, :], tf.float32)


def resize(input_image, real_image, height, width):
    method = tf.image.ResizeMethod.NEAREST_NEIGHBOR
    return (
        tf.image.resize(input_image, [height, width], method=method),
        tf.image.resize(real_image, [height, width], method=method),
    )


def random_jitter(input_image, real_image):
    input_image, real_image = resize(input_image, real_image, 10, 10)
    stacked_image = tf.stack([input_image, real_image], axis=0)
    cropped_image = tf.image.random_crop(stacked_image, size=[2, 8, 8, 3])
    return cropped_image[0], cropped_image[1]


both = rng.integers(0, 256, (3, 8, 16, 3), dtype=np.uint8)
both[:, :, 8:] = 255 - both[:, :, :8]
pix2pix = tf.data.Dataset.from_tensor_slices(both).map(load).map(random_jitter)
for input_image, real_image in pix2pix:
    print(input_image.shape, bool(tf.reduce_all(input_image + real_image == 255.0)))

# Points between real and made pictures, for the gradient penalty, by seeds.
alpha = tf.random.stateless_normal([3, 1, 1, 1], seed=(1, 2), mean=0.0, stddev=1.0)
real, fake = tf.constant(train_images[:3]), tf.constant(train_images[3:6])
interpolated = real + alpha * (fake - real)
print(interpolated.shape, np.round(tf.reduce_mean(interpolated).numpy(), 4))
noise = tf.random.stateless_truncated_normal([1000], seed=[4, 4])
print(np.round(tf.math.reduce_std(noise).numpy(), 2), float(tf.reduce_max(tf.abs(noise))) < 2.0)
