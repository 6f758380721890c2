"""TensorFlow's files: records, examples, saved datasets and snapshots, and tensors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.exchange.tensorflow.golden import FOLDER, cases, data
from tests.faults.bad_input import protobuf, records
from tests.faults.bad_input.containers import in_gzip, in_zlib
from tests.faults.bad_input.kind import Kind, in_files, only_file, read_some

import keepset as ks
from keepset.storage import open_store

_FEATURES: Final[dict[str, Any]] = {
    "n": ks.FixedLenFeature([], np.int64),
    "x": ks.FixedLenFeature([3], np.float32),
    "s": ks.VarLenFeature(ks.string),
    "r": ks.RaggedFeature(np.int64),
}


def _example(x: int) -> bytes:
    features = {
        "n": ks.Feature(int64_list=ks.Int64List(value=[x])),
        "x": ks.Feature(float_list=ks.FloatList(value=[1.0, 2.0, x])),
        "s": ks.Feature(bytes_list=ks.BytesList(value=[b"a" * x, b""])),
        "r": ks.Feature(int64_list=ks.Int64List(value=range(x))),
    }
    return bytes(ks.Example(features=ks.Features(feature=features)).SerializeToString())


def _sequence(x: int) -> bytes:
    steps = [ks.Feature(int64_list=ks.Int64List(value=[i, x])) for i in range(x)]
    return bytes(
        ks.SequenceExample(
            context=ks.Features(feature={"n": ks.Feature(bytes_list=ks.BytesList(value=[b"n"]))}),
            feature_lists=ks.FeatureLists(feature_list={"f": ks.FeatureList(feature=steps)}),
        ).SerializeToString()
    )


def _written(payload: Callable[[int], bytes], *options: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "records").mkdir(parents=True)
        with ks.TFRecordWriter(str(folder / "records" / "some.tfrecord"), *options) as writer:
            for i in range(6):
                writer.write(payload(i))

    return make


def _golden_records(folder: Path) -> None:
    for path in sorted((FOLDER / "tfrecord").glob("*.tfrecord")):
        if path.stat().st_size < 50_000:
            (folder / path.stem).mkdir(parents=True)
            shutil.copy(path, folder / path.stem)


def _golden(kind: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for name in cases(kind):
            source = data(kind, name)
            if sum(path.stat().st_size for path in source.rglob("*") if path.is_file()) < 50_000:
                shutil.copytree(source, folder / name)

    return make


def _records(folder: Path) -> ks.Dataset:
    return ks.TFRecordDataset(str(only_file(folder)))


def _sequences(folder: Path) -> None:
    features = {"f": ks.FixedLenSequenceFeature([2], np.int64)}
    for record in _records(folder):
        ks.parse_single_sequence_example(record, {"n": ks.FixedLenFeature([], ks.string)}, features)
        ks.SequenceExample.FromString(record)


def _examples(folder: Path) -> None:
    read_some(_records(folder).batch(2).parse_example(_FEATURES))
    for record in _records(folder):
        ks.parse_single_example(record, _FEATURES)
        repr(ks.Example.FromString(record))
    ks.infer_features(str(only_file(folder)))


def _tensors(folder: Path) -> None:
    for variant, tensor in {
        "numbers": np.arange(6.0).reshape(2, 3),
        "texts": np.array([b"a", b"bc"], object),
        "bools": np.array([True, False]),
        "empty": np.zeros((0, 2), np.int8),
    }.items():
        (folder / variant).mkdir(parents=True)
        (folder / variant / "tensor.pb").write_bytes(ks.serialize_tensor(tensor))


def _read_tensor(folder: Path) -> None:
    refusals = []
    for dtype in (np.float64, ks.string, np.bool_, np.int8):
        try:
            ks.parse_tensor(open_store(folder).read("tensor.pb"), dtype)
        except ks.KeepsetError as error:
            refusals.append(error)
    if len(refusals) == 4:
        raise refusals[0]


_IN_RECORDS: Final = in_files(records.mutated)
_SAVED: Final = in_files(
    *(records.mutated, in_gzip(records.mutated), protobuf.mutated), pattern="*"
)


KINDS: Final[dict[str, Kind]] = {
    "tfrecord": Kind(_golden_records, lambda f: read_some(_records(f)), _IN_RECORDS),
    "tfrecord, GZIP": Kind(
        _written(_example, "GZIP"),
        lambda folder: read_some(_records(folder)),
        in_files(in_gzip(records.mutated)),
    ),
    "tfrecord, ZLIB": Kind(
        _written(_example, "ZLIB"),
        lambda folder: read_some(_records(folder)),
        in_files(in_zlib(records.mutated)),
    ),
    "example": Kind(_written(_example), _examples, _IN_RECORDS, raw_share=0.05),
    "sequence example": Kind(_written(_sequence), _sequences, _IN_RECORDS, raw_share=0.05),
    "tensor": Kind(
        _tensors,
        _read_tensor,
        in_files(protobuf.mutated),
    ),
    **{
        f"tensorflow, {kind}": Kind(
            _golden(kind),
            lambda folder: read_some(ks.load(folder)),
            _SAVED,
            has_unfinished=kind == "snapshot",
        )
        for kind in ("save", "snapshot", "distributed", "legacy_v1")
    },
}
