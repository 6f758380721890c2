"""Keepset: input pipelines for machine learning. Preprocess once, train many times."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from keepset.core.dtypes import string, text
from keepset.core.iterate import DatasetIterator
from keepset.core.node import INFINITE as INFINITE_CARDINALITY
from keepset.core.node import UNKNOWN as UNKNOWN_CARDINALITY
from keepset.core.options import Options
from keepset.core.ragged import Ragged
from keepset.core.random import set_seed
from keepset.core.sparse import Sparse
from keepset.core.spec import DatasetSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from keepset.core.version import __version__ as __version__
from keepset.dataset import Dataset
from keepset.dataset.functions import explain, load, save, snapshot
from keepset.errors import (
    CardinalityError,
    CorruptCacheError,
    CorruptRecordError,
    CorruptRecordWarning,
    CorruptSnapshotError,
    ElementError,
    ElementIndexError,
    FingerprintError,
    InvalidArgumentError,
    KeepsetError,
    MissingExtraError,
    NewerFormatError,
    NoFilesError,
    NotAddressableError,
    ObjectMissingError,
    OutOfMemoryError,
    PendingSnapshotError,
    RecipeChangedWarning,
    RecipeError,
    ResultError,
    SnapshotMismatchError,
    SnapshotMissingError,
    StateError,
    StorageError,
    UnknownSpecError,
    UntrustedRecipeError,
    WorkerDiedError,
)
from keepset.nodes.autotune import AUTOTUNE
from keepset.nodes.global_shuffle import GLOBAL

if TYPE_CHECKING:
    from keepset.dataset.array_files import read_hdf5, read_npy, read_npz
    from keepset.dataset.framework_sources import from_grain, from_tf, from_torch
    from keepset.dataset.hf_files import from_hf, read_hf
    from keepset.dataset.image_files import (
        class_names,
        read_images,
        read_path_list,
        read_webdataset,
    )
    from keepset.dataset.memory_sources import from_arrow, from_pandas, from_polars
    from keepset.dataset.recipes import from_recipe
    from keepset.dataset.table_files import (
        read_arrow,
        read_csv,
        read_json_lines,
        read_parquet,
    )
    from keepset.dataset.tensorflow_files import TFRecordDataset
    from keepset.dataset.text_files import read_fixed_length, read_text
    from keepset.exchange.tensorflow.example import (
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        SequenceExample,
    )
    from keepset.exchange.tensorflow.features import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        RaggedFeature,
        SparseFeature,
        VarLenFeature,
    )
    from keepset.exchange.tensorflow.infer_features import infer_features
    from keepset.exchange.tensorflow.parse_example import parse_example, parse_single_example
    from keepset.exchange.tensorflow.parse_sequence import parse_single_sequence_example
    from keepset.exchange.tensorflow.tensors import parse_tensor, serialize_tensor
    from keepset.exchange.tensorflow.tfrecord_writer import TFRecordOptions, TFRecordWriter
    from keepset.exchange.tensorflow.value_lists import BytesList, FloatList, Int64List
    from keepset.recipe.document import Recipe
    from keepset.snapshot.explaining import Explanation
    from keepset.snapshot.looking import Snapshot
    from keepset.testing.datasets import assert_equal

__all__ = [
    "AUTOTUNE",
    "GLOBAL",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "BytesList",
    "CardinalityError",
    "CorruptCacheError",
    "CorruptRecordError",
    "CorruptRecordWarning",
    "CorruptSnapshotError",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "ElementError",
    "ElementIndexError",
    "Example",
    "Explanation",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FingerprintError",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "Int64List",
    "InvalidArgumentError",
    "KeepsetError",
    "MissingExtraError",
    "NewerFormatError",
    "NoFilesError",
    "NotAddressableError",
    "ObjectMissingError",
    "Options",
    "OutOfMemoryError",
    "PendingSnapshotError",
    "Ragged",
    "RaggedFeature",
    "RaggedTensorSpec",
    "Recipe",
    "RecipeChangedWarning",
    "RecipeError",
    "ResultError",
    "SequenceExample",
    "Snapshot",
    "SnapshotMismatchError",
    "SnapshotMissingError",
    "Sparse",
    "SparseFeature",
    "SparseTensorSpec",
    "StateError",
    "StorageError",
    "TFRecordDataset",
    "TFRecordOptions",
    "TFRecordWriter",
    "TensorSpec",
    "UnknownSpecError",
    "UntrustedRecipeError",
    "VarLenFeature",
    "WorkerDiedError",
    "assert_equal",
    "class_names",
    "explain",
    "from_arrow",
    "from_grain",
    "from_hf",
    "from_pandas",
    "from_polars",
    "from_recipe",
    "from_tf",
    "from_torch",
    "infer_features",
    "load",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_arrow",
    "read_csv",
    "read_fixed_length",
    "read_hdf5",
    "read_hf",
    "read_images",
    "read_json_lines",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_path_list",
    "read_text",
    "read_webdataset",
    "save",
    "serialize_tensor",
    "set_seed",
    "snapshot",
    "string",
    "text",
]

# Names that are not needed to build a pipeline, and that import takes no time for.
_LATE = {
    "BytesList": "keepset.exchange.tensorflow.value_lists",
    "Example": "keepset.exchange.tensorflow.example",
    "Explanation": "keepset.snapshot.explaining",
    "Feature": "keepset.exchange.tensorflow.example",
    "FeatureList": "keepset.exchange.tensorflow.example",
    "FeatureLists": "keepset.exchange.tensorflow.example",
    "Features": "keepset.exchange.tensorflow.example",
    "FixedLenFeature": "keepset.exchange.tensorflow.features",
    "FixedLenSequenceFeature": "keepset.exchange.tensorflow.features",
    "FloatList": "keepset.exchange.tensorflow.value_lists",
    "Int64List": "keepset.exchange.tensorflow.value_lists",
    "RaggedFeature": "keepset.exchange.tensorflow.features",
    "Recipe": "keepset.recipe.document",
    "SequenceExample": "keepset.exchange.tensorflow.example",
    "Snapshot": "keepset.snapshot.looking",
    "SparseFeature": "keepset.exchange.tensorflow.features",
    "TFRecordDataset": "keepset.dataset.tensorflow_files",
    "TFRecordOptions": "keepset.exchange.tensorflow.tfrecord_writer",
    "TFRecordWriter": "keepset.exchange.tensorflow.tfrecord_writer",
    "VarLenFeature": "keepset.exchange.tensorflow.features",
    "assert_equal": "keepset.testing.datasets",
    "class_names": "keepset.dataset.image_files",
    "from_arrow": "keepset.dataset.memory_sources",
    "from_grain": "keepset.dataset.framework_sources",
    "from_hf": "keepset.dataset.hf_files",
    "from_pandas": "keepset.dataset.memory_sources",
    "from_polars": "keepset.dataset.memory_sources",
    "from_recipe": "keepset.dataset.recipes",
    "from_tf": "keepset.dataset.framework_sources",
    "from_torch": "keepset.dataset.framework_sources",
    "infer_features": "keepset.exchange.tensorflow.infer_features",
    "parse_example": "keepset.exchange.tensorflow.parse_example",
    "parse_single_example": "keepset.exchange.tensorflow.parse_example",
    "parse_single_sequence_example": "keepset.exchange.tensorflow.parse_sequence",
    "parse_tensor": "keepset.exchange.tensorflow.tensors",
    "read_arrow": "keepset.dataset.table_files",
    "read_csv": "keepset.dataset.table_files",
    "read_fixed_length": "keepset.dataset.text_files",
    "read_hdf5": "keepset.dataset.array_files",
    "read_hf": "keepset.dataset.hf_files",
    "read_images": "keepset.dataset.image_files",
    "read_json_lines": "keepset.dataset.table_files",
    "read_npy": "keepset.dataset.array_files",
    "read_npz": "keepset.dataset.array_files",
    "read_parquet": "keepset.dataset.table_files",
    "read_path_list": "keepset.dataset.image_files",
    "read_text": "keepset.dataset.text_files",
    "read_webdataset": "keepset.dataset.image_files",
    "serialize_tensor": "keepset.exchange.tensorflow.tensors",
}


# What people look for under other libraries' names.
_ELSEWHERE = {
    "from_numpy": "Dataset.from_tensor_slices",
    "read_feather": "read_arrow",
    "read_h5": "read_hdf5",
    "read_image_folder": "read_images",
    "read_json": "read_json_lines",
    "read_jsonl": "read_json_lines",
    "read_lines": "read_text",
    "read_tar": "read_webdataset",
    "read_tfrecord": "TFRecordDataset",
    "read_tsv": "read_csv",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        place = f"Dataset.{name}" if hasattr(Dataset, name) else _ELSEWHERE.get(name)
        hint = "" if place is None else f"; use keepset.{place}"
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}{hint}",
            name=name,
            obj=sys.modules[__name__],
        )
    value = globals()[name] = getattr(import_module(_LATE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
