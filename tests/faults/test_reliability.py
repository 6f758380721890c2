"""The page on reliability is made of all that the parts of each harness counted."""

from __future__ import annotations

from pathlib import Path

from tests.faults.reliability import PROVES, page

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_parts_of_a_harness_are_counted_together() -> None:
    made = page(
        [
            '{"harness": "kills", "kills": 1000, "most_elements_computed_again": 45}',
            '{"harness": "kills", "kills": 234, "most_elements_computed_again": 3}',
        ]
    )
    assert "| kills | 1,234 |" in made
    assert "| most elements computed again | 45 |" in made
    assert "## Power cuts" not in made


def test_the_page_says_what_each_harness_proves() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for title, proves in PROVES.values():
        assert f"## {title}\n\n{proves}\n" in text
