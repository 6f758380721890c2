"""Keepset: input pipelines for machine learning. Preprocess once, train many times."""

from keepset.core.dtypes import string
from keepset.core.iterate import DatasetIterator
from keepset.core.node import INFINITE as INFINITE_CARDINALITY
from keepset.core.node import UNKNOWN as UNKNOWN_CARDINALITY
from keepset.core.options import Options
from keepset.core.ragged import Ragged
from keepset.core.random import set_seed
from keepset.core.sparse import Sparse
from keepset.core.spec import DatasetSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from keepset.dataset import Dataset
from keepset.errors import (
    CardinalityError,
    CorruptCacheError,
    ElementError,
    ElementIndexError,
    InvalidArgumentError,
    KeepsetError,
    MissingExtraError,
    NoFilesError,
    NotAddressableError,
    StateError,
    UnknownSpecError,
    WorkerDiedError,
)
from keepset.nodes.global_shuffle import GLOBAL
from keepset.nodes.parallel import AUTOTUNE

__version__ = "0.1.0"

__all__ = [
    "AUTOTUNE",
    "GLOBAL",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "CardinalityError",
    "CorruptCacheError",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "ElementError",
    "ElementIndexError",
    "InvalidArgumentError",
    "KeepsetError",
    "MissingExtraError",
    "NoFilesError",
    "NotAddressableError",
    "Options",
    "Ragged",
    "RaggedTensorSpec",
    "Sparse",
    "SparseTensorSpec",
    "StateError",
    "TensorSpec",
    "UnknownSpecError",
    "WorkerDiedError",
    "set_seed",
    "string",
]
