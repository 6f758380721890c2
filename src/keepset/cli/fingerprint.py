"""Fingerprints as people see them: the tree of what counts, and what has changed in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.text import Text
from rich.tree import Tree

from keepset.cli.output import plain
from keepset.core.fingerprint import Difference, Facts

_STYLES = {
    "hit": "green",
    "miss": "yellow",
    "    +": "green",
    "    -": "red",
    "    @": "cyan",
}


def fingerprint_tree(facts: Facts) -> Tree:
    """The stages of a pipeline, the last one first, and what each of them uses."""
    tree = Tree(_label("", facts), guide_style="dim")
    _grow(tree, facts)
    return tree


def _grow(tree: Tree, facts: Facts) -> None:
    for label, child in facts.children:
        _grow(tree.add(_label(label, child)), child)


def _label(label: str, facts: Facts) -> Text:
    if not label or label == facts.kind:
        return plain(facts.text, "bold")
    return Text.assemble(plain(label, "cyan"), ": ", plain(facts.text))


def explained(text: str) -> list[Text]:
    """An explanation with colours for hit, miss and the lines of code that changed."""
    lines = text.splitlines()
    return [plain(line, _style(line)) for line in lines]


def _style(line: str) -> str:
    for start, style in _STYLES.items():
        if line.startswith(start):
            return style
    return ""


def changes_json(changes: Iterable[Difference]) -> list[dict[str, Any]]:
    return [
        {
            "path": change.path,
            "old": change.old,
            "new": change.new,
            "diff": change.source_diff() or None,
        }
        for change in changes
    ]
