"""Pairs of programs, read from the ``.pairs`` files beside this one.

A row is a program and an edit of it, written as one text in the way of a diff::

    === differs: a number
    -SCALE = 2
    +SCALE = 3
    def f(x):
        return x * SCALE

Lines that begin with ``-`` belong to the first program alone, with ``+`` to the second alone, all
others to both. ``@@ config.py`` begins another file beside the script; one whose lines all belong
to one program does not exist for the other. ``keepset`` and ``numpy`` are imported at the top of
each script as ``ks`` and ``np``, unless it begins with a docstring or a future import, and a script
that does not define ``ds`` maps ``f`` over ``range(4)``.

What is expected of a row:

- ``differs``: the elements differ, and so do the fingerprints;
- ``same``: the elements agree, and the second program replays what the first one stored;
- ``refused``: the elements differ, and the fingerprints do or cannot be taken;
- ``warns of LABEL``: the elements differ, and the fingerprints do or a warning says what they
  cannot see, with the ``LABEL`` that ``ignore=`` takes for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

Expected = Literal["differs", "same", "refused", "warns"]
Files = dict[str, str]

SCRIPT = "job.py"
_IMPORTS = "import keepset as ks\nimport numpy as np\n"
_DATASET = "\nds = ks.Dataset.range(4).map(f)\n"


# Compared and hashed as what it is: one of the rows.
@dataclass(frozen=True, eq=False)
class Row:
    theme: str
    number: int
    name: str
    expected: Expected
    before: Files
    after: Files
    label: str = ""

    def __str__(self) -> str:
        return f"{self.theme}: {self.name}"


def rows() -> list[Row]:
    """All rows of all tables."""
    tables = sorted(Path(__file__).parent.glob("*.pairs"))
    return [row for table in tables for row in _rows_of(table.stem, table.read_text())]


def _rows_of(theme: str, text: str) -> list[Row]:
    _, *parts = re.split(r"^=== (.+?): (.+)\n", text, flags=re.MULTILINE)
    batched = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [
        _row(theme, number, name, expected, body)
        for number, (expected, name, body) in enumerate(batched)
    ]


def _row(theme: str, number: int, name: str, first: str, body: str) -> Row:
    expected, label = _expectation(first, f"{theme}: {name}")
    script, *others = re.split(r"^@@ (.+)\n", body, flags=re.MULTILINE)
    before, after = Files(), Files()
    for path, text in ((SCRIPT, script), *zip(others[::2], others[1::2], strict=True)):
        lines = [line + "\n" for line in text.rstrip().splitlines()]
        for files, other in ((before, "+"), (after, "-")):
            left = [re.sub("^[-+]", "", line) for line in lines if not line.startswith(other)]
            if left or not lines:
                content = "".join(left)
                files[path] = _script(content) if path == SCRIPT else content
    if before == after and expected != "same":
        raise ValueError(f"{theme}: {name}: the programs are the same")
    return Row(theme, number, name, expected, before, after, label)


def _expectation(text: str, name: str) -> tuple[Expected, str]:
    expected, of, label = text.partition(" of ")
    if expected not in get_args(Expected) or (expected == "warns") != bool(of and label):
        raise ValueError(f"{name}: {text!r} is no expectation")
    return cast(Expected, expected), label


def _script(text: str) -> str:
    first = "" if text.startswith(("from __future__", '"""')) else _IMPORTS
    last = "" if re.search(r"^(ds\b|from .* import ds$)", text, re.MULTILINE) else _DATASET
    return first + text + last
