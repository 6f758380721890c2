"""diff: two datasets are the same, or where they first differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.cli.commands import answer, answer_json, complaint, keep_a_part, numbers

import keepset as ks


def test_equal_whatever_the_form(tmp_path: Path) -> None:
    numbers(100).save(tmp_path / "a", "GZIP")
    list(numbers(100).snapshot(tmp_path / "b", shard_func=lambda e: e["x"] % 3))
    assert answer("diff", tmp_path / "a", tmp_path / "b") == "equal: 100 elements\n"
    assert answer_json("diff", tmp_path / "a", tmp_path / "b")["difference"] is None


def test_the_first_difference_is_shown(tmp_path: Path) -> None:
    numbers(100).save(tmp_path / "a")
    numbers(100, scale=2).save(tmp_path / "b")
    text = answer("diff", tmp_path / "a", tmp_path / "b", code=1)
    assert text.splitlines()[:2] == [
        "different: 99 of 100 elements differ",
        "first at element 1, v: 1.0 -> 2.0 at [0] (7 of 7 values differ)",
    ]
    found = answer_json("diff", tmp_path / "a", tmp_path / "b", code=1)
    assert found["is_equal"] is False
    assert found["first_difference"] == {"element": 1, "leaf": "v", "first": "1.0", "second": "2.0"}
    assert found["leaves"]["v"] == found["different"] == 99
    assert found["first"] == str(tmp_path / "a")


def test_another_number_of_elements_is_a_difference(tmp_path: Path) -> None:
    numbers(100).save(tmp_path / "a")
    numbers(99).save(tmp_path / "b")
    text = answer("diff", tmp_path / "a", tmp_path / "b", code=1)
    assert text == "different: the second dataset ends after 99 elements, the first goes on\n"


def test_two_fingerprints_of_one_path(tmp_path: Path) -> None:
    for scale in (1, 2):
        list(numbers(10, scale).snapshot(tmp_path, fingerprint=f"scale-{scale}"))
    paths = [tmp_path, tmp_path]
    assert answer("diff", *paths, "-f", "scale-1") == (
        "equal: 10 elements; A and B are one snapshot, give -f twice for two\n"
    )
    assert "element 1" in answer("diff", *paths, "-f", "scale-1", "-f", "scale-2", code=1)
    three = [part for name in "abc" for part in ("-f", name)]
    assert "one for A and one for B" in complaint("diff", *paths, *three, code=2)


def test_what_is_not_finished_cannot_be_compared(tmp_path: Path) -> None:
    numbers(100).save(tmp_path / "a")
    kept = keep_a_part(tmp_path / "b")
    text = complaint("diff", tmp_path / "a", tmp_path / "b")
    assert f"is not finished: {kept} elements are kept so far" in text


def test_options_are_for_the_one_in_a_bucket(tmp_path: Path, s3_url: str) -> None:
    numbers(10).save(tmp_path)
    numbers(10).save(s3_url)
    assert "equal" in answer("diff", tmp_path, s3_url, "-o", "region=us-east-1")


def test_the_leaf_and_the_place_in_an_array_are_named(tmp_path: Path) -> None:
    def rows(value: float) -> ks.Dataset:
        def row(x: np.int64) -> dict[str, object]:
            image = np.ones((2, 3))
            image[1, 1] = value if x >= 2 else 1
            return {"image": image, "id": x}

        return ks.Dataset.range(4).map(row)

    rows(1.0).save(tmp_path / "a")
    rows(7.0).save(tmp_path / "b")
    text = answer("diff", tmp_path / "a", tmp_path / "b", code=1)
    assert text.splitlines() == [
        "different: 2 of 4 elements differ",
        "first at element 2, image: 1.0 -> 7.0 at [1, 1] (1 of 6 values differ)",
    ]


def test_strings_are_shown_as_text(tmp_path: Path) -> None:
    for name, second in (("a", "café".encode()), ("b", b"caf\xff")):
        ks.Dataset.from_tensor_slices([b"x", second]).save(tmp_path / name)
    text = answer("diff", tmp_path / "a", tmp_path / "b", code=1)
    assert r"""first at element 1: "café" -> b'caf\xff'""" in text
