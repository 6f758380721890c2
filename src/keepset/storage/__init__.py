"""Bytes in and out: objects by name, on local files or in an object store."""

from __future__ import annotations

from keepset.storage.local import LocalStore
from keepset.storage.opened import open_store, path_text
from keepset.storage.store import ObjectInfo, ObjectWriter, Store

__all__ = [
    "LocalStore",
    "ObjectInfo",
    "ObjectWriter",
    "Store",
    "open_store",
    "path_text",
]
