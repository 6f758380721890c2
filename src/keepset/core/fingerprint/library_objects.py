"""Library objects: those whose copies hold too much, or that say they have no content.

A layer of Keras has a name with a number that counts the layers made so far; a table of
TensorFlow is a handle; a progress bar says things and changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from keepset.core.fingerprint.origin import is_library_class, is_library_function, library_of
from keepset.core.fingerprint.sketch import ByName, Part, Sketch, part

_PLAIN = (int, float, str, bytes, np.ndarray)
# Progress bars: they show how far something is, and change nothing.
_BARS = {("tqdm", "tqdm"), ("rich", "Progress"), ("rich", "Status")}


def library_sketch(value: Any) -> Sketch | None:
    """The sketch of an object of a library that needs a rule; None for everything else."""
    kind = type(value)
    names = {library_of(base) for base in kind.__mro__}
    if "keras" in names and hasattr(kind, "get_config") and hasattr(kind, "get_weights"):
        return _keras_layer(value)
    if "tensorflow" in names and hasattr(kind, "export") and hasattr(kind, "lookup"):
        return _lookup_table(value)
    if is_jax_key(value):
        return _jax_key(value)
    if is_library_class(kind) and any((library_of(b), b.__name__) in _BARS for b in kind.__mro__):
        content = getattr(value, "iterable", None)
        parts = [_class(kind)] + ([] if content is None else [part("iterable", content)])
        return Sketch("display", f"{kind.__name__} of {library_of(kind)}", parts=parts)
    if is_library_class(kind) and hasattr(kind, "get_tree_stats") and hasattr(kind, "get_n_calls"):
        return _search_tree(value)
    # What a class of the user's adds to a proxy cannot be listed, so it is refused.
    is_proxy = getattr(sys.modules.get("wrapt"), kind.__name__, None) is kind
    return _proxy(value) if is_proxy and hasattr(kind, "__wrapped__") else None


def is_jax_key(value: Any) -> bool:
    """Whether this is a new-style key of JAX, which is an array that NumPy does not know."""
    jax = sys.modules.get("jax")
    if jax is None or library_of(type(value)) not in ("jax", "jaxlib"):
        return False
    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def _class(kind: type) -> Part:
    return Part(f"class {kind.__name__}", kind, b"class")


def _jax_key(value: Any) -> Sketch:
    jax = sys.modules["jax"]
    parts = [
        part("implementation", str(jax.random.key_impl(value))),
        part("data", np.asarray(jax.random.key_data(value))),
    ]
    return Sketch("random key", "key of jax", parts=parts, library="jax")


def _lookup_table(value: Any) -> Sketch:
    keys, values = (np.asarray(each) for each in value.export())
    order = np.argsort(keys, kind="stable")
    parts = [_class(type(value)), part("keys", keys[order]), part("values", values[order])]
    default = getattr(value, "_default_value", None)
    if default is not None:
        parts.append(part("default", np.asarray(default)))
    return Sketch("object", f"{type(value).__name__} of {len(keys):,}", parts=parts)


def _search_tree(value: Any) -> Sketch:
    """A tree of scikit-learn, which counts how often it is asked and says so beside its content."""
    state, counts = value.__getstate__(), (*value.get_tree_stats(), value.get_n_calls())
    at = next((i for i in range(len(state)) if _is_at(state, i, counts)), len(state))
    content = [*state[:at], *state[at + len(counts) :]]
    parts = [_class(type(value)), *(part(f"state {i}", each) for i, each in enumerate(content))]
    return Sketch("object", f"{type(value).__name__} object", parts=parts, library="sklearn")


def _is_at(state: tuple[Any, ...], at: int, counts: tuple[int, ...]) -> bool:
    found = state[at : at + len(counts)]
    return all(type(each) is int for each in found) and found == counts


def _proxy(value: Any) -> Sketch:
    """A wrapper of wrapt, which pretends to be what it wraps."""
    parts = [
        part("class", ByName(f"wrapt.{type(value).__name__}")),
        part("wrapped", value.__wrapped__),
    ]
    for name in ("_self_wrapper", "_self_enabled", "_self_instance"):
        inner = getattr(value, name, None)
        if inner is not None:
            parts.append(part(name, inner))
    return Sketch("object", f"{type(value).__name__} of wrapt", parts=parts)


# Keras


def _keras_layer(value: Any) -> Sketch:
    """By class, configuration, weights, vocabulary and the layers inside, but not by name."""
    kind = type(value)
    parts = [_class(kind)]
    if is_library_class(kind):
        names: dict[str, str] = {}
        config = _without_names(value.get_config(), names)
        parts.append(part("config", _renamed(config, names)))
    settings = {name: getattr(value, name, None) for name in ("trainable", "autocast")}
    parts.append(part("settings", settings | {"dtype": str(getattr(value, "dtype_policy", ""))}))
    parts += [part(f"weights {i}", np.asarray(each)) for i, each in enumerate(value.get_weights())]
    if hasattr(kind, "get_vocabulary"):
        parts.append(part("vocabulary", [str(word) for word in value.get_vocabulary()]))
    parts += _keras_attributes(value)
    inner = value._flatten_layers(include_self=False, recursive=False)
    parts += [part(f"layer {i}", each) for i, each in enumerate(inner)]
    return Sketch("object", f"{kind.__name__} of keras", parts=parts, library="keras")


def _keras_attributes(value: Any) -> Iterator[Part]:
    """What a class of the user's holds, and functions of the user's in a layer of the library."""
    keras, held = sys.modules["keras"], vars(value)
    is_library = is_library_class(type(value))
    known = set(vars(keras.layers.Layer())) | {"_functional", "_layers"}
    config = value.get_config() if is_library else {}
    for name, item in sorted(held.items()):
        is_function = isinstance(item, FunctionType) and not is_library_function(item)
        is_own = name not in known and not name.startswith(("_self_", "_obj_reference"))
        if is_library:
            # What a program has added: plain values that the configuration does not have.
            is_own = is_own and name[0] != "_" and name not in config and isinstance(item, _PLAIN)
        if is_function or (is_own and not _is_variable(item)):
            yield part(f"attribute {name}", item)


def _is_variable(item: Any) -> bool:
    return library_of(type(item)) == "keras" and hasattr(item, "assign")


def _without_names(config: Any, names: dict[str, str]) -> Any:
    """The configuration with a number for each name, in the order in which they are met."""
    if isinstance(config, dict):
        if config.get("class_name") in ("__lambda__", "function"):
            return "a function"  # which counts by its code
        name = config.get("name")
        if isinstance(name, str) and not _is_policy(config):
            names.setdefault(name, f"layer {len(names)}")
        return {key: _without_names(item, names) for key, item in config.items()}
    if isinstance(config, list | tuple):
        return [_without_names(item, names) for item in config]
    return config


def _is_policy(config: dict[str, Any]) -> bool:
    return set(config) == {"name"}  # the name of a dtype


def _renamed(config: Any, names: dict[str, str]) -> Any:
    if isinstance(config, dict):
        return {key: _renamed(item, names) for key, item in config.items()}
    if isinstance(config, list):
        return [_renamed(item, names) for item in config]
    return names.get(config, config) if isinstance(config, str) else config
