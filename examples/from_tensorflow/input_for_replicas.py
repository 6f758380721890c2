"""Options and input functions that are ready for several workers, run by one."""

import os
import tempfile

import keepset.tf as tf

GLOBAL_BATCH_SIZE = 8
folder = tempfile.mkdtemp()
for number in range(4):
    with tf.io.TFRecordWriter(os.path.join(folder, f"train-{number}.tfrecord")) as writer:
        for row in range(6):
            writer.write(f"{number}:{row}".encode())

options = tf.data.Options()
options.deterministic = False
options.experimental_optimization.map_parallelization = True
options.experimental_optimization.apply_default_optimizations = True
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
options.threading.private_threadpool_size = 1
options.autotune.enabled = False
print(options.deterministic, options.threading.private_threadpool_size)
print(options.experimental_distribute.auto_shard_policy.name)
print(
    options.experimental_distribute.auto_shard_policy == tf.data.experimental.AutoShardPolicy.DATA
)

dataset = tf.data.Dataset.range(6).with_options(options)
print(sorted(int(x) for x in dataset), dataset.options().deterministic)
print(dataset.map(lambda x: x + 1).options().autotune.enabled)
ordered = tf.data.Options()
ordered.deterministic = True
print([int(x) for x in dataset.with_options(ordered).map(lambda x: x * 2, num_parallel_calls=2)])
try:
    options.determinstic = True
except AttributeError:
    print("a misspelled option is refused")


class InputContext:
    """What tf.distribute hands to input functions."""

    def __init__(self, num_input_pipelines, input_pipeline_id, num_replicas_in_sync):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size):
        assert global_batch_size % self.num_replicas_in_sync == 0
        return global_batch_size // self.num_replicas_in_sync


def dataset_fn(context):
    batch_size = context.get_per_replica_batch_size(GLOBAL_BATCH_SIZE)
    files = tf.data.Dataset.list_files(os.path.join(folder, "train-*"), shuffle=False)
    files = files.shard(context.num_input_pipelines, context.input_pipeline_id)
    d = files.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=1)
    d = d.shuffle(64, seed=1).batch(batch_size, drop_remainder=True)
    off = tf.data.Options()
    off.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return d.with_options(off).prefetch(2)


seen = []
for worker in range(2):
    for batch in dataset_fn(InputContext(2, worker, 2)):
        print(worker, batch.shape, sorted({x.decode()[0] for x in batch.numpy()}))
        seen += batch.numpy().tolist()
print(len(seen), len(set(seen)))


# The usual branch for an accelerator, which is not there.
def get_compute():
    if tf.config.list_physical_devices("GPU"):
        return "gpu", 2
    return "cpu", 1


kind, replicas = get_compute()
print(kind, replicas)
with tf.device("/cpu:0"):
    ids = tf.data.Dataset.range(10).batch(GLOBAL_BATCH_SIZE // replicas)
for batch in ids:
    per_replica = tf.split(batch[: len(batch) // 2 * 2], num_or_size_splits=2)
    print(batch.shape, [part.numpy().tolist() for part in per_replica])
rebatched = tf.data.Dataset.range(16).batch(8).rebatch(4)
print([batch.numpy().tolist() for batch in rebatched], rebatched.element_spec)


# Several values for one global step, as a strategy would hand them out.
def value_fn(replica_id):
    return tf.data.Dataset.range(8).shard(2, replica_id).batch(2)


for step, values in enumerate(tf.data.Dataset.zip((value_fn(0), value_fn(1)))):
    print(
        step,
        [v.numpy().tolist() for v in values],
        int(tf.add_n([tf.reduce_sum(v) for v in values])),
    )
