"""``tf.strings.ngrams``: runs of neighbouring texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.row_partition import splits_of_lengths
from keepset.tf.tensors.conversion import string_array
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.text_items import strings_of, text_of


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: Any = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Each run of so many neighbours in the innermost dimension, put together.

    Example:
        >>> ngrams(["a", "b", "c"], 2).numpy().tolist()
        [b'a b', b'b c']
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if not widths or any(width < 1 for width in widths):
        raise InvalidArgumentError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    if padding_width is not None and pad_values is None:
        raise ValueError("pad_values must be provided if padding_width is set.")
    if padding_width is not None and padding_width < 0:
        raise InvalidArgumentError(f"padding_width must be at least 0, not {padding_width}")
    if isinstance(pad_values, str | bytes) or pad_values is None:
        pad_values = (pad_values or "", pad_values or "")
        most = 0 if pad_values == ("", "") and padding_width is None else None
    else:
        most = None
    left, right = (text_of(each, "pad_values") for each in pad_values)
    longest = max(widths) - 1 if most is None else 0
    most = longest if padding_width is None else min(padding_width, longest)
    return _of_rows(
        data,
        _Run(widths, text_of(separator, "separator"), left, right, most, preserve_short_sequences),
    )


class _Run:
    """The n-grams of one row."""

    def __init__(
        self, widths: list[int], between: bytes, left: bytes, right: bytes, most: int, short: bool
    ) -> None:
        self._widths, self._between = widths, between
        self._left, self._right, self._most, self._short = left, right, most, short

    def __call__(self, row: list[bytes]) -> list[bytes]:
        made = [gram for width in self._widths for gram in self._of_width(row, width)]
        if not made and self._short and row:
            return [self._between.join(row)]
        return made

    def _of_width(self, row: list[bytes], width: int) -> list[bytes]:
        pad = min(self._most, width - 1)
        padded = [self._left] * pad + row + [self._right] * pad
        count = len(padded) - width + 1
        return [self._between.join(padded[at : at + width]) for at in range(max(count, 0))]


def _of_rows(data: Any, run: _Run) -> Any:
    if isinstance(data, RaggedTensor):
        if data.flat.ndim > 1:
            raise InvalidArgumentError(
                "ngrams takes ragged tensors whose innermost rows are ragged"
            )
        if data.ragged_rank > 1:
            return data.with_values(_of_rows(data.values, run))
        rows = [run(row) for row in data.to_list()]
        values = string_array([gram for row in rows for gram in row])
        return RaggedTensor(values, splits_of_lengths([len(row) for row in rows], np.int64))
    array = strings_of(data)
    if not array.ndim:
        raise InvalidArgumentError("ngrams needs at least one dimension; put the text into a list")
    made = [run(row) for row in array.reshape(-1, array.shape[-1]).tolist()]
    size = len(made[0]) if made else 0
    return Tensor(string_array([x for row in made for x in row], (*array.shape[:-1], size)))
