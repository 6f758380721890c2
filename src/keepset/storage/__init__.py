"""Bytes in and out: objects by name, on local files or in an object store."""

from __future__ import annotations

from keepset.storage.local import LocalStore
from keepset.storage.opened import open_store
from keepset.storage.store import ObjectInfo, ObjectWriter, Store
from keepset.storage.user_path import check_slashes, found_name, local_path, path_text

__all__ = [
    "LocalStore",
    "ObjectInfo",
    "ObjectWriter",
    "Store",
    "check_slashes",
    "found_name",
    "local_path",
    "open_store",
    "path_text",
]
