"""The weather tutorial's WindowGenerator: splits, normalisation, and windows cut in two."""

import numpy as np
import pandas as pd

import keepset.tf as tf

hours = np.arange(60)
df = pd.DataFrame(
    {
        "p (mbar)": 990 + np.sin(hours / 5),
        "T (degC)": 10 + 8 * np.cos(hours * 2 * np.pi / 24),
        "wv (m/s)": np.where(hours == 7, -9999.0, hours % 5),
    }
)
df.loc[df["wv (m/s)"] == -9999.0, "wv (m/s)"] = 0.0
column_indices = {name: i for i, name in enumerate(df.columns)}
n = len(df)
train_df, val_df, test_df = df[: int(n * 0.7)], df[int(n * 0.7) : int(n * 0.9)], df[int(n * 0.9) :]
train_mean, train_std = train_df.mean(), train_df.std()
train_df = (train_df - train_mean) / train_std
val_df = (val_df - train_mean) / train_std
test_df = (test_df - train_mean) / train_std


class WindowGenerator:
    def __init__(self, input_width, label_width, shift, label_columns=None):
        self.label_columns = label_columns
        self.label_columns_indices = {name: i for i, name in enumerate(label_columns or [])}
        self.column_indices = {name: i for i, name in enumerate(train_df.columns)}
        self.input_width, self.label_width, self.shift = input_width, label_width, shift
        self.total_window_size = input_width + shift
        self.input_slice = slice(0, input_width)
        self.input_indices = np.arange(self.total_window_size)[self.input_slice]
        self.label_start = self.total_window_size - self.label_width
        self.labels_slice = slice(self.label_start, None)
        self.label_indices = np.arange(self.total_window_size)[self.labels_slice]

    def __repr__(self):
        return "\n".join(
            [
                f"Total window size: {self.total_window_size}",
                f"Input indices: {self.input_indices}",
                f"Label indices: {self.label_indices}",
                f"Label column name(s): {self.label_columns}",
            ]
        )

    def split_window(self, features):
        inputs = features[:, self.input_slice, :]
        labels = features[:, self.labels_slice, :]
        if self.label_columns is not None:
            labels = tf.stack(
                [labels[:, :, self.column_indices[name]] for name in self.label_columns], axis=-1
            )
        # Slicing doesn't preserve static shape information, so set the shapes manually.
        inputs.set_shape([None, self.input_width, None])
        labels.set_shape([None, self.label_width, None])
        return inputs, labels

    def make_dataset(self, data):
        data = np.array(data, dtype=np.float32)
        size = self.total_window_size
        ds = tf.data.Dataset.from_tensor_slices(data)
        ds = ds.window(size, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(size))
        return ds.batch(8).map(self.split_window)

    @property
    def train(self):
        return self.make_dataset(train_df)

    @property
    def val(self):
        return self.make_dataset(val_df)

    @property
    def example(self):
        """Get and cache an example batch of `inputs, labels` for plotting."""
        result = getattr(self, "_example", None)
        if result is None:
            result = next(iter(self.train))
            self._example = result
        return result


w2 = WindowGenerator(input_width=6, label_width=1, shift=1, label_columns=["T (degC)"])
print(w2)
example_window = tf.stack(
    [np.array(train_df[i : i + w2.total_window_size], np.float32) for i in (0, 10, 20)]
)
example_inputs, example_labels = w2.split_window(example_window)
print("All shapes are: (batch, time, features)")
print(f"Window shape: {example_window.shape}")
print(f"Inputs shape: {example_inputs.shape}")
print(f"Labels shape: {example_labels.shape}")
print(w2.train.element_spec)
for inputs, labels in w2.train.take(1):
    print(f"Inputs shape (batch, time, features): {inputs.shape}")
    print(np.round(labels.numpy()[:4, 0, 0], 3))
print(sum(int(x.shape[0]) for x, _ in w2.train), sum(int(x.shape[0]) for x, _ in w2.val))

wide = WindowGenerator(input_width=4, label_width=4, shift=1)
inputs, labels = wide.example
print(np.array_equal(inputs[:, 1:], labels[:, :-1]), wide.example[0] is inputs)
# The baseline that says that nothing changes.
errors = wide.train.map(lambda x, y: tf.reduce_mean(tf.abs(x[:, -1, 1] - y[:, -1, 1])))
print(np.round(np.mean([float(e) for e in errors]), 4))
fft = tf.signal.rfft(df["T (degC)"].to_numpy()[:48].astype(np.float32))
print(int(tf.argmax(tf.abs(fft)[1:])) + 1, "cycles in 48 hours")
