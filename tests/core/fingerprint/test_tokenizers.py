"""Tokenizers that change on their first call keep their fingerprint."""

from __future__ import annotations

import json
import threading
from typing import Any

from keepset.core.fingerprint import fingerprint_of_value


class Backend:
    """Stands for a tokenizer of the package tokenizers, which cannot be pickled here."""

    __module__ = "transformers.stand_ins"

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.lock = threading.Lock()
        self.vocabulary = vocabulary
        self.truncation: Any = None

    def token_to_id(self, word: str) -> int:
        return self.vocabulary[word]

    def to_str(self) -> str:
        form = {"truncation": self.truncation, "padding": None, "model": {"vocab": self.vocabulary}}
        return json.dumps(form)


class Fast:
    """Stands for a fast tokenizer of transformers."""

    __module__ = "transformers.stand_ins"

    def __init__(self, words: str, path: str = "here", side: str = "right") -> None:
        self.init_kwargs = {"tokenizer_file": path}
        self.backend_tokenizer = Backend({word: i for i, word in enumerate(words)})
        self.padding_side = side
        self.deprecation_warnings: dict[str, bool] = {}

    def get_vocab(self) -> dict[str, int]:
        return self.backend_tokenizer.vocabulary

    def __call__(self, text: str, max_length: int) -> list[int]:
        self.backend_tokenizer.truncation = {"max_length": max_length}
        self.deprecation_warnings["asked"] = True
        return [self.backend_tokenizer.token_to_id(word) for word in text[:max_length]]


class Slow:
    """Stands for a slow tokenizer, which caches the words that it has seen."""

    __module__ = "transformers.stand_ins"

    def __init__(self, words: str) -> None:
        self.init_kwargs = {"vocab_file": "here"}
        self.words, self.cache = words, dict[str, int]()

    def get_vocab(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def __call__(self, text: str) -> list[int]:
        self.cache.update(dict.fromkeys(text, 1))
        return [self.get_vocab()[word] for word in text]


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


def test_a_fast_tokenizer_is_the_same_after_a_call() -> None:
    tokenizer = Fast("abc")
    before = digest(tokenizer)
    assert tokenizer("cab", max_length=2) == [2, 0]
    assert digest(tokenizer) == before
    assert digest(lambda text: tokenizer(text, 3)) == digest(lambda text: tokenizer(text, 3))


def test_a_fast_tokenizer_counts_by_vocabulary_and_settings_but_not_by_path() -> None:
    assert digest(Fast("abc")) == digest(Fast("abc", path="there"))
    assert len({digest(Fast("abc")), digest(Fast("acb")), digest(Fast("abc", side="left"))}) == 3


def test_the_truncation_of_a_bare_tokenizer_counts() -> None:
    backend = Backend({"a": 1})
    before = digest(backend)
    assert digest(Backend({"a": 1})) == before
    backend.truncation = {"max_length": 3}
    assert digest(backend) != before


def test_a_slow_tokenizer_is_the_same_after_a_call() -> None:
    tokenizer = Slow("abc")
    before = digest(tokenizer)
    assert tokenizer("cb") == [2, 1]
    assert digest(tokenizer) == before != digest(Slow("cba"))


def test_what_a_program_adds_to_a_tokenizer_counts() -> None:
    one, other = Fast("abc"), Fast("abc")
    one.prompt, other.prompt = "Q: ", "A: "  # type: ignore[attr-defined]
    assert fingerprint_of_value(one).digest != fingerprint_of_value(other).digest


def test_a_class_of_the_users_own_that_looks_like_a_tokenizer_counts_by_its_state() -> None:
    class Vocabulary:
        def __init__(self, offset: int) -> None:
            self.offset = offset

        def token_to_id(self, word: str) -> int:
            return len(word) + self.offset

        def to_str(self) -> str:
            return "no JSON"

    digests = {fingerprint_of_value(Vocabulary(offset)).digest for offset in (0, 5)}
    assert len(digests) == 2
