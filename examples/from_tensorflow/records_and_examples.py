"""tf.train.Example messages in TFRecord files: made, written, read and parsed."""

import os
import tempfile

import numpy as np

import keepset.tf as tf


def _bytes_feature(value):
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def serialize_example(feature0, feature1, feature2, feature3):
    feature = {
        "feature0": _int64_feature(feature0),
        "feature1": _int64_feature(feature1),
        "feature2": _bytes_feature(feature2),
        "feature3": _float_feature(feature3),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    return example.SerializeToString()


one = tf.train.Example.FromString(serialize_example(0, 4, b"goat", 0.9876))
print(one.features.feature["feature2"].bytes_list.value[0])

count = 1000
generator = np.random.default_rng(3)
flags = generator.choice([False, True], count)
choices = generator.integers(0, 5, count)
names = np.array([b"cat", b"dog", b"chicken", b"horse", b"goat"], object)[choices]
values = generator.normal(size=count)

path = os.path.join(tempfile.mkdtemp(), "test.tfrecord")
with tf.io.TFRecordWriter(path) as writer:
    for row in zip(flags, choices, names, values, strict=True):
        writer.write(serialize_example(int(row[0]), int(row[1]), row[2], float(row[3])))
print(os.path.getsize(path), "bytes")

raw_dataset = tf.data.TFRecordDataset([path])
for raw_record in raw_dataset.take(1):
    example = tf.train.Example()
    example.ParseFromString(raw_record.numpy())
    for key, feature in sorted(example.features.feature.items()):
        kind = feature.WhichOneof("kind")
        print(key, kind, np.array(getattr(feature, kind).value))

feature_description = {
    "feature0": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature1": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature2": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "feature3": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
}


def _parse_function(example_proto):
    return tf.io.parse_single_example(example_proto, feature_description)


parsed_dataset = raw_dataset.map(_parse_function)
for parsed_record in parsed_dataset.take(2):
    print({key: parsed_record[key].numpy() for key in sorted(parsed_record)})

for batch in raw_dataset.batch(500):
    parsed = tf.io.parse_example(batch, feature_description)
    print(parsed["feature1"].shape, int(tf.reduce_sum(parsed["feature1"])))

# Tensors of any dtype and shape, as bytes.
tensor = tf.constant([[1, 2], [3, 4]], tf.uint8)
serialized = tf.io.serialize_tensor(tensor)
print(tf.io.parse_tensor(serialized, tf.uint8).numpy().tolist())

# Compressed.
zipped = os.path.join(tempfile.mkdtemp(), "test.tfrecord.gz")
options = tf.io.TFRecordOptions(compression_type="GZIP")
with tf.io.TFRecordWriter(zipped, options) as writer:
    writer.write(b"zipped")
print([record.numpy() for record in tf.data.TFRecordDataset(zipped, compression_type="GZIP")])
