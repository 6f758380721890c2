"""The doors: every way to files of another format, for the suite that all of them join.

A new format joins by one entry in ``DOORS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import keepset as ks


@dataclass(frozen=True)
class Door:
    """A format, and what it can do.

    Attributes:
        ending: What its files are called.
        write: Writes a data set to a path.
        read: Reads the files of a path or pattern; takes ``columns=`` if the format has them.
        kinds: Elements that come back as they were, each a function of a number.
        large: An element that takes 100 KB or so in the file, for tests of memory.
        knows_length: Whether ``len`` is known without reading everything.
        is_addressable: Whether elements can be had by position.
        has_columns: Whether elements are dicts of which some entries can be read.
        notices_cuts: Whether a file that lacks its end is found to be damaged.
        takes_remote: Whether files may be in a bucket.
    """

    ending: str
    write: Callable[[ks.Dataset, Any], Any]
    read: Callable[..., ks.Dataset]
    kinds: dict[str, Callable[[int], Any]]
    large: Callable[[int], Any]
    knows_length: bool = True
    is_addressable: bool = True
    has_columns: bool = True
    notices_cuts: bool = True
    takes_remote: bool = True

    @property
    def kind(self) -> Callable[[int], Any]:
        """The first kind of element, for tests that need only one."""
        return next(iter(self.kinds.values()))

    def dataset(self, count: int, kind: Callable[[int], Any] | None = None) -> ks.Dataset:
        """Elements of one kind."""
        make = self.kind if kind is None else kind
        signature = ks.Dataset.from_generator(lambda: iter([make(1)])).element_spec
        return ks.Dataset.from_generator(
            lambda: (make(i) for i in range(count)), output_signature=signature
        )


def table_row(i: int) -> Any:
    """A row of what tables are usually made of."""
    return {
        "name": b"no. %d" % i,
        "x": np.float32(i / 2),
        "count": np.int64(i),
        "is_even": np.bool_(i % 2 == 0),
    }


# What comes back from formats of text, which know no types.
TEXT_KINDS: dict[str, Callable[[int], Any]] = {
    "rows": lambda i: table_row(i) | {"x": np.float64(i) / 3 + 0.25},
    "texts": lambda i: {"text": '"é",\n\t;%d'.encode() % i, "empty": b"", "lines": b"\r\n\n"},
    "times": lambda i: {"day": np.datetime64(i, "D"), "at": np.datetime64(i, "s")},
}
OBJECT_KINDS: dict[str, Callable[[int], Any]] = {
    "rows": TEXT_KINDS["rows"],
    "texts": TEXT_KINDS["texts"],
    "nested": lambda i: {"in": {"z": np.float64(i), "a": b"%d" % i}, "out": np.bool_(True)},
}


def large_text(i: int) -> Any:
    return {"x": i, "text": np.random.default_rng(i).bytes(50_000).hex().encode()}


# What comes back from formats that keep Keepset's own spec.
TABLE_KINDS: dict[str, Callable[[int], Any]] = {
    "rows": table_row,
    "nested": lambda i: {
        "in": {"z": np.arange(3) + i, "a": b"%d\xff" % i},
        "out": np.zeros((2, 2)),
    },
    "pairs": lambda i: (np.full(3, i, np.int16), np.datetime64(i, "D")),
    "numbers": np.uint8,
    "arrays of strings": lambda i: {"tags": np.array([b"t%d" % i, b""], object)},
    "ragged": lambda i: ks.Ragged.from_rows([np.arange(i % 3), np.arange(2)]),
    "sparse": lambda i: ks.Sparse([[i % 5]], [i], (5,)),
}


DOORS: dict[str, Door] = {
    "npy": Door(
        ending=".npy",
        write=lambda ds, path: ds.write_npy(path),
        read=ks.read_npy,
        kinds={
            "arrays": lambda i: np.full((3, 2), i, np.float32),
            "numbers": np.int64,
            "times": lambda i: np.datetime64(i, "s"),
            "bools": lambda i: np.array([i % 2 == 0, True]),
            "complex": lambda i: np.array([i + 1j]),
            "empty": lambda i: np.zeros((0, 2)),
        },
        large=lambda i: np.full(25_000, i, np.float32),
        has_columns=False,
    ),
    "npz": Door(
        ending=".npz",
        write=lambda ds, path: ds.write_npz(path),
        read=ks.read_npz,
        kinds={
            "dicts": lambda i: {"x": np.full((3, 2), i, np.float32), "label": np.int64(i)},
            "nested": lambda i: {
                "a": {"b": {"c": np.int8(i % 100)}, "time": np.datetime64(i, "s")},
                "odd": np.array([i % 2 == 0, True, False]),
            },
            "empty": lambda i: {"nothing": np.zeros((0, 2)), "some": np.array([i + 1j])},
        },
        large=lambda i: {"x": np.full(12_500, i, np.float32), "y": np.full(12_500, i, np.int32)},
    ),
    "npz, compressed": Door(
        ending=".npz",
        write=lambda ds, path: ds.write_npz(path, compressed=True),
        read=ks.read_npz,
        kinds={
            "dicts": lambda i: {"x": np.full((3, 2), i, np.float32), "label": np.int64(i)},
            "empty": lambda i: {"nothing": np.zeros((0, 2)), "some": np.array([i + 1j])},
        },
        large=lambda i: {"x": np.full(12_500, i, np.float32), "y": np.full(12_500, i, np.int32)},
        is_addressable=False,
    ),
    "hdf5": Door(
        ending=".h5",
        write=lambda ds, path: ds.write_hdf5(path),
        read=ks.read_hdf5,
        kinds={
            "dicts": lambda i: {"x": np.full((3, 2), i, np.float32), "label": np.int64(i)},
            "nested": lambda i: {
                "a": {"b": {"c": np.int8(i % 100)}, "time": np.datetime64(i, "s")},
                "odd": np.array([i % 2 == 0, True, False]),
            },
            "texts": lambda i: {"t": b"%d" % i, "u": np.array([b"\xff", b"a" * i], object)},
            "empty": lambda i: {"nothing": np.zeros((0, 2)), "some": np.array([i + 1j])},
        },
        large=lambda i: {"x": np.full(12_500, i, np.float32), "y": np.full(12_500, i, np.int32)},
    ),
    "hdf5, compressed": Door(
        ending=".h5",
        write=lambda ds, path: ds.write_hdf5(path, compression="gzip"),
        read=ks.read_hdf5,
        kinds={"dicts": lambda i: {"x": np.full((3, 2), i, np.float32), "label": np.int64(i)}},
        large=lambda i: {"x": np.full(12_500, i, np.float32), "y": np.full(12_500, i, np.int32)},
    ),
    "text": Door(
        ending=".txt",
        write=lambda ds, path: ds.write_text(path),
        read=ks.read_text,
        kinds={
            "lines": lambda i: b"line %d" % i,
            "any bytes": lambda i: bytes(set(range(256)) - {10, 13}) + b"\r%d" % i,
            "empty": lambda i: b"",
        },
        large=lambda i: b"%d " % i * 20_000,
        knows_length=False,
        is_addressable=False,
        has_columns=False,
        notices_cuts=False,
    ),
    "text in gzip": Door(
        ending=".txt.gz",
        write=lambda ds, path: ds.write_text(path),
        read=ks.read_text,
        kinds={"lines": lambda i: b"line %d" % i},
        large=lambda i: b"%d " % i * 20_000,
        knows_length=False,
        is_addressable=False,
        has_columns=False,
    ),
    "webdataset": Door(
        ending=".tar",
        write=lambda ds, path: ds.write_webdataset(path),
        read=ks.read_webdataset,
        kinds={
            "texts": lambda i: {"__key__": b"some/%06d" % i, "cls": np.int64(i), "txt": b"%d" % i},
            "arrays": lambda i: {
                "__key__": b"%d" % i,
                "npy": np.full((2, 3), i, np.float32),
                "mask.npy": np.array([i % 2 == 0, True]),
                "flag.npy": np.bool_(i % 2),
                "when.npy": np.datetime64(i, "s"),
            },
            "pictures": lambda i: {
                "__key__": b"%d" % i,
                "png": np.full((2, 3, 3), i, np.uint8),
                "webp": np.full((3, 1, 3), i, np.uint8),
            },
            "json": lambda i: {
                "__key__": b"%d" % i,
                "json": {"n": np.int64(i), "x": {"half": np.float64(i / 2), "name": b"\xc3\xa4"}},
                "list.json": np.arange(i, i + 3),
                "bin": bytes(range(i)),
            },
        },
        large=lambda i: {"__key__": b"%d" % i, "npy": np.full(25_000, i, np.float32)},
        knows_length=False,
        is_addressable=False,
    ),
    "webdataset in gzip": Door(
        ending=".tar.gz",
        write=lambda ds, path: ds.write_webdataset(path),
        read=ks.read_webdataset,
        kinds={"numbers": lambda i: {"__key__": b"%d" % i, "cls": np.int64(i)}},
        large=lambda i: {"__key__": b"%d" % i, "npy": np.full(25_000, i, np.float32)},
        knows_length=False,
        is_addressable=False,
    ),
    "parquet": Door(
        ending=".parquet",
        write=lambda ds, path: ds.write_parquet(path),
        read=ks.read_parquet,
        kinds=TABLE_KINDS,
        large=lambda i: {"x": np.random.default_rng(i).bytes(100_000)},
    ),
    "arrow": Door(
        ending=".arrow",
        write=lambda ds, path: ds.write_arrow(path),
        read=ks.read_arrow,
        kinds=TABLE_KINDS,
        large=lambda i: {"x": np.random.default_rng(i).bytes(100_000)},
    ),
    "csv": Door(
        ending=".csv",
        write=lambda ds, path: ds.write_csv(path),
        read=ks.read_csv,
        kinds=TEXT_KINDS,
        large=large_text,
        knows_length=False,
        is_addressable=False,
        notices_cuts=False,
    ),
    "tsv in gzip": Door(
        ending=".tsv.gz",
        write=lambda ds, path: ds.write_csv(path),
        read=ks.read_csv,
        kinds=TEXT_KINDS,
        large=large_text,
        knows_length=False,
        is_addressable=False,
    ),
    "json lines": Door(
        ending=".jsonl",
        write=lambda ds, path: ds.write_json_lines(path),
        read=ks.read_json_lines,
        kinds=OBJECT_KINDS,
        large=large_text,
        knows_length=False,
        is_addressable=False,
        notices_cuts=False,
    ),
}
