"""tf.train.Example and SequenceExample: messages of named lists, built, written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from keepset.exchange.tensorflow.value_lists import (
    BytesList,
    CheckedList,
    FloatList,
    Int64List,
    Message,
    ValueList,
    escaped,
)
from keepset.exchange.tensorflow.wire import (
    BYTES,
    bytes_field,
    fields,
)

_KINDS: dict[str, type[ValueList]] = {
    "bytes_list": BytesList,
    "float_list": FloatList,
    "int64_list": Int64List,
}


class Feature(Message):
    """A list of one of the three kinds, or nothing.

    Example:
        >>> feature = Feature(int64_list=Int64List(value=[1, 300]))
        >>> feature.WhichOneof("kind"), feature.int64_list.value
        ('int64_list', [1, 300])
    """

    def __init__(
        self,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        self._chosen: str | None = None  # which may be empty
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        self._lists: dict[str, ValueList] = {}
        for name, made in given.items():
            if made is not None and type(made) is not _KINDS[name]:
                kind = _KINDS[name].__name__
                raise TypeError(f"{name} must be a {kind}, not {type(made).__name__}")
            if made is not None:
                self._lists, self._chosen = {name: made}, name

    def WhichOneof(self, name: str) -> str | None:  # noqa: N802
        """Which kind of list there is: ``"bytes_list"`` and so on."""
        if name != "kind":
            raise ValueError(f"a Feature has the choice 'kind', not {name!r}")
        filled = [kind for kind, made in self._lists.items() if made.value]
        return filled[-1] if filled else self._chosen

    def HasField(self, name: str) -> bool:  # noqa: N802
        """Whether that kind of list is there."""
        _check_field(self, name, _KINDS)
        return self.WhichOneof("kind") == name

    @property
    def bytes_list(self) -> BytesList:
        return self._list("bytes_list")  # type: ignore[return-value]

    @property
    def float_list(self) -> FloatList:
        return self._list("float_list")  # type: ignore[return-value]

    @property
    def int64_list(self) -> Int64List:
        return self._list("int64_list")  # type: ignore[return-value]

    def _list(self, kind: str) -> ValueList:
        """The list of a kind, which counts once something is in it."""
        if kind not in self._lists:
            self._lists[kind] = _KINDS[kind]()
        return self._lists[kind]

    def _parts(self) -> Iterator[bytes]:
        kind = self.WhichOneof("kind")
        if kind is not None:
            made = self._list(kind)
            yield bytes_field(made.number, made.SerializeToString())

    def _read(self, data: bytes) -> None:
        for field, kind, value in fields(data):
            for name, made in _KINDS.items():
                if made.number == field and kind == BYTES:
                    if self.WhichOneof("kind") != name:
                        self._lists, self._chosen = {name: made()}, name
                    self._lists[name]._read(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feature):
            return NotImplemented
        kind = self.WhichOneof("kind")
        return kind == other.WhichOneof("kind") and (
            kind is None or self._list(kind) == other._list(kind)
        )

    __hash__ = None

    def _text(self, indent: str) -> Iterator[str]:
        kind = self.WhichOneof("kind")
        if kind is not None:
            yield f"{indent}{kind} {{"
            yield from self._list(kind)._text(f"{indent}  ")
            yield f"{indent}}}"


def _check_field(message: Message, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise ValueError(f"Protocol message {type(message).__name__} has no {name!r} field.")


class _Messages(dict[str, Any]):
    """Messages by name, each of which is there once it was asked for."""

    def __init__(self, made: Callable[[], Any]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise TypeError(f"features are named by texts, not by {key!r:.60}")
        self[key] = made = self._made()
        return made

    def get_or_create(self, key: str) -> Any:
        return self[key]

    def MergeFrom(self, other: Mapping[str, Any]) -> None:  # noqa: N802
        """Take over copies of other messages."""
        for key, value in other.items():
            self[key].CopyFrom(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._made,), None, None, iter(self.items())


class _Map(Message):
    """Messages by name."""

    _field: ClassVar[str]
    _made: ClassVar[Callable[[], Any]]

    def __init__(self, named: Mapping[str, Any] | None = None) -> None:
        made = type(self)._made
        self._named = _Messages(made)
        for key, value in (named or {}).items():
            if not isinstance(key, str):
                raise TypeError(f"features are named by texts, not by {key!r:.60}")
            if not isinstance(value, made):  # type: ignore[arg-type]
                raise TypeError(f"{key!r} is a {type(value).__name__}, not a {made.__name__}")
            self._named[key] = value

    def _parts(self) -> Iterator[bytes]:
        for key in sorted(self._named):
            value = self._named[key].SerializeToString()
            yield bytes_field(1, bytes_field(1, key.encode()) + bytes_field(2, value))

    def _read(self, data: bytes) -> None:
        for field, kind, entry in fields(data):
            if field != 1 or kind != BYTES:
                continue
            key, value = "", type(self)._made()
            for number, inner, item in fields(entry):
                if number == 1 and inner == BYTES:
                    key = item.decode()
                elif number == 2 and inner == BYTES:
                    value._read(item)
            self._named[key] = value

    def _text(self, indent: str) -> Iterator[str]:
        for key in sorted(self._named):
            yield f"{indent}{self._field} {{"
            yield f'{indent}  key: "{escaped(key.encode())}"'
            yield f"{indent}  value {{"
            yield from self._named[key]._text(f"{indent}    ")
            yield f"{indent}  }}"
            yield f"{indent}}}"


class Features(_Map):
    """Features by name.

    Example:
        >>> features = Features(feature={"a": Feature(int64_list=Int64List(value=[1]))})
        >>> features.feature["a"].int64_list.value
        [1]
    """

    _field = "feature"
    _made = Feature

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        super().__init__(feature)

    @property
    def feature(self) -> dict[str, Feature]:
        return self._named


class _Steps(CheckedList):
    """The features of a sequence."""

    @staticmethod
    def checked(item: Any) -> Feature:
        if isinstance(item, Feature):
            return item
        raise TypeError(f"a FeatureList holds features, not {type(item).__name__}: {item!r:.60}")

    def add(self, **kind: Any) -> Feature:
        """A new feature at the end, to be filled."""
        feature = Feature(**kind)
        super().append(feature)
        return feature


class FeatureList(Message):
    """One feature for each step of a sequence.

    Example:
        >>> steps = FeatureList()
        >>> steps.feature.add().int64_list.value.extend([1, 2])
        >>> len(steps.feature)
        1
    """

    def __init__(self, feature: Iterable[Feature] = ()) -> None:
        self.feature = _Steps()
        self.feature.extend(feature)

    def _parts(self) -> Iterator[bytes]:
        return (bytes_field(1, feature.SerializeToString()) for feature in self.feature)

    def _read(self, data: bytes) -> None:
        for field, kind, value in fields(data):
            if field == 1 and kind == BYTES:
                feature = Feature()
                feature._read(value)
                self.feature.append(feature)

    def _text(self, indent: str) -> Iterator[str]:
        for feature in self.feature:
            yield f"{indent}feature {{"
            yield from feature._text(f"{indent}  ")
            yield f"{indent}}}"


class FeatureLists(_Map):
    """Lists of features by name."""

    _field = "feature_list"
    _made = FeatureList

    def __init__(self, feature_list: Mapping[str, FeatureList] | None = None) -> None:
        super().__init__(feature_list)

    @property
    def feature_list(self) -> dict[str, FeatureList]:
        return self._named


class _Parts(Message):
    """A message of one or two parts, each in a field of its own."""

    _names: ClassVar[tuple[str, ...]]

    def _parts(self) -> Iterator[bytes]:
        for number, name in enumerate(self._names, 1):
            data = getattr(self, name).SerializeToString()
            if data:
                yield bytes_field(number, data)

    def _read(self, data: bytes) -> None:
        for field, kind, value in fields(data):
            if 1 <= field <= len(self._names) and kind == BYTES:
                getattr(self, self._names[field - 1])._read(value)

    def HasField(self, name: str) -> bool:  # noqa: N802
        """Whether anything is in a part."""
        _check_field(self, name, self._names)
        return bool(getattr(self, name).SerializeToString())

    def ClearField(self, name: str) -> None:  # noqa: N802
        """Hold nothing in a part."""
        _check_field(self, name, self._names)
        getattr(self, name).Clear()

    def _text(self, indent: str) -> Iterator[str]:
        for name in filter(self.HasField, self._names):
            yield f"{indent}{name} {{"
            yield from getattr(self, name)._text(f"{indent}  ")
            yield f"{indent}}}"


class Example(_Parts):
    """One element as features by name.

    Example:
        >>> one = Example(Features({"a": Feature(int64_list=Int64List([1, -1, 300]))}))
        >>> one.SerializeToString().hex()
        '0a180a160a016112111a0f0a0d01ffffffffffffffffff01ac02'
        >>> Example.FromString(one.SerializeToString()) == one
        True
    """

    _names = ("features",)

    def __init__(self, features: Features | None = None) -> None:
        self.features = Features() if features is None else features


class SequenceExample(_Parts):
    """One element with features of the whole, and of each step of a sequence."""

    _names = ("context", "feature_lists")

    def __init__(
        self, context: Features | None = None, feature_lists: FeatureLists | None = None
    ) -> None:
        self.context = Features() if context is None else context
        self.feature_lists = FeatureLists() if feature_lists is None else feature_lists
