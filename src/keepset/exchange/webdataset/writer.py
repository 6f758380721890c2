"""Writing WebDataset archives: one, or many of so many samples each."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, BinaryIO, Final

from keepset.core.chunk import Chunk
from keepset.core.node import Node
from keepset.core.spec import Spec, spec_of
from keepset.core.structure import structure_of
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.files.exporting import RowWriter, empty_spec
from keepset.exchange.files.file_names import store_of
from keepset.exchange.files.new_file import new_file
from keepset.exchange.files.whole_run import check_finite, chunks_of
from keepset.exchange.webdataset.entries import KEY, EntryWriter, unfit_entry
from keepset.exchange.webdataset.tar import end_of, head_of, padding_of
from keepset.snapshot.writing.progress import Progress
from keepset.storage.failures import writing

# Of an archive that nobody said the number of samples of.
_SHARD_BYTES: Final = 1 << 30
_NUMBER: Final = re.compile(r"\{[^{}]*\}|%0?\d*d")
_END: Final = object()


class SampleWriter(RowWriter):
    """Writes elements, which are dicts, as the files of a tar archive."""

    def __init__(
        self,
        file: BinaryIO,
        spec: Spec,
        *,
        is_compressed: bool = False,
        picture: str = "png",
        quality: int | None = None,
        first: int = 0,
    ) -> None:
        if not isinstance(spec, dict) or not spec.keys() - {KEY}:
            raise ElementError(
                f"samples are dicts, and elements are {spec}; bring them to that with map, such as "
                '{"png": image, "cls": label}'
            )
        # Without a name and a time in it, equal samples make equal files.
        self._packed = gzip.GzipFile("", "wb", 6, fileobj=file, mtime=0) if is_compressed else None
        self._file: Any = self._packed or file
        self._entries = {
            entry: EntryWriter(str(entry), leaf, picture, quality)
            for entry, leaf in spec.items()
            if entry != KEY
        }
        _check_names([each.name for each in self._entries.values()])
        self._number, self._last, self.size_bytes = first, "", 0

    def write(self, chunk: Chunk) -> None:
        for row in chunk.rows:
            self.add(row)

    def add(self, sample: dict[str, Any]) -> None:
        """Add one sample, under its own key or a number."""
        try:
            self._add(sample)
        except ElementError as error:
            error.at(self._number, 0)
            raise
        self._number += 1

    def _add(self, sample: dict[str, Any]) -> None:
        if not isinstance(sample, dict) or sample.keys() - {KEY} != self._entries.keys():
            raise self._other_entries(sample)
        key = sample.get(KEY)
        name = f"{self._number:09d}" if key is None else _key(key)
        if name == self._last:
            raise unfit_entry(KEY, f"two samples that follow each other are called {name!r}")
        for entry, writer in self._entries.items():
            content = writer.encode(sample[entry])
            head = head_of(f"{name}.{writer.name}", len(content))
            self._put(head + content + padding_of(len(content)))
        self._last = name

    def _other_entries(self, sample: Any) -> ElementError:
        found = sample
        if isinstance(sample, dict):
            found = dict.fromkeys(sample.keys() - {KEY}, 0)
        return structure_of(dict.fromkeys(self._entries, 0)).difference(structure_of(found))

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self.size_bytes += len(data)

    def finish(self) -> None:
        self._put(end_of(self.size_bytes))
        if self._packed is not None:
            self._packed.close()


def _check_names(names: list[str]) -> None:
    lower = [name.lower() for name in names]
    twice = next((name for name in lower if lower.count(name) > 1), None)
    if twice is not None:
        raise unfit_entry(twice, "two entries would have this name, which counts in lower case")


def _key(key: Any) -> str:
    if isinstance(key, bytes | str):
        with suppress(UnicodeDecodeError):
            text = key if isinstance(key, str) else key.decode("utf-8")
            last = text.rpartition("/")[2]
            if last and "." not in last and "\0" not in text and not text.startswith("/"):
                return text
    raise unfit_entry(KEY, f"{key!r:.60} must be a text without dots, which may name a folder too")


def is_gzip(name: str) -> bool:
    return name.endswith((".gz", ".tgz"))


def has_number(pattern: str) -> bool:
    """Whether a name has a place for the number of an archive."""
    return _NUMBER.search(pattern) is not None


def shard_name(pattern: str, number: int) -> str:
    """The name of one of several archives: ``train-{:06d}.tar``, ``train-%06d.tar``, ``train.tar``.

    Without a place for it the number is put before the ending.
    """
    if not has_number(pattern):
        stem, dot, ending = pattern.rpartition(".tar")
        return f"{stem}-{number:06d}{dot}{ending}" if dot else f"{pattern}-{number:06d}"
    try:
        return pattern.format(number) if "{" in pattern else pattern % number
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{pattern!r} cannot name several archives ({error}); write a name such as "
            "'train-{:06d}.tar'"
        ) from error


def export_shards(
    node: Node,
    pattern: str,
    opened: Callable[..., SampleWriter],
    samples_per_shard: int | None,
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    """Write all elements to archives, each of which takes its name when it is whole."""
    check_finite(node)
    if shard_name(pattern, 0) == shard_name(pattern, 1):
        raise InvalidArgumentError(f"{pattern!r} gives all archives one name")
    _check_free(shard_name(pattern, 0), options)
    shown = Progress(f"writing {pattern}", node.cardinality(), progress)
    shards = _Shards(pattern, opened, samples_per_shard, shown, options)
    whole = False
    try:
        shards.write(node)
        whole = True
    finally:
        if not whole:
            shards.remove()
        shown.close(whole)
    return shards.given


def _check_free(name: str, options: dict[str, Any]) -> None:
    store, file = store_of(name, options)
    if store.exists(file):
        raise InvalidArgumentError(
            f"{name} is there already: archives of an earlier time would be mixed with new ones; "
            "remove them, or choose another name"
        )


class _Shards:
    """The archives of a run, one after another."""

    def __init__(
        self,
        pattern: str,
        opened: Callable[..., SampleWriter],
        samples: int | None,
        shown: Progress,
        options: dict[str, Any],
    ) -> None:
        self._pattern, self._opened, self._samples = pattern, opened, samples
        self._shown, self._options = shown, options
        self._whole = 0  # archives that have their names
        self.given = 0

    def write(self, node: Node) -> None:
        rows = _Rows(node)
        spec = rows.spec(node, self._pattern)
        while not self._whole or rows.next is not _END:
            name = shard_name(self._pattern, self._whole)
            with new_file(name, self._options) as file:
                self._fill(name, file, spec, rows)
            self._whole += 1

    def _fill(self, name: str, file: BinaryIO, spec: Spec, rows: _Rows) -> None:
        writer = self._opened(file, spec, is_compressed=is_gzip(name), first=self.given)
        for inside in count(1):
            if rows.next is _END:
                break
            with writing(name):
                writer.add(rows.next)
            rows.advance()
            self.given += 1
            self._shown.advance(1)
            is_large = self._samples is None and writer.size_bytes >= _SHARD_BYTES
            if is_large or inside == self._samples:
                break
        with writing(name):
            writer.finish()
        self._shown.add_written(writer.size_bytes)

    def remove(self) -> None:
        """Take back what was written: part of a data set looks like all of it."""
        for number in range(self._whole):
            with suppress(OSError):
                store, file = store_of(shard_name(self._pattern, number), self._options)
                store.delete([file])


class _Rows:
    """The elements of a run, of which the next one is known."""

    def __init__(self, node: Node) -> None:
        self._rows = (row for chunk in chunks_of(node) for row in chunk.rows)
        self.next: Any = next(self._rows, _END)

    def advance(self) -> None:
        self.next = next(self._rows, _END)

    def spec(self, node: Node, name: str) -> Spec:
        if self.next is _END:
            return empty_spec(node, name)
        known = node.known_spec()
        return spec_of(self.next) if known is None else known[0]
