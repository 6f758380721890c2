"""Any bytes in place of TensorFlow's: an error that says so, or data; never anything else."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exchange.tensorflow.golden import FOLDER

import keepset as ks
from keepset.exchange.tensorflow.compression import unsnapped_block
from keepset.exchange.tensorflow.snapshot_metadata import parse_distributed, parse_metadata
from keepset.exchange.tensorflow.spec_proto import parse_spec
from keepset.exchange.tensorflow.tensor_proto import parse_tensor
from keepset.storage import open_store

SPECS = sorted(FOLDER.rglob("dataset_spec.pb"))
METADATA = sorted(FOLDER.rglob("snapshot.metadata"))
RECORDS = sorted(FOLDER.glob("tfrecord/*.tfrecord"))

# What each reads, and the errors that it may end with.
PARSERS: dict[str, tuple[Callable[[bytes], Any], tuple[type[Exception], ...]]] = {
    "spec": (parse_spec, (ValueError,)),
    "metadata": (parse_metadata, (ValueError,)),
    "distributed": (parse_distributed, (ValueError,)),
    "tensor": (parse_tensor, (ValueError,)),
    "snappy": (unsnapped_block, (ValueError,)),
    "example": (ks.Example.FromString, (ks.ElementError,)),
    "sequence": (ks.SequenceExample.FromString, (ks.ElementError,)),
}


def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some changed, left out, doubled or put in."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(changed)))
        match draw(st.sampled_from(["set", "cut", "double", "insert"])):
            case "set" if place < len(changed):
                changed[place] = draw(st.integers(0, 255))
            case "cut":
                del changed[place : place + draw(st.integers(1, 9))]
            case "double":
                changed[place:place] = changed[place : place + draw(st.integers(1, 40))]
            case _:
                changed[place:place] = draw(st.binary(min_size=1, max_size=9))
    return bytes(changed)


@st.composite
def mutants(draw: st.DrawFn, files: list[Any]) -> bytes:
    return mutated(draw, draw(st.sampled_from(files)).read_bytes())


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("kind", PARSERS)
@given(data=st.binary(max_size=300))
def test_random_bytes_are_read_or_refused(kind: str, data: bytes) -> None:
    parse, errors = PARSERS[kind]
    with suppress(*errors):
        parse(data)


@given(data=mutants(SPECS))
def test_changed_specs_are_read_or_refused(data: bytes) -> None:
    with suppress(ValueError):
        parse_spec(data)


@given(data=mutants(METADATA))
def test_changed_metadata_is_read_or_refused(data: bytes) -> None:
    with suppress(ValueError):
        parse_metadata(data)
    with suppress(ValueError):
        parse_distributed(data)


@given(data=mutants(RECORDS), number=st.uuids(), policy=st.sampled_from(["error", "skip", "stop"]))
@pytest.mark.filterwarnings("ignore::keepset.CorruptRecordWarning")
def test_changed_record_files_are_read_or_refused(data: bytes, number: Any, policy: str) -> None:
    open_store("memory://fuzz").put(f"{number}.tfrecord", data)
    before = peak_mb()
    with suppress(ks.KeepsetError):
        list(ks.TFRecordDataset(f"memory://fuzz/{number}.tfrecord", on_corrupt=policy))
    assert peak_mb() - before < 300


@given(data=mutants(RECORDS))
def test_changed_examples_are_read_or_refused(data: bytes) -> None:
    for start in range(0, min(len(data), 200), 37):
        with suppress(ks.ElementError):
            example = ks.Example.FromString(data[start:])
            assert ks.Example.FromString(example.SerializeToString()) == example
