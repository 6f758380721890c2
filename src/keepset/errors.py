"""Every error that Keepset raises on purpose.

    KeepsetError
    ├── InvalidArgumentError (ValueError)      a bad argument, found when the pipeline is built
    │   └── NoFilesError (FileNotFoundError)   a pattern that matches no file
    ├── ElementError (TypeError, ValueError)   an element that is not of the promised type
    ├── NotAddressableError (TypeError)        ``ds[i]`` on a stage that cannot jump
    ├── ElementIndexError (IndexError)         ``ds[i]`` outside the data
    ├── CardinalityError (ValueError)          a promised number of elements was wrong
    ├── UnknownSpecError (TypeError)           ``element_spec`` cannot be found out
    ├── StateError (ValueError)                an iterator state of another pipeline
    ├── WorkerDiedError (RuntimeError)         a worker process ended in the middle of its work
    ├── CorruptCacheError (ValueError)         a cache file that is damaged
    └── MissingExtraError (ImportError)        an optional package is not installed

An error in a user's own function keeps its type and traceback; the stage and the element's
position are added to it as a note.
"""

from __future__ import annotations


class KeepsetError(Exception):
    """The root of all errors of this library."""


class InvalidArgumentError(KeepsetError, ValueError):
    """An argument has a value that the stage cannot take."""


class NoFilesError(InvalidArgumentError, FileNotFoundError):
    """A file pattern matched nothing."""

    # Without this, OSError's own __str__ would hide a message given as the only argument.
    __str__ = Exception.__str__


class ElementError(KeepsetError, TypeError, ValueError):
    """An element's structure, dtype or shape is not what the stage needs."""


class NotAddressableError(KeepsetError, TypeError):
    """Elements were asked for by position where a stage only knows how to go forward."""


class ElementIndexError(KeepsetError, IndexError):
    """A position lies outside the data."""


class CardinalityError(KeepsetError, ValueError):
    """The number of elements is not the one that was promised."""


class UnknownSpecError(KeepsetError, TypeError):
    """The type of the elements cannot be found out."""


class StateError(KeepsetError, ValueError):
    """An iterator state does not belong to this pipeline."""


class WorkerDiedError(KeepsetError, RuntimeError):
    """A worker process ended while it worked on an element."""


class CorruptCacheError(KeepsetError, ValueError):
    """A cache file fails its checksum or does not parse: ``path``, at ``byte``."""

    # The defaults let the error be pickled: it is made anew from its message, then filled in.
    def __init__(self, message: str, *, path: str = "", byte: int = 0) -> None:
        super().__init__(message)
        self.path, self.byte = path, byte


class MissingExtraError(KeepsetError, ImportError):
    """An optional package is needed and not installed."""
