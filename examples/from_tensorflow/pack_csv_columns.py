"""A table from CSV: named columns, the numeric ones packed and normalised, others one-hot."""

import functools
import os
import tempfile

import numpy as np

import keepset.tf as tf

train_file_path = os.path.join(tempfile.mkdtemp(), "train.csv")
with open(train_file_path, "w") as f:
    f.write("survived,sex,age,n_siblings_spouses,parch,fare,class,deck,alone\n")
    f.write("0,male,22.0,1,0,7.25,Third,unknown,n\n1,female,38.0,1,0,71.2833,First,C,n\n")
    f.write("1,female,26.0,0,0,7.925,Third,unknown,y\n1,female,35.0,1,0,53.1,First,C,n\n")
    f.write("0,male,28.0,0,0,8.4583,Third,unknown,y\n0,male,2.0,3,1,21.075,Third,unknown,n\n")

LABEL_COLUMN = "survived"
np.set_printoptions(precision=3, suppress=True)


def get_dataset(file_path, **kwargs):
    return tf.data.experimental.make_csv_dataset(
        file_path,
        batch_size=3,
        label_name=LABEL_COLUMN,
        na_value="?",
        num_epochs=1,
        shuffle=False,
        ignore_errors=True,
        **kwargs,
    )


def show_batch(dataset):
    for batch, label in dataset.take(1):
        print(f"{'label':20s}: {label.numpy()} {label.dtype}")
        for key, value in batch.items():
            print(f"{key:20s}: {value.numpy()} {value.dtype}")


raw_train_data = get_dataset(train_file_path)
show_batch(raw_train_data)

# Only some columns, with defaults that give their types.
SELECT_COLUMNS = ["survived", "age", "n_siblings_spouses", "parch", "fare"]
DEFAULTS = [0, 0.0, 0.0, 0.0, 0.0]
temp_dataset = get_dataset(train_file_path, select_columns=SELECT_COLUMNS, column_defaults=DEFAULTS)
show_batch(temp_dataset)


def pack(features, label):
    return tf.stack(list(features.values()), axis=-1), label


packed_dataset = temp_dataset.map(pack)
for features, labels in packed_dataset.take(1):
    print(features.numpy(), features.dtype)
    print(labels.numpy())


class PackNumericFeatures:
    def __init__(self, names):
        self.names = names

    def __call__(self, features, labels):
        numeric_features = [features.pop(name) for name in self.names]
        numeric_features = [tf.cast(feat, tf.float32) for feat in numeric_features]
        numeric_features = tf.stack(numeric_features, axis=-1)
        features["numeric"] = numeric_features
        return features, labels


NUMERIC_FEATURES = ["age", "n_siblings_spouses", "parch", "fare"]
packed_train_data = raw_train_data.map(PackNumericFeatures(NUMERIC_FEATURES))
example_batch, labels_batch = next(iter(packed_train_data))
print(list(example_batch), example_batch["numeric"].shape)


def normalize_numeric_data(data, mean, std):
    # Center the data
    return (data - mean) / std


numeric = np.concatenate([x["numeric"].numpy() for x, _ in packed_train_data])
mean, std = numeric.mean(axis=0), numeric.std(axis=0)
normalizer = functools.partial(normalize_numeric_data, mean=mean, std=std)
print(normalizer(example_batch["numeric"]).numpy())

CATEGORIES = {
    "sex": ["male", "female"],
    "class": ["First", "Second", "Third"],
    "deck": ["A", "B", "C", "unknown"],
    "alone": ["y", "n"],
}


def preprocess(features, label):
    parts = [normalizer(features["numeric"])]
    for name, vocabulary in CATEGORIES.items():
        is_one = tf.expand_dims(features[name], -1) == tf.constant(vocabulary)
        parts.append(tf.cast(is_one, tf.float32))
    return tf.concat(parts, axis=-1), label


for inputs, label in packed_train_data.map(preprocess).unbatch().batch(6):
    print(inputs.shape, inputs.dtype, label.numpy())
    print(inputs.numpy()[:, 4:].astype(int).tolist())
