"""Lines of text with labels: standardised, split, looked up in a vocabulary, padded."""

import collections
import os
import re
import string
import tempfile

import keepset.tf as tf

BUFFER_SIZE = 100
BATCH_SIZE = 3
VOCAB_SIZE = 16

parent_dir = tempfile.mkdtemp()
texts = {
    "cowper.txt": ["Achilles sing, O Goddess! Peleus' son;", "His wrath pernicious,", "who ten"],
    "derby.txt": ["Of Peleus' son, Achilles, sing, O Muse,", "The vengeance, deep & deadly"],
    "butler.txt": ["Sing, O goddess,<br />the anger of Achilles", "  Many a brave soul, did it"],
}
for file_name, lines in texts.items():
    with open(os.path.join(parent_dir, file_name), "w") as f:
        f.write("\n".join(lines))


def labeler(example, index):
    return example, tf.cast(index, tf.int64)


labeled_data_sets = []
for i, file_name in enumerate(sorted(texts)):
    lines_dataset = tf.data.TextLineDataset(os.path.join(parent_dir, file_name))
    labeled_dataset = lines_dataset.map(lambda ex, i=i: labeler(ex, i))
    labeled_data_sets.append(labeled_dataset)

all_labeled_data = labeled_data_sets[0]
for labeled_dataset in labeled_data_sets[1:]:
    all_labeled_data = all_labeled_data.concatenate(labeled_dataset)
shuffled = all_labeled_data.shuffle(BUFFER_SIZE, seed=1, reshuffle_each_iteration=False)
print(sorted(label.numpy() for _, label in shuffled))


def custom_standardization(input_data):
    lowercase = tf.strings.lower(input_data)
    stripped_html = tf.strings.regex_replace(lowercase, "<br />", " ")
    return tf.strings.regex_replace(stripped_html, f"[{re.escape(string.punctuation)}]", "")


def tokenize(text, unused_label):
    return tf.strings.split(custom_standardization(text))


tokenized_ds = all_labeled_data.map(tokenize)
for tokens in tokenized_ds.take(3):
    print(tokens.numpy())

vocab_dict = collections.defaultdict(lambda: 0)
for toks in tokenized_ds.as_numpy_iterator():
    for tok in toks:
        vocab_dict[tok] += 1
vocab = sorted(vocab_dict.items(), key=lambda x: (-x[1], x[0]))
vocab = [token for token, _ in vocab][:VOCAB_SIZE]
print("Vocab size:", len(vocab), "first five:", vocab[:5])

# Reserve 0 for padding and 1 for out-of-vocabulary tokens.
keys = vocab
values = range(2, len(vocab) + 2)
init = tf.lookup.KeyValueTensorInitializer(
    keys, list(values), key_dtype=tf.string, value_dtype=tf.int64
)
num_oov_buckets = 1
vocab_table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets)
print(int(vocab_table.size()))


def preprocess_text(text, label):
    tokens = tf.strings.split(custom_standardization(text))
    return vocab_table.lookup(tokens), label


encoded = all_labeled_data.map(preprocess_text)
for vectorized, label in encoded.take(3):
    print(vectorized.numpy(), vectorized.dtype, int(label))

train_data = encoded.skip(BATCH_SIZE).shuffle(BUFFER_SIZE)
validation_data = encoded.take(BATCH_SIZE)
train_data = train_data.padded_batch(BATCH_SIZE)
validation_data = validation_data.padded_batch(BATCH_SIZE, padded_shapes=([None], []))
for text, labels in validation_data:
    print(text.shape, text.numpy()[2], labels.numpy())
print(sum(len(labels) for _, labels in train_data), train_data.element_spec)

table = tf.lookup.StaticHashTable(init, default_value=-1)
print(
    table.lookup(tf.constant(["achilles", "nobody", "sing"])).numpy(),
    table[tf.constant("o")].numpy(),
)
