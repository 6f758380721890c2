"""Forms that TensorFlow no longer writes, made by hand as its notes on them say."""

from __future__ import annotations

import gzip
from pathlib import Path

import cramjam
import numpy as np
import pytest

import keepset as ks
from keepset.core.spec import Spec
from keepset.exchange.tensorflow.snapshot_metadata import Metadata, metadata_message
from keepset.exchange.tensorflow.spec_proto import spec_message
from keepset.exchange.tensorflow.tensor_proto import dense_tensor, tensor_head
from keepset.exchange.tensorflow.wire import bytes_field, fields, number_field
from keepset.testing.contract import check_dataset

SPEC: Spec = (ks.TensorSpec((), "int64"), ks.TensorSpec((), ks.string))
ELEMENTS = [(np.int64(n), b"text %d" % n) for n in range(20)]


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def plain() -> bytes:
    """Each element a frame, which holds its tensors."""
    return b"".join(
        frame(b"".join(bytes_field(1, dense_tensor(leaf)) for leaf in element))
        for element in ELEMENTS
    )


def compressed_one_by_one() -> bytes:
    """Each element two frames: the sizes of its tensors, and these in a block of snappy."""
    out = b""
    for number, text in ELEMENTS:
        message = dense_tensor(text)
        tensors = [number.tobytes(), message]
        shape = next(value for field, _, value in fields(tensor_head(9, ())) if field == 2)
        sizes = b"".join(
            bytes_field(1, bytes_field(2, shape) + number_field(3, len(each))) for each in tensors
        )
        out += frame(sizes) + frame(bytes(cramjam.snappy.compress_raw(b"".join(tensors))))
    return out


def in_blocks() -> bytes:
    """All frames in blocks of snappy that know nothing of them."""
    data, out = plain(), b""
    for start in range(0, len(data), 100):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + 100]))
        out += len(block).to_bytes(4, "big") + block
    return out


FORMS = {
    "version 1": (1, plain),
    "version 1, GZIP": (1, lambda: gzip.compress(plain())),
    "version 1, SNAPPY": (1, compressed_one_by_one),
    "version 0": (0, plain),
    "version 0, GZIP": (0, lambda: gzip.compress(plain())),
    "version 0, SNAPPY": (0, in_blocks),
}


def written(path: Path, version: int, data: bytes) -> Path:
    shard = path / "77" / "00000000.shard"
    shard.mkdir(parents=True)
    (shard / "00000000.snapshot").write_bytes(data)
    (path / "dataset_spec.pb").write_bytes(spec_message(SPEC))
    facts = Metadata("77", "", version, (9, 7), len(ELEMENTS), True)
    (path / "snapshot.metadata").write_bytes(metadata_message(facts, 1))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_older_forms_are_read(form: str, tmp_path: Path) -> None:
    version, make = FORMS[form]
    path = written(tmp_path, version, make())
    check_dataset(lambda: ks.load(path), expected=ELEMENTS, quick=True)
    assert ks.load(path).element_spec == SPEC


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_file_of_an_older_form_is_an_error(form: str, tmp_path: Path) -> None:
    version, make = FORMS[form]
    data = make()
    for number, cut in enumerate((len(data) - 1, len(data) // 2, 12)):
        path = written(tmp_path / str(number), version, data[:cut])
        with pytest.raises(ks.KeepsetError):
            list(ks.load(path))


def test_a_form_of_the_future_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, 3, plain())
    with pytest.raises(ks.CorruptSnapshotError, match="version 3"):
        ks.load(path)
