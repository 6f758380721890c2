"""CSV files: line by line, decoded by hand, and in named columns."""

import os
import tempfile

import keepset.tf as tf

folder = tempfile.mkdtemp()
path = os.path.join(folder, "passengers.csv")
rows = [
    "survived,sex,age,fare,class",
    "0,male,22.0,7.25,Third",
    "1,female,38.0,71.2833,First",
    "1,female,26.0,7.925,Third",
    '0,male,,8.05,"Third, lower deck"',
]
with open(path, "w") as file:
    file.write("\n".join(rows) + "\n")

lines = tf.data.TextLineDataset(path)
for line in lines.take(2):
    print(line.numpy())

# Only those who survived.
survived = lines.skip(1).filter(lambda line: tf.not_equal(tf.strings.substr(line, 0, 1), "0"))
print(len(list(survived)))

# Fields with types and defaults.
defaults = [0, "", -1.0, 0.0, ""]
for line in lines.skip(1):
    fields = tf.io.decode_csv(line, defaults)
    print([field.numpy() for field in fields])

types = [tf.int32, tf.string, tf.float32, tf.float32, tf.string]
simple = tf.data.experimental.CsvDataset(path, record_defaults=types, header=True)
for fields in simple.take(2):
    print([field.numpy() for field in fields])

# Named columns, the label apart.
titanic = tf.data.experimental.make_csv_dataset(
    path, batch_size=2, label_name="survived", num_epochs=1, shuffle=False
)
for features, labels in titanic:
    print(labels.numpy())
    for key in sorted(features):
        print(f"  {key}: {features[key].numpy()}")
