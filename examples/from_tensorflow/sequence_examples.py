"""tf.train.SequenceExample: a context, and lists of steps, as datasets of videos have them."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

path = os.path.join(tempfile.mkdtemp(), "clips.tfrecord")


def _int64_feature(*value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def _bytes_feature(value):
    if isinstance(value, str):
        value = value.encode("utf-8")
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def make_example(video_id, label, rgb, words):
    ex = tf.train.SequenceExample()
    ex.context.feature["id"].bytes_list.value.append(video_id.encode())
    ex.context.feature["labels"].int64_list.value.extend(label)
    ex.context.feature["length"].int64_list.value.append(len(rgb))
    frames = ex.feature_lists.feature_list["rgb"]
    for frame in rgb:
        frames.feature.add().bytes_list.value.append(frame.tobytes())
    tokens = ex.feature_lists.feature_list["words"]
    for word in words:
        tokens.feature.add().int64_list.value.append(word)
    return ex


rng = np.random.default_rng(8)
with tf.io.TFRecordWriter(path) as writer:
    for number, length in enumerate((3, 1, 2)):
        rgb = rng.integers(0, 256, (length, 4), dtype=np.uint8)
        example = make_example(f"v{number}", list(range(number)), rgb, range(10, 10 + length * 2))
        writer.write(example.SerializeToString())

# The same by constructors.
other = tf.train.SequenceExample(
    context=tf.train.Features(feature={"id": _bytes_feature("v3"), "length": _int64_feature(0)}),
    feature_lists=tf.train.FeatureLists(
        feature_list={
            "rgb": tf.train.FeatureList(feature=[]),
            "words": tf.train.FeatureList(feature=[_int64_feature(5), _int64_feature(6)]),
        }
    ),
)
print(len(other.feature_lists.feature_list["words"].feature))

context_features = {
    "id": tf.io.FixedLenFeature([], tf.string),
    "length": tf.io.FixedLenFeature([], tf.int64),
    "labels": tf.io.VarLenFeature(tf.int64),
}
sequence_features = {
    "rgb": tf.io.FixedLenSequenceFeature([], dtype=tf.string),
    "words": tf.io.FixedLenSequenceFeature([], dtype=tf.int64),
}


def parse(serialized):
    contexts, features = tf.io.parse_single_sequence_example(
        serialized, context_features=context_features, sequence_features=sequence_features
    )
    rgb = tf.reshape(tf.io.decode_raw(features["rgb"], tf.uint8), [-1, 4])
    rgb = tf.cast(rgb, tf.float32) / 255.0
    labels = tf.reduce_max(tf.one_hot(tf.sparse.to_dense(contexts["labels"]), 3), axis=0)
    return {"id": contexts["id"], "rgb": rgb, "words": features["words"]}, labels


dataset = tf.data.TFRecordDataset(path).map(parse)
for inputs, labels in dataset.skip(1):
    print(inputs["id"].numpy(), inputs["rgb"].shape, inputs["words"].numpy(), labels.numpy())
    print(np.round(inputs["rgb"].numpy()[0], 3))

padded = dataset.map(lambda inputs, labels: inputs).padded_batch(
    3, padded_shapes={"id": [], "rgb": [4, 4], "words": [None]}
)
for batch in padded:
    print(batch["id"].numpy(), batch["rgb"].shape, batch["words"].numpy().tolist())
    print(tf.sequence_mask([3, 1, 2], 4).numpy().astype(int).tolist())
    mask = tf.cast(tf.sequence_mask([3, 1, 2], 4), tf.float32)[..., tf.newaxis]
    mean = tf.reduce_sum(batch["rgb"] * mask, axis=1) / tf.reduce_sum(mask, axis=1)
    print(np.round(mean.numpy()[:, 0], 3))

# Several at once: lists become dense with padding or ragged.
serialized = [*tf.data.TFRecordDataset(path).as_numpy_iterator(), other.SerializeToString()]
contexts, lists, lengths = tf.io.parse_sequence_example(
    serialized,
    context_features={"id": context_features["id"]},
    sequence_features={
        "words": tf.io.FixedLenSequenceFeature([], dtype=tf.int64),
        "rgb": tf.io.RaggedFeature(tf.string),
    },
)
print(contexts["id"].numpy(), lists["words"].shape, lengths["words"].numpy())
print(lists["words"].numpy()[:, :3].tolist(), lists["rgb"].shape)
