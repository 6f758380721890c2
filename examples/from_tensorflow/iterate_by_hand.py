"""Iterators in one's own hands: get_next, optionals, several at once, single elements."""

import numpy as np

import keepset.tf as tf

dataset = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
iterator = iter(dataset)
first = iterator.get_next()
print(first["a"].numpy(), first["b"].numpy(), iterator.element_spec)
second = next(iterator)
print({key: value.numpy() for key, value in second.items()})

optional = iterator.get_next_as_optional()
print(optional.has_value().numpy(), optional.get_value()["b"].numpy())
optional = iterator.get_next_as_optional()
print(optional.has_value().numpy(), bool(optional.has_value()))
try:
    optional.get_value()
except tf.errors.InvalidArgumentError:
    print("no value")
some = tf.experimental.Optional.from_value(tf.constant(5))
none = tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32))
print(int(some.get_value()), bool(none.has_value()), some.element_spec)


# A loop of steps over an endless dataset, as custom training has it.
def train(iterator, steps):
    total = tf.constant(0, tf.int64)
    for _ in tf.range(steps):
        batch = next(iterator)
        total += tf.reduce_sum(batch)
    return total


endless = iter(tf.data.Dataset.range(6).repeat().batch(4))
print([int(train(endless, 3)) for _ in range(3)])

# Training and validation in turns, each where it was.
train_iter, val_iter = iter(tf.data.Dataset.range(100)), iter(tf.data.Dataset.range(100, 200))
for _ in range(2):
    print([int(next(train_iter)) for _ in range(3)], [int(next(val_iter)) for _ in range(2)])
for number in train_iter:
    if number > 8:
        break
print(int(next(train_iter)), isinstance(train_iter, tf.data.Iterator))

# One element, or the whole dataset as one.
print(tf.data.Dataset.range(1).map(lambda x: x + 7).get_single_element().numpy())
whole = dataset.batch(len(dataset)).get_single_element()
print(whole["b"].numpy(), tf.data.experimental.get_single_element(dataset.take(1))["a"].numpy())
print([row["a"] for row in dataset.as_numpy_iterator()], list(dataset.as_numpy_iterator())[0])  # noqa: RUF015

# What a dataset says of itself.
print(dataset.cardinality().numpy(), len(dataset.batch(2)), bool(dataset))
print(tf.data.Dataset.range(3).repeat().cardinality() == tf.data.INFINITE_CARDINALITY)
print(dataset.filter(lambda row: row["a"] > 1).cardinality().numpy())
try:
    len(tf.data.Dataset.range(3).repeat())
except TypeError:
    print("endless")
print(isinstance(dataset, tf.data.Dataset), isinstance(iter(dataset), tf.data.Dataset))
print(tf.data.experimental.get_structure(dataset))
compatible = tf.data.Dataset.range(2).element_spec
print(compatible == tf.TensorSpec([], tf.int64), compatible.is_compatible_with(tf.constant(1)))

# Lists of tensors, printed as people print them.
for x in tf.data.Dataset.range(3).batch(2):
    print(x)
print(list(tf.data.Dataset.range(2)))
print(next(iter(dataset)))
for index, x in enumerate(tf.data.Dataset.from_tensor_slices(["x", "y"])):
    tf.print("element", index, x, output_stream="file://log.txt")
    print(f"{x}", f"{index}: {x.numpy().decode()}", str(x))
with open("log.txt") as log:
    print(log.read(), end="")
scalar, vector = tf.constant(2.5), tf.constant([1, 2])
print(f"{scalar:.2f} {vector}", scalar, repr(vector), np.asarray(vector))
