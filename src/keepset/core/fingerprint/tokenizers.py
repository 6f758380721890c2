"""Tokenizers: by their rules and vocabulary, not by what their last call left behind.

A fast tokenizer of Hugging Face writes the padding and truncation of each call into the tokenizer
under it, and a slow one fills caches. So a tokenizer of ``tokenizers`` counts by its serialised
form, and one of ``transformers`` by that form without padding and truncation (or, if it has none,
by its vocabulary) and by the settings that calls read.
"""

from __future__ import annotations

import functools
import json
from types import CodeType, FunctionType
from typing import Any

from keepset.core.fingerprint.origin import library_of
from keepset.core.fingerprint.sketch import Part, Sketch, Uncountable, part, shortened

# What a call reads. Paths and the name on the hub are not among them.
_SETTINGS = (
    "add_bos_token",
    "add_eos_token",
    "add_prefix_space",
    "bpe_ranks",
    "chat_template",
    "clean_up_tokenization_spaces",
    "do_lower_case",
    "model_input_names",
    "model_max_length",
    "pad_token_type_id",
    "padding_side",
    "special_tokens_map",
    "split_special_tokens",
    "truncation_side",
)
_OF_THE_CALL = ("padding", "truncation")
_PLACES = {"name_or_path", "vocab_file", "merges_file", "tokenizer_file"}
_LIBRARIES = {"tokenizers", "transformers"}


def tokenizer_sketch(value: Any) -> Sketch | None:
    """The sketch of a tokenizer of Hugging Face; None for everything else."""
    kind = type(value)
    if not any(library_of(base) in _LIBRARIES for base in kind.__mro__):
        return None
    if hasattr(kind, "to_str") and hasattr(kind, "token_to_id"):
        form = part("serialised form", _serialised(value))
        return Sketch("tokenizer", f"{kind.__name__} tokenizer", parts=[_class(kind), form])
    if not hasattr(kind, "get_vocab") or not hasattr(value, "init_kwargs"):
        return None
    parts = [_class(kind), *_rules(value)]
    parts += [
        part(f"attribute {name}", getattr(value, name))
        for name in _SETTINGS
        if hasattr(value, name)
    ]
    # What a program has added to it, or a class of its own; calls write nothing plain.
    own = _library_names(kind.__mro__)
    parts += [
        part(f"attribute {name}", item)
        for name, item in sorted(vars(value).items())
        if name not in _SETTINGS and name not in _PLACES
        if name not in own or (name[0] != "_" and type(item) in (bool, int, float, str))
    ]
    return Sketch("tokenizer", f"{kind.__name__} tokenizer", parts=parts)


@functools.lru_cache(maxsize=256)
def _library_names(bases: tuple[type, ...]) -> frozenset[str]:
    """The attributes that the code of the library sets or reads on a tokenizer."""
    functions = [
        item
        for base in bases
        if library_of(base) in _LIBRARIES
        for item in vars(base).values()
        if isinstance(item, FunctionType)
    ]
    return frozenset(
        name
        for function in functions
        for code in (function.__code__, *function.__code__.co_consts)
        if isinstance(code, CodeType)
        for name in code.co_names
    )


def _class(kind: type) -> Part:
    return Part(f"class {kind.__name__}", kind, b"class")


def _serialised(value: Any) -> Any:
    """The form of a tokenizer that its library writes to files, as plain data."""
    try:
        return json.loads(value.to_str())
    except Exception as error:  # the library raises nothing more exact
        raise Uncountable(
            f"a {type(value).__name__} with a part that is written in Python",
            shortened(f" ({error})", 200),
        ) from error


def _rules(value: Any) -> list[Part]:
    backend = getattr(value, "backend_tokenizer", None)
    if backend is not None and hasattr(backend, "to_str"):
        form = _serialised(backend)
        return [part("serialised form", {k: v for k, v in form.items() if k not in _OF_THE_CALL})]
    # In an order of its own: that of a table in Rust changes with each process.
    vocabulary = sorted(value.get_vocab().items(), key=repr)
    rules = [part("vocabulary", dict(vocabulary))]
    model: Any = getattr(value, "sp_model", None)
    if hasattr(model, "serialized_model_proto"):
        rules.append(part("model", model.serialized_model_proto()))
    return rules
