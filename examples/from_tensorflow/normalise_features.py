"""Means and deviations adapted from a dataset, buckets, crosses: preprocessing without layers."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

path = os.path.join(tempfile.mkdtemp(), "housing.csv")
with open(path, "w") as f:
    f.write("longitude,latitude,rooms,income,proximity,value\n")
    for i in range(8):
        near = ["INLAND", "NEAR BAY", "ISLAND"][i % 3]
        f.write(
            f"{-122.5 + i * 0.5},{37.9 - i * 0.25},{880 + i * 100},{8.3 - i},{near},{i * 1e4}\n"
        )

columns = ["longitude", "latitude", "rooms", "income", "proximity", "value"]
record_defaults = [tf.float32] * 4 + [tf.string, tf.float32]
dataset = tf.data.experimental.CsvDataset(path, record_defaults, header=True)
dataset = dataset.map(lambda *fields: dict(zip(columns, fields, strict=True)))
print(sorted(dataset.element_spec))


class Normalization:
    """What Keras' layer of that name does: adapt first, then call."""

    def adapt(self, data):
        start = (tf.zeros([]), tf.zeros([]), tf.zeros([]))
        count, total, squares = data.reduce(
            start, lambda state, x: (state[0] + 1.0, state[1] + x, state[2] + tf.square(x))
        )
        self.mean = total / count
        self.variance = squares / count - self.mean**2
        return self

    def __call__(self, inputs):
        return (inputs - self.mean) / tf.maximum(tf.sqrt(self.variance), 1e-7)


class Discretization:
    """Numbers of buckets between boundaries."""

    def __init__(self, boundaries):
        self.boundaries = tf.constant(boundaries, tf.float32)

    def __call__(self, inputs):
        return tf.searchsorted(self.boundaries, tf.reshape(inputs, [-1]), side="right")


normalizers = {}
for name in ("rooms", "income"):
    normalizers[name] = Normalization().adapt(dataset.map(lambda row, name=name: row[name]))
    print(name, np.round(normalizers[name].mean.numpy(), 3), normalizers[name].mean.dtype)

vocabulary = sorted({row["proximity"].numpy() for row in dataset})
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(vocabulary, tf.range(len(vocabulary), dtype=tf.int64)), -1
)
longitude_buckets = Discretization(np.linspace(-122.5, -119.0, 4)[1:-1].tolist())
latitude_buckets = Discretization([36.5, 37.25])


def preprocess(row):
    row = dict(row)
    label = row.pop("value") / 1e4
    numeric = tf.stack([normalizers[name](row[name]) for name in sorted(normalizers)])
    place = longitude_buckets(row["longitude"])[0] * 3 + latitude_buckets(row["latitude"])[0]
    proximity = tf.one_hot(table.lookup(row["proximity"]), len(vocabulary))
    crossed = tf.one_hot(place, 9)
    return tf.concat([numeric, proximity, crossed], axis=0), label


features = dataset.map(preprocess)
for inputs, label in features.take(3):
    print(np.round(inputs.numpy()[:2], 3), inputs.numpy()[2:].astype(int), label.numpy())
for inputs, labels in features.batch(8):
    print(inputs.shape, labels.dtype, np.abs(np.round(inputs.numpy()[:, 0].mean(), 3)))
    print(tf.math.argmax(inputs[:, 5:], axis=1).numpy(), tf.reduce_sum(inputs[:, 2:5], 0).numpy())

# Missing numbers get the mean; extremes are clipped; skewed ones get a logarithm.
values = tf.constant([1.0, np.nan, 3.0, 1000.0])
finite = tf.boolean_mask(values, tf.math.is_finite(values))
filled = tf.where(tf.math.is_nan(values), tf.reduce_mean(finite), values)
print(np.round(filled.numpy(), 3), np.round(tf.math.log1p(filled).numpy(), 3))
print(tf.clip_by_value(filled, 0.0, 10.0).numpy(), np.round(tf.math.reduce_std(finite).numpy(), 2))
quantiles = tf.sort(finite)
print(quantiles.numpy()[::2], tf.math.round([0.5, 1.5, 2.5]).numpy())
low, high = tf.reduce_min(finite), tf.reduce_max(finite)
print(np.round(((finite - low) / (high - low)).numpy(), 4))
