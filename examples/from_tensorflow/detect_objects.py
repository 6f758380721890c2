"""Pictures with boxes in TFRecord files, as the object detection API writes them."""

import io
import os
import tempfile

import numpy as np
from PIL import Image

import keepset.tf as tf

LABEL_MAP = {"cat": 1, "dog": 2, "bird": 3}
folder = tempfile.mkdtemp()


def int64_list_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def bytes_list_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))


def float_list_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def create_tf_example(number, boxes):
    width, height = 40, 30
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (40 * number, 10, 200)).save(buffer, "PNG")
    names = [name for name, _ in boxes]
    corners = np.array([box for _, box in boxes], np.float32).reshape(-1, 4)
    feature = {
        "image/height": int64_list_feature([height]),
        "image/width": int64_list_feature([width]),
        "image/filename": bytes_list_feature([f"{number}.png".encode()]),
        "image/encoded": bytes_list_feature([buffer.getvalue()]),
        "image/format": bytes_list_feature([b"png"]),
        "image/object/bbox/xmin": float_list_feature(corners[:, 0] / width),
        "image/object/bbox/xmax": float_list_feature(corners[:, 2] / width),
        "image/object/bbox/ymin": float_list_feature(corners[:, 1] / height),
        "image/object/bbox/ymax": float_list_feature(corners[:, 3] / height),
        "image/object/class/text": bytes_list_feature([name.encode() for name in names]),
        "image/object/class/label": int64_list_feature([LABEL_MAP[name] for name in names]),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


objects = [
    [("cat", (1, 2, 11, 12))],
    [("dog", (0, 0, 20, 30)), ("bird", (10, 5, 40, 25)), ("cat", (3, 3, 5, 6))],
    [],
    [("bird", (7, 7, 9, 9)), ("bird", (30, 20, 40, 30))],
]
path = os.path.join(folder, "train.record")
with tf.io.TFRecordWriter(path) as writer:
    for number, boxes in enumerate(objects):
        writer.write(create_tf_example(number, boxes).SerializeToString())

image_feature_description = {
    "image/height": tf.io.FixedLenFeature((), tf.int64),
    "image/width": tf.io.FixedLenFeature((), tf.int64),
    "image/encoded": tf.io.FixedLenFeature((), tf.string),
    "image/object/bbox/xmin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/xmax": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymax": tf.io.VarLenFeature(tf.float32),
    "image/object/class/label": tf.io.VarLenFeature(tf.int64),
}
KEYS = ("ymin", "xmin", "ymax", "xmax")


def parse_tfrecord(tfrecord, size=16, max_boxes=None):
    x = tf.io.parse_single_example(tfrecord, image_feature_description)
    image = tf.image.decode_png(x["image/encoded"], channels=3)
    image = tf.image.resize(image, (size, size)) / 255.0
    boxes = tf.stack([tf.sparse.to_dense(x[f"image/object/bbox/{k}"]) for k in KEYS], axis=1)
    labels = tf.sparse.to_dense(x["image/object/class/label"], default_value=-1)
    if max_boxes is not None:
        paddings = [[0, max_boxes - tf.shape(labels)[0]]]
        labels = tf.pad(labels, paddings)
        boxes = tf.pad(boxes, [*paddings, [0, 0]])
    return image, boxes, labels


dataset = tf.data.TFRecordDataset(path)
parsed = dataset.map(parse_tfrecord, num_parallel_calls=tf.data.AUTOTUNE)
for image, boxes, labels in parsed:
    print(image.shape, np.round(image.numpy()[0, 0], 4), boxes.shape, labels.numpy())

shapes = ((16, 16, 3), (None, 4), (None,))
values = (0.0, -1.0, tf.constant(-1, dtype=tf.int64))
for _, boxes, labels in parsed.padded_batch(2, padded_shapes=shapes, padding_values=values):
    print(boxes.shape, labels.numpy().tolist(), np.round(boxes.numpy()[0], 3).tolist())
fixed = dataset.map(lambda record: parse_tfrecord(record, max_boxes=4)).batch(4)
_, boxes, labels = next(iter(fixed))
print(boxes.shape, labels.numpy().tolist(), np.round(boxes.numpy().sum(), 3))

first = next(iter(dataset.map(lambda r: tf.io.parse_single_example(r, image_feature_description))))
sparse = first["image/object/class/label"]
print(sparse.indices.numpy().tolist(), sparse.values.numpy(), sparse.dense_shape.numpy())
