"""Optional packages: imported when they are needed, with an error that says how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from keepset.errors import MissingExtraError


def optional_package(name: str, needed: str, extra: str, otherwise: str = "") -> Any:
    """Import a module of a package that is an extra.

    What an import raises apart from ``ImportError`` passes as it is.

    Args:
        name: The module.
        needed: What needs which package, for the error: ``"HDF5 files need h5py"``.
        extra: The extra of Keepset that brings the package.
        otherwise: How to do without.

    Raises:
        MissingExtraError: The package is not installed, or is and cannot be imported.

    Example:
        >>> optional_package("jacks", "to_jacks needs jacks", "jacks")
        Traceback (most recent call last):
            ...
        keepset.errors.MissingExtraError: to_jacks needs jacks; install it with: pip install
        'keepset[jacks]'
    """
    try:
        return import_module(name)
    except ImportError as error:
        otherwise = otherwise and f", or {otherwise}"
        if is_missing(error, name):
            raise MissingExtraError(
                f"{needed}; install it with: pip install 'keepset[{extra}]'{otherwise}"
            ) from error
        package = name.partition(".")[0]
        reason = str(error) or type(error).__name__
        raise MissingExtraError(
            f"{needed}; {package} is installed and cannot be imported: {reason}; repair that, or "
            f"install it again with: pip install --force-reinstall 'keepset[{extra}]'{otherwise}"
        ) from error


def is_missing(error: ImportError, name: str) -> bool:
    """Whether an import failed because the package of a module is not installed.

    Otherwise it is there and broken: a library that it needs is missing, or a part of itself.
    """
    return isinstance(error, ModuleNotFoundError) and error.name in (name, name.partition(".")[0])
