"""Bags of words without a vocabulary: hashed tokens, n-grams, counts, in TF-IDF's manner."""

import numpy as np

import keepset.tf as tf

NUM_BUCKETS = 32

reviews = tf.constant(
    [
        "The movie was great, the music was great!",
        "Not good. Not good at all...",
        "I   liked it",
        "",
        "the THE the",
    ]
)
labels = [1, 0, 1, 0, 1]
raw = tf.data.Dataset.from_tensor_slices((reviews, labels))


def clean(text):
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, r"[^a-z ]", "")
    text = tf.strings.regex_replace(text, r"\s+", " ")
    return tf.strings.strip(text)


for text, label in raw.map(lambda text, label: (clean(text), label)):
    print(text.numpy(), tf.strings.length(text).numpy(), int(label))

tokens = tf.strings.split(clean(reviews))
print(tokens.to_list())
print(tokens.row_lengths().numpy(), tokens.flat_values.shape, tokens.bounding_shape().numpy())

# Numbers of buckets, which are the same on every machine.
hashed = tf.strings.to_hash_bucket_fast(["the", "movie", "great", ""], NUM_BUCKETS)
print(hashed.numpy(), hashed.dtype)
print(tf.strings.to_hash_bucket_strong(["the", "movie"], NUM_BUCKETS, key=[1, 2]).numpy())


def bag_of_words(text, label):
    words = tf.strings.split(clean(text))
    buckets = tf.strings.to_hash_bucket_fast(words, NUM_BUCKETS)
    counts = tf.math.bincount(
        tf.cast(buckets, tf.int32), minlength=NUM_BUCKETS, maxlength=NUM_BUCKETS, dtype=tf.float32
    )
    return counts, label


for counts, label in raw.map(bag_of_words).batch(2):
    print(counts.shape, counts.dtype, tf.reduce_sum(counts, axis=1).numpy(), label.numpy())

multi_hot = raw.map(bag_of_words).map(lambda counts, label: tf.cast(counts > 0, tf.float32))
document_frequency = multi_hot.reduce(tf.zeros([NUM_BUCKETS]), lambda total, x: total + x)
idf = tf.math.log(1.0 + 5 / (1.0 + document_frequency))
print(np.round(tf.sort(idf).numpy()[:4], 4), tf.reduce_sum(document_frequency).numpy())


# Pairs of words.
def bigrams(text):
    words = tf.strings.split(clean(text))
    return tf.strings.ngrams(words, 2, separator=" ")


for text, _ in raw.take(3):
    print(bigrams(text).numpy().tolist())
print(tf.strings.ngrams(tokens, ngram_width=(1, 2))[2].numpy().tolist())
joined = tf.strings.reduce_join(tokens, axis=-1, separator="_")
print(joined.numpy().tolist())

# What a text is like.
print(tf.strings.regex_full_match(reviews, ".*great.*").numpy())
print(tf.strings.substr(reviews, 0, 3).numpy().tolist())
words, index, counts = tf.unique_with_counts(tokens.flat_values)
print(words.shape, counts.numpy(), index.numpy()[:6])
print(tf.strings.upper("ok").numpy(), tf.strings.as_string([1.5, 2.25], precision=2).numpy())
print(tf.strings.to_number(["3", "4.5"], tf.float32).numpy())
