"""ArrowOut: chunks as record batches that any reader of Arrow understands.

They come back as they were, because the spec is in the schema's metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import check_covered, typed
from keepset.core.column import Column
from keepset.core.dtypes import StringType
from keepset.core.spec import LeafSpec, Spec, joint_leaf
from keepset.core.structure import Structure
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.arrow.column_names import column_names
from keepset.exchange.arrow.outlets import NotTextError, Outlet, outlet_of
from keepset.exchange.files.exporting import unfit, with_row
from keepset.format.encodings.encoding import TooLargeError
from keepset.format.layout import Layout


class ArrowOut:
    """Makes record batches of chunks whose elements have one spec.

    Args:
        spec: The spec of the elements.
        text: The names of columns whose bytes are text; True for all of bytes.
        no_text: What to do about bytes that should be text and are none, for messages.

    Attributes:
        schema: The schema of the batches.

    Example:
        >>> import numpy as np
        >>> from keepset.core.spec import spec_of
        >>> row = {"x": np.int64(1), "name": b"ada"}
        >>> [batch] = ArrowOut(spec_of(row), text=True).batches(Chunk.from_rows([row]))
        >>> batch.to_pylist()
        [{'x': 1, 'name': 'ada'}]
    """

    def __init__(
        self,
        spec: Spec,
        text: bool | str | Sequence[str] = (),
        no_text: str = "leave it out of text=, and it is kept as bytes",
    ) -> None:
        self._layout, self._no_text = Layout(spec), no_text
        names, leaves = column_names(self._layout), self._layout.leaves
        self._names = names
        texts = _text_names(text, names, leaves)
        pairs = zip(names, leaves, strict=True)
        self._outlets: list[Outlet] = [outlet_of(leaf, name in texts) for name, leaf in pairs]
        fields = [
            pa.field(name, outlet.type, outlet.is_nullable, field.metadata)
            for name, field, outlet in zip(names, self._layout.schema, self._outlets, strict=True)
        ]
        # Elements show their entries in the order in which they were written; so do tables.
        self._order = _written_order(self._layout.structure, iter(range(len(names))))
        metadata = self._layout.schema.metadata
        self.schema = pa.schema([fields[place] for place in self._order], metadata)

    def batches(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """The record batches of a chunk: one, but for more bytes than go into one."""
        self._check(chunk)
        try:
            arrays = with_row(self._arrays, chunk)
        except TooLargeError:
            if len(chunk) < 2:
                raise unfit("", "it has more than 2 GiB in one column; split it") from None
            half = len(chunk) // 2
            yield from self.batches(chunk[:half])
            try:
                yield from self.batches(chunk[half:])
            except ElementError as error:
                error.row = None if error.row is None else error.row + half
                raise
            return
        if not arrays:
            yield self._layout.encode(chunk)
        else:
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _check(self, chunk: Chunk) -> None:
        layout = self._layout
        check_covered(
            chunk,
            layout.structure,
            layout.leaves,
            _covers,
            "the file has a column for",
            "convert it with map, or promise what all elements are with output_signature=",
        )

    def _arrays(self, chunk: Chunk) -> list[pa.Array]:
        columns = typed(chunk, self._layout.leaves).columns
        return [self._array(place, columns[place], len(chunk)) for place in self._order]

    def _array(self, place: int, column: Column, rows: int) -> pa.Array:
        name = self._names[place]
        try:
            array = self._outlets[place].encode(column)
        except NotTextError as error:
            raise ElementError(
                f"this is no text in UTF-8: {error.value!r:.60}; {self._no_text}",
                leaf=name,
            ) from error
        except pa.ArrowInvalid as error:
            raise unfit(repr(name), str(error)) from error
        assert len(array) == rows
        return array


def _covers(leaf: LeafSpec, found: LeafSpec) -> bool:
    """Whether all that ``found`` may be fits into a column for ``leaf``."""
    joint = joint_leaf(leaf, found)
    return joint is not None and joint.shape == leaf.shape


def _text_names(
    text: bool | str | Sequence[str], names: list[str], leaves: Sequence[LeafSpec]
) -> set[str]:
    pairs = zip(names, leaves, strict=True)
    strings = [name for name, leaf in pairs if isinstance(leaf.dtype, StringType)]
    if isinstance(text, bool):
        return set(strings if text else [])
    wanted = [text] if isinstance(text, str) else list(text)
    for name in wanted:
        if name not in strings:
            what = "is no column of bytes" if name in names else "is no column"
            known = ", ".join(map(repr, strings)) or "none"
            raise InvalidArgumentError(f"text= names {name!r}, which {what}; of bytes: {known}")
    return set(wanted)


def _written_order(structure: Structure, numbers: Iterator[int]) -> list[int]:
    """The numbers of the leaves in the order in which the entries of dicts are written."""
    if structure.is_leaf:
        return [next(numbers)]
    keys = structure.keys or range(len(structure.children))
    pairs = zip(keys, structure.children, strict=True)
    parts = {key: _written_order(child, numbers) for key, child in pairs}
    order = structure.record if isinstance(structure.record, tuple) else keys
    return [number for key in order for number in parts[key]]
