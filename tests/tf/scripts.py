"""The scripts for TensorFlow among the examples, and what is missing for some of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

FOLDER = Path(__file__).parents[2] / "examples" / "from_tensorflow"
SCRIPTS = sorted(FOLDER.glob("*.py"))

# By script, what is missing in keepset.tf. A script that passes must be taken out.
STOPS: dict[str, str] = {  # with an error
    "iterate_by_hand": "is_compatible_with of tensors",
}
# These run, and print the specs of elements in other words than TensorFlow.
DIFFERS: dict[str, str] = dict.fromkeys(
    [
        "augment_images",
        "autoencoder_pairs",
        "balance_classes",
        "character_rnn",
        "classify_file_lists",
        "classify_image_folder",
        "classify_text",
        "contrastive_pairs",
        "gan_input",
        "generate_names",
        "generators",
        "input_for_replicas",
        "k_fold",
        "mel_spectrograms",
        "performance_guide",
        "preprocessor_class",
        "python_functions",
        "ragged_text",
        "read_mnist",
        "running_statistics",
        "segment_images",
        "segment_with_class",
        "shards_of_records",
        "siamese_triplets",
        "split_windows",
        "translate_pairs",
    ],
    "the text of TensorSpec",
)


def parameter(path: Path, reasons: dict[str, str]) -> ParameterSet:
    """A script, marked as not passing yet where there is a reason."""
    reason = reasons.get(path.stem) if path.parent == FOLDER else None
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(path, marks=marks, id=path.name)
