"""The class that a dataset has in TensorFlow, by which its text begins there."""

from __future__ import annotations

from typing import Final

from keepset.core.node import Node

# By the stage, where it is not the stage's own name between "_" and "Dataset".
_NAMES: Final = {
    "BucketBySequenceLength": "_GroupByWindowDataset",
    "Cache": "CacheDataset",
    "ChooseFromDatasets": "_DirectedInterleaveDataset",
    "Counter": "_ScanDataset",
    "Enumerate": "_ZipDataset",
    "FromGenerator": "_FlatMapDataset",
    "FromTensorSlices": "_TensorSliceDataset",
    "FromTensors": "_TensorDataset",
    "GlobalShuffle": "_ShuffleDataset",
    "ListFiles": "_TensorSliceDataset",
    "RaggedBatch": "_BatchDataset",
    "RandomSource": "_RandomDataset",
    "RejectionResample": "_DirectedInterleaveDataset",
    "Replay": "_LoadDataset",
    "Rows": "_VariantDataset",
    "SampleFromDatasets": "_DirectedInterleaveDataset",
    "SnapshotStage": "_MapDataset",
    "SparseBatch": "_DenseToSparseBatchDataset",
    "WithOptions": "_OptionsDataset",
}


def class_name(kind: type, node: Node) -> str:
    """The class in TensorFlow of a dataset of this class here, whose last stage is ``node``.

    Example:
        >>> import keepset.tf as tf
        >>> tf.data.Dataset.range(3).batch(2)
        <_BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.int64, name=None)>
    """
    if kind.__name__ != "Dataset":  # a class of its own, of TensorFlow's or of a user's
        return f"{kind.__name__}V2" if kind.__module__.startswith("keepset.") else kind.__name__
    stage = type(node).__name__
    parallel = "Parallel" if getattr(node, "parallelism", None) is not None else ""
    return _NAMES.get(stage) or f"_{parallel}{stage}Dataset"
