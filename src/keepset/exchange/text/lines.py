"""Plain text: lines as elements, and elements as lines."""

from __future__ import annotations

import gzip
from typing import Any, BinaryIO

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import string
from keepset.core.node import stage
from keepset.core.spec import Spec, TensorSpec
from keepset.errors import CorruptRecordError, ElementError
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.files.file_rows import KEEP_FIRST
from keepset.exchange.tensorflow.compression import NONE, compression_named
from keepset.exchange.text.raw_records import TextLineDataset
from keepset.storage import Store

_GZIP = b"\x1f\x8b"


def compression_of(store: Store, file: str, asked: str | None) -> str:
    """How a file is compressed: what was asked for, or what its first bytes say."""
    if asked is not None:
        return compression_named(asked)
    size = store.size(file)
    head = bytes(store.read_range(file, 0, min(len(_GZIP), size)))
    # What is called so and has nothing in it was cut off.
    if size < len(_GZIP) and file.endswith((".gz", ".tgz")):
        where = store.object_url(file)
        raise CorruptRecordError(
            f"{where} cannot be read: it ends before it begins; restore the file from a copy, or "
            "leave it out",
            path=where,
        )
    return "GZIP" if head == _GZIP else NONE


@stage
class ReadText(TextLineDataset):
    """The lines of text files. That a file is compressed with gzip is found from its content."""

    def compression(self, store: Store, file: str) -> str:
        return compression_of(store, file, self.compression_type)

    def obstacle(self) -> str | None:
        return f"{self.title} reads its files from the beginning; {KEEP_FIRST}"


class TextWriter(RowWriter):
    """Writes ``bytes`` as lines that end with ``\\n``."""

    def __init__(self, file: BinaryIO, spec: Spec, is_compressed: bool) -> None:
        if spec != TensorSpec((), string):
            raise ElementError(
                f"lines of text are bytes or texts, and elements are {spec}; make texts of them "
                "with map, or write CSV or JSON lines"
            )
        # Without a name and a time in it, equal texts make equal files.
        self._packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_compressed else None
        self._file: Any = self._packed or file
        self._lines = 0

    def write(self, chunk: Chunk) -> None:
        [column] = chunk.columns
        lines: list[bytes] = np.asarray(column).tolist()
        for number, line in enumerate(lines, self._lines):
            if b"\n" in line or line.endswith(b"\r"):
                raise unfit(
                    "",
                    f"line {number} holds the end of a line ({line!r:.60}); use a format with "
                    "records, such as TFRecord or Parquet",
                )
        self._lines += len(lines)
        self._file.write(b"\n".join([*lines, b""]))

    def finish(self) -> None:
        if self._packed is not None:
            self._packed.close()
