"""What a pipeline gives, kept: save and load, snapshot, cache."""

import os
import tempfile

import keepset.tf as tf

folder = tempfile.mkdtemp()

dataset = tf.data.Dataset.range(10).map(lambda x: {"x": x, "square": x * x})
path = os.path.join(folder, "saved")
dataset.save(path)
loaded = tf.data.Dataset.load(path)
for element in loaded.take(3):
    print(int(element["x"]), int(element["square"]))
print(loaded.element_spec["x"].dtype.name, int(loaded.cardinality()))

# In shards, read in an order of one's own.
sharded = os.path.join(folder, "sharded")
tf.data.Dataset.range(12).save(sharded, compression="GZIP", shard_func=lambda x: x % 3)


def custom_reader_func(datasets):
    return datasets.flat_map(lambda x: x)


read = tf.data.Dataset.load(sharded, compression="GZIP", reader_func=custom_reader_func)
print([int(x) for x in read])

# Under older names.
older = os.path.join(folder, "older")
tf.data.experimental.save(tf.data.Dataset.range(3), older)
print([int(x) for x in tf.data.experimental.load(older)])

# A snapshot: computed once, replayed afterwards.
kept = os.path.join(folder, "snapshot")
expensive = tf.data.Dataset.range(5).map(lambda x: x * 100)
expensive = expensive.snapshot(kept)
for _epoch in range(2):
    print([int(x) for x in expensive])
applied = tf.data.Dataset.range(4).apply(tf.data.experimental.snapshot(os.path.join(folder, "two")))
print([int(x) for x in applied])

# A cache, in memory and in a file.
cached = tf.data.Dataset.range(4).map(lambda x: x + 1).cache(os.path.join(folder, "cache"))
print([int(x) for x in cached], [int(x) for x in cached])
