"""Pictures and archives of samples, as data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from keepset.core.node import Node
from keepset.dataset import Dataset
from keepset.dataset.arguments import parallelism_for, whole_number
from keepset.dataset.base import BaseDataset
from keepset.dataset.named_files import Files, chosen, named_files, naming
from keepset.errors import InvalidArgumentError
from keepset.exchange.files.skip_corrupt import sound
from keepset.exchange.images.labels import Labels, by_file, by_folder, labelled_paths
from keepset.exchange.images.path_list import parse_path_list
from keepset.exchange.images.pictures import pillow
from keepset.exchange.images.reading import ReadImages
from keepset.exchange.images.sources import ImageFiles, image_files, in_folder, sub_folders
from keepset.exchange.webdataset.brace_names import expanded
from keepset.exchange.webdataset.reading import DecodeSamples, ReadWebdataset
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.storage import path_text

LabelSource: TypeAlias = str | os.PathLike[str] | Callable[[bytes], Any] | None


def read_images(
    source: Files,
    *,
    labels: LabelSource = "folder",
    class_names: Sequence[str] | None = None,
    decode: bool = True,
    size: int | tuple[int, int] | None = None,
    channels: int = 3,
    on_corrupt: str = "error",
    num_parallel_calls: int | None = None,
    **options: Any,
) -> Dataset:
    """Pictures with their labels: ``{"image": uint8 [height, width, channels], "label", "path"}``.

    JPEG, PNG, WebP, GIF (the first picture) and BMP are read, turned upright as their EXIF notes
    say. Elements can be had by position, so that ``shuffle(ks.GLOBAL)`` reads them in any order.
    To choose ``label`` or ``path`` alone with ``select`` opens no file. It takes Pillow, the extra
    ``images``, unless ``decode=False``.

    Args:
        source: A folder, of which everything below is searched, in the order of the names; a
            pattern such as ``"pets/*.jpg"``; a list of paths; a text file with one path in each
            line (``txt``, ``csv``, ``tsv``, ``lst`` or ``list``); or a Dataset of paths. Urls of
            object stores are paths too.
        labels: ``"folder"``: the sub-folder that a picture is in, numbered in the order of their
            names, which ``ks.class_names`` gives. Or the path of a file with lines such as
            ``cat/1.jpg,0`` or ``cat/1.jpg 0``, with numbers or names; it may be the source as well.
            Or a function that gets the path, as ``bytes``. None leaves the entry out.
        class_names: The classes in the order of their numbers, if it is not to be that of their
            names, or if some of them are not there.
        decode: False keeps the bytes of each file.
        size: Height and width, or one number for both, to resize to: bilinear, with antialiasing.
            A JPEG of more than twice that size is decoded at a half, a quarter or an eighth of it
            first, which differs from decoding all of it by less than JPEG itself has lost.
        channels: 1 (gray), 3 (RGB) or 4 (RGBA); pictures of all kinds are converted.
        on_corrupt: What to do about a file that is damaged: ``"error"``, which names it; ``"skip"``
            leaves it out, and warns at the end with their number and the first of them; ``"warn"``
            warns of each of them as well. What leaves out has no length and no positions.
        num_parallel_calls: How many pictures to decode at once, on threads; ``ks.AUTOTUNE`` finds
            out.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> folder = tempfile.mkdtemp() + "/pets"
        >>> gray = np.full((2, 3, 3), 128, np.uint8)
        >>> pets = Dataset.from_tensors({"image": gray, "label": 0}).repeat(2)
        >>> pets.write_images(folder, label_names=["cat"])
        2
        >>> ds = read_images(folder)
        >>> len(ds), ds[0]["image"].shape, int(ds[0]["label"]), class_names(ds)
        (2, (2, 3, 3), 0, ['cat'])
    """
    if decode:
        pillow()
    files, node = _pictures(source, labels, options)
    found = None
    if labels is not None and not callable(labels):
        found = _labelled(files, node, labels, class_names, options)
        numbers = FromTensorSlices(tensors=found.numbers)
        node = Dataset.zip(Dataset(node), Dataset(numbers)).__keepset_node__()
    elif class_names is not None:
        raise InvalidArgumentError(
            "class_names goes with labels that are folders or a file; leave it out"
        )
    stage = ReadImages(
        parent=node,
        has_labels=found is not None,
        label_of=labels if callable(labels) else None,
        decode=bool(decode),
        size=picture_size(size),
        channels=channels,
        class_names=None if found is None else found.class_names,
        store_options=options or None,
        parallelism=parallelism_for(num_parallel_calls, None, "thread"),
    )
    return Dataset(sound(stage, on_corrupt))


def _pictures(
    source: Any, labels: LabelSource, options: dict[str, Any]
) -> tuple[ImageFiles | None, Node]:
    """The files, if they are known before anything runs, and the stage that names them."""
    if isinstance(source, BaseDataset):
        node = source.__keepset_node__()
        known = node.file_names
        return None if known is None else ImageFiles(
            [path_text(os.fsdecode(n)) for n in known]
        ), node
    if isinstance(source, np.ndarray):
        source = source.ravel().tolist()
    given = [path_text(each) for each in (source, labels) if isinstance(each, str | os.PathLike)]
    if len(given) == 2 and given[0] == given[1]:
        listed = labelled_paths(given[0], options)
        files = ImageFiles([path for path, _ in listed])
    else:
        files = image_files(source, options)
    return files, naming(files.names, options)


def _labelled(
    files: ImageFiles | None,
    node: Node,
    labels: str | os.PathLike[str],
    class_names: Sequence[str] | None,
    options: dict[str, Any],
) -> Labels:
    if files is None:
        raise InvalidArgumentError(
            f"the files that {node.title} names are not known before it runs, and so their labels "
            "are not; pass a function as labels, or labels=None"
        )
    if labels == "folder":
        return by_folder(files, class_names)
    return by_file(files, path_text(labels), class_names, options)


def picture_size(size: Any) -> tuple[int, int] | None:
    """Height and width, of which one number may be given for both."""
    if size is None:
        return None
    both = (size, size) if not isinstance(size, Sequence | np.ndarray) else tuple(size)
    if len(both) != 2:
        raise InvalidArgumentError(f"size={size!r} must be a number, or a height and a width")
    return whole_number(both[0], "size"), whole_number(both[1], "size")


def class_names(source: str | os.PathLike[str] | BaseDataset, **options: Any) -> list[str]:
    """The names that labels stand for, in the order of their numbers.

    Args:
        source: A folder of pictures, or a data set that ``read_images``, ``read_hf`` or ``from_hf``
            made, with any stages.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("dog", "cat"):
        ...     os.mkdir(f"{folder}/{name}")
        >>> class_names(folder)
        ['cat', 'dog']
    """
    if isinstance(source, BaseDataset):
        for node in source.__keepset_node__().walk():
            names = getattr(node, "class_names", None)
            if names is not None:
                return list(names)
        raise InvalidArgumentError(
            f"{source!r} has no labels that are numbers of names, or several kinds of them; of "
            "pictures pass the folder, or read it with labels='folder'"
        )
    folder = path_text(source).rstrip("/") or "/"
    if os.path.isdir(folder):
        return sub_folders(folder, [])
    return sub_folders(folder, in_folder(folder, options).names)


def read_path_list(file: str | os.PathLike[str], **options: Any) -> Dataset:
    """The paths that a text file lists, one in each line, as ``bytes``.

    Relative paths are relative to the folder of the list. Other readers take such a Dataset in
    place of names: ``ks.read_images(ks.read_path_list("train.txt"))``.

    Args:
        file: The list, in UTF-8; empty lines do not count.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/train.txt"
        >>> Dataset.from_tensor_slices(["/data/a.png", "/data/b.png"]).write_path_list(path)
        2
        >>> list(read_path_list(path))
        [b'/data/a.png', b'/data/b.png']
    """
    return Dataset(naming(parse_path_list(path_text(file), options)))


def read_webdataset(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    decode: bool | Sequence[str] = True,
    size: int | tuple[int, int] | None = None,
    channels: int = 3,
    on_corrupt: str = "error",
    num_parallel_calls: int | None = None,
    **options: Any,
) -> Dataset:
    """The samples of WebDataset archives: a dict of the files whose names agree up to a dot.

    An entry is called by the rest of the name: ``jpg``, ``cls``, ``seg.png``. The key of the sample
    is under ``__key__``. Archives are read from the beginning to the end, compressed or not, and
    the checksum of each header is compared.

    Args:
        files: An archive, a pattern such as ``"train-*.tar"`` or ``"train-{000..009}.tar"``, a list
            of them, or a Dataset of names. Urls of object stores are files too.
        columns: The entries to read; by default those of the first sample, which all others must
            have too.
        decode: Whether to decode: pictures (jpg, png, webp, gif, bmp) to uint8, numbers (cls, id,
            index) to int64, json to nested dicts, npy to arrays. A list decodes these endings
            alone. Everything else stays bytes. Pickles (pyd, pkl, pth) are refused.
        size: Height and width, or one number for both, to resize pictures to.
        channels: 1 (gray), 3 (RGB) or 4 (RGBA).
        on_corrupt: What to do about a sample or an archive that is damaged: ``"error"``; ``"skip"``
            leaves out the sample, or the rest of the archive, and warns at the end with their
            number; ``"warn"`` warns of each of them as well.
        num_parallel_calls: How many samples to decode at once, on threads; ``ks.AUTOTUNE`` finds
            out.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/some.tar"
        >>> ds = Dataset.range(2).map(lambda x: {"cls": x, "json": {"half": x / 2}})
        >>> ds.write_webdataset(path)
        2
        >>> for sample in read_webdataset(path, columns=["cls", "json"]):
        ...     print(sample)
        {'cls': np.int64(0), 'json': {'half': np.float64(0.0)}}
        {'cls': np.int64(1), 'json': {'half': np.float64(0.5)}}
    """
    has_parts = decode is not True and decode is not False
    is_raw = decode is False or (has_parts and not decode)
    if is_raw and (size is not None or channels != 3):
        raise InvalidArgumentError("size and channels go with decoding; leave them out")
    node: Node = ReadWebdataset(
        parent=named_files(expanded(files), options),
        columns=chosen(columns),
        has_origin=not is_raw,
        store_options=options or None,
    )
    if not is_raw:
        node = DecodeSamples(
            parent=node,
            size=picture_size(size),
            channels=channels,
            entries=chosen(decode) if has_parts else None,  # type: ignore[arg-type]
            parallelism=parallelism_for(num_parallel_calls, None, "thread"),
        )
    return Dataset(sound(node, on_corrupt))
