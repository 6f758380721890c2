"""Lists of values, which Examples are made of: BytesList, FloatList and Int64List."""

from __future__ import annotations

import operator
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
        self.Clear()
        try:
            self._read(whole)
        except ValueError as error:
            raise ElementError(f"the bytes are no {type(self).__name__}: {error}") from error
        return len(whole)

    @abstractmethod
    def _read(self, data: bytes) -> None: ...

    def MergeFrom(self, other: Self) -> None:  # noqa: N802
        """Add what another message holds: lists grow, and entries of the same name are replaced."""
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} takes no {type(other).__name__}")
        self._read(other.SerializeToString())

    def CopyFrom(self, other: Self) -> None:  # noqa: N802
        """Hold what another message holds, and nothing else."""
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} takes no {type(other).__name__}")
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def Clear(self) -> None:  # noqa: N802
        """Hold nothing."""
        self.__init__()  # type: ignore[misc]

    def IsInitialized(self) -> bool:  # noqa: N802
        """Whether all is there that must be, which is nothing."""
        return True

    def ByteSize(self) -> int:  # noqa: N802
        """How many bytes the message takes."""
        return len(self.SerializeToString())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._text(""))

    @abstractmethod
    def _text(self, indent: str) -> Iterator[str]: ...


class CheckedList(list[Any]):
    """A list that looks at each item that is put in."""

    @staticmethod
    def checked(item: Any) -> Any:
        """The item as the list holds it; a TypeError if it cannot."""
        raise NotImplementedError

    def append(self, item: Any) -> None:
        super().append(self.checked(item))

    def insert(self, place: Any, item: Any) -> None:
        super().insert(place, self.checked(item))

    def extend(self, items: Iterable[Any]) -> None:
        super().extend([self.checked(item) for item in items])

    MergeFrom = extend

    def __iadd__(self, items: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(items)
        return self

    def __setitem__(self, place: Any, item: Any) -> None:
        is_many = isinstance(place, slice)
        super().__setitem__(place, list(map(self.checked, item)) if is_many else self.checked(item))


class ValueList(Message):
    """Values of one kind."""

    number: ClassVar[int]
    _held: ClassVar[type[CheckedList]]

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self.value: list[Any] = self._held()
        self.value.extend(value)

    def _add(self, values: list[Any]) -> None:
        """Values that need no check, such as those of a file."""
        list.extend(self.value, values)

    def _text(self, indent: str) -> Iterator[str]:
        return (f"{indent}value: {_shown(item)}" for item in self.value)


def _shown(item: Any) -> str:
    if isinstance(item, bytes):
        return f'"{escaped(item)}"'
    if isinstance(item, int):
        return str(item)
    short = f"{item:.6g}"
    return short if np.float32(short) == item or item != item else f"{item:.9g}"


def escaped(data: bytes) -> str:
    """Bytes as the text form of messages has them."""
    return "".join(
        _ESCAPES.get(octet) or (chr(octet) if 32 <= octet < 127 else f"\\{octet:03o}")
        for octet in data
    )


_ESCAPES = {ord(char): f"\\{code}" for char, code in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)}


class _Bytes(CheckedList):
    @staticmethod
    def checked(item: Any) -> bytes:
        if isinstance(item, bytes | bytearray | memoryview):
            return bytes(item)
        raise TypeError(f"a BytesList holds bytes, not {type(item).__name__}: {item!r:.60}")


class _Floats(CheckedList):
    @staticmethod
    def checked(item: Any) -> float:
        if isinstance(item, str | bytes):
            raise TypeError(f"a FloatList holds numbers, not {item!r:.60}")
        return struct.unpack("<f", struct.pack("<f", float(item)))[0]  # type: ignore[no-any-return]


class _Integers(CheckedList):
    @staticmethod
    def checked(item: Any) -> int:
        try:
            number = operator.index(item)
        except TypeError as error:
            if isinstance(item, np.bool_):
                return int(item)
            raise TypeError(f"an Int64List holds whole numbers, not {item!r:.60}") from error
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"{number} does not fit into 64 bits")
        return number


class BytesList(ValueList):
    """Byte strings.

    Example:
        >>> BytesList(value=[b"a", b""]).SerializeToString().hex()
        '0a01610a00'
    """

    number = 1

    _held = _Bytes

    def _parts(self) -> Iterator[bytes]:
        return (bytes_field(1, item) for item in self.value)

    def _read(self, data: bytes) -> None:
        self._add([value for field, kind, value in fields(data) if (field, kind) == (1, BYTES)])


class FloatList(ValueList):
    """Numbers of 32 bits with a point."""

    number = 2

    _held = _Floats

    def _parts(self) -> Iterator[bytes]:
        if self.value:
            yield bytes_field(1, np.array(self.value, "<f4").tobytes())

    def _read(self, data: bytes) -> None:
        self._add(floats_of(data).tolist())


class Int64List(ValueList):
    """Whole numbers."""

    number = 3

    _held = _Integers

    def _parts(self) -> Iterator[bytes]:
        if self.value:
            yield bytes_field(1, varints(np.array(self.value, np.int64)))

    def _read(self, data: bytes) -> None:
        self._add(integers_of(data).tolist())


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
