"""Ratings in MovieLens' manner: unique ids, a lookup, histories by user, and candidates."""

import os
import tempfile

import numpy as np

import keepset.tf as tf

path = os.path.join(tempfile.mkdtemp(), "u.data")
rng = np.random.default_rng(100)
titles = ["Toy Story (1995)", "GoldenEye (1995)", "Heat (1995)", "Fargo (1996)", "Jumanji (1995)"]
with open(path, "w") as f:
    for i in range(24):
        user, movie = (i * 7) % 4 + 1, int(rng.integers(5))
        f.write(f"{user}\t{movie}\t{int(rng.integers(1, 6))}\t{881250949 + i * 10}\n")

title_table = tf.constant(titles)


def parse(line):
    user, movie, rating, timestamp = tf.io.decode_csv(
        line, record_defaults=["", 0, 0.0, tf.constant(0, tf.int64)], field_delim="\t"
    )
    return {
        "user_id": user,
        "movie_title": tf.gather(title_table, movie),
        "user_rating": rating,
        "timestamp": timestamp,
    }


ratings = tf.data.TextLineDataset(path).map(parse)
for x in ratings.take(2).as_numpy_iterator():
    print({key: x[key] for key in sorted(x)})

ratings = ratings.map(
    lambda x: {
        "movie_title": x["movie_title"],
        "user_id": x["user_id"],
        "user_rating": x["user_rating"],
    }
)
movies = tf.data.Dataset.from_tensor_slices(titles)
shuffled = ratings.shuffle(100, seed=42, reshuffle_each_iteration=False)
train, test = shuffled.take(18), shuffled.skip(18).take(6)
print(len(list(train)), len(list(test)))

movie_titles = ratings.batch(1_000_000).map(lambda x: x["movie_title"])
user_ids = ratings.batch(1_000_000).map(lambda x: x["user_id"])
unique_movie_titles = np.unique(np.concatenate(list(movie_titles)))
unique_user_ids = np.unique(np.concatenate(list(user_ids)))
print(unique_movie_titles[:2], unique_user_ids)
print(len(list(ratings.map(lambda x: x["user_id"]).unique())))


class StringLookup:
    def __init__(self, vocabulary):
        self.table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                vocabulary, tf.range(len(vocabulary), dtype=tf.int64)
            ),
            num_oov_buckets=1,
        )

    def __call__(self, inputs):
        return self.table.lookup(inputs)


user_lookup, movie_lookup = StringLookup(unique_user_ids), StringLookup(unique_movie_titles)
print(movie_lookup(tf.constant(["Heat (1995)", "Casablanca (1942)"])).numpy())

# The films of each user, in order, as sequences.
histories = ratings.group_by_window(
    key_func=lambda x: user_lookup(x["user_id"]),
    reduce_func=lambda key, window: window.batch(10),
    window_size=10,
)
for history in histories:
    ids = movie_lookup(history["movie_title"])
    print(
        history["user_id"].numpy()[0], ids.numpy(), history["user_rating"].numpy().mean().round(2)
    )


def last_as_label(history, length=4):
    ids = movie_lookup(history["movie_title"])
    recent = ids[-length - 1 : -1]
    return {"context": recent, "user": history["user_id"][0]}, ids[-1]


for inputs, label in histories.map(last_as_label).batch(4):
    print(inputs["context"].numpy().tolist(), inputs["user"].numpy(), label.numpy())


# Whom would a dot product recommend? Embeddings are made up.
def embedding(n, width):
    grid = tf.reshape(tf.range(n * width, dtype=tf.float32), [n, width])
    return tf.sin(grid * grid)


users, films = embedding(4, 3), embedding(5, 3)
candidates = movies.batch(2).map(lambda title: (title, tf.gather(films, movie_lookup(title))))
for title, vectors in candidates.take(1):
    print(title.numpy(), np.round(vectors.numpy()[0], 3))
scores = tf.linalg.matmul(users, films, transpose_b=True)
values, indices = tf.math.top_k(scores, k=2)
best = tf.gather(tf.constant(unique_movie_titles), indices)
print(best.numpy()[:, 0], np.round(values.numpy()[:, 0], 3))

# Ratings by user and film as a sparse matrix.
first = next(iter(ratings.batch(8)))
places = tf.stack([user_lookup(first["user_id"]), movie_lookup(first["movie_title"])], axis=1)
totals = tf.scatter_nd(places, first["user_rating"], shape=tf.constant([4, 5], tf.int64))
print(totals.numpy().tolist())
by_user = tf.math.unsorted_segment_sum(first["user_rating"], places[:, 0], num_segments=4)
print(by_user.numpy(), tf.math.segment_max([1.0, 5.0, 2.0], [0, 0, 1]).numpy())
