"""Metrics of predictions over a dataset, as states of reduce: no model, no gradients."""

import numpy as np

import keepset.tf as tf

NUM_CLASSES = 3
rng = np.random.default_rng(13)
y_true = rng.integers(0, NUM_CLASSES, 30)
logits = rng.normal(size=(30, NUM_CLASSES)).astype(np.float32)
logits[np.arange(30), y_true] += 1.0
dataset = tf.data.Dataset.from_tensor_slices((logits, y_true)).batch(8)


def softmax(x):
    e = tf.exp(x - tf.reduce_max(x, axis=-1, keepdims=True))
    return e / tf.reduce_sum(e, axis=-1, keepdims=True)


# Accuracy, loss and a confusion matrix in one pass.
def update(state, batch):
    logits, labels = batch
    predicted = tf.argmax(logits, axis=1)
    correct = tf.cast(tf.equal(predicted, labels), tf.float32)
    log_likelihood = tf.gather(tf.math.log(softmax(logits)), labels, batch_dims=1)
    return {
        "count": state["count"] + tf.shape(labels)[0],
        "correct": state["correct"] + tf.reduce_sum(correct),
        "loss": state["loss"] - tf.reduce_sum(log_likelihood),
        "confusion": state["confusion"] + tf.math.confusion_matrix(labels, predicted, NUM_CLASSES),
    }


start = {
    "count": 0,
    "correct": 0.0,
    "loss": tf.constant(0.0),
    "confusion": tf.zeros([NUM_CLASSES, NUM_CLASSES], tf.int32),
}
result = dataset.reduce(start, update)
count = tf.cast(result["count"], tf.float32)
print(int(count), np.round((result["correct"] / count).numpy(), 4))
print(np.round((result["loss"] / count).numpy(), 4))
confusion = result["confusion"]
print(confusion.numpy().tolist(), confusion.dtype)
precision = tf.linalg.diag_part(confusion) / tf.reduce_sum(confusion, axis=0)
recall = tf.linalg.diag_part(confusion) / tf.reduce_sum(confusion, axis=1)
print(precision.dtype, np.round(precision.numpy(), 3), np.round(recall.numpy(), 3))
f1 = 2 * precision * recall / (precision + recall)
print(np.round(tf.reduce_mean(f1).numpy(), 4))


class MeanMetric:
    """What Keras' Mean does."""

    def __init__(self, name):
        self.name = name
        self.reset_state()

    def reset_state(self):
        self.total, self.count = tf.constant(0.0), tf.constant(0.0)

    def update_state(self, values):
        self.total += tf.reduce_sum(values)
        self.count += tf.cast(tf.size(values), tf.float32)

    def result(self):
        return tf.math.divide_no_nan(self.total, self.count)


top2 = MeanMetric("top_2_accuracy")
print(top2.result().numpy())
for batch_logits, labels in dataset:
    top2.update_state(tf.cast(tf.math.in_top_k(labels, batch_logits, k=2), tf.float32))
print(f"{top2.name}: {top2.result().numpy():.4f}")


# Area under the curve by thresholds, and by ranks.
scores = tf.constant([0.1, 0.4, 0.35, 0.8, 0.65, 0.2])
positives = tf.constant([0, 0, 1, 1, 1, 0])
thresholds = tf.linspace(0.0, 1.0, 5)
predicted = tf.cast(scores[None, :] >= thresholds[:, None], tf.int32)
true_positives = tf.reduce_sum(predicted * positives, axis=1)
false_positives = tf.reduce_sum(predicted * (1 - positives), axis=1)
print(true_positives.numpy(), false_positives.numpy(), thresholds.numpy())
order = tf.argsort(scores)
ranks = tf.math.invert_permutation(order) + 1
rank_sum = tf.reduce_sum(tf.boolean_mask(ranks, positives == 1))
print(np.round((int(rank_sum) - 6) / 9, 4), tf.cumsum(tf.gather(positives, order)).numpy())

# Errors of regressions, weighted, in float64 as NumPy has them.
pairs = tf.data.Dataset.from_tensor_slices((np.linspace(0, 1, 7), np.linspace(0, 1, 7) ** 2))


def errors(state, pair):
    difference = pair[0] - pair[1]
    squared, absolute = state
    return squared + difference**2, absolute + tf.abs(difference)


squared, absolute = pairs.reduce((tf.constant(0.0, tf.float64), np.float64(0)), errors)
print(squared.dtype.name, np.round(squared.numpy() / 7, 5), np.round(absolute.numpy() / 7, 5))
a, b = next(iter(pairs.batch(7)))
centred_a, centred_b = a - tf.reduce_mean(a), b - tf.reduce_mean(b)
correlation = tf.reduce_sum(centred_a * centred_b) / (tf.norm(centred_a) * tf.norm(centred_b))
print(np.round(correlation.numpy(), 5), tf.math.reduce_variance(a).numpy().round(5))
distance = tf.edit_distance(
    tf.sparse.from_dense([[1, 2, 3]]), tf.sparse.from_dense([[1, 3, 4]]), normalize=False
)
print(distance.numpy())
