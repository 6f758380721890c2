"""Stages by the names that they have in a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, fields
from importlib import import_module
from typing import Any, Final

from keepset.core.node import Node
from keepset.core.parameter import declared

VERSION: Final = 1  # of recipes

# Where each stage is. A recipe can name these and nothing else.
STAGES: Final = {
    "assert_cardinality": "nodes.assert_cardinality:AssertCardinality",
    "batch": "nodes.batch:Batch",
    "bucket_by_sequence_length": "nodes.bucket_by_sequence_length:BucketBySequenceLength",
    "cache": "nodes.cache:Cache",
    "choose_from_datasets": "nodes.choose_from_datasets:ChooseFromDatasets",
    "chosen_rows": "nodes.chosen_rows:ChosenRows",
    "concatenate": "nodes.concatenate:Concatenate",
    "counter": "nodes.counter:Counter",
    "deal": "nodes.deal:Deal",
    "decode_pictures": "exchange.images.decode_pictures:DecodePictures",
    "decode_samples": "exchange.webdataset.reading:DecodeSamples",
    "enumerate": "nodes.enumerate:Enumerate",
    "filter": "nodes.filter:Filter",
    "flat_map": "nodes.flat_map:FlatMap",
    "from_arrow": "exchange.memory.from_arrow:FromArrow",
    "from_generator": "nodes.from_generator:FromGenerator",
    "from_sequence": "nodes.from_sequence:FromSequence",
    "from_tensor_slices": "nodes.from_tensor_slices:FromTensorSlices",
    "from_tensors": "nodes.from_tensors:FromTensors",
    "global_shuffle": "nodes.global_shuffle:GlobalShuffle",
    "group_by_window": "nodes.group_by_window:GroupByWindow",
    "ignore_errors": "nodes.ignore_errors:IgnoreErrors",
    "interleave": "nodes.interleave:Interleave",
    "list_files": "nodes.list_files:ListFiles",
    "load": "snapshot.reading.replay:Replay",
    "load_tensorflow": "exchange.tensorflow.saved_dataset:TensorflowSaved",
    "map": "nodes.map:Map",
    "padded_batch": "nodes.padded_batch:PaddedBatch",
    "parse_example": "exchange.tensorflow.parse_stage:ParseExample",
    "prefetch": "nodes.prefetch:Prefetch",
    "ragged_batch": "nodes.ragged_batch:RaggedBatch",
    "random": "nodes.random_source:RandomSource",
    "random_map": "nodes.random_map:RandomMap",
    "range": "nodes.range:Range",
    "read_arrow": "exchange.arrow.file:ReadArrow",
    "read_csv": "exchange.tables.csv:ReadCsv",
    "read_fixed_length": "exchange.text.fixed_length:ReadFixedLength",
    "read_hdf5": "exchange.hdf5.reading:ReadHdf5",
    "read_hf": "exchange.huggingface.folder:ReadHf",
    "read_images": "exchange.images.reading:ReadImages",
    "read_json_lines": "exchange.tables.json_lines:ReadJsonLines",
    "read_npy": "exchange.arrays.npy:ReadNpy",
    "read_npz": "exchange.arrays.npz:ReadNpz",
    "read_parquet": "exchange.tables.parquet:ReadParquet",
    "read_text": "exchange.text.lines:ReadText",
    "read_webdataset": "exchange.webdataset.reading:ReadWebdataset",
    "rebatch": "nodes.rebatch:Rebatch",
    "rejection_resample": "nodes.rejection_resample:RejectionResample",
    "remote_files": "exchange.files.remote_files:RemoteFiles",
    "repeat": "nodes.repeat:Repeat",
    "rows": "nodes.rows:Rows",
    "sample_from_datasets": "nodes.sample_from_datasets:SampleFromDatasets",
    "scan": "nodes.scan:Scan",
    "select": "nodes.select:Select",
    "shard": "nodes.shard:Shard",
    "shuffle": "nodes.shuffle:Shuffle",
    "skip": "nodes.take:Skip",
    "skip_corrupt": "exchange.files.skip_corrupt:SkipCorrupt",
    "slice": "nodes.slice:Slice",
    "snapshot": "snapshot.stage:SnapshotStage",
    "sparse_batch": "nodes.sparse_batch:SparseBatch",
    "take": "nodes.take:Take",
    "take_while": "nodes.take_while:TakeWhile",
    "tfrecord": "exchange.tensorflow.tfrecord:TfrecordDataset",
    "unbatch": "nodes.unbatch:Unbatch",
    "unique": "nodes.unique:Unique",
    "window": "nodes.window:Window",
    "with_options": "nodes.with_options:WithOptions",
    "writable": "snapshot.writable:Writable",
    "zip": "nodes.zip:Zip",
}
# Stages whose elements are names of files, which a recipe tells as texts.
NAMING_FILES: Final = {"list_files", "remote_files"}
_NAMES: Final = {place: name for name, place in STAGES.items()}


def stage_name(node: Node) -> str | None:
    """The name of a stage in a recipe; None for one that is not the library's own."""
    kind = type(node)
    return _NAMES.get(f"{kind.__module__.removeprefix('keepset.')}:{kind.__name__}")


def stage_class(name: str) -> type[Node]:
    """The stage of that name."""
    module, _, kind = STAGES[name].partition(":")
    found: type[Node] = getattr(import_module(f"keepset.{module}"), kind)
    return found


def input_fields(kind: type[Node]) -> dict[str, bool]:
    """The fields that hold the stages before one, and whether each holds several."""
    found = {field.name: declared(field).inputs for field in fields(kind)}
    return {name: inputs == "several" for name, inputs in found.items() if inputs is not None}


def parameter_fields(kind: type[Node]) -> Iterator[Field[Any]]:
    """The fields that a recipe contains."""
    for field in fields(kind):
        says = declared(field)
        if field.init and says.recipe and says.inputs is None:
            yield field
