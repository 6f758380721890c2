"""The source of a function is believed only where it compiles to the loaded code."""

from __future__ import annotations

import linecache
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.fingerprint.source import find_source
from keepset.core.fingerprint.syntax import canonical_source

Load = Callable[..., ModuleType]


def source_of(function: Any) -> str | None:
    node = find_source(function.__code__)
    return None if node is None else canonical_source(node)


def made_by_exec(source: str) -> FunctionType:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["f"]


def test_a_file_edited_after_the_import_is_not_believed(load: Load) -> None:
    job = load("def f(x): return x + 1")
    Path(str(job.__file__)).write_text("def f(x): return x + 2")
    facts = fingerprint_of_value(job.f)
    assert facts.source == ""
    assert "no source that matches" in facts.text
    assert facts.digest != fingerprint_of_value(load("def f(x): return x + 2").f).digest


def test_a_helper_in_an_edited_file_is_not_believed(load: Load) -> None:
    job = load("def g(x): return x + 1\ndef f(x): return g(x)")
    Path(str(job.__file__)).write_text("def g(x): return x + 2\ndef f(x): return g(x)")
    edited = load("def g(x): return x + 2\ndef f(x): return g(x)")
    assert fingerprint_of_value(job.f).digest != fingerprint_of_value(edited.f).digest


def test_a_changed_constant_of_the_same_bytecode_is_noticed(load: Load) -> None:
    job = load("def f(x): return 'old'")
    Path(str(job.__file__)).write_text("def f(x): return 'new'")
    assert source_of(job.f) is None


def test_a_docstring_that_is_also_returned_is_no_docstring(load: Load) -> None:
    job = load("def f(x):\n    'old'\n    return 'old'")
    Path(str(job.__file__)).write_text("def f(x):\n    'new'\n    return 'new'")
    assert source_of(job.f) is None


def test_functions_that_moved_within_their_file_are_found(load: Load) -> None:
    job = load("def f(x):\n    'doc'\n    return x + 1")
    Path(str(job.__file__)).write_text("# new\n\ndef f(x):\n    'docs'\n    return x + 1")
    assert source_of(job.f) == "def f(x):\n    return x + 1"


def test_a_file_that_is_gone_or_broken_is_no_error(load: Load) -> None:
    for broken in ("def f(x:", "", "\0"):
        job = load("def f(x): return x + 1")
        Path(str(job.__file__)).write_text(broken)
        assert source_of(job.f) is None
    job = load("def f(x): return x + 1")
    Path(str(job.__file__)).unlink()
    assert source_of(job.f) is None


def test_each_lambda_of_a_line_finds_its_own_source(load: Load) -> None:
    job = load("fs = [lambda x: x + 1, lambda x: x * 2, (lambda: lambda x: x - 3), lambda x: 0]")
    sources = [source_of(f) for f in [*job.fs, job.fs[2]()]]
    assert sources == [
        "lambda x: x + 1",
        "lambda x: x * 2",
        "lambda: lambda x: x - 3",
        "lambda x: 0",
        "lambda x: x - 3",
    ]


def test_lambdas_over_several_lines_are_found(load: Load) -> None:
    job = load("f = list(map(\n    lambda x: (\n        x\n        + 1), [])), lambda y: (\n  y)")
    assert source_of(job.f[1]) == "lambda y: y"


def test_equal_code_of_unequal_sources_has_one_answer(load: Load) -> None:
    one = load("fs = [lambda: 1 + 2, lambda: 3]")
    other = load("fs = [lambda: 3, lambda: 1 + 2]")
    digests = {fingerprint_of_value(f).digest for job in (one, other) for f in job.fs}
    assert len(digests) == 1


def test_methods_with_private_names_and_closures_are_found(load: Load) -> None:
    job = load("""
        def outer(n):
            class A:
                def go(self, x):
                    return self.__hidden + n + x
            return A
    """)
    assert source_of(job.outer(1).go) == "def go(self, x):\n    return self.__hidden + n + x"


def test_decorated_functions_are_found(load: Load) -> None:
    job = load("""
        def same(f):
            return f

        @same
        @(lambda f: f)
        def f(x):
            return x
    """)
    assert source_of(job.f) == "def f(x):\n    return x"


def test_functions_of_modules_with_future_imports_are_found(load: Load) -> None:
    job = load("from __future__ import annotations\ndef f(x: A) -> B:\n    y: C = x\n    return y")
    assert source_of(job.f) == "def f(x):\n    y = x\n    return y"


def test_source_that_only_linecache_knows_is_found() -> None:
    # As notebooks do it.
    text = "def f(x):\n    return x + 41  # comment\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "<cell 1>", "exec"), namespace)
    assert source_of(namespace["f"]) == "def f(x):\n    return x + 41"
    del linecache.cache["<cell 1>"]


def test_without_source_the_code_counts() -> None:
    plain = fingerprint_of_value(made_by_exec("def f(x):\n    return x + 1"))
    moved = fingerprint_of_value(made_by_exec("\n\ndef f(x):\n    'doc'\n    return x + 1"))
    other = fingerprint_of_value(made_by_exec("def f(x):\n    return x + 2"))
    nested = [
        fingerprint_of_value(made_by_exec(f"def f(x): return [lambda: {n} for y in x]")).digest
        for n in (1, 1, 2)
    ]
    assert plain.digest == moved.digest != other.digest
    assert nested[0] == nested[1] != nested[2]


@pytest.mark.parametrize("prefix", ["", "x = 1\n"])
def test_functions_typed_into_a_shell_work(prefix: str) -> None:
    typed = f"""{prefix}
from keepset.core.fingerprint import fingerprint_of_value as fp
N = 3

def f(x):
    return x in {{'a', 'b', 'c'}} or N

print(fp(f).digest)
N = 4
print(fp(f).digest)
"""
    runs = [
        subprocess.run(
            [sys.executable, "-i", "-q"], input=typed, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 2


def test_long_sources_are_cut_for_people_but_count_whole(load: Load) -> None:
    body = "".join(f"    x = x + {n}\n" for n in range(2000))
    one, other = (
        fingerprint_of_value(load(f"def f(x):\n{body}    return x + {n}").f) for n in (1, 2)
    )
    assert len(one.source) < 21_000
    assert one.source == other.source
    assert one.digest != other.digest
