"""Names, letter by letter: windows over text, bytes, and batches of different lengths."""

import keepset.tf as tf

names = tf.data.Dataset.from_tensor_slices(["Ada", "Grace", "Katherine", "Al", "Barbara", "Joan"])
START, END = b"^", b"$"
alphabet = [START, END, *[bytes([c]) for c in range(ord("a"), ord("z") + 1)]]
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant(alphabet), tf.range(1, len(alphabet) + 1)), 0
)


def encode(name):
    letters = tf.strings.bytes_split(tf.strings.lower(name))
    letters = tf.concat([[START], letters, [END]], axis=0)
    return table.lookup(letters)


encoded = names.map(encode)
for ids in encoded.take(2):
    print(ids.numpy(), ids.dtype, ids.shape)


def to_pair(ids):
    return ids[:-1], ids[1:]


pairs = encoded.map(to_pair)
for inputs, targets in pairs.padded_batch(3):
    mask = tf.sequence_mask(tf.math.count_nonzero(inputs, axis=1), maxlen=tf.shape(inputs)[1])
    print(inputs.shape, targets.numpy()[0], int(tf.reduce_sum(tf.cast(mask, tf.int32))))
    print(bool(tf.reduce_all(tf.equal(mask, tf.not_equal(inputs, 0)))))

# Sorted into buckets by length, so that little is padding.
buckets = encoded.bucket_by_sequence_length(
    element_length_func=lambda ids: tf.shape(ids)[0],
    bucket_boundaries=[6, 9],
    bucket_batch_sizes=[2, 2, 2],
)
for batch in buckets:
    print(batch.shape)

# A window that slides over all the letters.
letters = names.flat_map(lambda x: tf.data.Dataset.from_tensor_slices(tf.strings.bytes_split(x)))
print(b"".join(letters.as_numpy_iterator()))
windows = letters.window(4, shift=1, stride=1, drop_remainder=True)
windows = windows.flat_map(lambda window: window.batch(4))
contexts = windows.map(lambda w: (tf.strings.reduce_join(w[:-1]), w[-1]))
for context, letter in contexts.take(4):
    print(context.numpy(), "->", letter.numpy())
print(sum(1 for _ in windows))

# Nested datasets, not flattened.
for window in letters.window(3, shift=3).take(2):
    print(list(window.as_numpy_iterator()), window.element_spec)


# Sampling the next letter from counts, greedily.
def count(state, pair):
    context, letter = pair
    after_a = tf.strings.regex_full_match(context, ".*a")
    one = tf.one_hot(table.lookup(tf.strings.lower(letter)) - 1, len(alphabet), dtype=tf.int64)
    return state + tf.where(after_a, one, tf.zeros_like(one))


counts = contexts.reduce(tf.zeros([len(alphabet)], tf.int64), count)
best = tf.argmax(counts)
print(alphabet[int(best)], int(counts[best]), int(tf.reduce_sum(counts)))
ragged = tf.ragged.stack([tf.strings.bytes_split("ab"), tf.strings.bytes_split("cde")])
print(ragged.to_list(), ragged.to_tensor(default_value="_").numpy().tolist())
for unicode_points in tf.strings.unicode_decode(["ok", "né"], "UTF-8"):
    print(unicode_points.numpy())
