"""Records in several files: written in shards, read by interleave, shuffled, compressed."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

NUM_SHARDS = 4
AUTO = tf.data.experimental.AUTOTUNE
output_dir = tempfile.mkdtemp()


def serialize(number, image):
    feature = {
        "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.numpy()])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


# One writer for each shard, in turn.
paths = [
    os.path.join(output_dir, f"data-{shard:05d}-of-{NUM_SHARDS:05d}.tfrec")
    for shard in range(NUM_SHARDS)
]
writers = [tf.io.TFRecordWriter(path) for path in paths]
for number in range(14):
    image = tf.io.serialize_tensor(tf.fill([2, 2], tf.constant(number, tf.uint8)))
    writers[number % NUM_SHARDS].write(serialize(number, image))
for writer in writers:
    writer.close()
print(sorted(os.listdir(output_dir)))
print([os.path.getsize(path) for path in paths])


def parse(record):
    features = {
        "number": tf.io.FixedLenFeature([], tf.int64),
        "image": tf.io.FixedLenFeature([], tf.string),
    }
    row = tf.io.parse_single_example(record, features)
    image = tf.io.parse_tensor(row["image"], out_type=tf.uint8)
    return tf.reshape(image, [2, 2]), row["number"]


# File after file, and several at once.
filenames = tf.io.gfile.glob(os.path.join(output_dir, "*.tfrec"))
one_by_one = tf.data.TFRecordDataset(sorted(filenames)).map(parse)
print([int(number) for _, number in one_by_one])
files = tf.data.Dataset.list_files(os.path.join(output_dir, "*.tfrec"), shuffle=False)
interleaved = files.interleave(
    tf.data.TFRecordDataset, cycle_length=2, block_length=2, num_parallel_calls=AUTO
)
print([int(number) for _, number in interleaved.map(parse)])
parallel = tf.data.TFRecordDataset(sorted(filenames), num_parallel_reads=NUM_SHARDS).map(parse)
print([int(number) for _, number in parallel])
print(next(iter(parallel))[0].numpy().tolist(), parallel.element_spec[1].dtype.name)


def input_fn(pattern, is_training, batch_size):
    dataset = tf.data.Dataset.list_files(pattern, shuffle=is_training, seed=3)
    dataset = dataset.interleave(
        lambda name: tf.data.TFRecordDataset(name, buffer_size=1 << 20),
        cycle_length=NUM_SHARDS,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=not is_training,
    )
    if is_training:
        dataset = dataset.shuffle(8).repeat()
    dataset = dataset.map(parse, num_parallel_calls=AUTO)
    dataset = dataset.batch(batch_size, drop_remainder=is_training)
    return dataset.prefetch(AUTO)


for images, numbers in input_fn(os.path.join(output_dir, "*"), False, 5):
    print(images.shape, numbers.numpy())
epoch = [numbers.numpy() for _, numbers in input_fn(os.path.join(output_dir, "*"), True, 7).take(2)]
print(sorted(np.concatenate(epoch).tolist()))

# From a pipeline into files, one for each window.
squares = tf.data.Dataset.range(10).map(lambda x: x * x).map(tf.io.serialize_tensor)
for index, shard in squares.window(4).enumerate():
    path = os.path.join(output_dir, f"squares-{int(index)}.gz")
    with tf.io.TFRecordWriter(path, options="GZIP") as writer:
        for record in shard:
            writer.write(record.numpy())
again = tf.data.TFRecordDataset(
    sorted(tf.io.gfile.glob(os.path.join(output_dir, "squares-*"))), compression_type="GZIP"
)
print([int(tf.io.parse_tensor(record, tf.int64)) for record in again])
print(len(list(again.batch(4))), again.element_spec)

# A damaged file ends with an error, and a missing one too.
with open(paths[0], "r+b") as file:
    file.seek(20)
    file.write(b"xxxx")
for path, error in ((paths[0], tf.errors.DataLossError), ("missing", tf.errors.NotFoundError)):
    try:
        list(tf.data.TFRecordDataset(path))
    except error as e:
        print("caught", isinstance(e, tf.errors.OpError), "missing" in str(e))
