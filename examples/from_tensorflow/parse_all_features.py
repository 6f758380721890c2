"""Each kind of feature that tf.io parses from tf.train.Example messages, alone and in batches."""

import numpy as np

import keepset.tf as tf


def feature(value):
    """A Feature of the kind that a list of numbers or of bytes needs."""
    if value and isinstance(value[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
    if value and isinstance(value[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def example(**values):
    features = {name: feature(value) for name, value in values.items()}
    message = tf.train.Example(features=tf.train.Features(feature=features))
    return message.SerializeToString()


serialized = [
    example(
        age=[29], name=[b"ada"], tags=[b"x", b"y"], scores=[0.5, 1.5], ix=[1, 3], val=[2.0, 4.0]
    ),
    example(name=[b"bob"], scores=[2.5, 3.5, 4.5, 5.5], ix=[0], val=[7.0], lengths=[2, 0, 2]),
    example(age=[41], name=[b"cy"], tags=[b"z"], matrix=[1.0, 2.0, 3.0, 4.0], lengths=[0]),
]
dataset = tf.data.Dataset.from_tensor_slices(serialized)

FIXED = {
    "age": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    "name": tf.io.FixedLenFeature([], tf.string),
    "matrix": tf.io.FixedLenFeature([2, 2], tf.float32, default_value=[[0.0, 0.0], [0.0, 0.0]]),
}
for row in dataset.map(lambda x: tf.io.parse_single_example(x, FIXED)):
    print(row["age"].numpy(), row["name"].numpy(), row["matrix"].numpy().tolist())
batch = tf.io.parse_example(serialized, FIXED)
print(batch["matrix"].shape, batch["age"].numpy(), batch["name"].dtype)

SEQUENCES = {"scores": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True)}
for row in dataset.map(lambda x: tf.io.parse_single_example(x, SEQUENCES)):
    print(row["scores"].shape, row["scores"].numpy().tolist())
print(tf.io.parse_example(serialized, SEQUENCES)["scores"].shape)

VARIABLE = {"tags": tf.io.VarLenFeature(tf.string), "scores": tf.io.VarLenFeature(tf.float32)}
for row in dataset.map(lambda x: tf.io.parse_single_example(x, VARIABLE)):
    tags = row["tags"]
    print(tags.values.numpy(), tags.dense_shape.numpy(), tf.sparse.to_dense(row["scores"]).numpy())
tags = tf.io.parse_example(tf.constant(serialized), VARIABLE)["tags"]
print(isinstance(tags, tf.SparseTensor), tags.indices.numpy().tolist(), tags.shape)
print(tf.sparse.to_dense(tags, default_value=b"-").numpy().tolist())

RAGGED = {
    "tags": tf.io.RaggedFeature(tf.string),
    "scores": tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64),
}
batch = tf.io.parse_example(serialized, RAGGED)
print(batch["tags"].to_list(), batch["scores"].row_lengths().numpy(), batch["scores"].shape)
one = tf.io.parse_single_example(serialized[1], RAGGED)
print(one["tags"].shape, one["scores"].numpy())

PARTED = tf.io.RaggedFeature(
    value_key="scores", dtype=tf.float32, partitions=(tf.io.RaggedFeature.UniformRowLength(2),)
)
for row in dataset.take(2).map(lambda x: tf.io.parse_single_example(x, {"pairs": PARTED})):
    print(row["pairs"].shape, tf.reduce_sum(row["pairs"]).numpy())

SPARSE = {"vector": tf.io.SparseFeature(index_key="ix", value_key="val", dtype=tf.float32, size=5)}
vectors = tf.io.parse_example(serialized, SPARSE)["vector"]
print(vectors.dense_shape.numpy(), tf.sparse.to_dense(vectors).numpy().tolist())

# Mistakes, and what they raise.
for wanted, message in (
    ({"lost": tf.io.FixedLenFeature([], tf.int64)}, "a feature that is not there"),
    ({"name": tf.io.FixedLenFeature([], tf.int64)}, "another kind"),
    ({"scores": tf.io.FixedLenFeature([3], tf.float32)}, "another number of values"),
):
    try:
        tf.io.parse_single_example(serialized[0], wanted)
    except tf.errors.InvalidArgumentError:
        print("InvalidArgumentError:", message)
try:
    tf.io.parse_single_example(b"no message", FIXED)
except tf.errors.InvalidArgumentError:
    print("InvalidArgumentError: no message")

parse = tf.data.experimental.parse_example_dataset(FIXED, num_parallel_calls=2)
for rows in dataset.batch(2).apply(parse):
    print(rows["age"].numpy(), rows["name"].numpy())
again = tf.train.Example.FromString(serialized[0])
print(sorted(again.features.feature), np.array(again.features.feature["val"].float_list.value))
