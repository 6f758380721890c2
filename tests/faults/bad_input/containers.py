"""Mutations within containers, packed again so that they fit: gzip, zip, tar, heads of npy."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import warnings
import zipfile
import zlib

from tests.faults.bad_input import byte_mutations
from tests.faults.bad_input.byte_mutations import ODD_NUMBERS, Mutation

_ODD_NAMES = ("../outside", "/tmp/outside", "a" * 300, "", "a\0b", "x.npy", "0.json", "0.cls")
_HEADER_WORDS = (
    *("'<f4'", "'<i8'", "'O'", "'|O'", "'<U5'", "'V16'", "[('a', '<i4')]", "'<M8[s]'", "None"),
    *("(-1,)", "(2, 9223372036854775807)", "(1,) * 99", "()", "(3, 2)", "True", "False", "{}"),
    *("(99999999999999999999,)", "('a',)", "(1.5,)", "[" * 300, "__import__('os').abort()", "''"),
)


def in_gzip(inner: Mutation) -> Mutation:
    """Change what is compressed."""

    def mutate(data: bytes, choose: random.Random) -> bytes:
        try:
            return gzip.compress(inner(gzip.decompress(data), choose), 1)
        except (OSError, EOFError, zlib.error):
            return data

    return mutate


def in_zlib(inner: Mutation) -> Mutation:
    """As ``in_gzip``, without its head."""
    return lambda data, choose: zlib.compress(inner(zlib.decompress(data), choose), 1)


def npy_header(data: bytes, choose: random.Random) -> bytes:
    """Replace a value in the head of an npy file, whose length stays true."""
    if data[:6] != b"\x93NUMPY":
        return data
    end = 10 + int.from_bytes(data[8:10], "little")
    head = data[10:end].decode("latin-1")
    values = [part.strip() for part in head.strip().strip("{},").split("'") if part.strip(" :,")]
    old = choose.choice([value for value in values if value.strip(" :,")] or [head])
    head = head.replace(old, choose.choice(_HEADER_WORDS).strip("'"), 1).strip() + "\n"
    length = choose.choice((len(head), len(head), len(head), choose.choice(ODD_NUMBERS) % 65536))
    return data[:8] + length.to_bytes(2, "little") + head.encode("latin-1") + data[end:]


def _npy(data: bytes, choose: random.Random) -> bytes:
    return choose.choice((npy_header, byte_mutations.mutated))(data, choose)


def npz(data: bytes, choose: random.Random) -> bytes:
    """Change the members of a zip file, their names or how often they come."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
        kind = archive.infolist()[0].compress_type
    place = choose.randrange(len(members))
    name, content = members[place]
    how = choose.random()
    if how < 0.6:
        members[place] = name, _npy(content, choose)
    elif how < 0.75:
        members[place] = choose.choice(_ODD_NAMES) or "x", content
    elif how < 0.85:
        members.append((name, content))
    else:
        del members[place]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that come twice
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def tar(data: bytes, choose: random.Random) -> bytes:
    """Change the members of a tar file: contents, names, kinds, sizes and further headers."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [
            (info, file.read() if (file := archive.extractfile(info)) is not None else b"")
            for info in archive
        ]
    place = choose.randrange(len(members))
    info, content = members[place]
    how = choose.random()
    if how < 0.5:
        members[place] = info, _npy(content, choose)
    elif how < 0.6:
        info.name = choose.choice(_ODD_NAMES) or "x"
    elif how < 0.7:
        info.type = choose.choice((b"1", b"2", b"3", b"4", b"6", b"S", b"x", b"Z"))
        info.linkname = "/etc/passwd"
    elif how < 0.8:
        info.pax_headers = choose.choice(
            (
                {"size": "99999999999"},
                {"GNU.sparse.map": "0,1,5,99999999999", "GNU.sparse.realsize": "9" * 20},
                {"path": "../../outside"},
                {"size": "x" * 20},
                {"mtime": "nan", "hdrcharset": "BINARY"},
            )
        )
    elif how < 0.9:
        members.insert(choose.randrange(len(members) + 1), members[place])
    else:
        del members[place]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return _with_sizes(out.getvalue(), choose) if choose.random() < 0.15 else out.getvalue()


def _with_sizes(data: bytes, choose: random.Random) -> bytes:
    """Have one header tell another size, with a checksum that fits."""
    heads = [at for at in range(0, len(data), 512) if data[at + 257 : at + 262] == b"ustar"]
    if not heads:
        return data
    at, out = choose.choice(heads), bytearray(data)
    size = choose.choice(ODD_NUMBERS)
    out[at + 124 : at + 136] = (
        b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
    )
    out[at + 148 : at + 156] = b" " * 8
    out[at + 148 : at + 156] = b"%06o\0 " % (sum(out[at : at + 512]) % 8**6)
    return bytes(out)


tar_in_gzip = in_gzip(tar)
