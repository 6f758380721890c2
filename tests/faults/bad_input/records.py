"""Mutations of TFRecord files behind their checksums: payloads and lengths, framed again."""

from __future__ import annotations

import random
import struct

from tests.faults.bad_input import byte_mutations, protobuf

from keepset.exchange.tensorflow.masked_crc import masked_crc


def framed(payload: bytes, length: int | None = None) -> bytes:
    """A record with checksums that fit; with a ``length``, one that does not tell the truth."""
    head = struct.pack("<Q", len(payload) if length is None else length)
    checksums = [struct.pack("<I", masked_crc(part)) for part in (head, payload)]
    return head + checksums[0] + payload + checksums[1]


def payloads(data: bytes) -> list[bytes]:
    """What is in the whole records of a file."""
    found, at = [], 0
    while at + 16 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if at + 16 + size > len(data):
            break
        found.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    return found


def mutated(data: bytes, choose: random.Random) -> bytes:
    """Records of which one has other contents, or a length of its own."""
    found = payloads(data)
    if not found:
        return framed(choose.randbytes(9))
    place = choose.randrange(len(found))
    lengths: dict[int, int] = {}
    how = choose.random()
    if how < 0.5:
        found[place] = protobuf.mutated(found[place], choose)
    elif how < 0.7:
        found[place] = byte_mutations.mutated(found[place], choose)
    elif how < 0.85:
        lengths[place] = choose.choice(byte_mutations.ODD_NUMBERS)
    elif how < 0.9:
        found[place] = b""
    elif how < 0.95:
        found.insert(place, found[choose.randrange(len(found))])
    else:
        del found[place]
    return b"".join(framed(payload, lengths.get(n)) for n, payload in enumerate(found))
