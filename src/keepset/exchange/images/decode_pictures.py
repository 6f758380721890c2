"""DecodePictures: the pixels of pictures that are entries of elements, or only their bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.dtypes import string
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.errors import CorruptRecordError, ElementError
from keepset.exchange.images.pictures import PixelFormat
from keepset.nodes.parallel_rows import ParallelRowStage
from keepset.nodes.row_loop import Step
from keepset.storage.failures import reading
from keepset.storage.regular_file import open_regular

Path = tuple[str, ...]


@stage
class DecodePictures(ParallelRowStage):
    """Elements in which the entries at some paths are decoded.

    An entry is the bytes of a file, or a dict of ``bytes`` and, where those are empty, a ``path``.

    Attributes:
        paths: The keys that lead to each entry.
        channels: For each of them, those of its pixels; None leaves its bytes as they are.
        size: Height and width to resize all pictures to, if they are not to stay as they are.
    """

    paths: tuple[Path, ...]
    channels: tuple[int | None, ...]
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        _ = self._formats  # an error if there are no such pixels

    def steps(self, run: Run) -> list[Step]:
        return [Step("convert", _Decoder(self._formats), self.title)]

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        found = spec(self.parent)
        for path, pixels in self._formats.items():
            leaf = TensorSpec((), string) if pixels is None else TensorSpec(pixels.shape, np.uint8)
            found = _replaced(found, path, partial(_instead, leaf))
        return found

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        parent = self.parent.project(keys)
        if parent is None:
            return None
        pairs = zip(self.paths, self.channels, strict=True)
        kept = [(path, channels) for path, channels in pairs if path[0] in keys]
        if not kept:
            return parent
        paths, channels = zip(*kept, strict=True)
        return self.replaced(parent=parent, paths=tuple(paths), channels=tuple(channels))

    @cached_property
    def _formats(self) -> dict[Path, PixelFormat | None]:
        pairs = zip(self.paths, self.channels, strict=True)
        return {
            tuple(path): None if channels is None else PixelFormat(self.size, channels)
            for path, channels in pairs
        }


class _Decoder:
    """Decodes the pictures of an element; it may travel to another process."""

    def __init__(self, formats: dict[Path, PixelFormat | None]) -> None:
        self._formats = formats

    def __call__(self, element: Any) -> Any:
        for path, pixels in self._formats.items():
            element = _replaced(element, path, partial(_decoded, path, pixels))
        return element


def _instead(leaf: TensorSpec, _: Any) -> TensorSpec:
    return leaf


def _decoded(path: Path, pixels: PixelFormat | None, given: Any) -> Any:
    data = _content(given, path) if isinstance(given, dict) else given
    if pixels is None:
        return data
    try:
        return pixels.decode(data)
    except ValueError as error:
        name = ".".join(path)
        raise CorruptRecordError(
            f"{name!r} cannot be decoded: {error}; leave such elements out with "
            'on_corrupt="skip", or read its bytes with decode=False',
            path=os.fsdecode(given["path"]) if isinstance(given, dict) else name,
        ) from error


def _content(given: dict[str, bytes], path: Path) -> bytes:
    if given["bytes"]:
        return given["bytes"]
    name = os.fsdecode(given["path"])
    if not name:
        raise ElementError(
            f"{'.'.join(path)!r} has neither content nor the path of a file; leave out such rows "
            "with datasets.Dataset.filter before"
        )
    if "://" in name:
        raise ElementError(
            f"{'.'.join(path)!r} is at {name}, which cannot be read from here; download it, or let "
            "datasets embed it with save_to_disk and use ks.read_hf"
        )
    with reading(name), open_regular(name) as file:
        return file.read()


def _replaced(element: Any, path: Path, make: Callable[[Any], Any]) -> Any:
    """The same dict with another value at a path."""
    key, *rest = path
    value = _replaced(element[key], tuple(rest), make) if rest else make(element[key])
    return {**element, key: value}
