"""Data frames of pandas, as arrays, as dictionaries of columns, and by a generator of rows."""

import numpy as np
import pandas as pd

import keepset.tf as tf

df = pd.DataFrame(
    {
        "age": [63, 67, 67, 37, 41],
        "sex": [1, 1, 1, 1, 0],
        "chol": [233.0, 286.0, 229.0, 250.0, 204.0],
        "thal": ["fixed", "normal", "reversible", "normal", "normal"],
        "target": [0, 1, 0, 0, 0],
    }
)
df["thal_code"] = pd.Categorical(df["thal"]).codes
target = df.pop("target")

numeric_feature_names = ["age", "sex", "chol"]
numeric_features = df[numeric_feature_names]
tensor = tf.convert_to_tensor(numeric_features)
print(tensor.shape, tensor.dtype, tensor.numpy()[0])

numeric_dataset = tf.data.Dataset.from_tensor_slices((numeric_features, target))
for row in numeric_dataset.take(2):
    print(row)
for features, label in numeric_dataset.shuffle(1000).batch(2):
    print(features.shape, features.dtype, label.shape, label.dtype)

numeric_dict_ds = tf.data.Dataset.from_tensor_slices((dict(numeric_features), target))
for features, label in numeric_dict_ds.take(2):
    print({name: value.numpy() for name, value in features.items()}, label.numpy())
print(numeric_dict_ds.element_spec[0]["chol"].dtype.name)


# A utility method to create a tf.data dataset from a pandas dataframe.
def df_to_dataset(dataframe, labels, shuffle=True, batch_size=2):
    data = {key: value.to_numpy()[:, tf.newaxis] for key, value in dataframe.items()}
    ds = tf.data.Dataset.from_tensor_slices((dict(data), labels))
    if shuffle:
        ds = ds.shuffle(buffer_size=len(dataframe))
    return ds.batch(batch_size).prefetch(batch_size)


frame = df.drop(columns="thal")
train_ds = df_to_dataset(frame, target, shuffle=False)
[(train_features, label_batch)] = train_ds.take(1)
print("Every feature:", list(train_features.keys()))
print("A batch of ages:", train_features["age"].numpy().tolist())
print("A batch of targets:", label_batch.numpy())


# Stacked into one tensor, cast to float32.
def stack_dict(inputs, fun=tf.stack):
    values = [tf.cast(inputs[key], tf.float32) for key in sorted(inputs.keys())]
    return fun(values, axis=-1)


for features, label in numeric_dict_ds.map(lambda x, y: (stack_dict(x), y)).batch(5):
    print(features.numpy()[1], features.dtype, label.numpy())

# Strings, booleans and categories by columns.
mixed = tf.data.Dataset.from_tensor_slices(
    {"thal": df["thal"].to_numpy().astype(str), "old": (df["age"] > 60).to_numpy()}
)
for element in mixed.take(2):
    print(element["thal"].numpy(), element["old"].numpy(), element["old"].dtype.name)


def rows():
    for row in df.itertuples(index=False):
        yield row.thal, np.float32(row.chol), row.age


from_rows = tf.data.Dataset.from_generator(
    rows,
    output_signature=(
        tf.TensorSpec(shape=(), dtype=tf.string),
        tf.TensorSpec(shape=(), dtype=tf.float32),
        tf.TensorSpec(shape=(), dtype=tf.int32),
    ),
)
for thal, chol, age in from_rows.batch(3):
    print(thal.numpy(), chol.numpy(), age.dtype.name)

# The mean for each category, in pandas and in the pipeline.
print(df.groupby("thal")["chol"].mean().round(2).to_dict())
normal = from_rows.filter(lambda thal, chol, age: tf.equal(thal, "normal"))
total, count = normal.reduce((0.0, 0), lambda state, row: (state[0] + row[1], state[1] + 1))
print(round(float(total) / int(count), 2))
print(pd.DataFrame(list(numeric_dict_ds.map(lambda x, y: x).as_numpy_iterator())).shape)
