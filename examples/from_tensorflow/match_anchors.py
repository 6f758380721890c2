"""Anchor boxes, and which object each of them is to find: the label encoder of a detector."""

import numpy as np

import keepset.tf as tf


def swap_xy(boxes):
    return tf.stack([boxes[:, 1], boxes[:, 0], boxes[:, 3], boxes[:, 2]], axis=-1)


def convert_to_xywh(boxes):
    return tf.concat(
        [(boxes[..., :2] + boxes[..., 2:]) / 2.0, boxes[..., 2:] - boxes[..., :2]], axis=-1
    )


def convert_to_corners(boxes):
    return tf.concat(
        [boxes[..., :2] - boxes[..., 2:] / 2.0, boxes[..., :2] + boxes[..., 2:] / 2.0], axis=-1
    )


def compute_iou(boxes1, boxes2):
    """How much each of the first boxes and each of the second overlap, all being x, y, w, h."""
    boxes1_corners = convert_to_corners(boxes1)
    boxes2_corners = convert_to_corners(boxes2)
    lu = tf.maximum(boxes1_corners[:, None, :2], boxes2_corners[:, :2])
    rd = tf.minimum(boxes1_corners[:, None, 2:], boxes2_corners[:, 2:])
    intersection = tf.maximum(0.0, rd - lu)
    intersection_area = intersection[:, :, 0] * intersection[:, :, 1]
    boxes1_area = boxes1[:, 2] * boxes1[:, 3]
    boxes2_area = boxes2[:, 2] * boxes2[:, 3]
    union_area = tf.maximum(boxes1_area[:, None] + boxes2_area - intersection_area, 1e-8)
    return tf.clip_by_value(intersection_area / union_area, 0.0, 1.0)


class AnchorBox:
    """Boxes of several shapes at each cell of feature maps of several strides."""

    def __init__(self):
        self.aspect_ratios = [0.5, 1.0, 2.0]
        self._strides = [2**i for i in range(3, 5)]
        self._areas = [x**2 for x in [16.0, 32.0]]

    def _dims(self, area):
        dims = []
        for ratio in self.aspect_ratios:
            height = tf.math.sqrt(area / ratio)
            dims.append(tf.reshape(tf.stack([area / height, height], axis=-1), [1, 1, 2]))
        return tf.stack(dims, axis=-2)

    def _get_anchors(self, feature_height, feature_width, stride, area):
        rx = tf.range(feature_width, dtype=tf.float32) + 0.5
        ry = tf.range(feature_height, dtype=tf.float32) + 0.5
        centers = tf.stack(tf.meshgrid(rx, ry), axis=-1) * stride
        centers = tf.tile(tf.expand_dims(centers, axis=-2), [1, 1, 3, 1])
        dims = tf.tile(self._dims(area), [feature_height, feature_width, 1, 1])
        return tf.reshape(tf.concat([centers, dims], axis=-1), [-1, 4])

    def get_anchors(self, image_height, image_width):
        anchors = [
            self._get_anchors(
                tf.math.ceil(image_height / stride),
                tf.math.ceil(image_width / stride),
                stride,
                area,
            )
            for stride, area in zip(self._strides, self._areas, strict=True)
        ]
        return tf.concat(anchors, axis=0)


anchor_boxes = AnchorBox().get_anchors(48, 64)
print(anchor_boxes.shape, anchor_boxes.dtype, np.round(anchor_boxes.numpy()[:3], 3).tolist())
box_variance = tf.convert_to_tensor([0.1, 0.1, 0.2, 0.2], dtype=tf.float32)


def encode_sample(gt_boxes, cls_ids, match_iou=0.5, ignore_iou=0.4):
    iou_matrix = compute_iou(anchor_boxes, gt_boxes)
    max_iou = tf.reduce_max(iou_matrix, axis=1)
    matched_gt_idx = tf.argmax(iou_matrix, axis=1)
    positive_mask = tf.greater_equal(max_iou, match_iou)
    negative_mask = tf.less(max_iou, ignore_iou)
    ignore_mask = tf.logical_not(tf.logical_or(positive_mask, negative_mask))
    matched = tf.gather(gt_boxes, matched_gt_idx)
    box_target = tf.concat(
        [
            (matched[:, :2] - anchor_boxes[:, :2]) / anchor_boxes[:, 2:],
            tf.math.log(matched[:, 2:] / anchor_boxes[:, 2:]),
        ],
        axis=-1,
    )
    cls_target = tf.cast(tf.gather(cls_ids, matched_gt_idx), dtype=tf.float32)
    cls_target = tf.where(tf.not_equal(positive_mask, True), -1.0, cls_target)
    cls_target = tf.where(tf.equal(ignore_mask, True), -2.0, cls_target)
    return tf.concat([box_target / box_variance, cls_target[:, None]], axis=-1)


samples = [
    ([[2.0, 4.0, 20.0, 22.0], [30.0, 10.0, 60.0, 40.0]], [1, 2]),
    ([[0.0, 0.0, 63.0, 47.0]], [0]),
]
for corners, ids in samples:
    boxes = convert_to_xywh(tf.constant(corners))
    target = encode_sample(boxes, tf.constant(ids))
    print(target.shape, target.dtype, np.round(target.numpy().max(axis=0), 3).tolist())
    found = tf.where(target[:, 4] >= 0)
    print(found.dtype, found.numpy().reshape(-1)[:8], int(tf.math.count_nonzero(target[:, 4] > -2)))
    best = tf.boolean_mask(anchor_boxes, target[:, 4] >= 0)
    print(best.shape, np.round(tf.reduce_mean(best, axis=0).numpy(), 3).tolist())
print(swap_xy(tf.constant(samples[0][0])).numpy().tolist())

scores = tf.constant([0.9, 0.3, 0.75, 0.6, 0.2])
values, indices = tf.math.top_k(scores, k=3)
print(values.numpy(), indices.numpy(), tf.argsort(scores, direction="DESCENDING").numpy())
print(tf.sort(scores).numpy())
