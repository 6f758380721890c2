"""Tokenizers of Hugging Face with parts that are written in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keepset as ks

tokenizers = pytest.importorskip("tokenizers")

pytestmark = pytest.mark.interop


class WholeText:
    def pre_tokenize(self, text: Any) -> None:
        text.split(lambda place, part: [part])


def test_a_part_in_python_is_an_error_that_names_the_tokenizer(tmp_path: Path) -> None:
    words = tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(WholeText())
    ds = ks.Dataset.range(3).map(lambda x: len(tokenizer.encode("a").ids))
    with pytest.raises(ks.FingerprintError, match=r"'tokenizer' .*a part that is written in Pyth"):
        list(ds.snapshot(tmp_path))
    assert [int(x) for x in ds.snapshot(tmp_path, fingerprint="1")] == [1, 1, 1]
