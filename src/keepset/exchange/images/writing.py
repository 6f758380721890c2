"""Writing a folder of pictures, one file for each element, and the list of them at the end."""

from __future__ import annotations

import csv
import io
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.node import Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.files.exporting import unfit
from keepset.exchange.files.new_file import new_file
from keepset.exchange.files.whole_run import check_finite, chunks_of
from keepset.exchange.images.pictures import check_quality, encode, ending_of, misfit, pillow
from keepset.exchange.images.reading import IMAGE, LABEL, PATH
from keepset.snapshot.writing.progress import Progress
from keepset.storage import LocalStore, Store, open_store, path_text
from keepset.workers.threads import Task, ThreadPool

LIST: Final = "labels.txt"
_ENDINGS: Final = {"png": "png", "jpeg": "jpg", "webp": "webp"}
# Encoders leave the interpreter, and disks take several files at once.
_AT_ONCE: Final = 8


def write_images(
    node: Node,
    folder: str | os.PathLike[str],
    kind: str,
    quality: int | None,
    label_names: Sequence[str] | None,
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    """Write all pictures into an empty folder; how many there were."""
    kind = {"jpg": "jpeg"}.get(kind, kind)
    if kind not in _ENDINGS:
        raise InvalidArgumentError(
            f"format={kind!r} is unknown; choose one of {', '.join(map(repr, _ENDINGS))}"
        )
    check_quality(quality, kind)
    check_finite(node)
    pillow()
    place = path_text(folder)
    store = open_store(place, **options)
    _check_empty(store, place)
    naming = _Naming(kind, quality, label_names)
    shown = Progress(f"writing {place}", node.cardinality(), progress)
    written = _Written(store, shown)
    was_there, whole = os.path.isdir(place), False
    try:
        with new_file(f"{place.rstrip('/') or '/'}/{LIST}", options) as lines:
            try:
                for chunk in chunks_of(node):
                    for picture in naming.pictures(chunk):
                        written.add(picture, lines)
                written.wait(lines)
            except BaseException:
                written.remove(lines)
                raise
        whole = True
    finally:
        written.close()
        if not whole and not was_there and isinstance(store, LocalStore):
            store.prune(())
        shown.close(whole)
    return naming.count


def _check_empty(store: Store, place: str) -> None:
    names = {info.name for info, _ in zip(store.list(), range(1), strict=False)}
    if names:
        state = (
            "holds pictures that were written before"
            if store.exists(LIST)
            else f"is not empty, and has no {LIST}, as if writing to it had been interrupted"
        )
        raise InvalidArgumentError(
            f"{place} {state}: nothing is written over; name another folder, or remove this one"
        )


class _Picture:
    """One file to be: its name, the line of the list, and what is in it."""

    def __init__(self, name: str, line: bytes, content: Any, kind: str, quality: Any) -> None:
        self.name, self.line = name, line
        self._content, self._kind, self._quality = content, kind, quality

    def put(self, store: Store) -> int:
        """Write it; how many bytes that are."""
        data = self._content
        if not isinstance(data, bytes):
            data = encode(data, self._kind, self._quality)
        store.put(self.name, data)
        return len(data)


class _Naming:
    """Decides what the file of each element is called."""

    def __init__(self, kind: str, quality: int | None, names: Sequence[str] | None) -> None:
        self._kind, self._quality = kind, quality
        self._names = None if names is None else [_folder(name) for name in names]
        self.count = 0

    def pictures(self, chunk: Chunk) -> Iterator[_Picture]:
        for row in chunk.rows:
            image, label = _parts(row)
            yield self._picture(image, label)
            self.count += 1

    def _picture(self, image: Any, label: Any) -> _Picture:
        ending = _ENDINGS[self._kind]
        if isinstance(image, bytes):
            found = ending_of(image)
            if found is None:
                raise unfit(IMAGE, f"the bytes of element {self.count} are no picture")
            ending = found
        else:
            reason = misfit(np.asarray(image), self._kind)
            if reason is not None:
                raise unfit(IMAGE, f"element {self.count}: {reason}")
        name = f"{self.count:08d}.{ending}"
        if label is None:
            return _Picture(name, f"{name}\n".encode(), image, self._kind, self._quality)
        folder, value = self._labelled(label)
        name = f"{folder}/{name}"
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([name, value])
        return _Picture(name, text.getvalue().encode(), image, self._kind, self._quality)

    def _labelled(self, label: Any) -> tuple[str, str]:
        """The folder of a label, and how the list spells it."""
        if isinstance(label, bytes | str):
            if self._names is not None:
                raise unfit(LABEL, "it is a text already; leave out label_names")
            name = _folder(os.fsdecode(label))
            return name, name
        if not isinstance(label, np.integer):
            raise unfit(LABEL, f"it must be a whole number or a text, not {type(label).__name__}")
        number = int(label)
        if self._names is None:
            return str(number), str(number)
        if not 0 <= number < len(self._names):
            raise unfit(
                LABEL,
                f"element {self.count} has the number {number}, and label_names has only "
                f"{len(self._names)} names",
            )
        return self._names[number], str(number)


def _parts(row: Any) -> tuple[Any, Any]:
    """The picture and the label, if there is one, of an element."""
    if isinstance(row, dict):
        others = row.keys() - {IMAGE, LABEL, PATH}
        if IMAGE not in row or others:
            raise ElementError(
                f"a folder of pictures holds {IMAGE!r} and {LABEL!r}, and elements have "
                f"{', '.join(map(repr, row))}; choose with select or map, or use write_webdataset"
            )
        return row[IMAGE], row.get(LABEL)
    if isinstance(row, tuple) and len(row) == 2:
        return row
    return row, None


def _folder(name: Any) -> str:
    text = str(name)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = ""
    if not text.strip() or text.startswith(".") or set(text) & {"/", "\\", "\0", "\n", "\r"}:
        raise InvalidArgumentError(f"{name!r:.60} cannot be the name of a folder of pictures")
    return text


class _Written:
    """Files that are being written by threads, and noted in order when they are there."""

    def __init__(self, store: Store, shown: Progress) -> None:
        self._store, self._shown = store, shown
        # No executor, for those are refused to threads that go on when the main thread has ended.
        self._pool = ThreadPool()
        self._pool.reserve(_AT_ONCE)
        self._waiting: deque[tuple[_Picture, Task]] = deque()
        self._folders: set[str] = set()

    def add(self, picture: _Picture, lines: BinaryIO) -> None:
        self._folders.add(picture.name.rpartition("/")[0])
        self._waiting.append((picture, self._pool.submit(partial(picture.put, self._store))))
        if len(self._waiting) > 2 * _AT_ONCE:
            self._note(lines)

    def wait(self, lines: BinaryIO) -> None:
        while self._waiting:
            self._note(lines)

    def _note(self, lines: BinaryIO) -> None:
        picture, done = self._waiting[0]
        self._shown.add_written(done.result())
        self._shown.advance(1)
        lines.write(picture.line)
        self._waiting.popleft()

    def remove(self, lines: BinaryIO) -> None:
        """Take back what was written, so that the folder is as empty as it was."""
        for _, done in self._waiting:
            if not done.cancel():
                done.wait()
        names = [picture.name for picture, _ in self._waiting]
        with suppress(OSError):
            lines.seek(0)
            names += [next(csv.reader([line.decode().rstrip("\n")]))[0] for line in lines]
            self._store.delete(names)
        if isinstance(self._store, LocalStore):
            self._store.prune(sorted(self._folders - {""}))

    def close(self) -> None:
        self._pool.close()
