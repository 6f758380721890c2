"""Methods that write pictures, archives of samples and plain text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from keepset.dataset.base import BaseDataset


def written_images() -> ModuleType:
    """The module that does the work; those who write no such files need not wait for it."""
    import keepset.dataset.written_images as module

    return module


class ImageDoors(BaseDataset):
    """Ways out to folders of pictures, to archives and to text."""

    __slots__ = ()

    def write_images(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str = "png",
        quality: int | None = None,
        label_names: Sequence[str] | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write pictures into an empty folder, a sub-folder for each label; how many there were.

        Elements are ``{"image": ..., "label": ...}`` with or without the label, or such pairs, or
        pictures alone. The files are called by the number of their element, and each takes its
        name when it is whole. Last comes ``labels.txt``, with the path and the label of each: a
        folder without it is not whole. ``ks.read_images(list, labels=list)``, where ``list`` is
        that file, reads the same elements again, in the same order.

        Args:
            folder: The folder, or the url of one; it must be empty or not be there.
            format: ``"png"``, ``"jpeg"`` or ``"webp"`` for pixels, which are uint8 of shape
                [height, width] or [height, width, channels]. The bytes of files that were not
                decoded are written as they are.
            quality: From 1 to 100. JPEG takes 95 without it, and WebP loses nothing.
            label_names: What sub-folders are called, for labels that are numbers: by default, the
                numbers. Labels that are texts are names already.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> import numpy as np
            >>> from keepset import Dataset
            >>> folder = tempfile.mkdtemp() + "/pets"
            >>> pixels = np.zeros((2, 4, 4, 3), np.uint8)
            >>> ds = Dataset.from_tensor_slices({"image": pixels, "label": [1, 0]})
            >>> ds.write_images(folder, label_names=["cat", "dog"])
            2
            >>> print(Path(folder, "labels.txt").read_text(), end="")
            dog/00000000.png,1
            cat/00000001.png,0
        """
        written: int = written_images().write_images(
            self._node, folder, format, quality, label_names, progress, options
        )
        return written

    def write_webdataset(
        self,
        path: str | os.PathLike[str],
        *,
        samples_per_shard: int | None = None,
        format: str = "png",
        quality: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write all elements, which are dicts, as samples of WebDataset archives; how many.

        An entry is a file of the archive. Its name is the entry's if that says what it is: ``jpg``,
        ``cls``, ``depth.npy``; otherwise an ending is added: ``label`` becomes ``label.cls``. Whole
        numbers are texts (``.cls``), and come back as int64; uint8 pictures are ``.png``, other
        arrays ``.npy``, dicts ``.json``, and bytes ``.bin``. Samples are called by their entry
        ``__key__``, or else by their numbers. Each archive takes its name when it is whole.

        Args:
            path: An archive, ``"train.tar"`` or ``"train.tar.gz"``; for several of them a name such
                as ``"train-{:06d}.tar"``. Or the url of an object.
            samples_per_shard: How many samples go into an archive; by default all of them, or of
                several archives a gigabyte each.
            format: ``"png"``, ``"jpg"`` or ``"webp"``, for pictures whose entry does not say it.
            quality: From 1 to 100, for JPEG (95 without it) and WebP (which loses nothing then).
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> import keepset as ks
            >>> path = tempfile.mkdtemp() + "/train-{:06d}.tar"
            >>> ds = ks.Dataset.range(5).map(lambda x: {"cls": x, "txt": f"number {x}"})
            >>> ds.write_webdataset(path, samples_per_shard=3)
            5
            >>> next(iter(ks.read_webdataset(path.replace("{:06d}", "*"))))
            {'__key__': b'000000000', 'cls': np.int64(0), 'txt': b'number 0'}
        """
        written: int = written_images().write_webdataset(
            self._node, path, samples_per_shard, format, quality, progress, options
        )
        return written

    def write_text(
        self, path: str | os.PathLike[str], *, progress: bool | None = None, **options: Any
    ) -> int:
        """Write all elements, which are texts, as the lines of a file; how many there were.

        The file takes its name when it is whole.

        Args:
            path: The file, or the url of an object; compressed if it ends with ``.gz``.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.txt"
            >>> Dataset.range(2).map(lambda x: f"line {x}").write_text(path)
            2
            >>> Path(path).read_text()
            'line 0\\nline 1\\n'
        """
        written: int = written_images().write_text(self._node, path, progress, options)
        return written

    def write_path_list(
        self, file: str | os.PathLike[str], *, progress: bool | None = None, **options: Any
    ) -> int:
        """Write paths, or the ``path`` of each dict, one in each line; how many there were.

        Paths below the folder of the list are written relative to it, so that it can be moved with
        the files. ``ks.read_path_list`` reads it.

        Args:
            file: The list, or the url of one.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> from keepset import Dataset
            >>> folder = tempfile.mkdtemp()
            >>> ds = Dataset.from_tensor_slices([f"{folder}/cat/1.png"])
            >>> ds.write_path_list(f"{folder}/list")
            1
            >>> Path(folder, "list").read_text()
            'cat/1.png\\n'
        """
        written: int = written_images().write_path_list(self._node, file, progress, options)
        return written
