"""ReadImages: the pictures of files, decoded or as they are, with their labels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.dtypes import string
from keepset.core.element import to_element
from keepset.core.node import Node, must_run, stage
from keepset.core.parameter import parameter
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.exchange.files.file_names import is_local, store_of
from keepset.exchange.files.unlisted_files import unlisted_files
from keepset.exchange.images.pictures import PixelFormat
from keepset.nodes.parallel_rows import ParallelRowStage
from keepset.nodes.row_loop import Step
from keepset.storage import path_text
from keepset.storage.failures import reading
from keepset.storage.private_url import private_url
from keepset.storage.regular_file import open_regular

IMAGE, LABEL, PATH = "image", "label", "path"


@stage
class ReadImages(ParallelRowStage):
    """The picture of each file that ``parent`` names.

    Attributes:
        has_labels: Whether the parent gives pairs of a name and a label.
        label_of: Gives the label of a name, if the parent does not.
        decode: Whether pixels are wanted, of this size and number of channels; else the bytes.
        class_names: What the labels stand for, if they are numbers of names.
        keys: The entries that are wanted, if not all are: without the picture no file is opened.
    """

    has_labels: bool = False
    label_of: Callable[[bytes], Any] | None = None
    decode: bool = True
    size: tuple[int, int] | None = None
    channels: int = 3
    class_names: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None
    # Credentials and endpoints: the files count by what their store says of them.
    store_options: Any = parameter(default=None, identity=False, recipe=False)

    def __post_init__(self) -> None:
        if not self.decode and (self.size is not None or self.channels != 3):
            raise InvalidArgumentError(
                "with decode=False the bytes of the files are kept as they are; leave out size and "
                "channels"
            )
        if self.decode:
            PixelFormat(self.size, self.channels)  # an error if there are no such pixels

    @property
    def outside(self) -> Any:
        return unlisted_files(self.parent, self.store_options)

    def steps(self, run: Run) -> list[Step]:
        reader = _Reader(
            self._wanted, self.has_labels, self.label_of, self._pixels, self.store_options
        )
        return [Step("convert", reader, self.title)]

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        specs: dict[str, Spec] = {}
        for key in self._wanted:
            if key == IMAGE and self._pixels is not None:
                specs[key] = TensorSpec(self._pixels.shape, np.uint8)
            elif key == LABEL:
                specs[key] = spec(self.parent)[1] if self.has_labels else must_run()
            else:
                specs[key] = TensorSpec((), string)
        return specs

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        if not set(keys) <= set(self._wanted):
            return None
        return self.replaced(keys=tuple(key for key in self._wanted if key in keys))

    @cached_property
    def _pixels(self) -> PixelFormat | None:
        return PixelFormat(self.size, self.channels) if self.decode else None

    @property
    def _wanted(self) -> tuple[str, ...]:
        if self.keys is not None:
            return self.keys
        has_label = self.has_labels or self.label_of is not None
        return (IMAGE, LABEL, PATH) if has_label else (IMAGE, PATH)


class _Reader:
    """Makes an element of a name; it may travel to another process."""

    def __init__(
        self,
        keys: tuple[str, ...],
        has_labels: bool,
        label_of: Callable[[bytes], Any] | None,
        pixels: PixelFormat | None,
        options: Any,
    ) -> None:
        self._keys, self._has_labels = keys, has_labels
        self._label_of, self._pixels, self._options = label_of, pixels, options

    def __call__(self, named: Any) -> dict[str, Any]:
        path, label = named if self._has_labels else (named, None)
        if isinstance(path, str):
            path = os.fsencode(path)
        if not isinstance(path, bytes):
            raise ElementError(f"names of files are needed, and one is a {type(path).__name__}")
        element: dict[str, Any] = {}
        for key in self._keys:
            if key == IMAGE:
                element[key] = self._image(os.fsdecode(path))
            elif key == PATH:
                element[key] = path
            else:
                given = self._label_of is not None
                element[key] = to_element(self._label_of(path)) if given else label  # type: ignore[misc]
        return element

    def _image(self, name: str) -> Any:
        data = self._bytes(name)
        if self._pixels is None:
            return data
        try:
            return self._pixels.decode(data)
        except ValueError as error:
            shown = private_url(name)
            raise CorruptRecordError(
                f"{shown} cannot be read: {error}; restore the file from a copy, or leave such "
                'files out with on_corrupt="skip"',
                path=shown,
            ) from error

    def _bytes(self, name: str) -> bytes:
        name = path_text(name)
        if is_local(name):
            with reading(name), open_regular(name) as file:
                return file.read()
        store, file_name = store_of(name, self._options)
        return store.read(file_name)
