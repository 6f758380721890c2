"""How pipelines are shown to people."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import keepset as ks

HOSTILE = "<script>alert('&amp;')</script>"


class _Parts(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def pipeline() -> ks.Dataset:
    ds = ks.Dataset.from_generator(lambda: iter([{HOSTILE: 1}]))
    return ds.map(lambda x: x, name=HOSTILE)


def test_what_is_not_known_is_said_in_plain_words() -> None:
    assert repr(pipeline()).endswith("unknown length, spec known after the first element>")
    assert "unknown length  spec known after the first element" in pipeline().describe()
    assert "unknown length  spec known after the first element" in pipeline()._repr_html_()


def test_names_of_others_are_no_markup(tmp_path: Path) -> None:
    dataset = _Parts(pipeline()._repr_html_())
    assert dataset.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert any(repr(HOSTILE) in text for text in dataset.texts)
    folder = tmp_path / "<b>&amp;"
    list(pipeline().snapshot(folder))
    for asked in (pipeline(), pipeline().map(lambda x: (x, 2))):
        explained = _Parts(ks.explain(asked, folder)._repr_html_())
        assert explained.tags == {"div", "pre"}
        assert any("<b>&amp;" in text for text in explained.texts)
