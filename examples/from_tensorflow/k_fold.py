"""Folds for cross-validation and splits by position, hash or shard."""

import numpy as np

import keepset.tf as tf

K = 4
x = np.arange(22, dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((x, x**2))


def k_fold(ds, k):
    for fold in range(k):
        val = ds.shard(num_shards=k, index=fold)
        train = ds.enumerate().filter(lambda i, _, fold=fold: i % k != fold)
        yield train.map(lambda i, xy: xy), val


for fold, (train, val) in enumerate(k_fold(dataset, K)):
    print(fold, len(list(train)), len(val), [int(a) for a, _ in val])
    mean = train.reduce(0.0, lambda total, xy: total + xy[0]) / len(list(train))
    print("  mean:", np.round(mean.numpy(), 3), val.element_spec[0])

# Every tenth row, as people write it with skip, window and flat_map.
numbers = tf.data.Dataset.range(22)
split = 3
train = numbers.window(split, split + 1).flat_map(lambda w: w)
val = numbers.skip(split).window(1, split + 1).flat_map(lambda w: w)
print([int(n) for n in val], int(train.reduce(np.int64(0), lambda s, _: s + 1)))


def is_test(i, _):
    return i % 4 == 0


def is_train(i, row):
    return not is_test(i, row)


recover = lambda i, row: row  # noqa: E731
test_ds = numbers.enumerate().filter(is_test).map(recover)
train_ds = numbers.enumerate().filter(lambda i, row: tf.logical_not(is_test(i, row))).map(recover)
print([int(n) for n in test_ds], len(list(train_ds)))


# 80, 10, 10 of what is shuffled once.
def get_dataset_partitions(ds, ds_size, train_split=0.8, val_split=0.1, test_split=0.1):
    assert round(train_split + test_split + val_split, 6) == 1
    ds = ds.shuffle(100, seed=12, reshuffle_each_iteration=False)
    train_size, val_size = int(train_split * ds_size), int(val_split * ds_size)
    return ds.take(train_size), ds.skip(train_size).take(val_size), ds.skip(train_size + val_size)


parts = get_dataset_partitions(numbers, len(numbers))
print([len(part) for part in parts])
print(sorted(int(n) for part in parts for n in part) == list(range(22)))

# By a hash of the id, so that an element stays on its side when others come.
ids = tf.data.Dataset.from_tensor_slices([f"patient-{i:03d}" for i in range(12)])
buckets = ids.map(lambda s: (s, tf.strings.to_hash_bucket_fast(s, 4)))
print([int(b) for _, b in buckets])
held_out = buckets.filter(lambda _, b: b == 0).map(lambda s, _: s)
print([s.decode()[-3:] for s in held_out.as_numpy_iterator()])

# Groups that must not be torn apart: windows by group, then folds of groups.
groups = np.repeat([3, 1, 2], [4, 2, 3]).astype(np.int64)
grouped = tf.data.Dataset.from_tensor_slices((groups, np.arange(9)))
windows = grouped.group_by_window(lambda g, _: g, lambda _, w: w.batch(9), window_size=9)
for held in range(3):
    train = windows.enumerate().filter(lambda i, _, held=held: i != held)
    train = train.map(lambda i, gx: gx).unbatch()
    print(held, [int(value) for _, value in train])

# Shards of shards: workers, then folds, disjoint and complete.
seen = [int(n) for w in range(2) for f in range(3) for n in numbers.shard(2, w).shard(3, f)]
print(len(seen) == len(set(seen)) == 22)
try:
    numbers.shard(num_shards=3, index=3)
except tf.errors.InvalidArgumentError:
    print("index 3 of 3 is one too many")
left, right = numbers.take(5), numbers.skip(20)
print([int(n) for n in left.concatenate(right)], int(right.cardinality()), len(numbers.batch(4)))
