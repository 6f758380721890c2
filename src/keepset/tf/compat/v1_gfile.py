"""``tf.compat.v1.gfile``: the names that ``tf.io.gfile`` had before."""

from __future__ import annotations

from keepset.tf.gfile import (
    GFile,
    copy,
    exists,
    glob,
    isdir,
    listdir,
    makedirs,
    remove,
    rename,
    rmtree,
)
from keepset.tf.not_covered import not_covered

Copy, Exists, Glob, IsDirectory, ListDirectory = copy, exists, glob, isdir, listdir
MakeDirs, MkDir, Remove, Rename, DeleteRecursively = makedirs, makedirs, remove, rename, rmtree
FastGFile = Open = GFile

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
]

__getattr__ = not_covered("tf.compat.v1.gfile")
