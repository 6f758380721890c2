"""CIFAR's binary files: records of one size, a byte of label and then three planes of colour."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

HEIGHT, WIDTH, DEPTH = 32, 32, 3
LABEL_BYTES = 1
IMAGE_BYTES = HEIGHT * WIDTH * DEPTH
RECORD_BYTES = LABEL_BYTES + IMAGE_BYTES

data_dir = tempfile.mkdtemp()
rng = np.random.default_rng(10)
for number in range(1, 4):
    with open(os.path.join(data_dir, f"data_batch_{number}.bin"), "wb") as f:
        for label in range(4):
            f.write(bytes([label + number]))
            f.write(rng.integers(0, 256, IMAGE_BYTES, dtype=np.uint8).tobytes())


def get_filenames(is_training):
    numbers = range(1, 3) if is_training else [3]
    return [os.path.join(data_dir, f"data_batch_{i}.bin") for i in numbers]


def parse_record(raw_record, is_training, dtype=tf.float32):
    """Label and picture of one record, as the official models read it."""
    record_vector = tf.io.decode_raw(raw_record, tf.uint8)
    label = tf.cast(record_vector[0], tf.int32)
    depth_major = tf.reshape(record_vector[LABEL_BYTES:RECORD_BYTES], [DEPTH, HEIGHT, WIDTH])
    # Convert from [depth, height, width] to [height, width, depth], and cast as float32.
    image = tf.cast(tf.transpose(a=depth_major, perm=[1, 2, 0]), tf.float32)
    image = preprocess_image(image, is_training)
    return tf.cast(image, dtype), label


def preprocess_image(image, is_training):
    if is_training:
        image = tf.image.resize_with_crop_or_pad(image, HEIGHT + 8, WIDTH + 8)
        image = tf.image.random_crop(image, [HEIGHT, WIDTH, DEPTH])
        image = tf.image.random_flip_left_right(image)
    return tf.image.per_image_standardization(image)


def input_fn(is_training, batch_size, num_epochs=1):
    dataset = tf.data.FixedLengthRecordDataset(get_filenames(is_training), RECORD_BYTES)
    dataset = dataset.prefetch(buffer_size=batch_size)
    if is_training:
        dataset = dataset.shuffle(buffer_size=50)
    dataset = dataset.repeat(num_epochs)
    dataset = dataset.map(
        lambda value: parse_record(value, is_training),
        num_parallel_calls=tf.data.experimental.AUTOTUNE,
    )
    return dataset.batch(batch_size, drop_remainder=False)


for images, labels in input_fn(False, 3):
    print(images.shape, images.dtype, labels.numpy())
    print(np.round(images.numpy()[0, 0, :2].ravel(), 4), np.round(images.numpy().std(), 3))
seen = []
for images, labels in input_fn(True, 5, num_epochs=2):
    print(images.shape, bool(tf.reduce_all(tf.math.is_finite(images))))
    seen += labels.numpy().tolist()
print(sorted(seen))

# Two bytes are one number, in either order; signed bytes; a header and a footer.
print(tf.io.decode_raw(b"\x01\x00\x02\x00", tf.int16).numpy())
print(tf.io.decode_raw(b"\x01\x00\x02\x00", tf.uint16, little_endian=False).numpy())
print(tf.io.decode_raw([b"ab", b"cd"], tf.uint8).shape)
path = os.path.join(data_dir, "framed.bin")
with open(path, "wb") as f:
    f.write(b"HEAD" + b"abcdef" + b"END")
framed = tf.data.FixedLengthRecordDataset(path, 2, header_bytes=4, footer_bytes=3)
print([record.numpy() for record in framed])
try:
    list(tf.data.FixedLengthRecordDataset(path, 5))
except tf.errors.InvalidArgumentError:
    print("13 bytes are not records of 5")
