"""Library state: what objects of libraries hold, which may settle when they are first used."""

from __future__ import annotations

from typing import Any

from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.fingerprint.writers import is_random_generator

# What may change as it is used, whatever library it is of.
_KINDS = {"tokenizer", "generator", "compiled function"}
# Whose objects work, and may load or build parts of themselves on first use. All others are data,
# settings for one, and count in every digest.
_SETTLING = {
    *("catboost", "gensim", "lightgbm", "nltk", "onnxruntime", "sklearn", "spacy", "thinc"),
    *("diffusers", "peft", "sentence_transformers", "sentencepiece", "tiktoken", "timm"),
    *("tokenizers", "torch", "torchaudio", "torchtext", "torchvision", "transformers"),
    *("equinox", "flax", "haiku", "jax", "jaxlib", "keras", "tensorflow", "tensorflow_text"),
    *("albumentations", "audiomentations", "imgaug", "kornia", "monai", "torchio"),
    *("jinja2", "lark", "numba", "PIL", "pyparsing", "stanza", "tf_keras", "xgboost"),
}
# Objects of these libraries that hold settings.
_SETTINGS = ("Args", "Arguments", "Config", "Configuration", "Options")


def has_library_state(vertex: Vertex) -> bool:
    """Whether a value is an object of a library class that may change as it is used."""
    kind, sketch = type(vertex.value), vertex.sketch
    if sketch is None or not is_library_class(kind):
        return False
    if sketch.kind in _KINDS:
        return True
    settles = sketch.kind == "object" and library_of(kind) in _SETTLING
    return (settles and not kind.__name__.endswith(_SETTINGS)) or is_random_generator(vertex.value)


class WithoutLibraryState:
    """Hides what another mask hides, and library objects: even their class may change.

    A lazy module of torch becomes one of another class when it is first called.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def hides(self, vertex: Vertex) -> bool:
        return self._mask.hides(vertex) or has_library_state(vertex)

    def hides_part(self, vertex: Vertex, part: Part) -> bool:
        return self._mask.hides_part(vertex, part) or has_library_state(vertex)

    def hidden_keys(self, vertex: Vertex) -> frozenset[Any]:
        return self._mask.hidden_keys(vertex)
