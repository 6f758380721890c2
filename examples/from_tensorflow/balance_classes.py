"""Fraud and other rare things: resampling, mixed sources, and weights for each class."""

import numpy as np

import keepset.tf as tf

rng = np.random.default_rng(0)
features = rng.normal(size=(400, 3)).astype(np.float32)
labels = (np.arange(400) % 20 == 0).astype(np.int64)  # 5 % are positive.
features[:, 0] += labels * 3
creditcard_ds = tf.data.Dataset.from_tensor_slices((features, labels)).batch(100)


def count(counts, batch):
    _, labels = batch
    class_1 = labels == 1
    class_1 = tf.cast(class_1, tf.int32)
    class_0 = labels == 0
    class_0 = tf.cast(class_0, tf.int32)
    counts["class_0"] += tf.reduce_sum(class_0)
    counts["class_1"] += tf.reduce_sum(class_1)
    return counts


counts = creditcard_ds.take(4).reduce(initial_state={"class_0": 0, "class_1": 0}, reduce_func=count)
counts = np.array([counts["class_0"].numpy(), counts["class_1"].numpy()]).astype(np.float32)
fractions = counts / counts.sum()
print(fractions)

# Weights for a loss, from the counts.
weight_for_0 = (1 / counts[0]) * (counts.sum() / 2.0)
weight_for_1 = (1 / counts[1]) * (counts.sum() / 2.0)
class_weight = tf.constant([weight_for_0, weight_for_1])
weighted = creditcard_ds.map(lambda x, y: (x, y, tf.gather(class_weight, y)))
total = 0.0
for _, _, weights in weighted:
    total += float(tf.reduce_sum(weights))
print(np.round(class_weight.numpy(), 3), round(total, 2))

# One dataset for each class, sampled alike.
negative_ds = creditcard_ds.unbatch().filter(lambda features, label: label == 0).repeat()
positive_ds = creditcard_ds.unbatch().filter(lambda features, label: label == 1).repeat()
for features, label in positive_ds.batch(10).take(2):
    print(label.numpy(), features.shape)
balanced_ds = tf.data.Dataset.sample_from_datasets([negative_ds, positive_ds], [0.5, 0.5], seed=1)
shares = [float(tf.reduce_mean(tf.cast(y, tf.float32))) for _, y in balanced_ds.batch(200).take(2)]
print([0.35 < share < 0.65 for share in shares], balanced_ds.element_spec)


# Rejection resampling.
def class_func(features, label):
    return label


resample_ds = creditcard_ds.unbatch().rejection_resample(
    class_func, target_dist=[0.5, 0.5], initial_dist=fractions, seed=2
)
resample_ds = resample_ds.repeat().batch(100)
balanced_ds = resample_ds.map(lambda extra_label, features_and_label: features_and_label)
means = [float(tf.reduce_mean(tf.cast(y, tf.float32))) for _, y in balanced_ds.take(2)]
print([0.3 < mean < 0.7 for mean in means])
older = creditcard_ds.unbatch().apply(
    tf.data.experimental.rejection_resample(class_func, target_dist=[0.5, 0.5], seed=2)
)
extra, (one, label) = next(iter(older))
print(int(extra) == int(label), one.shape)

# By a fixed order, with no chance in it.
order = tf.data.Dataset.from_tensor_slices([0, 0, 1]).map(lambda x: tf.cast(x, tf.int64)).repeat()
chosen = tf.data.Dataset.choose_from_datasets([negative_ds, positive_ds], order)
print([int(y) for _, y in chosen.take(9)])

# Positive ones repeated: each element as often as its class is worth.
repeats = tf.constant([1, 4], tf.int64)
oversampled = creditcard_ds.unbatch().flat_map(
    lambda x, y: tf.data.Dataset.from_tensors((x, y)).repeat(tf.gather(repeats, y))
)
print(oversampled.reduce(np.int64(0), lambda n, _: n + 1).numpy())
positives = oversampled.reduce(np.int64(0), lambda n, row: n + row[1]).numpy()
print(positives, oversampled.cardinality().numpy() == tf.data.UNKNOWN_CARDINALITY)

# Initial bias and the mean of each class.
print(np.round(np.log([counts[1] / counts[0]]), 4))
everything = next(iter(creditcard_ds.unbatch().batch(400)))
sums = tf.math.unsorted_segment_mean(everything[0], everything[1], num_segments=2)
print(np.round(sums.numpy()[:, 0], 3))
