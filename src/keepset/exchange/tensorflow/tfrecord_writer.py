"""TFRecordWriter: records into a file, one by one."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Final, Self

from keepset.errors import InvalidArgumentError
from keepset.exchange.files.file_names import store_of
from keepset.exchange.tensorflow.compression import compression_named
from keepset.exchange.tensorflow.record_writer import RecordWriter, Target
from keepset.storage import path_text

# Records that wait to be written together.
_TOGETHER_BYTES: Final = 1 << 18


class TFRecordOptions:
    """How a file of records is compressed.

    ``compression_level`` goes from 0 to 9 for GZIP and ZLIB. The other arguments of TensorFlow's
    class are about buffers, and change nothing here.
    """

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.compression_type = compression_named(compression_type)
        self.compression_level = compression_level


class TFRecordWriter:
    """Writes records to a TFRecord file, which takes its name when the writer is closed.

    So nobody reads a file that is half written, and an error inside ``with`` leaves none.

    Args:
        path: The file, or the url of an object.
        options: A :class:`TFRecordOptions`, or the name of a compression.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or ``"SNAPPY"``.
        store_options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/some.tfrecord"
        >>> with TFRecordWriter(path) as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> import keepset as ks
        >>> list(ks.TFRecordDataset(path))
        [b'first', b'second']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        options: TFRecordOptions | str | None = None,
        *,
        compression_type: str | None = None,
        **store_options: Any,
    ) -> None:
        if options is not None and compression_type is not None:
            raise InvalidArgumentError("pass options or compression_type, not both")
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type if options is None else options)
        name = path_text(path)
        self._path = name
        level, target = options.compression_level, self._target(name, store_options)
        self._writer = RecordWriter(target, options.compression_type, level)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._is_closed = False

    def _target(self, name: str, store_options: dict[str, Any]) -> Target:
        store, file = store_of(name, store_options)
        return store.writer(file)

    def write(self, record: Any) -> None:
        """Add a record of these bytes."""
        if self._is_closed:
            raise InvalidArgumentError(
                f"the writer of {self._path} is closed, so this record would be lost; open a new "
                "one"
            )
        if isinstance(record, str):
            record = record.encode()
        data = bytes(record.numpy() if hasattr(record, "numpy") else record)
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _TOGETHER_BYTES:
            self._hand_over()

    def _hand_over(self) -> None:
        records, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if records:
            self._writer.write(records)

    def flush(self) -> None:
        """Pass on what was written so far; the file gets its name only when it is closed."""
        if self._is_closed:
            raise InvalidArgumentError(f"the writer of {self._path} is closed")
        self._hand_over()
        self._writer.flush()

    def close(self) -> None:
        """Finish the file, durably. A second time nothing happens."""
        if not self._is_closed:
            self._hand_over()
            self._is_closed = True
            self._writer.finish()

    def abort(self) -> None:
        """Forget what was written."""
        self._is_closed = True
        self._writer.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()
