"""Text of elements as UTF-8, and the error for what is none."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from operator import methodcaller
from typing import Final, NoReturn

from keepset.errors import ElementError

_HANDLER: Final = "keepset.utf8"


def _refuse(error: UnicodeError) -> NoReturn:
    assert isinstance(error, UnicodeEncodeError)
    half = error.object[error.start]
    raise ElementError(
        f"a str has {half!r} at {error.start}, half a character, so that it is no text in UTF-8 "
        '(json.loads makes it of a cut "\\ud83d"); replace it, as text.encode("utf-8", "replace") '
        "does"
    ) from error


codecs.register_error(_HANDLER, _refuse)
# A function in C, which needs no frame for each of many texts: only an error calls the handler.
utf8: Callable[[str], bytes] = methodcaller("encode", "utf-8", _HANDLER)
