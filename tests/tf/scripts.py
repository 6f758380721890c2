"""The scripts for TensorFlow among the examples, and what is missing for some of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

FOLDER = Path(__file__).parents[2] / "examples" / "from_tensorflow"
SCRIPTS = sorted(FOLDER.glob("*.py"))

# By script, what is missing in keepset.tf. A script that passes must be taken out.
STOPS: dict[str, str] = {  # with an error
    "augment_images": "tf.image, tf.clip_by_value",
    "augment_with_seeds": "tf.image, tf.random, tf.clip_by_value",
    "autoencoder_pairs": "tf.image, tf.random, tf.math, tf.argsort, ...",
    "balance_classes": "tf.math, experimental.rejection_resample",
    "character_rnn": "tf.strings, tf.lookup",
    "checkpoint_iterator": "tf.train.Checkpoint, tf.train.CheckpointManager, ...",
    "classify_text": "tf.lookup",
    "contrastive_pairs": "tf.image, tf.linalg, tf.math, tf.random, tf.clip_by_value, tf.matmul",
    "crop_and_adjust": "tf.image",
    "detect_objects": "tf.sparse",
    "detect_with_ragged_boxes": "tf.ragged",
    "gan_input": "tf.image, tf.random, tf.math, tf.repeat",
    "generate_names": "tf.lookup, tf.ragged, tf.strings, tf.math, tf.sequence_mask",
    "generators": "tf.ragged, tf.sparse",
    "handle_errors": "tf.debugging, tf.errors, tf.ensure_shape",
    "hash_text_features": "tf.strings, tf.math, tf.unique_with_counts, tf.sort",
    "input_for_replicas": "settable Options; experimental.AutoShardPolicy, tf.config, ...",
    "iterate_by_hand": "get_next; quotes in tf.print; is_compatible_with of tensors",
    "k_fold": "tf.strings",
    "masked_language_model": "tf.lookup, tf.random, tf.math, tf.ensure_shape",
    "match_anchors": "tf.tile by floats; tf.math, tf.clip_by_value, tf.boolean_mask, ...",
    "mel_spectrograms": "tf.signal, tf.math, tf.tensordot, tf.complex, tf.exp",
    "metrics_over_datasets": "tf.linalg, tf.math, tf.sparse, tf.linspace, tf.argsort, ...",
    "normalise_features": "tf.lookup, tf.math, tf.boolean_mask, tf.sort, tf.searchsorted, ...",
    "parse_all_features": "InvalidArgumentError of parse_single_example; UniformRowLength",
    "performance_guide": "py_function without values; tf.boolean_mask",
    "preprocessor_class": "tf.image, tf.Module, tf.Variable, tf.map_fn",
    "python_functions": "py_function and numpy_function as decorators; their errors",
    "ragged_text": "elements of ragged tensors in batch(); tf.ragged, tf.lookup",
    "read_cifar": "InvalidArgumentError of FixedLengthRecordDataset; tf.image, tf.math",
    "recommend_movies": "tf.linalg, tf.math, tf.lookup, tf.scatter_nd, tf.sin",
    "running_statistics": "experimental.scan, tf.sqrt",
    "segment_images": "tf.image, tf.round",
    "segment_with_class": "tf.math, tf.random, tf.cond, tf.reverse, tf.roll",
    "sequence_examples": "feature.add() of a FeatureList; tf.io.parse_sequence_example, ...",
    "siamese_triplets": "tf.math",
    "split_windows": "the shape of the last batch in element_spec; tf.signal",
    "spot_keywords": "tf.audio, tf.signal, tf.math",
    "translate_pairs": "regex_replace on UTF-8; tf.lookup",
    "word2vec_skipgrams": "tf.lookup, tf.sqrt",
}
DIFFERS: dict[str, str] = {  # runs, and prints something else than with TensorFlow
    "classify_file_lists": "the text of TensorSpec; cardinality() as a tensor",
    "classify_image_folder": "the text of TensorSpec",
    "read_mnist": "the text of TensorSpec",
    "shards_of_records": "the text of TensorSpec",
}


def parameter(path: Path, reasons: dict[str, str]) -> ParameterSet:
    """A script, marked as not passing yet where there is a reason."""
    reason = reasons.get(path.stem) if path.parent == FOLDER else None
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(path, marks=marks, id=path.name)
