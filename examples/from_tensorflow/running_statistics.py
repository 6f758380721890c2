"""State that goes along: scan for running numbers, reduce for totals, take_while to stop."""

import collections

import numpy as np

import keepset.tf as tf

prices = tf.data.Dataset.from_tensor_slices([10.0, 11.0, 9.0, 12.0, 12.0, 8.0, 7.0, 13.0])

# Cumulative sums and an exponential average.
cumulative = prices.scan(initial_state=0.0, scan_func=lambda state, x: (state + x, state + x))
print(list(cumulative.as_numpy_iterator()))


def ema(state, x):
    smoothed = tf.where(state < 0.0, x, 0.8 * state + 0.2 * x)
    return smoothed, (x, smoothed)


for price, smoothed in prices.scan(tf.constant(-1.0), ema).take(4):
    print(price.numpy(), np.round(smoothed.numpy(), 4))

Stats = collections.namedtuple("Stats", ["count", "mean", "m2"])


def welford(state, x):
    count = state.count + 1
    delta = x - state.mean
    mean = state.mean + delta / tf.cast(count, tf.float32)
    return Stats(count, mean, state.m2 + delta * (x - mean))


start = Stats(tf.constant(0, tf.int64), tf.constant(0.0), tf.constant(0.0))
result = prices.reduce(start, welford)
print(type(result).__name__, result.count.numpy(), result.mean.numpy())
print(np.round(tf.sqrt(result.m2 / tf.cast(result.count, tf.float32)).numpy(), 4))

# The change from the element before, a rolling mean, the running maximum.
changes = prices.scan(np.float32("nan"), lambda previous, x: (x, x - previous)).skip(1)
print(list(changes.as_numpy_iterator()))
rolling = prices.scan(
    tf.zeros([3]), lambda window, x: (tf.concat([window[1:], [x]], 0), tf.reduce_mean(window))
)
print([round(float(x), 3) for x in rolling.skip(3)])
maxima = prices.scan(-np.inf, lambda best, x: (tf.maximum(best, x), tf.maximum(best, x)))
print(list(maxima.as_numpy_iterator()))

# Stop at a limit, or at a sum.
print(list(prices.take_while(lambda x: x < 12.0).as_numpy_iterator()))
numbered = cumulative.enumerate()
within = numbered.take_while(lambda i, total: total <= 40.0)
print([(int(i), float(total)) for i, total in within])

# Unique elements, counts, the first of each.
letters = tf.data.Dataset.from_tensor_slices(list("mississippi"))
print(b"".join(letters.unique().as_numpy_iterator()))
alphabet = tf.constant(list("mips"))
counts = letters.reduce(
    tf.zeros([4], tf.int32), lambda state, x: state + tf.cast(alphabet == x, tf.int32)
)
print(dict(zip(alphabet.numpy().tolist(), counts.numpy().tolist(), strict=True)))


# A state of several parts, by name.
def track(state, x):
    state = {
        "low": tf.minimum(state["low"], x),
        "high": tf.maximum(state["high"], x),
        "above": state["above"] + tf.cast(x > 10.0, tf.int32),
    }
    return state


zero = {"low": np.float32(1e9), "high": np.float32(-1e9), "above": 0}
summary = prices.reduce(zero, track)
print({name: summary[name].numpy() for name in sorted(summary)}, summary["above"].dtype)

# Random numbers that are part of the pipeline: ten throws of a die.
dice = tf.data.Dataset.random(seed=4).map(lambda x: x % 6 + 1).take(10)
print(dice.element_spec, all(1 <= int(x) <= 6 for x in dice), int(dice.cardinality()))

# A Fibonacci sequence of scan over a counter.
fibonacci = tf.data.Dataset.counter().scan((0, 1), lambda s, _: ((s[1], s[0] + s[1]), s[0]))
print([int(x) for x in fibonacci.take(10)])
older = tf.data.Dataset.range(5).apply(
    tf.data.experimental.scan(np.int64(1), lambda state, x: (state * 2, state + x))
)
print([int(x) for x in older], older.element_spec)
