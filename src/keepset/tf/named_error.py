"""NamedError: the base of the errors that only ``tf.errors`` has a name for."""

from __future__ import annotations

from typing import Any

from keepset.errors import KeepsetError


class NamedError(KeepsetError):
    """An error that TensorFlow has a name for, made of a node, an operation and a message."""

    def __init__(self, *given: Any) -> None:
        message = given[2] if len(given) > 2 else "".join(map(str, given[:1]))
        super().__init__(message)
        self.args = (message,)

    # Without this, OSError's own __str__ would hide a message given as the only argument.
    __str__ = Exception.__str__

    @property
    def experimental_payloads(self) -> dict[bytes, bytes]:
        return {}
