"""Sources, batches, windows, padding and other stages of an input pipeline."""

import numpy as np

import keepset.tf as tf

# Elements of arrays, one by one.
dataset = tf.data.Dataset.from_tensor_slices([8, 3, 0, 8, 2, 1])
for element in dataset:
    print(element.numpy(), end=" ")
print()
print(dataset.reduce(0, lambda state, value: state + value).numpy())

# Structures.
features = np.arange(12, dtype=np.float32).reshape(4, 3)
pairs = tf.data.Dataset.from_tensor_slices((features, tf.constant([0, 1, 0, 1])))
for x, label in pairs.map(lambda x, label: (tf.reduce_sum(x), label)):
    print(x.numpy(), label.numpy())


# A generator.
def count(stop):
    yield from range(stop)


counted = tf.data.Dataset.from_generator(count, args=[25], output_types=tf.int32, output_shapes=())
for batch in counted.repeat().batch(10).take(3):
    print(batch.numpy())


def series():
    for size in (3, 1, 4):
        yield size, np.ones(size, np.float32)


signature = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.float32))
ragged = tf.data.Dataset.from_generator(series, output_signature=signature)
for sizes, rows in ragged.padded_batch(3, padded_shapes=([], [None])):
    print(sizes.numpy(), rows.numpy())

# Batches and windows.
numbers = tf.data.Dataset.range(10)
for batch in numbers.batch(4, drop_remainder=True):
    print(batch.numpy(), batch.shape)
windows = numbers.window(5, shift=3, drop_remainder=True).flat_map(lambda part: part.batch(5))
for window in windows:
    print(window.numpy())

# Filters, interleaving, zipping.
even = numbers.filter(lambda x: tf.equal(x % 2, 0))
print([int(x) for x in even])
mixed = tf.data.Dataset.range(3).interleave(
    lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2, block_length=1
)
print([int(x) for x in mixed])
zipped = tf.data.Dataset.zip((numbers, numbers.map(lambda x: x * x)))
print([(int(a), int(b)) for a, b in zipped.take(4)])

# Shuffling keeps every element.
shuffled = numbers.shuffle(buffer_size=10, seed=1)
print(sorted(int(x) for x in shuffled))

# Python of one's own.
doubled = numbers.map(
    lambda x: tf.py_function(lambda value: value.numpy() * 2, [x], tf.int64),
    num_parallel_calls=tf.data.AUTOTUNE,
)
print([int(x) for x in doubled.prefetch(tf.data.AUTOTUNE)])
print(int(tf.data.experimental.cardinality(numbers.batch(3))))
