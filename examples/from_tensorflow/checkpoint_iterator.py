"""Where a pass stands, saved and restored: tf.train.Checkpoint of an iterator."""

import os
import tempfile

import keepset.tf as tf

folder = tempfile.mkdtemp()

range_ds = tf.data.Dataset.range(20)
iterator = iter(range_ds)
ckpt = tf.train.Checkpoint(step=tf.Variable(0), iterator=iterator)
manager = tf.train.CheckpointManager(ckpt, os.path.join(folder, "my_ckpt"), max_to_keep=3)

print([next(iterator).numpy() for _ in range(5)])
save_path = manager.save()
print(os.path.basename(save_path))
print([next(iterator).numpy() for _ in range(5)])
ckpt.restore(manager.latest_checkpoint)
print([next(iterator).numpy() for _ in range(5)])

# In a loop of training, with a counter of steps.
dataset = (
    tf.data.Dataset.range(12)
    .shuffle(12, seed=7, reshuffle_each_iteration=True)
    .map(lambda x: x * 10)
    .batch(2)
    .repeat(2)
    .prefetch(tf.data.AUTOTUNE)
)
step = tf.Variable(0, dtype=tf.int64)
iterator = iter(dataset)
checkpoint = tf.train.Checkpoint(step=step, iterator=iterator)
manager = tf.train.CheckpointManager(checkpoint, os.path.join(folder, "loop"), max_to_keep=2)
seen = []
for batch in iterator:
    step.assign_add(1)
    seen.append(batch.numpy().tolist())
    if int(step) % 4 == 0:
        manager.save()
print(int(step), len(manager.checkpoints), len(seen))

# Interrupted, and started again from the last checkpoint: the rest is the same.
step2 = tf.Variable(0, dtype=tf.int64)
iterator2 = iter(dataset)
checkpoint2 = tf.train.Checkpoint(step=step2, iterator=iterator2)
checkpoint2.restore(manager.checkpoints[0])
print(int(step2))
rest = [batch.numpy().tolist() for batch in iterator2]
print(len(rest), rest == seen[int(step2) :])

# The oldest are gone, and latest_checkpoint knows the last.
print([os.path.basename(path) for path in manager.checkpoints])
print(os.path.basename(tf.train.latest_checkpoint(os.path.join(folder, "loop"))))
print(tf.train.latest_checkpoint(os.path.join(folder, "nothing")))
fresh = tf.train.Checkpoint(step=tf.Variable(0), iterator=iter(range_ds))
status = fresh.restore(tf.train.latest_checkpoint(os.path.join(folder, "my_ckpt")))
print(next(fresh.iterator).numpy(), status is not None)

# write and read, without a number.
plain = tf.train.Checkpoint(iterator=iter(range_ds))
next(plain.iterator)
path = plain.write(os.path.join(folder, "plain"))
next(plain.iterator)
plain.read(path)
print(next(plain.iterator).numpy(), os.path.basename(path))
