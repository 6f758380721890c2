"""The performance guide's datasets, without the sleeping: prefetch, interleave, map, cache."""

import itertools
from collections import defaultdict

import numpy as np

import keepset.tf as tf


class ArtificialDataset(tf.data.Dataset):
    def _generator(num_samples):  # noqa: N805
        # Opening the file
        for sample_idx in range(num_samples):
            # Reading data (line, record) from the file
            yield (sample_idx,)

    def __new__(cls, num_samples=3):
        return tf.data.Dataset.from_generator(
            cls._generator,
            output_signature=tf.TensorSpec(shape=(1,), dtype=tf.int64),
            args=(num_samples,),
        )


def benchmark(dataset, num_epochs=2):
    samples = []
    for _ in range(num_epochs):
        for sample in dataset:
            # Performing a training step
            samples.append(sample.numpy().ravel().tolist())  # noqa: PERF401
    return list(itertools.chain(*samples))


print(benchmark(ArtificialDataset()))
print(benchmark(ArtificialDataset().prefetch(tf.data.AUTOTUNE)))
print(benchmark(tf.data.Dataset.range(2).interleave(lambda _: ArtificialDataset(), cycle_length=2)))
print(
    benchmark(
        tf.data.Dataset.range(2).interleave(
            lambda _: ArtificialDataset(), cycle_length=2, num_parallel_calls=tf.data.AUTOTUNE
        )
    )
)


def mapped_function(s):
    # Do some hard pre-processing
    tf.py_function(lambda: None, [], ())
    return s


print(benchmark(ArtificialDataset().map(mapped_function)))
print(benchmark(ArtificialDataset().map(mapped_function, num_parallel_calls=tf.data.AUTOTUNE)))

calls = defaultdict(int)


def expensive(s):
    def count():
        calls["expensive"] += 1

    tf.py_function(count, [], ())
    return s + 1


cached = ArtificialDataset().map(expensive).cache()
print(benchmark(cached, 5), dict(calls))

# Vectorized: first batch, then map, gives the same.
fast_dataset = tf.data.Dataset.range(1000)


def increment(x):
    return x + 1


one = fast_dataset.map(increment).batch(256)
other = fast_dataset.batch(256).map(increment)
print(all(np.array_equal(a, b) for a, b in zip(one, other, strict=True)), len(one), len(other))
print(one.element_spec, other.element_spec)


# A dataset that records the times at which things happen, in numbers of steps.
class TimeMeasuredDataset(tf.data.Dataset):
    # OUTPUT: (steps, timings, counters)
    OUTPUT_TYPES = (tf.dtypes.string, tf.dtypes.float32, tf.dtypes.int32)
    OUTPUT_SHAPES = ((2, 1), (2, 2), (2, 3))
    _INSTANCES_COUNTER = itertools.count()
    _EPOCHS_COUNTER = defaultdict(itertools.count)  # noqa: RUF012

    def _generator(instance_idx, num_samples):  # noqa: N805
        epoch_idx = next(TimeMeasuredDataset._EPOCHS_COUNTER[instance_idx])
        for sample_idx in range(num_samples):
            yield (
                [("Open",), ("Read",)],
                [(0.0, 0.5), (0.5, float(sample_idx))],
                [(instance_idx, epoch_idx, -1), (instance_idx, epoch_idx, sample_idx)],
            )

    def __new__(cls, num_samples=3):
        return tf.data.Dataset.from_generator(
            cls._generator,
            output_types=cls.OUTPUT_TYPES,
            output_shapes=cls.OUTPUT_SHAPES,
            args=(next(cls._INSTANCES_COUNTER), num_samples),
        )


def dataset_generator_fun(*args):
    return TimeMeasuredDataset(num_samples=2)


measured = tf.data.Dataset.range(1).flat_map(dataset_generator_fun).repeat(2)
for steps, times, counters in measured:
    print(steps.numpy().ravel(), times.numpy().tolist(), counters.numpy()[1, 2])


@tf.function
def read_twice(steps, times, values):
    return tf.concat([steps, [["Map"]]], axis=0), tf.concat([times, [[1.0, 2.0]]], axis=0), values


batched = measured.map(read_twice).batch(4, drop_remainder=True)
for steps, times, counters in batched:
    print(steps.shape, steps.numpy()[0, -1], times.numpy()[0, -1], counters.shape)
    positions = tf.boolean_mask(counters[:, 1, 2], counters[:, 1, 2] >= 0)
    print(positions.numpy(), tf.reduce_max(times).numpy())
