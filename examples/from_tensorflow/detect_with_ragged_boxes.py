"""Boxes as ragged tensors: one row for each picture, dense only when a model needs it."""

import numpy as np

import keepset.tf as tf

BATCH_SIZE = 2
counts = [2, 0, 3, 1, 1]


def generate():
    for number, count in enumerate(counts):
        image = np.full((8, 8, 3), number, np.float32)
        corners = np.arange(4 * count, dtype=np.float32).reshape(count, 4) + number
        yield {
            "images": image,
            "bounding_boxes": {"classes": np.arange(count, dtype=np.float32), "boxes": corners},
        }


signature = {
    "images": tf.TensorSpec(shape=(8, 8, 3), dtype=tf.float32),
    "bounding_boxes": {
        "classes": tf.TensorSpec(shape=(None,), dtype=tf.float32),
        "boxes": tf.TensorSpec(shape=(None, 4), dtype=tf.float32),
    },
}
train_ds = tf.data.Dataset.from_generator(generate, output_signature=signature)
print(sorted(train_ds.element_spec), train_ds.element_spec["bounding_boxes"]["boxes"].shape)

# Batches in which each picture has as many boxes as it has.
ragged_ds = train_ds.ragged_batch(BATCH_SIZE, drop_remainder=True)
for inputs in ragged_ds:
    boxes = inputs["bounding_boxes"]["boxes"]
    print(
        inputs["images"].shape,
        boxes.shape,
        boxes.row_lengths().numpy(),
        isinstance(boxes, tf.RaggedTensor),
    )
    print(inputs["bounding_boxes"]["classes"].to_list())

older = train_ds.apply(tf.data.experimental.dense_to_ragged_batch(BATCH_SIZE, drop_remainder=True))
print(len(list(older)), next(iter(older))["bounding_boxes"]["classes"].to_list())


def to_dense(inputs, max_boxes=3):
    """Boxes and classes with -1 where there are none."""
    boxes = inputs["bounding_boxes"]
    return inputs["images"], {
        "boxes": boxes["boxes"].to_tensor(default_value=-1, shape=[None, max_boxes, 4]),
        "classes": boxes["classes"].to_tensor(default_value=-1, shape=[None, max_boxes]),
    }


for images, boxes in ragged_ds.map(to_dense):
    print(images.shape, boxes["boxes"].shape, boxes["classes"].numpy().tolist())

# From lists of lists.
classes = tf.ragged.constant([[1, 2], [], [3]], dtype=tf.int64)
rows = tf.ragged.constant(
    [[[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 2.0, 3.0]], [], [[5.0, 5.0, 9.0, 6.0]]],
    dtype=tf.float32,
    ragged_rank=1,
)
print(classes.shape, rows.shape, rows.dtype)
dataset = tf.data.Dataset.from_tensor_slices((classes, rows))
for label, box in dataset:
    print(label.numpy(), box.shape, box.numpy().reshape(-1)[:4])


def xyxy_to_center(label, box):
    centers = (box[:, :2] + box[:, 2:]) / 2.0
    sizes = box[:, 2:] - box[:, :2]
    return label, tf.concat([centers, sizes], axis=-1)


for label, box in dataset.map(xyxy_to_center).filter(lambda label, _: tf.size(label) > 0):
    print(label.shape, box.numpy().tolist())
areas = rows[..., 2] * rows[..., 3]
print(areas.to_list(), tf.reduce_max(areas, axis=1).numpy()[:1], rows.values.shape)
print([x.to_list() for x in tf.data.Dataset.from_tensor_slices(classes).ragged_batch(3)])
