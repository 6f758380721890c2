"""Pairs of sentences for translation: cleaned, bracketed, encoded, and batched by length."""

import os
import tempfile

import keepset.tf as tf

BUFFER_SIZE = 100
BATCH_SIZE = 2

path = os.path.join(tempfile.mkdtemp(), "spa.txt")
with open(path, "w", encoding="utf-8") as f:
    f.write("Go.\tVe.\nHi!\tHola.\nI see.\tYa veo.\nHow are you?\t¿Cómo está usted?\n")
    f.write("I would like to sleep now.\tAhora quisiera dormir, por favor.\nStop!\t¡Alto!\n")

lines = tf.data.TextLineDataset(path)


def split_pair(line):
    parts = tf.strings.split(line, sep="\t")
    return parts[1], parts[0]  # context, target


pairs = lines.map(split_pair)
for context, target in pairs.take(4):
    print(context.numpy().decode(), "|", target.numpy().decode())


def tf_lower_and_split_punct(text):
    # Accents stay here, whereas the tutorial takes them off by tensorflow_text.
    text = tf.strings.lower(text, encoding="utf-8")
    # Keep space, letters, and select punctuation.
    text = tf.strings.regex_replace(text, "[^ a-záéíóúñü.?!,¿¡]", "")
    # Add spaces around punctuation.
    text = tf.strings.regex_replace(text, "[.?!,¿¡]", r" \0 ")
    # Strip whitespace.
    text = tf.strings.strip(text)
    return tf.strings.join(["[START]", text, "[END]"], separator=" ")


for context, _ in pairs.skip(3).take(1):
    print(tf_lower_and_split_punct(context).numpy().decode())


def build_table(column):
    vocabulary = {}
    for pair in pairs:
        for token in tf.strings.split(tf_lower_and_split_punct(pair[column])).numpy():
            vocabulary.setdefault(token, len(vocabulary) + 2)
    init = tf.lookup.KeyValueTensorInitializer(
        list(vocabulary), tf.constant(list(vocabulary.values()), tf.int64)
    )
    return tf.lookup.StaticHashTable(init, default_value=1)


context_table, target_table = build_table(0), build_table(1)
print(context_table.size().numpy(), target_table.size().numpy())


def process_text(context, target):
    context = context_table.lookup(tf.strings.split(tf_lower_and_split_punct(context)))
    target = target_table.lookup(tf.strings.split(tf_lower_and_split_punct(target)))
    targ_in = target[:-1]
    targ_out = target[1:]
    return (context, targ_in), targ_out


train_ds = pairs.map(process_text, tf.data.AUTOTUNE)
for (ex_context_tok, ex_tar_in), ex_tar_out in train_ds.take(2):
    print(ex_context_tok.numpy(), ex_tar_in.numpy(), ex_tar_out.numpy())

batches = train_ds.shuffle(BUFFER_SIZE).padded_batch(BATCH_SIZE)
print(sum(int(out.shape[0]) for _, out in batches), batches.element_spec)

# Few paddings: sentences of about one length in a batch.
bucketed = train_ds.apply(
    tf.data.experimental.bucket_by_sequence_length(
        element_length_func=lambda inputs, target: tf.shape(target)[0],
        bucket_boundaries=[4, 6],
        bucket_batch_sizes=[3, 2, 1],
        padded_shapes=(([None], [None]), [None]),
    )
)
for (context, targ_in), targ_out in bucketed:
    print(context.shape, targ_in.shape, targ_out.numpy()[:, -1])

# Batches of strings become ragged, and ragged becomes dense.
for context, _ in pairs.batch(3).take(1):
    tokens = tf.strings.split(tf_lower_and_split_punct(context))
    print(tokens.shape, tokens.row_lengths().numpy())
    ids = context_table.lookup(tokens.to_tensor(default_value=""))
    print(ids.shape, ids.numpy()[0])


def filter_max_tokens(inputs, target, max_tokens=5):
    num_tokens = tf.maximum(tf.shape(inputs[0])[0], tf.shape(target)[0])
    return num_tokens < max_tokens


print(len(list(train_ds.filter(filter_max_tokens))))
