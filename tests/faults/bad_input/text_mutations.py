"""Mutations of files of lines: CSV, JSON lines and plain text."""

from __future__ import annotations

import json
import random
from typing import Final

from tests.faults.bad_input import json_mutations

_ODD_CELLS: Final = (
    *(b'"', b'""', b'"a', b",", b",,,,", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n"),
    *(b"9" * 400, b"1e999", b"nan", b"-", b"null", b"x" * 70_000, b"'", b"\t", b"\\", b"="),
)


def lines(data: bytes, choose: random.Random) -> bytes:
    """Leave lines out, repeat or join them, or put odd texts into them."""
    found = data.split(b"\n")
    place = choose.randrange(len(found))
    how = choose.random()
    if how < 0.15:
        del found[place]
    elif how < 0.3:
        found.insert(place, found[choose.randrange(len(found))])
    elif how < 0.4:
        found[place : place + 2] = [b"".join(found[place : place + 2])]
    elif how < 0.5:
        found.insert(place, choose.choice((b"", b" ", b"\0", b"#", b'"')))
    else:
        at = choose.randrange(len(found[place]) + 1)
        odd = choose.choice(_ODD_CELLS)
        found[place] = found[place][:at] + odd + found[place][at + choose.choice((0, 1, 4)) :]
    return b"\n".join(found)


def json_lines(data: bytes, choose: random.Random) -> bytes:
    """Change a value in the object of one line."""
    found = data.split(b"\n")
    place = choose.randrange(len(found))
    try:
        document = json_mutations.mutate_value(json.loads(found[place]), choose)
    except ValueError:
        return lines(data, choose)
    text = json_mutations.to_text(document, choose)
    found[place] = text.encode("utf-8", "surrogatepass").replace(b"\n", b" ")
    return b"\n".join(found)
