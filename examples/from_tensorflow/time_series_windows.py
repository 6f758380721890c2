"""A series cut into windows, with features and labels in each: by window(), and by slices."""

import numpy as np

import keepset.tf as tf

series = np.arange(20, dtype=np.float32) + np.sin(np.arange(20)).astype(np.float32)
range_ds = tf.data.Dataset.range(20)

# Simple batches.
batches = range_ds.batch(7, drop_remainder=True)


def dense_1_step(batch):
    # Shift features and labels one step relative to each other.
    return batch[:-1], batch[1:]


for features, label in batches.map(dense_1_step).take(2):
    print(features.numpy(), " => ", label.numpy())


def label_next_5_steps(batch):
    return (batch[:-5], batch[-5:])  # Inputs: All except the last 5 steps. Labels: The last 5.


for features, label in range_ds.batch(10, drop_remainder=True).map(label_next_5_steps):
    print(features.numpy(), " => ", label.numpy())

# Overlap between the features of one batch and the labels of another.
feature_length, label_length = 4, 2
features = range_ds.batch(feature_length, drop_remainder=True)
labels = range_ds.batch(feature_length).skip(1).map(lambda labels: labels[:label_length])
predict_5_steps = tf.data.Dataset.zip((features, labels))
for features, label in predict_5_steps.take(3):
    print(features.numpy(), " => ", label.numpy())


# Windows.
def make_window_dataset(ds, window_size=5, shift=1, stride=1):
    windows = ds.window(window_size, shift=shift, stride=stride)

    def sub_to_batch(sub):
        return sub.batch(window_size, drop_remainder=True)

    return windows.flat_map(sub_to_batch)


for example in make_window_dataset(range_ds, window_size=4, shift=6, stride=3):
    print(example.numpy())
dense_labels_ds = make_window_dataset(range_ds, window_size=5, shift=3, stride=1).map(dense_1_step)
for inputs, labels in dense_labels_ds.take(2):
    print(inputs.numpy(), "=>", labels.numpy())


def windowed_dataset(series, window_size, batch_size, shuffle_buffer):
    dataset = tf.data.Dataset.from_tensor_slices(tf.expand_dims(series, axis=-1))
    dataset = dataset.window(window_size + 1, shift=1, drop_remainder=True)
    dataset = dataset.flat_map(lambda window: window.batch(window_size + 1))
    dataset = dataset.shuffle(shuffle_buffer, seed=3)
    dataset = dataset.map(lambda window: (window[:-1], window[-1]))
    return dataset.batch(batch_size).prefetch(1)


count = 0
for x, y in windowed_dataset(series, 6, 4, 100):
    print(x.shape, y.shape, x.dtype.name)
    assert np.allclose(
        y.numpy()[:, 0], series[np.round(x.numpy()[:, -1, 0] + 1.5).astype(int)], atol=2
    )
    count += x.shape[0]
print(count)


# Several columns at once: windows of structures are structures of datasets.
table = {"value": series, "hour": np.arange(20) % 24}
structured = tf.data.Dataset.from_tensor_slices(table).window(3, shift=8, drop_remainder=True)
for window in structured:
    print(sorted(window), [int(x) for x in window["hour"]])
zipped = structured.flat_map(
    lambda w: tf.data.Dataset.zip((w["value"].batch(3), w["hour"].batch(3)))
)
for values, hours in zipped:
    print(np.round(values.numpy(), 3), hours.numpy())


# timeseries_dataset_from_array, with tf.data alone.
def timeseries_dataset(data, targets, sequence_length, sampling_rate=1, batch_size=4):
    starts = np.arange(0, len(data) - (sequence_length - 1) * sampling_rate)
    positions = tf.data.Dataset.from_tensor_slices(starts)

    def slices(i):
        indices = tf.range(i, i + sequence_length * sampling_rate, sampling_rate)
        return tf.gather(data, indices), tf.gather(targets, i)

    return positions.map(slices).batch(batch_size)


for x, y in timeseries_dataset(series[:10], series[5:], 3, sampling_rate=2):
    print(x.shape, np.round(x.numpy()[0], 3), np.round(y.numpy(), 3))
