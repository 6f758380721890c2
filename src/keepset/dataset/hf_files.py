"""Data sets of Hugging Face, from objects and from folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from keepset.adapters.huggingface.source import HfBatches, HfParts, kind_of, parts_of
from keepset.core.node import Node
from keepset.core.spec import Spec
from keepset.dataset import Dataset
from keepset.dataset.arguments import parallelism_for
from keepset.dataset.image_files import picture_size
from keepset.dataset.memory_sources import named_types
from keepset.dataset.named_files import chosen, naming
from keepset.errors import InvalidArgumentError
from keepset.exchange.files.skip_corrupt import sound
from keepset.exchange.huggingface.features import PICTURE, Features, FileLeaf, Form, parse_features
from keepset.exchange.huggingface.folder import ReadHf, saved_folder
from keepset.exchange.huggingface.rows import HfRows
from keepset.exchange.images.decode_pictures import DecodePictures
from keepset.exchange.images.pictures import pillow
from keepset.exchange.memory.from_arrow import FromArrow
from keepset.exchange.memory.held_table import HeldTable
from keepset.exchange.text.codec_names import check_utf8, encoding_name
from keepset.nodes.chosen_rows import ChosenRows
from keepset.nodes.from_generator import FromGenerator
from keepset.nodes.iterating import Iterating
from keepset.storage import path_text

# Channels of the pixels that Pillow has such names for.
_CHANNELS: Final = {"1": 1, "L": 1, "RGB": 3, "RGBA": 4}


def from_hf(
    dataset: Any,
    *,
    columns: Sequence[str] | None = None,
    decode: bool | Sequence[str] = True,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    on_corrupt: str = "error",
    num_parallel_calls: int | None = None,
) -> Dataset:
    """The rows of a Hugging Face ``datasets.Dataset`` or ``IterableDataset``, as dicts.

    The Arrow table of a ``Dataset`` is read directly, in columns and without copies, so that rows
    are not made by the ``datasets`` package at all. Its length is known and elements can be had by
    position; what ``select``, ``shuffle``, ``filter`` and ``sort`` chose is what comes. An
    ``IterableDataset`` is iterated over anew in each pass.

    ``ClassLabel`` becomes int64, and ``ks.class_names(ds)`` says what the numbers mean if there is
    one such column; ``Array2D`` to ``Array5D`` become arrays; an ``Image`` becomes uint8
    [height, width, channels]; text becomes ``bytes``; dicts and translations nested dicts; ``Json``
    stays the text that it is kept as.

    Args:
        dataset: The data set. Of a ``DatasetDict``, pass one split.
        columns: The columns to read; all by default.
        decode: Whether pictures are decoded, or which columns of them; others give the bytes of
            their files. ``Audio``, ``Video`` and other files are never decoded: pass False, or the
            names of pictures, to get their bytes.
        size: Height and width, or one number for both, to resize pictures to, as ``read_images``
            does.
        channels: 1 (gray), 3 (RGB) or 4 (RGBA); by default what the feature's mode says, else 3.
        missing: What stands for missing values, by column, as for ``from_arrow``.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.
        on_corrupt: What to do about a picture that is damaged: ``"error"``, ``"skip"`` or
            ``"warn"``, as for ``read_images``.
        num_parallel_calls: How many pictures to decode at once, on threads; ``ks.AUTOTUNE`` finds
            out.

    Example:
        >>> import datasets
        >>> theirs = datasets.Dataset.from_dict({"text": ["good", "bad"], "label": [1, 0]})
        >>> ds = from_hf(theirs.select([1]))
        >>> len(ds), ds[0]
        (1, {'text': b'bad', 'label': np.int64(0)})
    """
    pictures = _Pictures(decode, size, channels, on_corrupt, num_parallel_calls)
    if kind_of(dataset) == "IterableDataset":
        if dataset.features is None:
            _refuse_without_features(columns, missing, types)
            return Dataset(FromGenerator(generator=Iterating(dataset)))
        elements = HfElements(HfBatches(dataset), columns, missing, named_types(types))
        node: Node = FromGenerator(generator=Iterating(elements), output_signature=elements.spec)
        return Dataset(pictures.of(node, elements.features, elements.named))
    parts = parts_of(dataset)
    features = parse_features(parts.features, "the data set")
    named = {leaf.path for leaf in features.files if _names_files(parts.table, leaf)}
    node = _source(parts, features, named, columns, missing, types)
    if parts.positions is not None:
        node = ChosenRows(parent=node, positions=parts.positions)
    return Dataset(pictures.of(node, features, named))


def read_hf(
    folder: str | os.PathLike[str],
    *,
    split: str | None = None,
    columns: Sequence[str] | None = None,
    decode: bool | Sequence[str] = True,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    on_corrupt: str = "error",
    num_parallel_calls: int | None = None,
    **options: Any,
) -> Dataset:
    """The rows of a folder that ``datasets.Dataset.save_to_disk`` wrote, as dicts.

    It does not take the ``datasets`` package. The files are mapped into memory and numbers used
    where they lie; the length is known and elements can be had by position. In a bucket they are
    read from the beginning. What columns become is told by ``from_hf``.

    Args:
        folder: The folder, or its url.
        split: Which of the data sets to read in a folder that a ``DatasetDict`` wrote.
        columns: The columns to read; all by default. The others are not read from the disk.
        decode: Whether pictures are decoded, or which columns of them; see ``from_hf``.
        size: Height and width, or one number for both, to resize pictures to.
        channels: 1 (gray), 3 (RGB) or 4 (RGBA); by default what the feature's mode says, else 3.
        missing: What stands for missing values, by column, as for ``from_arrow``.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.
        encoding: ``"utf-8"`` for columns of text that are ``str``; those of bytes stay ``bytes``.
        on_corrupt: What to do about a picture that is damaged: ``"error"``, ``"skip"`` or
            ``"warn"``, as for ``read_images``.
        num_parallel_calls: How many pictures to decode at once, on threads; ``ks.AUTOTUNE`` finds
            out.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import datasets, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> datasets.Dataset.from_dict({"text": ["good", "bad"]}).save_to_disk(folder)
        >>> read_hf(folder)[1]
        {'text': b'bad'}
    """
    check_utf8("read_hf", encoding)
    pictures = _Pictures(decode, size, channels, on_corrupt, num_parallel_calls)
    files, features = saved_folder(path_text(folder), split, options)
    node = ReadHf(
        parent=naming(files, options),
        columns=chosen(columns),
        missing=dict(missing) if missing else None,
        types=named_types(types),
        encoding=encoding_name(encoding),
        features=features.forms,
        class_names=features.class_names,
        store_options=options or None,
    )
    return Dataset(pictures.of(node, features, set()))


def _source(
    parts: HfParts,
    features: Features,
    named: set[tuple[str, ...]],
    columns: Sequence[str] | None,
    missing: Mapping[str, Any] | None,
    types: Mapping[str, Any] | None,
) -> Node:
    """All rows of a data set: of its files, where that is what it is, else of its table."""
    common: dict[str, Any] = {
        "columns": parts.columns if columns is None else chosen(columns),
        "missing": dict(missing) if missing else None,
        "types": named_types(types),
        "features": _with_paths(features.forms, named),
        "class_names": features.class_names,
    }
    if parts.files is not None:
        # Files need not be read to know whether what was kept of them still counts.
        return ReadHf(parent=naming(parts.files), **common)
    return FromArrow(table=HeldTable(parts.table), **common)


def _names_files(table: pa.Table, leaf: FileLeaf) -> bool:
    """Whether some files are not in the table, which only says where they are."""
    if leaf.is_in_list:
        return False  # whoever reads such a list will be told
    column = table.column(leaf.path[0])
    for key in (*leaf.path[1:], "bytes"):
        column = pc.struct_field(column, key)
    return bool(column.null_count)


def _with_paths(forms: Mapping[str, Form], named: set[tuple[str, ...]]) -> dict[str, Form]:
    """The same, in which these files are dicts of their content and their path."""
    changed = dict(forms)
    for key, *rest in named:
        form = changed[key]
        if rest:
            changed[key] = {"fields": _with_paths(form["fields"], {tuple(rest)})}
        else:
            changed[key] = form | {"paths": True}
    return changed


def _refuse_without_features(*given: Any) -> None:
    if any(each is not None for each in given):
        raise InvalidArgumentError(
            "the features of the data set are not known before it runs, so columns=, missing= and "
            "types= cannot be used; give it features with dataset.cast(datasets.Features(...))"
        )


class HfElements:
    """The rows of an ``IterableDataset``, as elements."""

    def __init__(
        self,
        batches: HfBatches,
        columns: Sequence[str] | None,
        missing: Mapping[str, Any] | None,
        types: Mapping[str, Any] | None,
    ) -> None:
        self._batches = batches
        self.features = parse_features(batches.features, "the data set")
        # Whether files are in the rows, or only named there, differs from row to row.
        self.named = {leaf.path for leaf in self.features.files if not leaf.is_in_list}
        self._rows = HfRows(
            batches.schema,
            _with_paths(self.features.forms, self.named),
            columns=columns,
            missing=missing,
            types=types,
            where="the data set",
        )
        self.spec: Spec = self._rows.spec

    def __keepset_fingerprint__(self) -> Any:
        return self._batches

    def __iter__(self) -> Iterator[Any]:
        first = 0
        for table in self._batches:
            yield from self._rows.chunk(table, first).rows
            first += table.num_rows


class _Pictures:
    """What is to become of pictures and other files."""

    def __init__(
        self,
        decode: bool | Sequence[str],
        size: Any,
        channels: int | None,
        on_corrupt: str,
        calls: int | None,
    ) -> None:
        self._decode = decode if isinstance(decode, bool) else chosen(decode)
        self._size, self._channels = picture_size(size), channels
        self._on_corrupt, self._calls = on_corrupt, calls

    def of(self, node: Node, features: Features, named: set[tuple[str, ...]]) -> Node:
        """The elements of ``node`` with pictures decoded, and files that are ``named`` read."""
        known = node.known_spec()
        assert known is not None
        files = [leaf for leaf in features.files if leaf.path[0] in known[0]]
        self._check_names(files)
        channels = {leaf.path: self._channels_of(leaf) for leaf in files}
        wanted = {path: n for path, n in channels.items() if n is not None or path in named}
        if not wanted:
            return sound(node, self._on_corrupt)
        if any(n is not None for n in wanted.values()):
            pillow()
        stage = DecodePictures(
            parent=node,
            paths=tuple(wanted),
            channels=tuple(wanted.values()),
            size=self._size,
            parallelism=parallelism_for(self._calls, None, "thread"),
        )
        return sound(stage, self._on_corrupt)

    def _check_names(self, files: list[FileLeaf]) -> None:
        names = [leaf.name for leaf in files]
        for name in () if isinstance(self._decode, bool) else self._decode or ():
            if name not in names:
                known = ", ".join(map(repr, names)) or "none"
                raise InvalidArgumentError(
                    f"decode= names {name!r}, which holds no files; such are: {known}"
                )

    def _channels_of(self, leaf: FileLeaf) -> int | None:
        """Those of its pixels; None if it stays bytes."""
        names = self._decode
        is_wanted = names if isinstance(names, bool) else leaf.name in (names or ())
        if not is_wanted or not leaf.is_decoded:
            return None
        if leaf.kind != PICTURE or leaf.is_in_list:
            what = "lists of pictures" if leaf.kind == PICTURE else f"files of the kind {leaf.kind}"
            raise InvalidArgumentError(
                f"{leaf.name!r} holds {what}, which are not decoded; pass decode=False, or "
                "decode=[...] with the names of other columns, for their bytes, and decode them "
                "with map; or leave it out with columns="
            )
        return self._channels or _CHANNELS.get(leaf.mode or "", 3)
