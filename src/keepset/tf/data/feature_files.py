"""``make_batched_features_dataset``: batches of parsed Examples from files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.nodes.autotune import AUTOTUNE
from keepset.tf.data.arguments import flag, number
from keepset.tf.data.dataset import Dataset
from keepset.tf.data.record_files import TFRecordDataset


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Any,
    reader: Callable[..., Any] | None = None,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: Any = None,
    shuffle: Any = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: Any = False,
    drop_final_batch: Any = False,
) -> Dataset:
    """Batches of Examples, parsed, shuffled and repeated for ever unless you say otherwise.

    Without a reader the files are TFRecords.
    """
    mixed, seed = flag(shuffle), number(shuffle_seed)
    kind = TFRecordDataset if reader is None else reader
    files = Dataset.list_files(file_pattern, mixed, seed)
    threads = number(reader_num_threads)
    records = files.interleave(
        lambda name: kind(name, *(reader_args or [])),
        1 if threads is None or threads == AUTOTUNE else threads,
        deterministic=not sloppy_ordering,
    )
    records = records.map(_value)
    if mixed:
        records = records.shuffle(number(shuffle_buffer_size), seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    dropped = flag(drop_final_batch) or num_epochs is None
    parsed: Dataset = records.batch(batch_size, dropped).parse_example(features)
    if label_key is not None:
        if label_key not in features:
            raise ValueError(f"label_key {label_key!r} is none of {', '.join(features)}")
        parsed = parsed.map(lambda values: (_without(values, label_key), values[label_key]))
    made: Dataset = parsed.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)
    return made


def _value(*parts: Any) -> Any:
    """The value of what a reader yields, which may be pairs of a key and a value."""
    return parts[-1]


def _without(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}
