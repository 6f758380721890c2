"""Lists of values, which Examples are made of: BytesList, FloatList and Int64List."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np

from keepset.errors import ElementError
from keepset.exchange.tensorflow.wire import (
    BYTES,
    FIXED32,
    VARINT,
    bytes_field,
    fields,
    packed_varints,
    signed,
    varints,
)


class Message(ABC):
    """What all of these messages can do."""

    def SerializeToString(self, deterministic: bool = True) -> bytes:  # noqa: N802
        """The bytes of the message, with its keys in their order."""
        return b"".join(self._parts())

    @abstractmethod
    def _parts(self) -> Iterator[bytes]: ...

    @classmethod
    def FromString(cls, data: bytes) -> Self:  # noqa: N802
        """The message that these bytes are; an ElementError if they are none."""
        message = cls()
        message.ParseFromString(data)
        return message

    def ParseFromString(self, data: Any) -> int:  # noqa: N802
        """Take over what these bytes hold; how many they are."""
        whole = bytes(data)
        self.__init__()  # type: ignore[misc]
        try:
            self._read(whole)
        except ValueError as error:
            raise ElementError(f"the bytes are no {type(self).__name__}: {error}") from error
        return len(whole)

    @abstractmethod
    def _read(self, data: bytes) -> None: ...

    def ByteSize(self) -> int:  # noqa: N802
        """How many bytes the message takes."""
        return len(self.SerializeToString())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return "\n".join(self._text(""))

    @abstractmethod
    def _text(self, indent: str) -> Iterator[str]: ...


class ValueList(Message):
    """Values of one kind."""

    number: ClassVar[int]

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self.value: list[Any] = [self._checked(item) for item in value]

    @classmethod
    @abstractmethod
    def _checked(cls, item: Any) -> Any: ...

    def _text(self, indent: str) -> Iterator[str]:
        for item in self.value:
            shown = f'"{escaped(item)}"' if isinstance(item, bytes) else item
            yield f"{indent}value: {shown}"


def escaped(data: bytes) -> str:
    return "".join(
        chr(octet) if 32 <= octet < 127 and octet not in b'"\\' else f"\\{octet:03o}"
        for octet in data
    )


class BytesList(ValueList):
    """Byte strings.

    Example:
        >>> BytesList(value=[b"a", b""]).SerializeToString().hex()
        '0a01610a00'
    """

    number = 1

    @classmethod
    def _checked(cls, item: Any) -> bytes:
        if isinstance(item, bytes | bytearray | memoryview):
            return bytes(item)
        raise TypeError(f"a BytesList holds bytes, not {type(item).__name__}: {item!r:.60}")

    def _parts(self) -> Iterator[bytes]:
        return (bytes_field(1, item) for item in self.value)

    def _read(self, data: bytes) -> None:
        self.value += [value for field, kind, value in fields(data) if (field, kind) == (1, BYTES)]


class FloatList(ValueList):
    """Numbers of 32 bits with a point."""

    number = 2

    @classmethod
    def _checked(cls, item: Any) -> float:
        return struct.unpack("<f", struct.pack("<f", float(item)))[0]  # type: ignore[no-any-return]

    def _parts(self) -> Iterator[bytes]:
        if self.value:
            yield bytes_field(1, np.array(self.value, "<f4").tobytes())

    def _read(self, data: bytes) -> None:
        self.value += floats_of(data).tolist()


class Int64List(ValueList):
    """Whole numbers."""

    number = 3

    @classmethod
    def _checked(cls, item: Any) -> int:
        if isinstance(item, float | np.floating):
            raise TypeError(f"an Int64List holds whole numbers, not {item!r}")
        number = int(item)
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"{number} does not fit into 64 bits")
        return number

    def _parts(self) -> Iterator[bytes]:
        if self.value:
            yield bytes_field(1, varints(np.array(self.value, np.int64)))

    def _read(self, data: bytes) -> None:
        self.value += integers_of(data).tolist()


def floats_of(data: bytes) -> Any:
    """The values of a FloatList, packed or not."""
    parts = [
        value for field, kind, value in fields(data) if field == 1 and kind in (BYTES, FIXED32)
    ]
    joined = parts[0] if len(parts) == 1 else b"".join(parts)
    if len(joined) % 4:
        raise ValueError("a list of numbers ends within one of them")
    return np.frombuffer(joined, "<f4")


def integers_of(data: bytes) -> Any:
    """The values of an Int64List, packed or not."""
    found = [
        np.array([signed(value)], np.int64)
        if kind == VARINT
        else packed_varints(value).view(np.int64)
        for field, kind, value in fields(data)
        if field == 1 and kind in (BYTES, VARINT)
    ]
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.zeros(0, np.int64)
