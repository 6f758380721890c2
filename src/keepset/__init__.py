"""Keepset: input pipelines for machine learning. Preprocess once, train many times."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    FingerprintError,
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
from keepset.nodes.autotune import AUTOTUNE
from keepset.nodes.global_shuffle import GLOBAL

if TYPE_CHECKING:
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
    "FingerprintError",
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

# Names that are not needed to build a pipeline, and that import takes no time for.
_LATE = {
    "Explanation": "keepset.snapshot.explaining",
    "Snapshot": "keepset.snapshot.looking",
    "assert_equal": "keepset.testing.datasets",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
