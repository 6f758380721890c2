"""Documentation that runs: every Python block, every example script and every relative link.

The ``python`` blocks of one page run in order and share their names. A block that a ``text`` or
``output`` block follows at once must print exactly that, where ``...`` stands for any text.

A page that begins with ``<!-- needs: torch -->`` runs with the tests that need frameworks, in a
process of its own, in which warnings of the library are errors and those of frameworks are not.
``<!-- needs: keras; KERAS_BACKEND=torch,jax -->`` runs once for each value.
"""

import contextlib
import doctest
import io
import linecache
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from textwrap import dedent
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTED = [*ROOT.glob("README.md"), *sorted(ROOT.glob("docs/**/*.md"))]
EXAMPLES = sorted(ROOT.glob("examples/**/*.py"))
LINKING = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("changes/*.md")), *DOCUMENTED[1:]]

FENCED = re.compile(r"^( *)```(?P<language>\w*).*\n(?P<body>(?:.*\n)*?)\1``` *$", re.MULTILINE)
NEEDS = re.compile(r"<!-- needs: [\w, ]+(?:; (?P<name>\w+)=(?P<values>[\w,]+))? -->")
LINK = re.compile(r"\]\((?P<target>[^)\s]+)[^)]*\)")
ELSEWHERE = re.compile(r"[a-z]+:|#")  # an address with a scheme, or a place on the same page


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def needs_of(page: Path) -> re.Match[str] | None:
    return NEEDS.match(page.read_text())


def with_frameworks() -> Iterator[tuple[Path, str, str]]:
    """Pages that need frameworks, and what to set a variable to, if that is to be tried."""
    for page in DOCUMENTED:
        if needs := needs_of(page):
            for value in (needs["values"] or "").split(","):
                yield page, needs["name"] or "", value


@pytest.mark.parametrize("page", [p for p in DOCUMENTED if not needs_of(p)], ids=name_of)
def test_page_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, monkeypatch)


@pytest.mark.interop
@pytest.mark.parametrize(
    ("page", "name", "value"),
    list(with_frameworks()),
    ids=lambda x: name_of(x) if isinstance(x, Path) else x,
)
def test_page_with_frameworks_prints_what_it_says(
    page: Path, name: str, value: str, tmp_path: Path
) -> None:
    done = run_in_a_process(page, tmp_path, {name: value} if name else {})
    assert done.returncode == 0, done.stdout + done.stderr


def run_in_a_process(
    page: Path, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **variables}
    command = [sys.executable, __file__, str(page)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_relative_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page, ROOT) == []


def test_a_page_whose_output_differs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\nThen\n\n```python\nprint(x)\n```\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:8"):
        run_page(page, monkeypatch)
    page.write_text(page.read_text().replace("\n2\n", "\n...\n"))
    run_page(page, monkeypatch)


OWN = """ks.Dataset.range(1).map(lambda x: time.time()).snapshot("x")"""
OTHER = """warnings.warn("of a framework")"""
CAUGHT = f"""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {OWN}
assert [each.category.__name__ for each in caught] == ["UserWarning"]
assert caught[0].filename == "<page.md, line 2>", caught[0].filename
"""


@pytest.mark.parametrize("body", [OWN, OTHER, CAUGHT], ids=["own", "other", "caught"])
def test_a_warning_of_the_library_ends_a_page_that_does_not_catch_it(
    tmp_path: Path, body: str
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\nimport time, warnings\nimport keepset as ks\n{body}\n```\n")
    done = run_in_a_process(page, tmp_path, {})
    assert (done.returncode == 1) == (body == OWN), done.stderr
    assert ("UserWarning: map(<lambda>)" in done.stderr) == (body == OWN)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md#top) [b](gone.md) [c](../..) [d](#top) ![e](https://x.org/y.png)")
    assert dead_links(page, tmp_path) == ["gone.md", "../.."]


@dataclass(frozen=True)
class Block:
    """A ``python`` block: its first line in the page, and the output that the page shows."""

    line: int
    source: str
    output: str | None


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page as if it were the main program, so that pickle and dataclasses find its names."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    checker = doctest.OutputChecker()
    for block in python_blocks(page.read_text()):
        printed = run_block(block, page, main)
        if block.output is not None:
            same = checker.check_output(block.output, printed, doctest.ELLIPSIS)
            assert same, f"{page}:{block.line} prints\n{printed}but the page says\n{block.output}"


def run_block(block: Block, page: Path, main: ModuleType) -> str:
    # The empty lines make line numbers those of the page. As in a notebook, each block is a file of
    # its own to those who look for the source of a function.
    source, file = "\n" * (block.line - 1) + block.source, f"<{page.name}, line {block.line}>"
    code = compile(source, file, "exec")
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, main.__dict__)
    return printed.getvalue()


def python_blocks(text: str) -> Iterator[Block]:
    blocks = list(FENCED.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block["language"] != "python":
            continue
        output = None
        if following and following["language"] in ("text", "output"):
            at_once = not text[block.end() : following.start()].strip()
            output = dedent(following["body"]) if at_once else None
        line = text.count("\n", 0, block.start("body")) + 1
        yield Block(line, dedent(block["body"]), output)


def dead_links(page: Path, root: Path) -> list[str]:
    """List the links that lead to no file, or out of the repository."""
    targets = [link["target"] for link in LINK.finditer(FENCED.sub("", page.read_text()))]
    return [t for t in targets if not ELSEWHERE.match(t) and not leads_somewhere(t, page, root)]


def leads_somewhere(target: str, page: Path, root: Path) -> bool:
    path = (page.parent / target.partition("#")[0]).resolve()
    return path.exists() and path.is_relative_to(root)


class OwnWarning(UserWarning):
    """One that the library gives."""


def make_own_warnings_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the library's warnings end a page that does not catch them, and no framework's."""
    from keepset.core import warn
    from keepset.errors import CorruptRecordWarning, RecipeChangedWarning

    def warns(message: str, category: type[Warning], stacklevel: int) -> None:
        own = type(category.__name__, (OwnWarning, category), {})
        warnings.warn(message, own, stacklevel + 1)

    monkeypatch.setattr(warn, "warnings", SimpleNamespace(warn=warns))
    for kind in (OwnWarning, CorruptRecordWarning, RecipeChangedWarning):
        warnings.filterwarnings("error", category=kind)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patches:
        make_own_warnings_errors(patches)
        run_page(Path(sys.argv[1]), patches)
