"""Text generation: characters, their ids, sequences, and each as input and target."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

path_to_file = os.path.join(tempfile.mkdtemp(), "shakespeare.txt")
with open(path_to_file, "wb") as f:
    f.write(
        "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak. "
        "Café ümlaut!\n\nFirst Citizen:\nYou are all resolved rather to die than to famish?\n"
        "\nAll:\nResolved. resolved.\n".encode()
    )

# Read, then decode for py2 compat.
text = open(path_to_file, "rb").read().decode(encoding="utf-8")  # noqa: SIM115
print(f"Length of text: {len(text)} characters")
vocab = sorted(set(text))
print(f"{len(vocab)} unique characters")

example_texts = ["abcdefg", "xyzé"]
chars = tf.strings.unicode_split(example_texts, input_encoding="UTF-8")
print(chars)


class StringLookup:
    """Keras' StringLookup, of which only the table is needed."""

    def __init__(self, vocabulary, invert=False):
        tokens = tf.constant(["[UNK]", *vocabulary])
        ids = tf.range(len(vocabulary) + 1, dtype=tf.int64)
        if invert:
            init = tf.lookup.KeyValueTensorInitializer(ids, tokens)
            self.table = tf.lookup.StaticHashTable(init, default_value="[UNK]")
        else:
            init = tf.lookup.KeyValueTensorInitializer(tokens, ids)
            self.table = tf.lookup.StaticHashTable(init, default_value=0)

    def __call__(self, inputs):
        return self.table.lookup(inputs)


ids_from_chars = StringLookup(vocab)
chars_from_ids = StringLookup(vocab, invert=True)
ids = ids_from_chars(tf.strings.unicode_split("All~", "UTF-8"))
print(ids.numpy(), chars_from_ids(ids).numpy())


def text_from_ids(ids):
    return tf.strings.reduce_join(chars_from_ids(ids), axis=-1)


all_ids = ids_from_chars(tf.strings.unicode_split(text, "UTF-8"))
print(all_ids.shape, all_ids.dtype)
ids_dataset = tf.data.Dataset.from_tensor_slices(all_ids)
for ids in ids_dataset.take(5):
    print(chars_from_ids(ids).numpy().decode("utf-8"), end="")
print()

seq_length = 20
sequences = ids_dataset.batch(seq_length + 1, drop_remainder=True)
for seq in sequences.take(1):
    print(chars_from_ids(seq).numpy()[:4])
for seq in sequences.take(3):
    print(text_from_ids(seq).numpy())


def split_input_target(sequence):
    input_text = sequence[:-1]
    target_text = sequence[1:]
    return input_text, target_text


dataset = sequences.map(split_input_target)
for input_example, target_example in dataset.take(1):
    print("Input :", text_from_ids(input_example).numpy())
    print("Target:", text_from_ids(target_example).numpy())

BATCH_SIZE, BUFFER_SIZE = 4, 100
dataset = (
    dataset.shuffle(BUFFER_SIZE)
    .batch(BATCH_SIZE, drop_remainder=True)
    .prefetch(tf.data.experimental.AUTOTUNE)
)
print(dataset.element_spec)
for inputs, targets in dataset:
    print(inputs.shape, np.array_equal(inputs.numpy()[:, 1:], targets.numpy()[:, :-1]))

# Code points are numbers too.
print(tf.strings.unicode_decode("Café", "UTF-8").numpy())
print(tf.strings.unicode_encode([67, 233], "UTF-8").numpy())
print(tf.strings.length("Café").numpy(), tf.strings.length("Café", unit="UTF8_CHAR").numpy())
print(tf.strings.substr("Café!", 3, 1, unit="UTF8_CHAR").numpy().decode())
