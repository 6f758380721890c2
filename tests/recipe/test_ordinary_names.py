"""Ordinary functions that use the words of secrets are written and loaded as they are."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.fingerprint.facts import facts_to_json

KEYS = ("image/encoded", "image/class/label")
MASK, STOP, FIELD, COLUMN = "<mask_1>", "<|stop:2|>", "image/class/text", "Label-2012/x"
VOCABULARY = {"<pad_0>": 0, "<mask_1>": 1, "<|stop:2|>": 2}
path = "/data/imagenet-v2"
FIELDS = {"image": "image/encoded", "label": "image/class/label"}
AUTHORS = ("Ada Lovelace", "Alan Turing")
PASSES, SPLIT = ("first-pass/a", "second-pass/b"), "Validation-2012"
SECRETARY = "Board Minutes/2012"
PATTERN_NAMES = ["data-2012/*.rec", "data-2013/*.rec"]
SPECIAL_TOKENS = {"pad": "<pad_0>", "stop": "<|stop:2|>"}


def login(password: str) -> str:
    return password


def lookup(table: dict[str, Any], key: str) -> Any:
    return table.get(key, 0)


def g(key: str) -> int:
    return len(key)


def hides_its_parameter(x: Any) -> Any:
    path = str(x)
    login(path)
    return x + len(path) * 0


def uses_the_global(x: Any) -> Any:
    return x + len(path)


def passes_both(x: Any) -> Any:
    return uses_the_global(hides_its_parameter(x))


def has_a_parameter_of_that_name(x: Any, path: str = "a") -> Any:
    login(path)
    return uses_the_global(x)


def loops_inside(x: Any) -> Any:
    lengths = [len(login(path)) for path in (str(x), str(x))]
    return uses_the_global(x) + len(lengths)


def nests_a_function(x: Any) -> Any:
    def inner(path: str) -> str:
        return login(password=path)

    return uses_the_global(x) + len(inner(str(x))) * 0


def goes_through_keys(x: Any) -> Any:
    return x + sum(len(key) for key in KEYS)


def loops_over_keys(x: Any) -> Any:
    for key in KEYS:
        x = x + len(key)
    return x


def assigns_a_token(x: Any) -> Any:
    token = MASK
    return x + len(token)


def looks_up(x: Any) -> Any:
    return x + lookup(FIELDS, FIELD)


def names_a_column(x: Any) -> Any:
    return x + g(key=COLUMN)


def compares_a_token(x: Any) -> Any:
    token = MASK if x else STOP
    if token == STOP:
        return x
    return x + VOCABULARY[token]


def sorts_by_key(x: Any) -> Any:
    rows = sorted(FIELDS.items(), key=lambda pair: pair[1])
    return x + len(rows[0][0])


def has_special_tokens(x: Any) -> Any:
    tokens = [SPECIAL_TOKENS["pad"], MASK, SPECIAL_TOKENS.get("stop", STOP)]
    return x + sum(VOCABULARY[token] for token in tokens)


def counts_authors(x: Any) -> Any:
    author, authors = AUTHORS[0], AUTHORS
    return x + len(author) + len(authors)


def makes_passes(x: Any) -> Any:
    for each_pass in PASSES:
        x = x + len(each_pass)
    is_authentic = bool(x) and SPLIT
    return x + len(str(is_authentic))


def asks_whether_to_log_in(x: Any) -> Any:
    use_auth = False
    return x + (1 if use_auth and SPLIT else 2)


def has_a_secretary(x: Any) -> Any:
    secretary, keyboard = SECRETARY, SPLIT
    return x + len(secretary) + len(keyboard)


def joins_keys(x: Any) -> Any:
    key = "/".join([SPLIT, COLUMN]).lower()
    key_prefix, sort_key = f"{SPLIT}/{x}", COLUMN.strip()
    return x + len(key) + len(key_prefix) * 0 + len(sort_key)


def masks_secrets(x: Any, fields: tuple[str, ...] = KEYS) -> Any:
    return x + len(redact_passwords(str(x), fields)) * 0


def redact_passwords(text: str, names: tuple[str, ...]) -> str:
    return text if SPLIT in names else mask_secrets(text, KEYS)


def mask_secrets(text: str, names: tuple[str, ...]) -> str:
    return text.replace(names[0], "")


def splits_into_tokens(x: Any) -> Any:
    tokens = " ".join(AUTHORS).split(" ")
    token_count, key_points = len(tokens), {key: len(key) for key in KEYS}
    return x + token_count + key_points["image/encoded"]


def sets_a_global(x: Any) -> Any:
    global state
    state = SPLIT
    return x + g(state)


state = "Not-Yet/0"


class Tokens:
    pad, stop = "<pad>", "<|stop:2|>"


class Keys(enum.Enum):
    IMAGE = "image"
    LABEL = "label/class"


class Tokenizer:
    def __init__(self) -> None:
        self.model, self.pattern = "Bert-V2/cased", "[A-Z]+|x"


class PasswordFilter:
    def __init__(self) -> None:
        self.column = "Login/2"


OPTIONS = [{"name": "token_id", "value": "shown-value"}, {"name": "key", "value": "Image/1"}]
TOKENIZER, FILTER = Tokenizer(), PasswordFilter()


def uses_classes(x: Any) -> Any:
    return x + len(Tokens.pad) + len(Keys.LABEL.value)


def uses_objects(x: Any) -> Any:
    return x + len(TOKENIZER.model) + len(FILTER.column)


def uses_options(x: Any) -> Any:
    more = {"name": "token_id", "value": "Shown-Value/2"}
    return x + sum(len(each["value"]) for each in [*OPTIONS, more])


def zips_keys(x: Any) -> Any:
    row = dict(zip(["key", "token"], KEYS, strict=True))
    return x + len(row["key"])


ORDINARY: list[Callable[..., Any]] = [
    *(passes_both, has_a_parameter_of_that_name, loops_inside, nests_a_function),
    *(goes_through_keys, loops_over_keys, assigns_a_token, looks_up, names_a_column),
    *(compares_a_token, sorts_by_key, has_special_tokens, counts_authors, makes_passes),
    *(asks_whether_to_log_in, has_a_secretary, joins_keys, masks_secrets, splits_into_tokens),
    *(sets_a_global, uses_classes, uses_objects, uses_options, zips_keys),
]


@pytest.fixture(autouse=True)
def as_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this file were a script: what it defines is told by value, with all that it uses."""
    for value in list(globals().values()):
        if isinstance(value, FunctionType) and value.__module__ == __name__:
            monkeypatch.setattr(value, "__module__", "__main__")


@pytest.mark.parametrize("function", ORDINARY, ids=lambda each: each.__name__)
def test_an_ordinary_function_is_loaded_again_without_being_asked_for(
    function: Callable[..., Any],
) -> None:
    dataset = ks.Dataset.range(4).map(function)
    recipe = dataset.to_recipe()
    assert "secret sha256" not in str(recipe)
    again = ks.from_recipe(recipe, trust=True)
    assert np.array_equal(list(again), list(dataset))


def test_there_are_enough_of_them() -> None:
    assert len(ORDINARY) >= 15


@pytest.mark.parametrize("function", ORDINARY, ids=lambda each: each.__name__)
def test_the_facts_of_an_ordinary_function_show_all_of_it(function: Callable[..., Any]) -> None:
    facts = fingerprint_of_value(functools.partial(function))
    assert "secret sha256" not in str(facts_to_json(facts))
