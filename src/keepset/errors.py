"""Every error that Keepset raises on purpose.

    KeepsetError
    ├── InvalidArgumentError (ValueError)      a bad argument, found when the pipeline is built
    │   ├── NoFilesError (FileNotFoundError)   a pattern that matches no file
    │   └── DtypeError (TypeError)             tensors of dtypes that do not go together
    ├── ElementError (TypeError, ValueError)   an element that is not of the promised type
    │   └── ResultError                        a function returned what no stage can use
    ├── NotAddressableError (TypeError)        ``ds[i]`` on a stage that cannot jump
    ├── ElementIndexError (IndexError)         ``ds[i]`` outside the data
    ├── CardinalityError (ValueError)          a promised number of elements was wrong
    ├── UnknownSpecError (TypeError)           ``element_spec`` cannot be found out
    ├── StateError (ValueError)                an iterator state of another pipeline
    ├── WorkerDiedError (RuntimeError)         a worker process ended in the middle of its work
    ├── CorruptCacheError (ValueError)         a cache file that is damaged
    ├── CorruptSnapshotError (ValueError)      a kept file that is damaged
    ├── CorruptRecordError (ValueError)        a record of a foreign file that is damaged
    │   └── RecordSizeError (InvalidArgumentError)  no whole number of records of one size
    ├── NewerFormatError (ValueError)          a snapshot of a newer version of the library
    ├── SnapshotMissingError (FileNotFoundError)  nothing is kept, or not what was asked for
    ├── SnapshotMismatchError (ValueError)     what is kept contradicts what was asked for
    ├── PendingSnapshotError (RuntimeError)    another process is still writing
    ├── ObjectMissingError (FileNotFoundError)  an object that is not in its store
    ├── StorageError (OSError)                 a disk, a network or a permission failed us
    ├── OutOfMemoryError (MemoryError)         there is too little memory to read something
    ├── FingerprintError (TypeError)           something whose content cannot be compared
    ├── NotCoveredError (AttributeError)       a name of TensorFlow's that ``keepset.tf`` has not
    ├── RecipeError (ValueError)               a recipe that cannot be written or read
    │   └── UntrustedRecipeError               one whose code nobody has allowed to run
    └── MissingExtraError (ImportError)        an optional package is missing or broken

    CorruptRecordWarning (UserWarning)         damage that was left out, as the user asked for
    RecipeChangedWarning (UserWarning)         a recipe's files or functions are not what they were

An error in a user's own function keeps its type and traceback; the stage and the element's
position are added to it as a note.
"""

from __future__ import annotations

import errno
from typing import Any


class KeepsetError(Exception):
    """The root of all errors of this library; ``message`` is its text."""

    # What programs for TensorFlow read from errors: one of the codes of ``keepset.tf.errors``, and
    # the operation that failed.
    error_code: int = 2
    node_def: Any = None
    op: Any = None

    @property
    def message(self) -> str:
        return str(self)


class InvalidArgumentError(KeepsetError, ValueError):
    """An argument has a value that the stage cannot take."""

    error_code = 3

    def __init__(self, *given: Any) -> None:
        # Programs for TensorFlow make errors of a node, an operation and a message.
        super().__init__(*(given[2:3] if len(given) > 2 else given))


class NoFilesError(InvalidArgumentError, FileNotFoundError):
    """A file pattern matched nothing."""

    # Without this, OSError's own __str__ would hide a message given as the only argument.
    __str__ = Exception.__str__


class DtypeError(InvalidArgumentError, TypeError):
    """Tensors have dtypes that do not go together, or one that an operation does not take."""


class ElementError(KeepsetError, TypeError, ValueError):
    """An element's structure, dtype or shape is not what the stage needs.

    Attributes:
        element: Its number in the input of the stage that raises, where that is known.
        leaf: The path of the leaf in it, such as ``features.mean``; None if it is all of it.

    The text begins with them: ``element 17, leaf 'image': ...``.
    """

    element: int | None = None
    leaf: str | None = None
    row: int | None = None  # its place among the elements that were looked at together

    def __init__(
        self, message: object = "", *, leaf: str | None = None, row: int | None = None
    ) -> None:
        super().__init__(message)
        self.leaf, self.row = leaf or None, row

    def at(self, first: int, row: int | None = None) -> None:
        """Say which element it is about: the one ``row`` rows behind ``first``, or its own row.

        A number that is known already stays: that of the stage that raised the error.
        """
        place = self.row if row is None else row
        if self.element is None and place is not None:
            self.element = first + place

    def told(self, before: str, after: str = "") -> ElementError:
        """An error at the same place that says more."""
        more = ElementError(f"{before}{self.args[0]}{after}", leaf=self.leaf, row=self.row)
        more.element = self.element
        return more

    def __str__(self) -> str:
        message = super().__str__()
        number = [] if self.element is None else [f"element {self.element}"]
        where = ", ".join(number + ([] if self.leaf is None else [f"leaf {self.leaf!r}"]))
        return f"{where}: {message}" if where else message


class ResultError(ElementError):
    """A function returned what its stage cannot use, whatever the element was."""


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


class CorruptSnapshotError(KeepsetError, ValueError):
    """A kept file fails its checksum or does not parse: ``path``, at ``byte``."""

    def __init__(self, message: str, *, path: str = "", byte: int = 0) -> None:
        super().__init__(message)
        self.path, self.byte = path, byte


class CorruptRecordError(KeepsetError, ValueError):
    """A record of a foreign file is damaged: number ``record`` of ``path``, at ``byte``."""

    def __init__(self, message: str, *, path: str = "", record: int = 0, byte: int = 0) -> None:
        super().__init__(message)
        self.path, self.record, self.byte = path, record, byte


class RecordSizeError(CorruptRecordError, InvalidArgumentError):
    """A file is no whole number of records: it is damaged, or their size is another one."""


class CorruptRecordWarning(UserWarning):
    """Records of a foreign file are damaged, and were left out because the user wants that."""


class NewerFormatError(KeepsetError, ValueError):
    """A snapshot was written by a newer version of the library, in a format not known here."""


class SnapshotMissingError(KeepsetError, FileNotFoundError):
    """There is no finished snapshot where one was asked for."""

    __str__ = Exception.__str__


class SnapshotMismatchError(KeepsetError, ValueError):
    """A snapshot is there, but contradicts what was said about it."""


class PendingSnapshotError(KeepsetError, RuntimeError):
    """Another process is writing the snapshot, and it was asked not to wait for it."""


class NotCoveredError(KeepsetError, AttributeError):
    """A name of TensorFlow's was asked for that ``keepset.tf`` does not have."""


class RecipeError(KeepsetError, ValueError):
    """A pipeline cannot be told as a recipe, or a recipe not be read: ``stage``, at ``line``."""

    def __init__(self, message: str, *, stage: int | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.stage, self.line = stage, line


class UntrustedRecipeError(RecipeError):
    """A recipe names code that nobody has allowed to run."""


class RecipeChangedWarning(UserWarning):
    """Files or functions that a recipe names are not what they were when it was written."""


class MissingExtraError(KeepsetError, ImportError):
    """An optional package is needed, and is not installed or cannot be imported."""


class ObjectMissingError(KeepsetError, FileNotFoundError):
    """There is no object under this name: ``url`` says which."""

    def __init__(self, message: str, *, url: str = "") -> None:
        super().__init__(message)
        self.errno, self.url = errno.ENOENT, url

    __str__ = Exception.__str__


class StorageError(KeepsetError, OSError):
    """Reading or writing ``url`` failed for a reason outside; ``errno`` says which, if known."""

    def __init__(self, message: str, *, url: str = "", number: int | None = None) -> None:
        super().__init__(message)
        self.errno, self.url = number, url

    __str__ = Exception.__str__

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError keeps its number outside of what is pickled.
        return _storage_error, (self.args[0], self.url, self.errno)


class OutOfMemoryError(KeepsetError, MemoryError):
    """Memory ran out while ``path`` was read, which says nothing about its data.

    Attributes:
        path: What was read.
        wanted_bytes: How much could not be had at once; None if it is unknown.
    """

    def __init__(self, message: str, *, path: str = "", wanted_bytes: int | None = None) -> None:
        super().__init__(message)
        self.path, self.wanted_bytes = path, wanted_bytes


def _storage_error(message: str, url: str, number: int | None) -> StorageError:
    return StorageError(message, url=url, number=number)


class FingerprintError(KeepsetError, TypeError):
    """A value has no content that could be compared: ``path`` says which."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path
