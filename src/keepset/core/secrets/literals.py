"""Literals: a function's source without the secrets that are written in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from keepset.core.cached import cached_property
from keepset.core.record import record
from keepset.core.secrets.arguments import Signatures
from keepset.core.secrets.assembled import assembled_spans
from keepset.core.secrets.commands import COMMANDS, Span
from keepset.core.secrets.leaves import constants, leaves
from keepset.core.secrets.literal_names import named_values
from keepset.core.secrets.mask import Mask, secret_texts, with_placeholders
from keepset.core.secrets.names import NONE, SURE, VAGUE, may_name_secrets, strength_of_name
from keepset.core.secrets.values import decoded, encoded, is_number, is_secret, keys_in, placeholder
from keepset.core.secrets.variables import Variable, Variables

# What a source without names of secrets may have that is hidden all the same.
_SIGNS: Final = ("://", "asic ", "ASIC ", "login", "sig=", *COMMANDS)


@record
class MaskedSource:
    """A source whose secrets are hidden.

    Attributes:
        text: The source, with a placeholder for each secret.
        hidden: What stands in place of each literal, by the variable, the argument or the key that
            it was for.
        secrets: What nothing else may contain either.
        aliases: The variables of outside whose values go by the names of secrets, ``VALUE`` in
            ``login(password=VALUE)``, and how surely.
    """

    text: str
    hidden: Mapping[str, str]
    secrets: frozenset[str]
    aliases: tuple[tuple[Variable, int], ...] = ()


@lru_cache(1024)
def masked_source(
    text: str, known: tuple[str, ...] = (), signatures: Signatures = ()
) -> MaskedSource:
    """Hide the secrets in the literals of a source: by name, by shape, or known from elsewhere.

    Args:
        text: The source of a function.
        known: Texts that are secret elsewhere.
        signatures: The parameters of functions that it calls, for arguments without names.
    """
    # Most sources have none, and parsing takes longer than to see that.
    is_escaped = any(not each.isprintable() or set(each) & set("'\"\\") for each in known)
    is_suspect = is_escaped or signatures or any(sign in text for sign in _SIGNS)
    is_suspect = is_suspect or may_name_secrets(text) or bool(keys_in(text))
    if not is_suspect and Mask(known).text(text) == text:
        return MaskedSource(text, {}, frozenset())
    try:
        return _masked(text, Mask(known), signatures)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # It was cut, or is nested too deeply. What stands by a secret's name cannot be found, so
        # that none of it is stored.
        names = any(strength_of_name(word) for word in _names_in(text))
        return MaskedSource("" if names else Mask(known).text(text), {}, frozenset())


def _masked(text: str, mask: Mask, signatures: Signatures) -> MaskedSource:
    tree = ast.parse(text)
    documented = {key for each in _docstrings(tree) for key in keys_in(each)}
    masking = _Masking(tree, Mask({*mask.known, *documented}), dict(signatures))
    masking.secrets |= documented
    changed = masking.visit(tree)
    aliases = tuple(masking.aliases.items())
    if not masking.hidden:
        return MaskedSource(text, {}, frozenset(masking.secrets), aliases)
    shown = ast.unparse(ast.fix_missing_locations(changed))
    if text.startswith("lambda") and shown.startswith("("):
        shown = shown[1:-1]
    return MaskedSource(shown, masking.hidden, frozenset(masking.secrets), aliases)


def _docstrings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield text


def filled_source(text: str, given: Mapping[str, Any]) -> str:
    """The source again, with what each placeholder stands for."""
    tree = _Filling(given).visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree))


def _names_in(text: str) -> set[str]:
    cleaned = "".join(letter if letter.isalnum() or letter in "_-" else " " for letter in text)
    return set(cleaned.split())


class _Masking(ast.NodeTransformer):
    def __init__(self, tree: ast.AST, mask: Mask, signatures: dict[str, tuple[str, ...]]) -> None:
        self._mask = mask
        self._names: dict[int, tuple[str, int]] = {}  # of literals, by their ids
        self.hidden: dict[str, str] = {}
        self.secrets: set[str] = set()
        self.aliases: dict[Variable, int] = {}
        self._tree = tree
        for name, value, strength in named_values(tree, signatures):
            self._mark(value, name, strength)
        self._parts: dict[int, list[Span]] = assembled_spans(tree, mask)

    @cached_property
    def _variables(self) -> Variables:
        return Variables(self._tree)

    def _mark(self, node: ast.AST | None, name: str, strength: int) -> None:
        """Note what goes by a name: literals and variables whose value the named thing gets."""
        if strength == NONE:
            return
        for constant in constants(node) if strength >= SURE else ():
            # A number that is only an argument or a part is mostly a size or a position.
            self._note(constant, name, SURE)
        # Variables that go by `key` or `token` are mostly names of columns and special tokens.
        passed = SURE if strength >= SURE else VAGUE
        for leaf in leaves(node):
            if isinstance(leaf, ast.Constant):
                self._note(leaf, name, strength)
                continue
            for origin in self._variables.origins(leaf):
                if isinstance(origin, Variable):
                    self.aliases[origin] = max(passed, self.aliases.get(origin, NONE))
                else:
                    self._note(origin, name, passed)

    def _note(self, constant: ast.Constant, name: str, strength: int) -> None:
        if self._names.get(id(constant), ("", NONE))[1] < strength:
            self._names[id(constant)] = name, strength

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        name, strength = self._names.get(id(node), ("a text in it", NONE))
        if is_number(value) and is_secret(value, strength):
            shown = placeholder(value)
            self.hidden.setdefault(shown, name)
            return ast.copy_location(ast.Constant(shown), node)
        if not isinstance(value, str | bytes):
            return node
        text = decoded(value)
        if is_secret(value, strength):
            shown = placeholder(value)
            self.secrets |= secret_texts(value, strength)
        elif parts := self._parts.get(id(node)):
            shown = with_placeholders(text, parts)
        else:
            shown = self._mask.text(text)
        if shown == text:
            return node
        self.hidden.setdefault(shown, name)
        new = shown if isinstance(value, str) else encoded(shown)
        return ast.copy_location(ast.Constant(new), node)


class _Filling(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def visit_Constant(self, node: ast.Constant) -> Any:
        value = node.value
        text = decoded(value) if isinstance(value, str | bytes) else None
        if text is None or text not in self._given:
            return node
        new = self._given[text]
        if isinstance(value, bytes) and isinstance(new, str):
            new = new.encode()
        return ast.copy_location(ast.Constant(new), node)
