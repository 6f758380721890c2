"""Datasets from Python's generators: signatures, arguments, dictionaries, ragged and sparse."""

import itertools

import numpy as np

import keepset.tf as tf


def gen():
    for i in itertools.count(1):
        yield (i, [1] * i)


dataset = tf.data.Dataset.from_generator(
    gen, (tf.int64, tf.int64), (tf.TensorShape([]), tf.TensorShape([None]))
)
print([(int(i), ones.numpy().tolist()) for i, ones in dataset.take(3)])
print(dataset.element_spec)


def ragged_gen():
    yield 42, tf.ragged.constant([[1, 2], [3]], dtype=tf.int32)
    yield 43, tf.ragged.constant([[4], [], [5, 6]], dtype=tf.int32)


ragged = tf.data.Dataset.from_generator(
    ragged_gen,
    output_signature=(
        tf.TensorSpec(shape=(), dtype=tf.int32),
        tf.RaggedTensorSpec(shape=(None, None), dtype=tf.int32),
    ),
)
for number, rows in ragged:
    print(number.numpy(), rows.to_list(), rows.shape)


class Sequence:
    """A class whose instances are called for each pass, as Keras' sequences were."""

    def __init__(self, batch_size):
        self.batch_size = batch_size
        self.passes = 0

    def __len__(self):
        return 3

    def __getitem__(self, index):
        start = index * self.batch_size
        x = np.arange(start, start + self.batch_size, dtype=np.float32)
        return {"x": x[:, None], "name": [f"row-{i:.0f}" for i in x]}, (x > 2).astype(np.int32)

    def __call__(self):
        self.passes += 1
        for index in range(len(self)):
            yield self[index]


sequence = Sequence(2)
signature = (
    {"x": tf.TensorSpec((None, 1), tf.float32), "name": tf.TensorSpec((None,), tf.string)},
    tf.TensorSpec((None,), tf.int32),
)
from_class = tf.data.Dataset.from_generator(sequence, output_signature=signature)
for _ in range(2):
    for inputs, labels in from_class:
        print(inputs["x"].shape, inputs["name"].numpy(), labels.numpy())
print(sequence.passes, from_class.cardinality().numpy() == tf.data.UNKNOWN_CARDINALITY)
counted = from_class.apply(tf.data.experimental.assert_cardinality(3))
print(len(counted), sum(int(tf.reduce_sum(labels)) for _, labels in counted.unbatch().batch(6)))


# Arguments arrive as NumPy values.
def count(stop, label):
    for i in range(stop):
        yield i, label


with_args = tf.data.Dataset.from_generator(
    count,
    args=[3, "cat"],
    output_signature=(tf.TensorSpec((), tf.int32), tf.TensorSpec((), tf.string)),
)
print([(int(i), label.numpy()) for i, label in with_args])

# One generator for each of several sources, interleaved.
sources = tf.data.Dataset.range(3).interleave(
    lambda n: tf.data.Dataset.from_generator(
        lambda n: (n * 10 + i for i in range(3)), output_types=tf.int64, output_shapes=(), args=(n,)
    ),
    cycle_length=3,
)
print([int(x) for x in sources])


# What does not fit the signature.
def wrong():
    yield np.zeros(3, np.float32)
    yield np.zeros(4, np.float32)


bad = tf.data.Dataset.from_generator(wrong, output_signature=tf.TensorSpec((3,), tf.float32))
good = 0
try:
    for element in bad:
        good += element.shape == (3,)
except (tf.errors.InvalidArgumentError, TypeError, ValueError):
    print(good, "element, then an error")


def failing():
    yield 1
    raise RuntimeError("the disk is gone")


broken = tf.data.Dataset.from_generator(failing, output_signature=tf.TensorSpec((), tf.int32))
try:
    list(broken)
except Exception as error:
    print("the disk is gone" in str(error))

sparse = tf.SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 6], dense_shape=[3, 2])
rows = tf.data.Dataset.from_tensor_slices(sparse)
print([tf.sparse.to_dense(row).numpy().tolist() for row in rows], rows.element_spec.shape)
