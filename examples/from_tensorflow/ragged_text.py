"""Sentences of different lengths as ragged tensors, through a pipeline and out again."""

import keepset.tf as tf

sentences = tf.ragged.constant(
    [["Who", "is", "Dan", "Smith"], ["Pause"], [], ["Will", "it", "rain", "later", "today"]]
)
print(sentences.shape, sentences.dtype.name, sentences.nrows().numpy(), sentences.ragged_rank)
print(sentences.row_lengths().numpy(), sentences.row_splits.numpy())
print(sentences.to_list()[0], sentences[1].numpy(), sentences[:, :2].to_list())
print(sentences.to_tensor(default_value="").shape, sentences.flat_values.numpy()[:3])

# Made from values and the places where rows begin.
digits = tf.RaggedTensor.from_row_splits(values=[3, 1, 4, 1, 5, 9, 2], row_splits=[0, 4, 4, 6, 7])
print(digits)
same = tf.RaggedTensor.from_row_lengths(values=[3, 1, 4, 1, 5, 9, 2], row_lengths=[4, 0, 2, 1])
print(bool(tf.reduce_all(same.row_splits == digits.row_splits)))
print(tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0).to_list())
print(tf.RaggedTensor.from_value_rowids([7, 8, 9], [0, 0, 2]).to_list())

# Arithmetic and reductions by row.
print((digits + 1).to_list(), (digits * 2).to_list())
print(tf.reduce_sum(digits, axis=1).numpy(), tf.reduce_max(digits, axis=1).numpy()[[0, 2, 3]])
lengths = tf.reduce_mean(tf.cast(digits, tf.float32), axis=1)
print(lengths.numpy()[[0, 2]], tf.cast(digits, tf.float32).dtype)
print(tf.concat([digits, [[10], [20], [30], [40]]], axis=1).to_list())
print(tf.strings.length(sentences).to_list(), tf.strings.upper(sentences)[3].numpy())

# Elements of a dataset.
dataset = tf.data.Dataset.from_tensor_slices((sentences, [0, 1, 2, 3]))
print(dataset.element_spec[1])
for words, label in dataset:
    print(words.numpy().tolist(), label.numpy(), words.shape)
whole = tf.data.Dataset.from_tensors(sentences)
print([element.shape for element in whole])

# Batches: ragged, and padded.
for batch, _ in dataset.batch(2):
    print(type(batch) is type(sentences), batch.to_list())
texts = tf.data.Dataset.from_tensor_slices(["a b c", "d", "e f"])
split = texts.map(tf.strings.split)
for batch in split.ragged_batch(2):
    print(batch.shape, batch.row_lengths().numpy(), batch.to_tensor("[PAD]").numpy().tolist())
for batch in texts.batch(3).map(lambda x: tf.strings.split(x)):
    print(batch.to_list(), batch.bounding_shape().numpy())
for batch in texts.batch(3).map(lambda x: tf.strings.split(x).to_tensor(shape=[None, 4])):
    print(batch.shape, batch.numpy()[0])

# Functions over the values of a ragged tensor.
hashed = tf.ragged.map_flat_values(tf.strings.substr, sentences, 0, 1)
print(hashed.to_list())
words = tf.strings.split(["the cat", "sat"])
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["the", "cat", "sat"], [5, 6, 7]), -1
)
print(tf.ragged.map_flat_values(table.lookup, words).to_list())
print(tf.ragged.range([3, 0, 2]).to_list(), tf.ragged.stack([[1, 2], [3]]).to_list())
mask = tf.ragged.boolean_mask(digits, digits > 2)
print(mask.to_list(), tf.ragged.row_splits_to_segment_ids([0, 2, 3]).numpy())
spec = tf.RaggedTensorSpec(shape=[None, None], dtype=tf.string, ragged_rank=1)
print(spec.shape, spec.dtype, spec.ragged_rank)
sparse = digits.to_sparse()
print(sparse.indices.numpy().tolist()[:3], sparse.dense_shape.numpy())
for row in digits:
    print(row.numpy(), end=" ")
print()
