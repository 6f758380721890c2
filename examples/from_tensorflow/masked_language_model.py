"""BERT's masks: which words to hide, replace or leave, drawn from seeds so that they repeat."""

import numpy as np

import keepset.tf as tf

PAD, UNK, MASK, CLS, SEP = range(5)
words = ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]
words += ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "home", "and", "slept"]
MAX_LEN = 10
VOCAB_SIZE = len(words)
IGNORE = -1

sentences = ["the cat sat on a mat", "a dog ran home", "the dog and the cat slept on the mat"]
initializer = tf.lookup.KeyValueTensorInitializer(
    keys=words, values=tf.range(VOCAB_SIZE), key_dtype=tf.string, value_dtype=tf.int32
)
table = tf.lookup.StaticHashTable(initializer, default_value=UNK)


def encode(text):
    ids = table.lookup(tf.strings.split(text))
    ids = tf.concat([[CLS], ids[: MAX_LEN - 2], [SEP]], axis=0)
    ids = tf.pad(ids, [[0, MAX_LEN - tf.shape(ids)[0]]], constant_values=PAD)
    return tf.ensure_shape(ids, [MAX_LEN])


encoded = tf.data.Dataset.from_tensor_slices(sentences).map(encode)
for ids in encoded:
    print(ids.numpy(), ids.shape, ids.dtype.name)


def get_masked_input_and_labels(encoded_texts, seed):
    # 15% BERT masking, never on special tokens
    draw = tf.random.stateless_uniform(tf.shape(encoded_texts), seed=seed)
    inp_mask = tf.logical_and(draw < 0.5, encoded_texts > SEP)
    # Set targets to -1 by default, it means ignore
    labels = tf.where(inp_mask, encoded_texts, IGNORE)

    # Set input to [MASK] for 90% of tokens, this means leaving 10% unchanged
    second = tf.random.stateless_uniform(tf.shape(encoded_texts), seed=seed + 1)
    inp_mask_2mask = inp_mask & (second < 0.90)
    masked = tf.where(inp_mask_2mask, MASK, encoded_texts)

    # Set 10% to a random token
    third = tf.random.stateless_uniform(tf.shape(encoded_texts), seed=seed + 2)
    inp_mask_2random = inp_mask_2mask & (third < 1 / 9)
    random = tf.random.stateless_uniform(
        tf.shape(encoded_texts), seed=seed + 3, minval=SEP + 1, maxval=VOCAB_SIZE, dtype=tf.int32
    )
    masked = tf.where(inp_mask_2random, random, masked)

    # Prepare sample_weights to pass to .fit() method
    sample_weights = tf.cast(tf.not_equal(labels, IGNORE), tf.float32)
    return masked, tf.where(inp_mask, labels, 0), sample_weights


seeds = tf.data.Dataset.range(100).map(lambda i: tf.stack([i, i * 7 + 1]))
mlm_ds = tf.data.Dataset.zip((encoded, seeds)).map(get_masked_input_and_labels)
for masked, labels, weights in mlm_ds:
    print(masked.numpy(), labels.numpy(), weights.numpy().sum())
for masked, _, weights in mlm_ds.batch(3):
    print(masked.shape, weights.dtype, tf.math.count_nonzero(masked == MASK, axis=1).numpy())

# In batches that are masked as a whole, over several epochs, each with other masks.
batched = encoded.batch(3).repeat(4).enumerate()
different = set()
for number, ids in batched:
    masked, _, _ = get_masked_input_and_labels(ids, tf.stack([number, tf.constant(5, tf.int64)]))
    different.add(masked.numpy().tobytes())
print(len(different))


# Whole sentences as a pair, with segments, and whether the second follows.
def pair(a, b, follows):
    first = tf.strings.split(a)
    second = tf.strings.split(b)
    tokens = tf.concat([["[CLS]"], first, ["[SEP]"], second, ["[SEP]"]], 0)
    segments = tf.concat(
        [tf.zeros(tf.size(first) + 2, tf.int32), tf.ones(tf.size(second) + 1, tf.int32)], 0
    )
    return {"ids": table.lookup(tokens), "segments": segments}, follows


pairs = tf.data.Dataset.from_tensor_slices((sentences[:2], sentences[1:], [1, 0])).map(pair)
for inputs, follows in pairs.padded_batch(2, padded_shapes=({"ids": [18], "segments": [18]}, [])):
    print(inputs["ids"].shape, inputs["segments"].numpy()[1], follows.numpy())
decoded = tf.gather(tf.constant(words), next(iter(encoded)))
print(tf.strings.reduce_join(decoded, separator=" ").numpy(), np.array(words)[-1])
