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
from keepset.core.version import __version__ as __version__
from keepset.dataset import Dataset
from keepset.dataset.functions import explain, load, save, snapshot
from keepset.errors import (
    CardinalityError,
    CorruptCacheError,
    CorruptSnapshotError,
    ElementError,
    ElementIndexError,
    InvalidArgumentError,
    KeepsetError,
    MissingExtraError,
    NewerFormatError,
    NoFilesError,
    NotAddressableError,
    ObjectMissingError,
    PendingSnapshotError,
    SnapshotMismatchError,
    SnapshotMissingError,
    StateError,
    StorageError,
    UnknownSpecError,
    WorkerDiedError,
)
from keepset.nodes.global_shuffle import GLOBAL
from keepset.nodes.parallel import AUTOTUNE
from keepset.snapshot.explaining import Explanation
from keepset.snapshot.looking import Snapshot
from keepset.testing.datasets import assert_equal

__all__ = [
    "AUTOTUNE",
    "GLOBAL",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "CardinalityError",
    "CorruptCacheError",
    "CorruptSnapshotError",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "ElementError",
    "ElementIndexError",
    "Explanation",
    "InvalidArgumentError",
    "KeepsetError",
    "MissingExtraError",
    "NewerFormatError",
    "NoFilesError",
    "NotAddressableError",
    "ObjectMissingError",
    "Options",
    "PendingSnapshotError",
    "Ragged",
    "RaggedTensorSpec",
    "Snapshot",
    "SnapshotMismatchError",
    "SnapshotMissingError",
    "Sparse",
    "SparseTensorSpec",
    "StateError",
    "StorageError",
    "TensorSpec",
    "UnknownSpecError",
    "WorkerDiedError",
    "assert_equal",
    "explain",
    "load",
    "save",
    "set_seed",
    "snapshot",
    "string",
]
