"""One transformation per file, each a node and its cursor.

``nodes.Map`` is ``keepset.nodes.map.Map``, imported when it is first asked for: nobody uses all of
them, and to import them takes as long as half of NumPy.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepset.nodes.assert_cardinality import AssertCardinality as AssertCardinality
    from keepset.nodes.batch import Batch as Batch
    from keepset.nodes.bucket_by_sequence_length import bucketed as bucketed
    from keepset.nodes.cache import Cache as Cache
    from keepset.nodes.choose_from_datasets import ChooseFromDatasets as ChooseFromDatasets
    from keepset.nodes.concatenate import Concatenate as Concatenate
    from keepset.nodes.counter import Counter as Counter
    from keepset.nodes.enumerate import Enumerate as Enumerate
    from keepset.nodes.filter import Filter as Filter
    from keepset.nodes.flat_map import FlatMap as FlatMap
    from keepset.nodes.from_generator import FromGenerator as FromGenerator
    from keepset.nodes.from_tensor_slices import FromTensorSlices as FromTensorSlices
    from keepset.nodes.from_tensors import FromTensors as FromTensors
    from keepset.nodes.group_by_window import GroupByWindow as GroupByWindow
    from keepset.nodes.ignore_errors import IgnoreErrors as IgnoreErrors
    from keepset.nodes.interleave import Interleave as Interleave
    from keepset.nodes.list_files import listed_files as listed_files
    from keepset.nodes.map import Map as Map
    from keepset.nodes.padded_batch import PaddedBatch as PaddedBatch
    from keepset.nodes.parallel import Parallelism as Parallelism
    from keepset.nodes.prefetch import Prefetch as Prefetch
    from keepset.nodes.ragged_batch import RaggedBatch as RaggedBatch
    from keepset.nodes.random_map import RandomMap as RandomMap
    from keepset.nodes.random_source import RandomSource as RandomSource
    from keepset.nodes.range import Range as Range
    from keepset.nodes.rebatch import Rebatch as Rebatch
    from keepset.nodes.rejection_resample import RejectionResample as RejectionResample
    from keepset.nodes.sample_from_datasets import SampleFromDatasets as SampleFromDatasets
    from keepset.nodes.scan import Scan as Scan
    from keepset.nodes.select import Select as Select
    from keepset.nodes.shard import Shard as Shard
    from keepset.nodes.shuffle import Shuffle as Shuffle
    from keepset.nodes.sparse_batch import SparseBatch as SparseBatch
    from keepset.nodes.take_while import TakeWhile as TakeWhile
    from keepset.nodes.unbatch import Unbatch as Unbatch
    from keepset.nodes.unique import Unique as Unique
    from keepset.nodes.window import Window as Window
    from keepset.nodes.with_options import WithOptions as WithOptions
    from keepset.nodes.zip import Zip as Zip

# What is not in a file of its name.
_ELSEWHERE = {
    "Parallelism": "parallel",
    "bucketed": "bucket_by_sequence_length",
    "listed_files": "list_files",
}


def __getattr__(name: str) -> Any:
    home = _ELSEWHERE.get(name) or re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    try:
        found = getattr(import_module(f"keepset.nodes.{home}"), name)
    except ModuleNotFoundError as error:
        raise AttributeError(f"keepset.nodes has no {name!r}") from error
    globals()[name] = found
    return found
