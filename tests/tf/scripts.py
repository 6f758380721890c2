"""The scripts for TensorFlow among the examples, and what is missing for some of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

FOLDER = Path(__file__).parents[2] / "examples" / "from_tensorflow"
SCRIPTS = sorted(FOLDER.glob("*.py"))

# By script, what is missing in keepset.tf. A script that passes must be taken out.
STOPS: dict[str, str] = {  # with an error
    "autoencoder_pairs": "tf.image, tf.random, tf.math, tf.argsort, ...",
    "match_anchors": "tf.tile by floats; tf.math, tf.clip_by_value, tf.boolean_mask, ...",
    "metrics_over_datasets": "tf.linalg, tf.math, tf.sparse, tf.linspace, tf.argsort, ...",
    "preprocessor_class": "tf.image, tf.Module, tf.Variable, tf.map_fn",
    "python_functions": "py_function and numpy_function as decorators; their errors",
    "ragged_text": "elements of ragged tensors in batch(); tf.ragged, tf.lookup",
    "read_cifar": "InvalidArgumentError of FixedLengthRecordDataset; tf.image, tf.math",
    "sequence_examples": "feature.add() of a FeatureList; tf.io.parse_sequence_example, ...",
}
DIFFERS: dict[str, str] = {  # runs, and prints something else than with TensorFlow
    "handle_errors": "NotFoundError of a file that is not there",
    "iterate_by_hand": "quotes in tf.print",
}


def parameter(path: Path, reasons: dict[str, str]) -> ParameterSet:
    """A script, marked as not passing yet where there is a reason."""
    reason = reasons.get(path.stem) if path.parent == FOLDER else None
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(path, marks=marks, id=path.name)
