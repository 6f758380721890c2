"""Entries of WebDataset samples: what is in a file of an archive, by what its name ends with."""

from __future__ import annotations

import io
import json
import math
from typing import Any, Final

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.dtypes import StringType, is_numeric, string, text
from keepset.core.element import to_element
from keepset.core.encoded import encoded_leaf
from keepset.core.spec import Spec, TensorSpec, is_untyped, spec_of
from keepset.core.untyped import typed_column
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.images.pictures import ENDINGS as PICTURES
from keepset.exchange.images.pictures import PixelFormat, encode, misfit
from keepset.storage.private_url import private_url

KEY: Final = "__key__"
NUMBERS: Final = ("cls", "cls2", "class", "count", "index", "inx", "id")
JSON: Final = ("json", "jsn")
TEXTS: Final = ("txt", "text", "transcript")
# What only unpickling could read, which would run code.
PICKLED: Final = ("pyd", "pickle", "pkl", "pth", "pt")
_OF_OTHERS: Final = 2  # dtypes that another package adds
_PICTURE_KINDS: Final = {"jpg": "jpeg", "jpeg": "jpeg", "png": "png", "webp": "webp", "bmp": "bmp"}


def ending_of(entry: str) -> str:
    """What decides how an entry is decoded: ``png`` of ``seg.png``."""
    return entry.rpartition(".")[2]


def check_entry(entry: str, where: str) -> None:
    """An error if an entry cannot be decoded without running code."""
    if ending_of(entry) in PICKLED:
        raise InvalidArgumentError(
            f"{private_url(where)} holds {entry!r}, which is pickled: to decode it would run code; "
            "leave it out with columns=[...], or read its bytes with decode=False or decode=[...]"
        )


def decode_entry(entry: str, data: bytes, pixels: PixelFormat) -> Any:
    """The leaf, or the dict of a JSON text, that an entry becomes.

    Raises:
        ValueError: It is damaged.
    """
    ending = ending_of(entry)
    if ending in PICTURES:
        return pixels.decode(data)
    if ending in NUMBERS:
        return to_element(int(data))
    if ending in JSON:
        try:
            return to_element(json.loads(data))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
    if ending == "npy":
        return _array(data)
    return data


def entry_spec(entry: str, pixels: PixelFormat) -> Spec | None:
    """The spec of a decoded entry, or None where only an element can tell."""
    ending = ending_of(entry)
    if ending in PICTURES:
        return TensorSpec(pixels.shape, np.uint8)
    if ending in NUMBERS:
        return TensorSpec((), np.int64)
    if ending in JSON or ending == "npy":
        return None
    return TensorSpec((), string)


def _array(data: bytes) -> Any:
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"it is no .npy file ({error})") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are pickled: to read them would run code")
    count = math.prod(shape)
    # The length first: a header that is damaged may ask for more memory than there is.
    if len(data) - file.tell() != count * dtype.itemsize:
        raise ValueError(f"it has not the length of an array of shape {shape} of {dtype}")
    flat = np.frombuffer(data, dtype, count, file.tell()).copy()
    return to_element(as_array(flat.reshape(shape, order="F" if is_fortran else "C")))


class EntryWriter:
    """Turns one entry of each element into the content of a file.

    Attributes:
        name: What the file is called behind the key of its sample.
    """

    def __init__(self, entry: str, spec: Spec, picture: str, quality: int | None) -> None:
        self._entry, self._spec, self._quality = entry, spec, quality
        ending = ending_of(entry)
        wanted = _natural_ending(entry, spec, picture)
        self._is_bytes = spec in (TensorSpec((), string), TensorSpec((), text))
        if self._fits(ending, spec):
            self.name, self._ending = entry, ending
        else:
            self.name, self._ending = f"{entry}.{wanted}", wanted
        if ending_of(self.name) in PICKLED:
            raise unfit_entry(entry, "nothing is pickled here; give the entry another name")
        if "/" in entry or "\0" in entry or not all(entry.split(".")):
            raise unfit_entry(entry, "its name cannot be what a file ends with")

    def _fits(self, ending: str, spec: Spec) -> bool:
        """Whether the entry is called as what it holds."""
        if self._is_bytes:
            return "." in self._entry or ending in _KNOWN
        if isinstance(spec, dict):
            return ending in JSON
        if ending in NUMBERS:
            return _is_whole(spec)
        if ending in _PICTURE_KINDS:
            return _is_picture(spec) or (spec.dtype == np.uint8 and spec.rank == 2)
        return ending == "npy" or (ending in JSON and spec.rank in (0, 1))

    def encode(self, value: Any) -> bytes:
        """The content of the file."""
        if self._ending in JSON and not self._is_bytes:
            return self._json(value)
        if self._ending == "npy" and is_untyped(self._spec):
            # The samples before were empty lists: the type is that of the first that has one.
            self._spec = spec_of(value)
        [value] = typed_column([value], self._spec)
        found = spec_of(value)
        is_single = self._is_bytes or self._ending in NUMBERS
        if getattr(found, "dtype", None) != self._spec.dtype or (is_single and found.shape != ()):
            raise unfit_entry(
                self._entry,
                f"this is {found}, but the archive has {self._spec} there; bring all elements to "
                "one type with map",
            )
        if self._is_bytes:
            return encoded_leaf(value)  # type: ignore[no-any-return]
        if self._ending in NUMBERS:
            return b"%d" % int(value)
        kind = _PICTURE_KINDS.get(self._ending)
        array = np.asarray(value)
        if kind is None:
            out = io.BytesIO()
            np.lib.format.write_array(out, array, allow_pickle=False)
            return out.getvalue()
        reason = misfit(array, kind)
        if reason is not None:
            raise unfit_entry(self._entry, reason)
        return encode(array, kind, self._quality)

    def _json(self, value: Any) -> bytes:
        try:
            return json.dumps(_plain(value), ensure_ascii=False).encode()
        except (TypeError, UnicodeDecodeError, UnicodeEncodeError) as error:
            raise unfit_entry(self._entry, f"it cannot be JSON ({error})") from error


_KNOWN: Final = {*PICTURES, *NUMBERS, *JSON, *TEXTS, "npy", "bin"}


def _natural_ending(entry: str, spec: Spec, picture: str) -> str:
    if isinstance(spec, dict):
        return "json"
    if not isinstance(spec, TensorSpec):
        raise unfit_entry(entry, f"{spec} has no place in a sample; bring it to an array with map")
    if isinstance(spec.dtype, StringType):
        if spec.shape != ():
            raise unfit_entry(entry, "an array of texts has no place in a sample; join them")
        return "txt" if spec.dtype is text else "bin"
    if _is_whole(spec):
        return "cls"
    if _is_picture(spec):
        return picture
    assert isinstance(spec.dtype, np.dtype)
    if not is_numeric(spec.dtype) or spec.dtype.isbuiltin == _OF_OTHERS:
        raise unfit_entry(entry, f"NumPy does not know {spec.dtype} in its files; cast it with map")
    return "npy"


def _is_whole(spec: Spec) -> bool:
    return spec.shape == () and getattr(spec.dtype, "kind", "") in ("i", "u")


def _is_picture(spec: Spec) -> bool:
    return bool(
        isinstance(spec, TensorSpec)
        and spec.dtype == np.uint8
        and spec.shape is not None
        and len(spec.shape) == 3
        and spec.shape[2] in (1, 3, 4)
    )


def _plain(value: Any) -> Any:
    """The same as JSON knows it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist()) if value.dtype == object else value.tolist()
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if value is None:
        return None
    raise TypeError(f"{type(value).__name__} is not known there")


def unfit_entry(entry: str, what: str) -> ElementError:
    return ElementError(f"{entry!r} cannot be written to a sample: {what}")
