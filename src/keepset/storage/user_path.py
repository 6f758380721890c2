"""User paths: what a user names, as text that can be opened.

Every path that a user passes goes through here, so that ``~`` means the home folder for all
readers and writers alike, and a URL that has lost a slash is nowhere taken for a folder.
"""

from __future__ import annotations

import os
import re
from typing import Final

from keepset.errors import InvalidArgumentError
from keepset.storage.private_url import private_url

# Beside those that can be opened here, the ones that users know from other tools.
_KNOWN: Final = (
    *("abfs", "abfss", "adl", "az", "azure", "b2", "dbfs", "file", "ftp", "ftps", "gcs", "gs"),
    *("hdfs", "hf", "http", "https", "memory", "oci", "oss", "r2", "s3", "s3a", "s3n", "sftp"),
    *("ssh", "viewfs", "wasb", "wasbs", "webdav", "webhdfs"),
)
_ONE_SLASH: Final = re.compile(rf"({'|'.join(_KNOWN)}):/(?!/)(.*)", re.IGNORECASE | re.DOTALL)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def path_text(path: str | os.PathLike[str]) -> str:
    """A path or a URL as text, with ``~`` and ``~user`` resolved; what is neither is refused.

    Example:
        >>> path_text("s3://bucket/images")
        's3://bucket/images'
        >>> from pathlib import Path
        >>> path_text(Path("s3://bucket") / "images")
        Traceback (most recent call last):
            ...
        keepset.errors.InvalidArgumentError: 's3:/bucket/images' has one slash where the URL
        's3://bucket/images' has two: pathlib drops a slash of a URL; pass the URL as a str, ...
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        remedy = "pass os.fsdecode(path)" if isinstance(path, bytes) else "name a file or a folder"
        raise InvalidArgumentError(f"a path is a str or an os.PathLike, not {path!r:.60}; {remedy}")
    check_slashes(text)
    return _with_home(text)


def local_path(path: str | os.PathLike[str], what: str) -> str:
    """A path of a local file as text; a URL is refused, by the name of ``what`` it is for."""
    text = path_text(path)
    if _URL.match(text):
        raise InvalidArgumentError(
            f"{what} is local, and {private_url(text)!r} is a URL; name a local path"
        )
    return text


def check_slashes(text: str) -> None:
    """Raise for ``s3:/bucket``: the text of a URL that went through ``pathlib``."""
    found = _ONE_SLASH.match(text)
    if found is not None:
        url = str(private_url(f"{found[1]}://{found[2]}"))
        shown = url.replace("://", ":/", 1)
        raise InvalidArgumentError(
            f"{shown!r} has one slash where the URL {url!r} has two: pathlib drops a slash of a "
            f"URL; pass the URL as a str, or write ./{found[1]}:/ if a local folder is called so"
        )


def found_name(name: str) -> str:
    """The name of a local file that a listing has found, such that it is read as it stands."""
    is_read_otherwise = _ONE_SLASH.match(name) is not None or _with_home(name) != name
    return f"./{name}" if is_read_otherwise else name


def _with_home(text: str) -> str:
    if not text.startswith("~"):
        return text
    try:
        return os.path.expanduser(text)
    except ValueError:
        return text  # what cannot be the name of a user, which opening it says
