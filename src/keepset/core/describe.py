"""Describe: a pipeline as a tree that people read, in text and in HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.secrets import Mask

_COUNTS = {INFINITE: "endless", UNKNOWN: "unknown length"}


def count_text(cardinality: int) -> str:
    """How many elements, in words."""
    if cardinality in _COUNTS:
        return _COUNTS[cardinality]
    return f"{cardinality:,} element{'' if cardinality == 1 else 's'}"


def spec_text(node: Node) -> str:
    """The spec if it is known without running anything."""
    known = node.known_spec()
    return "spec known after the first element" if known is None else _spec(known[0])


def _spec(spec: Any) -> str:
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key}: {_spec(item)}" for key, item in spec.items()) + "}"
    if type(spec) is tuple:
        return "(" + ", ".join(map(_spec, spec)) + ")"
    if hasattr(spec, "dtype") and type(spec).__name__ == "TensorSpec":
        if spec.shape is None:
            return f"{spec.dtype.name}[...]"
        sizes = ", ".join("?" if size is None else str(size) for size in spec.shape)
        return f"{spec.dtype.name}[{sizes}]" if spec.shape else str(spec.dtype.name)
    return repr(spec)


def _mask_of(node: Node) -> Mask:
    # Found by a walk over all that the functions use, which is imported when it is needed.
    from keepset.core.lineage import mask_of

    return mask_of(node)


def title_text(node: Node) -> str:
    """The title of a stage without secrets."""
    return _mask_of(node).text(node.title)


def describe(root: Node) -> str:
    """The stages from the source at the bottom to the last one at the top."""
    lines = list(_lines(root, _mask_of(root), "", ""))
    width = max(len(left) for left, _ in lines)
    return "\n".join(f"{left:<{width}}  {right}" for left, right in lines)


def _lines(node: Node, mask: Mask, first: str, rest: str) -> Iterator[tuple[str, str]]:
    yield first + mask.text(node.title), f"{count_text(node.cardinality())}  {spec_text(node)}"
    for i, parent in enumerate(node.inputs):
        if len(node.inputs) == 1:
            yield from _lines(parent, mask, rest, rest)
        else:
            last = i == len(node.inputs) - 1
            yield from _lines(
                parent, mask, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ ")
            )


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def describe_html(root: Node) -> str:
    """The same as a table for notebooks."""
    style = "text-align:left;white-space:pre;font-family:monospace"
    rows = "".join(
        f'<tr><td style="{style}">{_escape(left)}</td>'
        f'<td style="text-align:left">{_escape(right)}</td></tr>'
        for left, right in _lines(root, _mask_of(root), "", "")
    )
    return (
        "<table><thead><tr><th>stage (the last one first)</th><th>elements</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
