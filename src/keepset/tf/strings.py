"""``tf.strings``: what pipelines do to texts.

All functions take ragged tensors as well. Texts are bytes, and characters are those of UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_reductions import along
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.row_partition import splits_of_lengths
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.conversion import int_of, ints_of, string_array, value_of
from keepset.tf.tensors.printed import printed
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.farm_hash import farm_hash64, murmur64, sip_hash
from keepset.tf.text.ngrams import ngrams
from keepset.tf.text.number_texts import as_string, to_number
from keepset.tf.text.patterns import pattern_of, replaced
from keepset.tf.text.text_items import each_row, each_text, per_item, strings_of, text_of
from keepset.tf.text.unicode_text import (
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_split,
    unicode_split_with_offsets,
    unicode_transcode,
)

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]

_UNITS = ("BYTE", "UTF8_CHAR")


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of a text, between separators or runs of white space; of many texts, as rows.

    Example:
        >>> split(["a b", "c"])
        <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    between, most = b"" if sep is None else text_of(sep, "sep"), int_of(maxsplit)
    return each_row(lambda text: _parts(text, between, most), input)


def _parts(text: bytes, between: bytes, most: int) -> list[bytes]:
    if most == 0:
        return [text]
    if between:
        return text.split(between, most)
    parts = text.split()
    if most < 0 or len(parts) < most:
        return parts
    # As TensorFlow: what is left is a part also if it is empty.
    return [*parts[:most], _behind(text, most)]


def _behind(text: bytes, count: int) -> bytes:
    for _ in range(count):
        text = text.lstrip()
        text = text[len(text.split(None, 1)[0]) :]
    return text.lstrip()


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of texts, each by itself."""
    return each_row(lambda text: [text[at : at + 1] for at in range(len(text))], input)


@per_item
def join(inputs: Any, separator: Any = "", name: str | None = None) -> Tensor:
    """Texts put together, item by item.

    Example:
        >>> join([["a", "b"], "x"], "-").numpy().tolist()
        [b'a-x', b'b-x']
    """
    arrays, between = [strings_of(each) for each in inputs], text_of(separator, "separator")
    if not arrays:
        return Tensor(b"")
    shapes = {each.shape for each in arrays if each.ndim}
    if len(shapes) > 1:
        raise InvalidArgumentError(
            f"Input shapes do not match: {', '.join(map(str, shapes))}; only single texts are "
            "repeated"
        )
    whole = [np.broadcast_to(each, shapes.copy().pop() if shapes else ()) for each in arrays]
    made = [between.join(texts) for texts in zip(*(a.reshape(-1) for a in whole), strict=True)]
    return _shaped(made, whole[0].shape)


def _shaped(made: Sequence[bytes], shape: tuple[int, ...]) -> Tensor:
    return Tensor(string_array(made, shape) if shape else made[0])


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: Any = "",
    name: str | None = None,
) -> Any:
    """The texts along one or more dimensions put together.

    Example:
        >>> reduce_join([["a", "b"], ["c", "d"]], axis=1, separator=" ").numpy().tolist()
        [b'a b', b'c d']
    """
    between = text_of(separator, "separator")
    if isinstance(inputs, RaggedTensor):
        return _ragged_joined(inputs, axis, between)
    array = strings_of(inputs)
    axes = tuple(range(array.ndim))[::-1] if axis is None else ints_of(axis)
    if any(not -array.ndim <= each < array.ndim for each in axes):
        raise InvalidArgumentError(f"axis {axis} is outside of a tensor of {array.ndim} dimensions")
    places = [each % array.ndim for each in axes]
    if len(set(places)) != len(places):
        raise InvalidArgumentError(f"axis {axis} has a dimension twice")
    left = [each for each in range(array.ndim) if each not in places]
    shape = tuple(array.shape[each] for each in left)
    # The first dimension that is named runs fastest.
    rows = (
        array.transpose([*left, *places[::-1]]).reshape(*shape, -1) if places else array[..., None]
    )
    if array.size == 0:
        rows = np.empty((*shape, 0), object)
    count = int(np.prod(shape))
    made = [between.join(row) for row in rows.reshape(count, -1).tolist()]
    kept = tuple(1 if at in places else size for at, size in enumerate(array.shape))
    return _shaped(made, kept if keepdims else shape)


def _ragged_joined(ragged: RaggedTensor, axis: Any, between: bytes) -> Any:
    if axis is None:
        return Tensor(between.join(ragged.flat.reshape(-1).tolist()))
    rank = len(ragged.shape)
    made: Any = ragged
    for place in sorted((each % rank for each in ints_of(axis)), reverse=True):
        made = along(lambda values, splits: _joined_rows(values, splits, between), made, place)
    return made


def _joined_rows(values: Any, splits: Any, between: bytes) -> Any:
    cuts, texts = splits.tolist(), values.tolist()
    return string_array([between.join(texts[start:stop]) for start, stop in pairwise(cuts)])


@per_item
def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """How long texts are, in bytes or in characters."""
    _check_unit(unit)
    return each_text(len if unit == "BYTE" else _characters, input, np.int32)


def _check_unit(unit: str) -> None:
    if unit not in _UNITS:
        raise InvalidArgumentError(f"unit must be 'BYTE' or 'UTF8_CHAR', not {unit!r}")


def _characters(text: bytes) -> int:
    return len(_starts(text)) - 1


def _starts(text: bytes) -> list[int]:
    """Where characters begin, and the end: all bytes that are no continuation."""
    return [at for at, byte in enumerate(text) if byte & 0xC0 != 0x80] + [len(text)]


@per_item
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The part of a text from a place on, or from its end if that is negative."""
    _check_unit(unit)
    texts = strings_of(input)
    places, sizes = (np.asarray(value_of(each)) for each in (pos, len))
    if places.dtype != sizes.dtype and isinstance(pos, Tensor) and isinstance(len, Tensor):
        raise DtypeError("pos and len must be of one dtype; use tf.cast")
    if places.shape != sizes.shape:
        raise InvalidArgumentError(f"pos and len have shapes {places.shape} and {sizes.shape}")
    try:
        given = np.broadcast_arrays(texts, places, sizes)
    except ValueError as error:
        raise InvalidArgumentError(f"pos and len do not fit to the texts: {error}") from error
    rows = zip(*(each.reshape(-1).tolist() for each in given), strict=True)
    return _shaped([_part(text, at, size, unit) for text, at, size in rows], given[0].shape)


def _part(text: bytes, place: int, size: int, unit: str) -> bytes:
    starts = range(len(text) + 1) if unit == "BYTE" else _starts(text)
    count = len(starts) - 1
    if not -count <= place <= count:
        raise InvalidArgumentError(f"pos {place} out of range for string {text!r:.60}")
    first = place + count if place < 0 else place
    last = count if size < 0 else min(first + size, count)
    return text[starts[first] : starts[last]]


@per_item
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In small letters; without an encoding, those of ASCII only."""
    return _cased(bytes.lower, str.lower, input, encoding)


@per_item
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In capital letters; without an encoding, those of ASCII only."""
    return _cased(bytes.upper, str.upper, input, encoding)


def _cased(
    of_bytes: Callable[[bytes], bytes], of_text: Callable[[str], str], input: Any, encoding: str
) -> Tensor:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"encoding must be 'utf-8' or '', not {encoding!r}")
    if not encoding:
        return each_text(of_bytes, input)
    return each_text(lambda text: of_text(text.decode("utf-8", "replace")).encode(), input)


@per_item
def strip(input: Any, name: str | None = None) -> Tensor:
    """Without white space at both ends."""
    return each_text(bytes.strip, input)


@per_item
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""What matches a pattern of RE2, replaced; ``\\1`` stands for the first group.

    Example:
        >>> regex_replace("a1 b22", r"([a-z])(\d+)", r"\2\1").numpy()
        b'1a 22b'
    """
    compiled, made = pattern_of(text_of(pattern, "pattern")), text_of(rewrite, "rewrite")
    return each_text(
        lambda text: replaced(compiled, made, text, everywhere=bool(replace_global)), input
    )


@per_item
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether all of a text matches a pattern of RE2."""
    compiled = pattern_of(text_of(pattern, "pattern"))
    return each_text(
        lambda text: compiled.fullmatch(text.decode("utf-8", "surrogateescape")) is not None,
        input,
        np.bool_,
    )


@per_item
def to_hash_bucket_fast(input: Any, num_buckets: Any, name: str | None = None) -> Tensor:
    """The bucket of each text, by its FarmHash64: the same numbers as TensorFlow's."""
    return _buckets(farm_hash64, input, num_buckets)


@per_item
def to_hash_bucket(input: Any, num_buckets: Any, name: str | None = None) -> Tensor:
    """The bucket of each text; ``to_hash_bucket_fast`` gives others, and is preferred."""
    return _buckets(murmur64, input, num_buckets)


@per_item
def to_hash_bucket_strong(
    input: Any, num_buckets: Any, key: Any, name: str | None = None
) -> Tensor:
    """The bucket of each text, which no one can guess without the key."""
    one, two = ints_of(key)
    return _buckets(lambda text: sip_hash(text, (one, two)), input, num_buckets)


def _buckets(hashed: Callable[[bytes], int], input: Any, num_buckets: Any) -> Tensor:
    count = int_of(num_buckets)
    if count < 1:
        raise InvalidArgumentError(f"num_buckets must be at least 1, not {count}")
    return each_text(lambda text: hashed(text) % count, input, np.int64)


def format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A text with tensors printed where the template has a placeholder.

    Example:
        >>> import keepset.tf as tf
        >>> format("{} of {}", (2, tf.range(9))).numpy()
        b'2 of [0 1 2 ... 6 7 8]'
    """
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    parts = template.split(placeholder)
    if len(parts) - 1 != len(given):
        raise ValueError(
            f"The template expects {len(parts) - 1} tensors, but the inputs has {len(given)}; give "
            "one for each placeholder"
        )
    shown = [printed(value_of(each), int(summarize)) for each in given]
    made = [text for pair in zip(parts, [*shown, ""], strict=True) for text in pair]
    return Tensor("".join(made).encode())


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: Any = "", name: str | None = None
) -> Tensor:
    """The texts of each segment put together."""
    texts, between = strings_of(inputs), text_of(separator, "separator")
    numbers = np.asarray(value_of(segment_ids))
    if texts.shape[: numbers.ndim] != numbers.shape:
        raise InvalidArgumentError(f"{texts.shape} texts and segment_ids of {numbers.shape}")
    count = int_of(num_segments)
    if (numbers >= count).any():
        raise InvalidArgumentError(f"segment_ids reach {numbers.max()}, of {count} segments")
    ids, inner = numbers.reshape(-1), texts.shape[numbers.ndim :]
    flat = texts.reshape(len(ids), -1)
    order = np.argsort(ids, kind="stable")
    order = order[ids[order] >= 0]
    splits = splits_of_lengths(np.bincount(ids[order], minlength=count))
    columns = [_joined_rows(flat[order, at], splits, between) for at in range(flat.shape[1])]
    return Tensor(np.stack(columns, axis=1).reshape(count, *inner))


__getattr__ = not_covered("tf.strings")
