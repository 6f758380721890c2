"""Frameworks: other people's libraries that are imported when somebody asks for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from keepset.errors import MissingExtraError

_TITLES = {
    "datasets": "Hugging Face datasets",
    "jax": "JAX",
    "keras": "Keras 3",
    "polars": "Polars",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
}
# Extras that are not called as what they bring.
_EXTRAS = {"datasets": "hf"}


def framework(name: str, wanted_by: str) -> Any:
    """The module of a framework; an error says how to install it.

    Example:
        >>> framework("jacks", "to_jacks")
        Traceback (most recent call last):
            ...
        keepset.errors.MissingExtraError: to_jacks needs jacks; install it with: pip install
        'keepset[jacks]'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # it is there, and lacks something itself
        raise MissingExtraError(
            f"{wanted_by} needs {_TITLES.get(name, name)}; install it with: "
            f"pip install 'keepset[{_EXTRAS.get(name, name)}]'"
        ) from error
