"""What goes wrong in pipelines, how programs catch it, and how they go on."""

import os
import tempfile

import numpy as np

import keepset.tf as tf


def name_of(error):
    """The first of TensorFlow's names that catch an error."""
    kinds = {
        "out of range": tf.errors.OutOfRangeError,
        "not found": tf.errors.NotFoundError,
        "invalid argument": tf.errors.InvalidArgumentError,
        "failed precondition": tf.errors.FailedPreconditionError,
        "internal": tf.errors.InternalError,
    }
    found = [name for name, kind in kinds.items() if isinstance(error, kind)]
    return found[0] if found else "other"


def attempt(what, function):
    try:
        function()
    except Exception as error:
        print(f"{what}: {name_of(error)}, {isinstance(error, tf.errors.OpError)}")
    else:
        print(f"{what}: no error")


# Elements that fail are left out.
dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
checked = dataset.map(lambda x: tf.debugging.check_numerics(1.0 / x, "error"))
print([x.numpy() for x in checked.ignore_errors()])
older = checked.apply(tf.data.experimental.ignore_errors())
print(len(list(older)))
try:
    list(checked)
except tf.errors.InvalidArgumentError as error:
    print("caught", isinstance(error, tf.errors.OpError), error.message is not None)

# Files that are not there, or not what they seem.
folder = tempfile.mkdtemp()
picture = tf.io.encode_png(np.zeros((2, 2, 1), np.uint8)).numpy()
for name, content in (("a.png", picture), ("b.png", b"")):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(content)
paths = [os.path.join(folder, name) for name in ("a.png", "b.png", "c.png")]
images = tf.data.Dataset.from_tensor_slices(paths).map(tf.io.read_file).map(tf.io.decode_png)
print([image.shape for image in images.ignore_errors()])
attempt("missing file", lambda: tf.io.read_file(paths[2]))
attempt("no picture", lambda: tf.io.decode_png(b"nothing"))
attempt("missing lines", lambda: list(tf.data.TextLineDataset(paths[2])))
attempt("no such pattern", lambda: list(tf.data.Dataset.list_files(folder + "/*.jpg")))

# The end of an iterator, in its three forms.
iterator = iter(tf.data.Dataset.range(2))
while True:
    try:
        print(iterator.get_next().numpy(), end=" ")
    except tf.errors.OutOfRangeError:
        print("end")
        break
print(next(iter(tf.data.Dataset.range(0)), "nothing"))
try:
    next(iterator)
except StopIteration:
    print("StopIteration")

# Shapes, dtypes and arguments that do not fit.
numbers = tf.data.Dataset.range(4)
attempt("reshape", lambda: tf.reshape(tf.range(5), [2, 3]))
attempt("ragged batch", lambda: list(numbers.map(lambda x: tf.range(x)).batch(2)))
attempt("matrix", lambda: tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0]))
attempt("gather", lambda: tf.gather([1, 2], 5))
attempt("batch of 0", lambda: list(numbers.batch(0)))
attempt("ensure_shape", lambda: tf.ensure_shape(tf.zeros([2]), [3]))
attempt("to_number", lambda: tf.strings.to_number("1,5"))
attempt("concat", lambda: tf.concat([tf.zeros([1, 2]), tf.zeros([1, 3])], axis=0))
attempt("single", lambda: tf.data.Dataset.range(2).get_single_element())
attempt("squeeze", lambda: tf.squeeze(tf.zeros([2, 1]), axis=0))
for function in (lambda: tf.constant(1) + tf.constant(1.0), lambda: tf.constant(1) + 1.5):
    try:
        function()
    except (TypeError, tf.errors.InvalidArgumentError):
        print("dtypes do not mix")

# Assertions within pipelines.
tf.debugging.assert_equal(tf.constant(2), 2)
tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("n", 3))])


def check(x):
    tf.debugging.assert_less(x, tf.constant(2, tf.int64), message="too large")
    return x


good = []
try:
    for x in numbers.map(check):
        good.append(int(x))  # noqa: PERF401
except tf.errors.InvalidArgumentError as error:
    print(good, "too large" in str(error))
try:
    tf.debugging.assert_type(tf.constant(1), tf.float32)
except TypeError:
    print("TypeError")
print([int(x) for x in numbers.map(check).ignore_errors(log_warning=False)])
counted = numbers.filter(lambda x: x < 3).apply(tf.data.experimental.assert_cardinality(4))
attempt("fewer than said", lambda: list(counted))
