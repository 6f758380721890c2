"""MNIST's own files: gzipped, with a header, records of 784 bytes or of one."""

import gzip
import os
import struct
import tempfile

import numpy as np

import keepset.tf as tf

directory = tempfile.mkdtemp()
COUNT = 10


def write(name, magic, array):
    sizes = struct.pack(f">{array.ndim}i", *array.shape)
    with gzip.open(os.path.join(directory, name + ".gz"), "wb") as f:
        f.write(struct.pack(">i", magic) + sizes + array.tobytes())


rng = np.random.default_rng(28)
pictures = rng.integers(0, 256, (COUNT, 28, 28), dtype=np.uint8)
digits = np.arange(COUNT, dtype=np.uint8) % 10
write("train-images-idx3-ubyte", 2051, pictures)
write("train-labels-idx1-ubyte", 2049, digits)


def read32(bytestream):
    """Read 4 bytes from bytestream as an unsigned 32-bit integer."""
    dt = np.dtype(np.uint32).newbyteorder(">")
    return np.frombuffer(bytestream.read(4), dtype=dt)[0]


with gzip.open(os.path.join(directory, "train-images-idx3-ubyte.gz")) as f:
    print(int(read32(f)), int(read32(f)), int(read32(f)), int(read32(f)))


def dataset(images_file, labels_file):
    def decode_image(image):
        # Normalize from [0, 255] to [0.0, 1.0]
        image = tf.io.decode_raw(image, tf.uint8)
        image = tf.cast(image, tf.float32)
        image = tf.reshape(image, [784])
        return image / 255.0

    def decode_label(label):
        label = tf.io.decode_raw(label, tf.uint8)  # tf.string -> [tf.uint8]
        label = tf.reshape(label, [])  # label is a scalar
        return tf.cast(label, tf.int32)

    images = tf.data.FixedLengthRecordDataset(
        images_file, 28 * 28, header_bytes=16, compression_type="GZIP"
    ).map(decode_image)
    labels = tf.data.FixedLengthRecordDataset(
        labels_file, 1, header_bytes=8, compression_type="GZIP"
    ).map(decode_label)
    return tf.data.Dataset.zip((images, labels))


train = dataset(
    os.path.join(directory, "train-images-idx3-ubyte.gz"),
    os.path.join(directory, "train-labels-idx1-ubyte.gz"),
)
print(train.element_spec)
for image, label in train.take(3):
    print(int(label), image.shape, np.round(image.numpy()[:3], 4))
print(all(np.allclose(i.numpy(), pictures[n].ravel() / 255) for n, (i, _) in enumerate(train)))

# As the quickstart does, from arrays.
x_train, y_train = pictures / 255.0, digits
x_train = x_train[..., tf.newaxis].astype("float32")
train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(10000).batch(4)
for images, labels in train_ds:
    print(images.shape, labels.shape, images.dtype, labels.dtype)

# Only some digits, and others' labels in place of them.
keep = train.filter(lambda image, label: tf.logical_or(label == 3, label == 6))
print([int(label) for _, label in keep.map(lambda image, label: (image, label == 3))])
one_hot = train.map(lambda image, label: (image, tf.one_hot(label, depth=10)))
_, labels = next(iter(one_hot.batch(3)))
print(labels.numpy().tolist())
small = train.map(lambda image, label: tf.image.resize(tf.reshape(image, [28, 28, 1]), (4, 4)))
print(next(iter(small.batch(10))).shape, np.round(next(iter(small)).numpy()[..., 0], 3).tolist())
