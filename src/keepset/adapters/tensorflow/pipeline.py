"""The way from a pipeline to ``tf.data``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from keepset.adapters.reading import chunks_of
from keepset.adapters.tensorflow.groups import come_in_groups, group_of, group_spec, unexpected
from keepset.adapters.tensorflow.specs import tf_spec
from keepset.adapters.tensorflow.values import tf_value
from keepset.core.node import UNKNOWN, Node
from keepset.core.run import start
from keepset.core.spec import (
    LeafSpec,
    Spec,
    check_spec,
    is_compatible,
    spec_of,
    structure_and_leaves,
)
from keepset.core.structure import Structure, is_namedtuple, structure_of
from keepset.errors import ElementError


def to_tf(node: Node, output_signature: Spec | None) -> Any:
    """A ``tf.data.Dataset`` of the pipeline's elements; each pass over it is one over those."""
    spec = node.spec() if output_signature is None else check_spec(output_signature)
    structure, leaves = structure_and_leaves(spec)
    if not leaves:
        raise ElementError(f"elements of {structure} hold nothing that TensorFlow could take")
    _check_records(structure)
    if come_in_groups(node, leaves):
        groups = _from_generator(_groups(node, structure, leaves), map(group_spec, leaves))
        dataset = groups.unbatch()
    else:
        return _with_length(node, tf_rows(node, spec, lambda: _rows(node)))
    return _with_length(node, dataset.map(_nested(structure)))


def tf_rows(node: Node, spec: Spec, rows: Callable[[], Iterator[Any]]) -> Any:
    """A ``tf.data.Dataset`` of the elements that ``rows`` gives, one by one, in each pass."""
    structure, leaves = structure_and_leaves(spec)
    generator = _elements(rows, spec, node.title)
    return _from_generator(generator, map(tf_spec, leaves)).map(_nested(structure))


def _rows(node: Node) -> Iterator[Any]:
    for chunk in chunks_of(node, start(node)):
        yield from chunk.rows


def _with_length(node: Node, dataset: Any) -> Any:
    length = node.cardinality()
    if length == UNKNOWN:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(length))


def _check_records(structure: Structure) -> None:
    record = structure.record
    if structure.kind == "record" and not is_namedtuple(record):  # type: ignore[arg-type]
        raise ElementError(
            f"TensorFlow does not know the dataclass {getattr(record, '__name__', record)}; bring "
            "elements to named tuples or dicts with map"
        )
    for child in structure.children:
        _check_records(child)


def _from_generator(generator: Callable[[], Iterator[Any]], signature: Iterator[Any]) -> Any:
    return tf.data.Dataset.from_generator(generator, output_signature=tuple(signature))


def _groups(
    node: Node, structure: Structure, leaves: list[LeafSpec]
) -> Callable[[], Iterator[Any]]:
    def groups() -> Iterator[Any]:
        for chunk in chunks_of(node, start(node)):
            if chunk.structure != structure:
                raise unexpected(structure, chunk.structure, node.title)
            yield group_of(chunk, leaves, node.title)

    return groups


def _elements(
    rows: Callable[[], Iterator[Any]], spec: Spec, title: str
) -> Callable[[], Iterator[Any]]:
    def elements() -> Iterator[Any]:
        for row in rows():
            if not is_compatible(spec, row):
                raise unexpected(spec, spec_of(row), title)
            yield tuple(map(tf_value, structure_of(row).leaves(row)))

    return elements


def _nested(structure: Structure) -> Callable[..., Any]:
    def nested(*leaves: Any) -> Any:
        return structure.build(leaves)

    unchanged: Callable[..., Any] = tf.autograph.experimental.do_not_convert(nested)
    return unchanged
