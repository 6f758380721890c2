"""Writing data sets to folders of pictures, archives of samples and plain text."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from keepset.core.node import Node
from keepset.dataset.arguments import positive
from keepset.errors import InvalidArgumentError
from keepset.exchange.files.exporting import export
from keepset.exchange.images.path_list import PathListWriter
from keepset.exchange.images.pictures import check_quality
from keepset.exchange.images.writing import write_images as write_images
from keepset.exchange.text.lines import TextWriter
from keepset.exchange.webdataset.writer import SampleWriter, export_shards, has_number, is_gzip
from keepset.storage import path_text

_PICTURES = {"png": "png", "jpg": "jpg", "jpeg": "jpg", "webp": "webp"}


def write_webdataset(
    node: Node,
    path: str | os.PathLike[str],
    samples_per_shard: int | None,
    kind: str,
    quality: int | None,
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    if kind not in _PICTURES:
        raise InvalidArgumentError(f"format={kind!r} is unknown; choose 'png', 'jpg' or 'webp'")
    if quality is not None:
        check_quality(quality, "jpeg")
    name = path_text(path)
    opened = partial(SampleWriter, picture=_PICTURES[kind], quality=quality)
    if samples_per_shard is None and not has_number(name):
        packed = partial(opened, is_compressed=is_gzip(name))
        return export(node, path, packed, progress=progress, options=options)
    if samples_per_shard is not None:
        samples_per_shard = positive(samples_per_shard, "samples_per_shard")
    return export_shards(node, name, opened, samples_per_shard, progress, options)


def write_text(
    node: Node, path: str | os.PathLike[str], progress: bool | None, options: dict[str, Any]
) -> int:
    opened = partial(TextWriter, is_compressed=path_text(path).endswith(".gz"))
    return export(node, path, opened, progress=progress, options=options)


def write_path_list(
    node: Node, file: str | os.PathLike[str], progress: bool | None, options: dict[str, Any]
) -> int:
    opened = partial(PathListWriter, list_name=path_text(file))
    return export(node, file, opened, progress=progress, options=options)
