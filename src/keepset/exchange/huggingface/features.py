"""Features: what Hugging Face says of columns beyond their Arrow types, as plain data.

Elements depend on little of it, and that is what a stage keeps, by column: ``{"array": shape}`` for
arrays that are stored as lists of lists, ``{"file": kind}`` for pictures and the like, which are
stored as their bytes or their paths, ``{"list": inner}`` and ``{"fields": {name: inner}}`` for what
holds such. Columns that their Arrow type tells everything about are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from keepset.errors import InvalidArgumentError

Form = dict[str, Any]  # one of those above

_LISTS: Final = ("List", "LargeList", "Sequence")
_ARRAYS: Final = ("Array2D", "Array3D", "Array4D", "Array5D")
# Features whose values are the content of a file.
_FILES: Final = (
    *("Image", "Audio", "Video", "Pdf", "Nifti", "Mesh", "BioSequence", "BioStructure"),
)
PICTURE: Final = "Image"


class FileLeaf(NamedTuple):
    """Where in an element the content of a file is.

    Attributes:
        path: The keys that lead to it.
        kind: The class of the feature, such as ``Image``.
        mode: Pillow's name for the pixels that are wanted, if it is given.
        is_decoded: Whether the feature says that more than the bytes is wanted.
        is_in_list: Whether there are lists of such.
    """

    path: tuple[str, ...]
    kind: str
    mode: str | None
    is_decoded: bool
    is_in_list: bool

    @property
    def name(self) -> str:
        return ".".join(self.path)


class Features(NamedTuple):
    """What matters of features.

    Attributes:
        forms: By column, for those that their Arrow type does not tell everything about.
        files: Where pictures and other files are.
        labels: The names that labels stand for, by column.
    """

    forms: dict[str, Form]
    files: list[FileLeaf]
    labels: dict[str, tuple[str, ...]]

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What labels stand for, if there is one column of them."""
        return next(iter(self.labels.values())) if len(self.labels) == 1 else None


def parse_features(told: Any, where: str) -> Features:
    """Read features as ``datasets`` writes them to JSON.

    Example:
        >>> told = {"x": {"_type": "Value", "dtype": "int64"}, "image": {"_type": "Image"}}
        >>> parse_features(told, "the data set").forms
        {'image': {'file': 'Image'}}
    """
    if not isinstance(told, Mapping):
        raise InvalidArgumentError(f"{where}: its features are no object but {told!r:.60}")
    forms: dict[str, Form] = {}
    files: list[FileLeaf] = []
    labels: dict[str, tuple[str, ...]] = {}
    for name, feature in told.items():
        form = _form(feature, f"{where}: {name!r}")
        if form is not None:
            forms[name] = form
        files += _files(feature, (name,), False)
        if _type_of(feature) == "ClassLabel" and feature.get("names"):
            if not isinstance(feature["names"], list | tuple):
                raise InvalidArgumentError(
                    f"{where}: {name!r} has the names {feature['names']!r:.60}, which are no list"
                )
            labels[name] = tuple(map(str, feature["names"]))
    return Features(forms, files, labels)


def _type_of(feature: Any) -> str:
    """The name of its class; "dict" and "list" for those that are given as such."""
    if isinstance(feature, list):
        return "list"
    if not isinstance(feature, Mapping):
        return ""
    kind = feature.get("_type")
    return kind if isinstance(kind, str) else "dict"


def _form(feature: Any, where: str) -> Form | None:
    kind = _type_of(feature)
    if kind in _ARRAYS:
        return {"array": _shape(feature.get("shape"), where)}
    if kind in _FILES:
        return {"file": kind}
    if kind == "list" or kind in _LISTS:
        inner = _form(_inner(feature), where)
        return None if inner is None else {"list": inner}
    if kind == "dict":
        fields = {name: _form(item, f"{where}.{name}") for name, item in feature.items()}
        known = {name: form for name, form in fields.items() if form is not None}
        return {"fields": known} if known else None
    return None


def _shape(shape: Any, where: str) -> list[int | None]:
    sizes = list(shape) if isinstance(shape, list | tuple) else []
    is_sound = all(type(size) is int and size >= 0 for size in sizes[1:])
    if len(sizes) < 2 or not is_sound or not (sizes[0] is None or type(sizes[0]) is int):
        raise InvalidArgumentError(f"{where} is an array of the shape {shape!r}, which cannot be")
    return sizes


def _inner(feature: Any) -> Any:
    if isinstance(feature, list):
        return feature[0] if feature else None
    return feature.get("feature")


def _files(feature: Any, path: tuple[str, ...], is_in_list: bool) -> Iterator[FileLeaf]:
    kind = _type_of(feature)
    if kind in _FILES:
        is_decoded = feature.get("decode", True) is not False
        yield FileLeaf(path, kind, feature.get("mode"), is_decoded, is_in_list)
    elif kind == "list" or kind in _LISTS:
        yield from _files(_inner(feature), path, True)
    elif kind == "dict":
        for name, item in feature.items():
            yield from _files(item, (*path, name), is_in_list)
