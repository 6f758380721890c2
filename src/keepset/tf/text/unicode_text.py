"""``tf.strings.unicode_...``: texts as characters and code points, in several encodings."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.tensors.conversion import string_array, value_of
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.text_items import each_row, each_text, per_item

_ERRORS: Final = ("strict", "replace", "ignore")
_OUTPUTS: Final = ("UTF-8", "UTF-16-BE", "UTF-32-BE")


class _Reader:
    """Code points of bytes, as its arguments say.

    ``replacement_char`` stands for what is malformed, and for control characters if wanted.
    """

    def __init__(self, encoding: str, errors: str, char: int, controls: bool) -> None:
        if errors not in _ERRORS:
            raise InvalidArgumentError(
                f"errors must be one of {', '.join(_ERRORS)}, not {errors!r}"
            )
        try:
            self._codec = codecs.lookup(encoding).name
        except LookupError as error:
            raise InvalidArgumentError(
                f"Could not create converter for input encoding: {encoding}"
            ) from error
        self._errors, self._char, self._controls = errors, char, controls

    def codes(self, text: bytes) -> list[int]:
        try:
            read = text.decode(self._codec, self._errors)
        except UnicodeDecodeError as error:
            raise InvalidArgumentError(
                f"Invalid formatting on input string {text!r:.60}"
            ) from error
        codes = [ord(char) for char in read]
        if self._char != 0xFFFD:
            codes = [self._char if code == 0xFFFD else code for code in codes]
        if not self._controls:
            return codes
        return [self._char if _is_control(code) else code for code in codes]

    def offsets(self, text: bytes) -> tuple[list[int], list[int]]:
        """Code points, and the byte at which each begins."""
        if self._codec == "utf-8" and text.isascii():
            codes = self.codes(text)
            return codes, list(range(len(codes)))
        made: list[int] = []
        places: list[int] = []
        place = 0
        while place < len(text):
            size = self._size(text, place)
            codes = self.codes(text[place : place + size])
            made += codes
            places += [place] * len(codes)
            place += size
        return made, places

    def _size(self, text: bytes, place: int) -> int:
        """The bytes of the character at a place; those that are malformed come one by one."""
        for size in range(1, 5):
            try:
                if text[place : place + size].decode(self._codec):
                    return size
            except UnicodeDecodeError as error:
                if "unexpected end" not in error.reason and "truncated" not in error.reason:
                    return max(error.end - error.start, 1)
        return len(text) - place


def _is_control(code: int) -> bool:
    return code < 0x20 or code == 0x7F


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of texts, as rows.

    Example:
        >>> unicode_decode(["hé"], "UTF-8")
        <tf.RaggedTensor [[104, 233]]>
    """
    reader = _Reader(input_encoding, errors, replacement_char, replace_control_characters)
    return each_row(reader.codes, input, np.int32)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of texts, each by itself.

    Example:
        >>> unicode_split("hé", "UTF-8").numpy().tolist()
        [b'h', b'\\xc3\\xa9']
    """
    reader = _Reader(input_encoding, errors, replacement_char, False)
    return each_row(lambda text: _characters(reader.codes(text), input_encoding), input)


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Code points, and the byte at which each begins."""
    reader = _Reader(input_encoding, errors, replacement_char, replace_control_characters)
    return (
        each_row(lambda text: reader.offsets(text)[0], input, np.int32),
        each_row(lambda text: reader.offsets(text)[1], input, np.int64),
    )


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Characters, and the byte at which each begins."""
    reader = _Reader(input_encoding, errors, replacement_char, False)
    return (
        each_row(lambda text: _characters(reader.offsets(text)[0], input_encoding), input),
        each_row(lambda text: reader.offsets(text)[1], input, np.int64),
    )


def _characters(codes: Sequence[int], encoding: str) -> list[bytes]:
    codec = _output(encoding)
    return [chr(code).encode(codec) for code in codes]


def _output(encoding: str) -> str:
    if encoding not in _OUTPUTS:
        raise InvalidArgumentError(f"texts are written in {', '.join(_OUTPUTS)}, not {encoding!r}")
    return encoding.lower()


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Texts of the code points in the innermost dimension.

    Example:
        >>> unicode_encode([[104, 233]], "UTF-8").numpy().tolist()
        [b'h\\xc3\\xa9']
    """
    write = _writer(_output(output_encoding), errors, replacement_char)
    if isinstance(input, RaggedTensor):
        if input.ragged_rank > 1:
            return input.with_values(
                unicode_encode(input.values, output_encoding, errors, replacement_char)
            )
        if input.flat.ndim == 1:
            return Tensor(string_array([write(row) for row in input.to_list()]))
        return input.with_values(
            unicode_encode(input.flat_values, output_encoding, errors, replacement_char)
        )
    codes = np.asarray(value_of(input, "int32"))
    if not codes.ndim:
        raise ValueError("input_tensor's rank must be at least 1.")
    if codes.ndim == 1:
        return Tensor(write(codes.tolist()))
    rows = codes.reshape(-1, codes.shape[-1]).tolist()
    return Tensor(string_array([write(row) for row in rows], codes.shape[:-1]))


def _writer(codec: str, errors: str, char: int) -> Callable[[Sequence[int]], bytes]:
    if errors not in _ERRORS:
        raise InvalidArgumentError(f"errors must be one of {', '.join(_ERRORS)}, not {errors!r}")

    def write(codes: Sequence[int]) -> bytes:
        made = []
        for code in codes:
            if 0 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF:
                made.append(chr(code))
            elif errors == "strict":
                raise InvalidArgumentError(
                    f"Code point {code} is out of range for Unicode, or is a surrogate"
                )
            elif errors == "replace":
                made.append(chr(char))
        return "".join(made).encode(codec)

    return write


@per_item
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Texts in another encoding, without what is malformed."""
    reader = _Reader(input_encoding, errors, replacement_char, replace_control_characters)
    codec = _output(output_encoding)
    return each_text(lambda text: "".join(map(chr, reader.codes(text))).encode(codec), input)
