"""Plain text and records of a fixed length, as data sets."""

from __future__ import annotations

from typing import Any

from keepset.dataset import Dataset
from keepset.dataset.arguments import whole_number
from keepset.dataset.named_files import Files, named_files
from keepset.exchange.text.codec_names import encoding_name
from keepset.exchange.text.fixed_length import ReadFixedLength
from keepset.exchange.text.lines import ReadText


def read_text(
    files: Files,
    *,
    compression: str | None = None,
    encoding: str | None = None,
    **options: Any,
) -> Dataset:
    """The lines of text files, as ``bytes``, without what ends them (``\\n`` or ``\\r\\n``).

    With ``encoding`` they are ``str``.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.txt"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
        compression: ``"GZIP"`` or ``"ZLIB"``. GZIP need not be given: it is found from each file.
        encoding: That of the files, such as ``"utf-8"`` or ``"latin-1"``, for lines that are
            ``str``. What cannot be decoded is an error that names the line and the byte.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/poem.txt"
        >>> Dataset.from_tensor_slices(["so much", "depends"]).write_text(path)
        2
        >>> list(read_text(path))
        [b'so much', b'depends']
        >>> list(read_text(path, encoding="utf-8"))
        ['so much', 'depends']
    """
    return Dataset(
        ReadText(
            parent=named_files(files, options),
            compression_type=compression,
            encoding=encoding_name(encoding),
            store_options=options or None,
        )
    )


def read_fixed_length(
    files: Files,
    record_bytes: int,
    *,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    compression: str | None = None,
    **options: Any,
) -> Dataset:
    """Records of a fixed length, as ``bytes``, such as those of CIFAR-10's binary files.

    Elements of files that are not compressed can be had by position.

    Args:
        files: A file, a folder, a pattern such as ``"data_batch_*.bin"``, a list of them, or
            a Dataset of names. Urls of object stores are files too.
        record_bytes: How long a record is.
        header_bytes: How much to pass over at the beginning of each file.
        footer_bytes: How much to pass over at its end.
        compression: ``"GZIP"`` or ``"ZLIB"``. GZIP need not be given: it is found from each file.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/some.bin"
        >>> with open(path, "wb") as file:
        ...     _ = file.write(b"HEAD" + b"aabbcc")
        >>> ds = read_fixed_length(path, 2, header_bytes=4)
        >>> list(ds), ds[1]
        ([b'aa', b'bb', b'cc'], b'bb')
    """
    return Dataset(
        ReadFixedLength(
            parent=named_files(files, options),
            record_bytes=whole_number(record_bytes, "record_bytes"),
            header_bytes=whole_number(header_bytes, "header_bytes"),
            footer_bytes=whole_number(footer_bytes, "footer_bytes"),
            compression_type=compression,
            store_options=options or None,
        )
    )
