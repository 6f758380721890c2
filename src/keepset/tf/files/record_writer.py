"""TFRecordWriter: records into a file that has its name at once, as TensorFlow writes them."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from types import TracebackType
from typing import Any
from weakref import WeakSet

from keepset.exchange.files.file_names import is_local
from keepset.exchange.tensorflow.record_writer import Target
from keepset.exchange.tensorflow.tfrecord_writer import TFRecordWriter as _Writer
from keepset.tf.error_names import translation
from keepset.tf.errors import FailedPreconditionError
from keepset.tf.files.file_places import place_of
from keepset.tf.tensors.elements import untensored


class _NamedFile:
    """A file that is there from the beginning, and keeps what was written to it."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115  # its writer closes it
        self.write, self.tell, self.close = self._file.write, self._file.tell, self._file.close
        self.flush, self.abort = self._file.flush, self._file.close


class TFRecordWriter(_Writer):
    """As ``tf.io.TFRecordWriter``; paths and records may be tensors.

    Unlike that of :class:`keepset.TFRecordWriter`, the file has its name at once, in a folder that
    must be there, and keeps what was written: after ``flush``, after an error inside ``with``, and
    where the writer is never closed. One in an object store is there when the writer is closed.

    Example:
        >>> import tempfile
        >>> import keepset.tf as tf
        >>> path = tempfile.mkdtemp() + "/some.tfrecord"
        >>> writer = tf.io.TFRecordWriter(path)
        >>> writer.write(b"first")
        >>> writer.flush()
        >>> [record.numpy() for record in tf.data.TFRecordDataset(path)]
        [b'first']
    """

    _is_closed = True  # until it is open
    _file: _NamedFile | None = None

    @translation()
    def __init__(self, path: Any, options: Any = None, **named: Any) -> None:
        self._process = os.getpid()
        super().__init__(os.fsdecode(untensored(path)), options, **named)
        _open.add(self)

    def _target(self, name: str, store_options: dict[str, Any]) -> Target:
        if not is_local(name):
            place_of(name)
            return super()._target(name, store_options)
        self._file = _NamedFile(name)
        return self._file

    @translation()
    def write(self, record: Any) -> None:
        self._check_open()
        super().write(untensored(record))

    @translation()
    def flush(self) -> None:
        """Make what was written so far readable, but for what is compressed with ZLIB."""
        self._check_open()
        super().flush()
        if self._file is not None:
            self._file.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._process == os.getpid():  # and is no copy in a forked process
            with suppress(Exception):  # at the end of a program no caller could catch it
                self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise FailedPreconditionError(None, None, f"Writer is closed: {self._path}")


def _close_all() -> None:
    for writer in list(_open):
        writer.__del__()


_open: WeakSet[TFRecordWriter] = WeakSet()
atexit.register(_close_all)
