"""Files in both directions: what TensorFlow writes is read here, and the other way round."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import keepset as ks
from keepset.core.dtypes import as_dtype, dtype_name, storage_dtype


class _Late:
    """TensorFlow, when a test uses it: the default suite collects this file without having it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        return getattr(importlib.import_module("tensorflow"), name)


tf: Any = _Late()

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

COMPRESSIONS = [None, "GZIP", "SNAPPY", "ZLIB"]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128", "bfloat16"]
QUIET = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def to_tf(leaf: Any) -> Any:
    if isinstance(leaf, ks.Ragged):
        values: Any = leaf
        splits = []
        while isinstance(values, ks.Ragged):
            splits.append(values.row_splits)
            values = values.values
        return tf.RaggedTensor.from_nested_row_splits(to_tf(values), splits)
    if isinstance(leaf, ks.Sparse):
        return tf.SparseTensor(leaf.indices, to_tf(leaf.values), leaf.dense_shape)
    if isinstance(leaf, bytes) or np.asarray(leaf).dtype == object:
        return tf.constant(leaf, tf.string, shape=np.shape(leaf))
    return tf.constant(leaf)


def from_tf(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: from_tf(item) for key, item in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*map(from_tf, value))
    if isinstance(value, tuple):
        return tuple(map(from_tf, value))
    if isinstance(value, tf.RaggedTensor):
        made: Any = from_tf(value.flat_values)
        for splits in reversed(value.nested_row_splits):
            made = ks.Ragged(made, splits.numpy())
        return made
    if isinstance(value, tf.SparseTensor):
        return ks.Sparse(*(from_tf(p) for p in (value.indices, value.values, value.dense_shape)))
    if value is None:
        return None
    found = value.numpy()
    return found if isinstance(found, bytes | np.generic | np.ndarray) else np.asarray(found)[()]


def bits(element: Any) -> Any:
    """Something that is equal if two elements are, to the last bit."""
    if isinstance(element, dict):
        return {key: bits(item) for key, item in element.items()}
    if isinstance(element, tuple):
        return tuple(map(bits, element))
    if isinstance(element, ks.Ragged):
        return ("ragged", bits(element.values), bits(element.row_splits))
    if isinstance(element, ks.Sparse):
        parts = (element.indices, element.values, element.dense_shape)
        return ("sparse", *map(bits, parts))
    if element is None or isinstance(element, bytes):
        return element
    array = np.asarray(element)
    if array.dtype == object:
        return ("strings", array.shape, array.ravel().tolist())
    return (dtype_name(array.dtype), array.shape, array.tobytes())


def spec_text(spec: Any) -> str:
    """The spec of either side in one form."""
    if isinstance(spec, dict):
        return str({key: spec_text(spec[key]) for key in sorted(spec)})
    if hasattr(spec, "_fields"):
        return f"{type(spec).__name__}{[spec_text(each) for each in spec]}"
    if isinstance(spec, tuple | list):
        return str([spec_text(each) for each in spec])
    if spec is None or type(spec).__name__ == "NoneTensorSpec":
        return "none"
    kind = type(spec).__name__
    shape = spec.shape
    if shape is not None and not isinstance(shape, tuple):
        shape = None if shape.rank is None else tuple(shape.as_list())
    extra = (
        f" {spec.ragged_rank} {np.dtype(_numpy(spec.row_splits_dtype))}" if "Ragged" in kind else ""
    )
    return f"{kind} {shape} {spec.dtype.name}{extra}"


def _numpy(dtype: Any) -> Any:
    return getattr(dtype, "as_numpy_dtype", dtype)


def arrays(shapes: Any = None) -> st.SearchStrategy[Any]:
    shapes = shapes or npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)

    def of(name: str) -> st.SearchStrategy[Any]:
        dtype = storage_dtype(as_dtype(name))
        if name == "bfloat16":
            return npst.arrays(np.uint16, shapes).map(lambda a: np.asarray(a).view(dtype))
        return npst.arrays(dtype, shapes)

    return st.sampled_from(DTYPES).flatmap(of)


def strings() -> st.SearchStrategy[Any]:
    def made(items: list[bytes]) -> Any:
        array = np.empty(len(items), object)
        array[:] = items
        return array

    return st.one_of(st.binary(max_size=30), st.lists(st.binary(max_size=9), max_size=4).map(made))


@st.composite
def ragged(draw: st.DrawFn) -> ks.Ragged:
    lengths = draw(st.lists(st.integers(0, 3), max_size=4))
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype(
        draw(st.sampled_from([np.int32, np.int64]))
    )
    dtype = draw(st.sampled_from(["int32", "float32", "int64"]))
    return ks.Ragged(np.arange(int(splits[-1])).astype(dtype), splits)


@st.composite
def sparse(draw: st.DrawFn) -> ks.Sparse:
    dense = draw(npst.arrays(np.float32, (3, 2), elements=st.sampled_from([0.0, 1.5])))
    return ks.Sparse.from_dense(dense)


def elements() -> st.SearchStrategy[Any]:
    leaves = st.one_of(arrays(), strings(), ragged(), sparse())
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, min_size=1, max_size=3),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
        ),
        max_leaves=4,
    )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def fresh(folder: Path) -> str:
    return tempfile.mkdtemp(dir=folder)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@QUIET
@given(element=elements(), count=st.integers(1, 5))
def test_tensorflow_reads_what_is_saved_for_it(
    compression: str | None, element: Any, count: int, folder: Path
) -> None:
    path = fresh(folder)
    ds = ks.Dataset.from_tensors(element).repeat(count)
    ks.save(ds, path, compression, format="tensorflow")
    loaded = tf.data.Dataset.load(path, compression=compression)
    assert [bits(from_tf(each)) for each in loaded] == [bits(each) for each in ds]
    assert spec_text(loaded.element_spec) == spec_text(ds.element_spec)
    assert int(loaded.cardinality()) == count


@pytest.mark.parametrize("compression", COMPRESSIONS)
@QUIET
@given(element=elements(), count=st.integers(1, 5))
def test_what_tensorflow_saves_is_read(
    compression: str | None, element: Any, count: int, folder: Path
) -> None:
    path = fresh(folder)
    given_ = tf.nest.map_structure(to_tf, element)
    ds = tf.data.Dataset.from_tensors(given_).repeat(count)
    ds.save(path, compression=compression)
    loaded = ks.load(path)
    assert [bits(each) for each in loaded] == [bits(from_tf(each)) for each in ds]
    assert spec_text(loaded.element_spec) == spec_text(ds.element_spec)
    assert len(loaded) == count


@pytest.mark.parametrize("compression", ["AUTO", None, "GZIP", "SNAPPY", "ZLIB"])
@pytest.mark.parametrize("sharded", [False, True])
def test_snapshots_of_tensorflow_are_read(
    compression: str | None, sharded: bool, tmp_path: Path
) -> None:
    ds = tf.data.Dataset.range(23).map(lambda x: (x, tf.strings.as_string(x)))
    shard = (lambda x, text: x % 3) if sharded else None
    kept = ds.snapshot(str(tmp_path), compression=compression, shard_func=shard)
    wanted = [(int(a), b.numpy()) for a, b in kept]
    found = [(int(a), b) for a, b in ks.load(tmp_path)]
    assert found == wanted == [(n, str(n).encode()) for n in range(23)]


@pytest.mark.parametrize("compression", ["AUTO", None, "GZIP", "ZLIB"])
@pytest.mark.parametrize("sharded", [False, True])
@QUIET
@given(element=elements(), count=st.integers(1, 7))
def test_any_elements_of_snapshots_are_read(
    compression: str | None, sharded: bool, element: Any, count: int, folder: Path
) -> None:
    path = fresh(folder)
    ds = tf.data.Dataset.from_tensors(tf.nest.map_structure(to_tf, element)).repeat(count)
    shard = (lambda *leaves: tf.constant(2, tf.int64)) if sharded else None
    wanted = [bits(from_tf(each)) for each in ds.snapshot(path, compression, shard_func=shard)]
    # A snapshot does not keep how elements are nested; the pipeline that wrote it knows.
    spec = ks.Dataset.from_tensors(element).element_spec
    assert [bits(each) for each in ks.load(path, spec)] == wanted


def test_batches_of_ragged_and_sparse_are_read(tmp_path: Path) -> None:
    rows = tf.data.Dataset.range(1, 6).map(
        lambda n: (tf.RaggedTensor.from_tensor(tf.ones([n, 2])), tf.sparse.from_dense([n, 0]))
    )
    rows.batch(2).save(str(tmp_path))
    loaded = tf.data.Dataset.load(str(tmp_path))
    assert [bits(each) for each in ks.load(tmp_path)] == [bits(from_tf(each)) for each in loaded]


def test_large_elements_that_tensorflow_spoils_are_read(tmp_path: Path) -> None:
    ds = tf.data.Dataset.range(2).map(lambda x: tf.fill([400_000], tf.cast(x, tf.uint8)))
    ds.save(str(tmp_path), compression="SNAPPY")
    with pytest.raises(tf.errors.ResourceExhaustedError):
        list(tf.data.Dataset.load(str(tmp_path), compression="SNAPPY"))
    assert [int(each[0]) for each in ks.load(tmp_path)] == [0, 1]


def test_checkpointed_saves_are_read(tmp_path: Path) -> None:
    ds = tf.data.Dataset.range(12)
    arguments = {"directory": str(tmp_path / "checkpoints"), "max_to_keep": 2}
    ds.save(str(tmp_path / "data"), checkpoint_args=arguments)
    assert [int(x) for x in ks.load(tmp_path / "data")] == [*range(12)]


@QUIET
@given(records=st.lists(st.binary(max_size=200), max_size=20))
def test_record_files_are_the_same_to_the_byte(records: list[bytes], folder: Path) -> None:
    one, other = Path(fresh(folder)) / "a", Path(fresh(folder)) / "b"
    with tf.io.TFRecordWriter(str(one)) as theirs, ks.TFRecordWriter(other) as ours:
        for record in records:
            theirs.write(record)
            ours.write(record)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "SNAPPY"])
@QUIET
@given(records=st.lists(st.binary(max_size=3000), max_size=20))
def test_compressed_record_files_are_read_by_both(
    compression: str, records: list[bytes], folder: Path
) -> None:
    ours = Path(fresh(folder)) / "f"
    with ks.TFRecordWriter(ours, compression) as writer:
        for record in records:
            writer.write(record)
    theirs = tf.data.TFRecordDataset(str(ours), compression)
    assert list(theirs.as_numpy_iterator()) == records
    if compression == "SNAPPY":
        return  # its writer takes none
    path = Path(fresh(folder)) / "f"
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)
    assert list(ks.TFRecordDataset(path)) == records


def _feature(values: list[Any]) -> Any:
    train = tf.train
    if not values:
        return train.Feature()
    if isinstance(values[0], bytes):
        return train.Feature(bytes_list=train.BytesList(value=values))
    if isinstance(values[0], float):
        return train.Feature(float_list=train.FloatList(value=values))
    return train.Feature(int64_list=train.Int64List(value=values))


rows_of_features = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=2, max_size=2),
            "x": st.lists(st.floats(width=32, allow_nan=False), max_size=4),
            "t": st.lists(st.binary(max_size=20), max_size=3),
        }
    ),
    min_size=1,
    max_size=8,
)


@QUIET
@given(rows=rows_of_features)
def test_examples_are_parsed_alike(rows: list[dict[str, list[Any]]]) -> None:
    made = [
        tf.train.Example(
            features=tf.train.Features(feature={k: _feature(v) for k, v in row.items()})
        ).SerializeToString()
        for row in rows
    ]
    theirs = tf.io.parse_example(
        made,
        {
            "n": tf.io.FixedLenFeature([2], tf.int64),
            "x": tf.io.VarLenFeature(tf.float32),
            "t": tf.io.RaggedFeature(tf.string),
            "padded": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
        },
    )
    ours = ks.parse_example(
        made,
        {
            "n": ks.FixedLenFeature([2], "int64"),
            "x": ks.VarLenFeature("float32"),
            "t": ks.RaggedFeature("string"),
            "padded": ks.FixedLenSequenceFeature([], "float32", allow_missing=True),
        },
    )
    assert {k: bits(v) for k, v in ours.items()} == {k: bits(from_tf(v)) for k, v in theirs.items()}


@QUIET
@given(rows=rows_of_features)
def test_examples_are_written_as_tensorflow_does(rows: list[dict[str, list[Any]]]) -> None:
    for row in rows:
        theirs = tf.train.Example(
            features=tf.train.Features(feature={k: _feature(v) for k, v in row.items()})
        )
        ours = ks.Example.FromString(theirs.SerializeToString())
        assert ours.SerializeToString() == theirs.SerializeToString(deterministic=True)


def test_a_distributed_save_is_read(tmp_path: Path) -> None:
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer(
        service.DispatcherConfig(fault_tolerant_mode=True, work_dir=str(tmp_path / "work"))
    )
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    path = str(tmp_path / "saved")
    tf.data.experimental.distributed_save(tf.data.Dataset.range(50), path, address)
    loaded = ks.load(path, wait=True)
    assert sorted(int(x) for x in loaded) == [*range(50)]
    del worker, dispatcher
