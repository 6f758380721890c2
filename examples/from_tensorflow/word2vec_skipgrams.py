"""Skip-grams with negative samples: from lines of text to (target, context, label)."""

import os
import re
import string
import tempfile

import numpy as np

import keepset.tf as tf

SEED = 42
AUTOTUNE = tf.data.AUTOTUNE
NUM_NS = 2
WINDOW_SIZE = 2
SEQUENCE_LENGTH = 6
VOCAB_SIZE = 12

path = os.path.join(tempfile.mkdtemp(), "text.txt")
with open(path, "w") as f:
    f.write("The wide road shimmered in the hot sun.\n\nThe sun, the road;\n")
    f.write("In the wide sun the hot road!\nHot\n")

text_ds = tf.data.TextLineDataset(path).filter(lambda x: tf.cast(tf.strings.length(x), bool))
print([line.numpy() for line in text_ds])


# Now, create a custom standardization function to lowercase the text and remove punctuation.
def custom_standardization(input_data):
    lowercase = tf.strings.lower(input_data)
    return tf.strings.regex_replace(lowercase, f"[{re.escape(string.punctuation)}]", "")


words = text_ds.map(custom_standardization).map(tf.strings.split)
counts = {}
for tokens in words.as_numpy_iterator():
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
inverse_vocab = [b"", b"[UNK]", *sorted(counts, key=lambda t: (-counts[t], t))][:VOCAB_SIZE]
print(inverse_vocab[:6])
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(inverse_vocab, list(range(len(inverse_vocab)))),
    default_value=1,
)


def vectorize(tokens):
    ids = table.lookup(tokens)[:SEQUENCE_LENGTH]
    return tf.pad(ids, [[0, SEQUENCE_LENGTH - tf.shape(ids)[0]]])


text_vector_ds = words.map(vectorize).batch(1024).prefetch(AUTOTUNE).unbatch()
sequences = list(text_vector_ds.as_numpy_iterator())
for seq in sequences:
    print(f"{seq} => {[inverse_vocab[i] for i in seq]}")


def skipgrams(sequence, window_size):
    """Pairs of a word and each word near it, as Keras' function without subsampling."""
    for i, target in enumerate(sequence):
        if not target:
            continue
        nearby = range(max(0, i - window_size), min(len(sequence), i + window_size + 1))
        for j in nearby:
            if j != i and sequence[j]:
                yield int(target), int(sequence[j])


def generate_training_data(sequences, window_size, num_ns, vocab_size):
    """For each positive pair, a context of one true and some other words."""
    targets, contexts, labels = [], [], []
    rng = np.random.default_rng(SEED)
    for sequence in sequences:
        for target_word, context_word in sorted(set(skipgrams(sequence, window_size))):
            others = [w for w in range(1, vocab_size) if w != context_word]
            negative = tf.constant(rng.choice(others, num_ns, replace=False), tf.int64)
            context_class = tf.expand_dims(tf.constant([context_word], dtype="int64"), 1)
            negative = tf.expand_dims(negative, 1)
            context = tf.concat([tf.squeeze(context_class, 1), tf.squeeze(negative, 1)], 0)
            label = tf.constant([1] + [0] * num_ns, dtype="int64")
            targets.append(target_word)
            contexts.append(context)
            labels.append(label)
    return targets, contexts, labels


targets, contexts, labels = generate_training_data(
    sequences, WINDOW_SIZE, NUM_NS, len(inverse_vocab)
)
targets, contexts, labels = np.array(targets), np.array(contexts), np.array(labels)
print(f"targets.shape: {targets.shape}, contexts.shape: {contexts.shape}, {labels.dtype}")

BATCH_SIZE, BUFFER_SIZE = 8, 100
dataset = tf.data.Dataset.from_tensor_slices(((targets, contexts), labels))
dataset = dataset.shuffle(BUFFER_SIZE).batch(BATCH_SIZE, drop_remainder=True)
dataset = dataset.cache().prefetch(buffer_size=AUTOTUNE)
for (target, context), label in dataset.take(2):
    print(target.shape, context.shape, label.numpy().sum(axis=1), target.dtype)

# How likely each word is to be left out.
frequency = np.array(sorted(counts.values(), reverse=True)) / sum(counts.values())
sampling = tf.minimum(1.0, tf.sqrt(tf.constant(1e-1 / frequency, tf.float32)))
print(np.round(sampling.numpy(), 3))
