"""inspect: everything that is known about one snapshot."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from tests.cli.commands import answer, answer_json, complaint, damage, keep_a_part, keepset, numbers

import keepset as ks
from keepset.core.spec import spec_from_json


def test_a_saved_data_set(tmp_path: Path) -> None:
    numbers(1000).save(tmp_path, "GZIP")
    lines = answer("inspect", tmp_path).splitlines()
    text = "\n".join(re.sub(r" +", " ", line) for line in lines)
    assert lines[0] == str(tmp_path)
    assert "state complete\nelements 1,000\n" in text
    assert re.search(r"size [\d.]+ kB on disk, 36\.0 kB in memory \([\d.]+ to 1\)", text)
    assert "codec GZIP\nshards 1\nfiles 1 (1 chunk)\n" in text
    assert re.search(r"created \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \((now|\d+ s ago)\)", text)
    assert re.search(r"created by keepset \S+, python \S+, host \S+", text)
    assert "fingerprint none: it was saved" in text
    assert "column dtype shape\nv float32 [7]\nx int64 scalar" in text


def test_a_snapshot_shows_what_its_fingerprint_was_found_from(tmp_path: Path) -> None:
    scale = 3

    def scaled(x: np.int64) -> np.int64:
        return x * scale

    list(ks.Dataset.range(10).map(scaled).batch(2).snapshot(tmp_path))
    text = answer("inspect", tmp_path)
    tree = text.partition("what the fingerprint was found from\n")[2]
    assert tree.startswith("batch(2")
    assert re.search(r"batch_size: 2$", tree, re.MULTILINE)
    assert re.search(r"scale: 3$", tree, re.MULTILINE)
    assert re.search(r"── range\(0, 10\)$", tree, re.MULTILINE)


def test_shards_are_summed_up_where_there_are_many(tmp_path: Path) -> None:
    numbers(10).save(tmp_path / "few", shard_func=lambda e: e["x"] % 2)
    numbers(100).save(tmp_path / "many", shard_func=lambda e: e["x"] % 30)
    assert "shards       2: 5 in 0, 5 in 1" in answer("inspect", tmp_path / "few")
    assert "shards       30, of 3 to 4 elements" in answer("inspect", tmp_path / "many")


def test_versions_and_files(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    numbers(20).save(tmp_path)
    text = answer("inspect", tmp_path, "--segments")
    versions = text.partition("versions\n")[2].splitlines()
    assert [line.split()[:2] for line in versions[1:3]] == [["0", "10"], ["1", "20"]]
    [file] = re.findall(r"^segments/\S+ +NONE .* 1 +20$", text, re.MULTILINE)
    assert (tmp_path / file.split()[0]).exists()


def test_a_first_pass_that_stopped(tmp_path: Path) -> None:
    kept = keep_a_part(tmp_path)
    assert "unfinished: the next run goes on from here" in answer("inspect", tmp_path)
    found = answer_json("inspect", tmp_path)
    assert (found["is_complete"], found["elements"], found["versions"]) == (False, kept, [])


def test_what_a_repair_has_dropped_is_told(tmp_path: Path) -> None:
    list(numbers(100).snapshot(tmp_path))
    damage(tmp_path)
    answer("verify", tmp_path, "--repair")
    assert "repaired: the next run computes 100 elements: 0 to 99" in answer("inspect", tmp_path)
    assert answer_json("inspect", tmp_path)["waiting"] == [[0, 100]]


def test_elements_that_differ_in_size_have_no_size_in_memory(tmp_path: Path) -> None:
    ks.Dataset.range(5).map(lambda x: {"s": b"x" * x, "a": np.zeros(x)}).save(tmp_path)
    text = answer("inspect", tmp_path)
    assert "in memory" not in text
    assert re.search(r"^a +float64 +\[\?\]\ns +string +scalar$", text, re.MULTILINE)
    assert answer_json("inspect", tmp_path)["memory_bytes"] is None


def test_what_has_a_fixed_size_is_counted_at_least(tmp_path: Path) -> None:
    ks.Dataset.range(50).map(lambda x: {"s": b"x", "a": np.zeros(1000)}).save(tmp_path, "ZSTD")
    assert re.search(
        r"on disk, over 400\.0 kB in memory \(over [\d.]+ to 1\)", answer("inspect", tmp_path)
    )


def test_a_damaged_old_version_is_told_and_no_more(tmp_path: Path) -> None:
    for _ in range(2):
        numbers(3).save(tmp_path)
    (tmp_path / "commits" / "00000000.json").write_text("{}")
    text = answer("inspect", tmp_path)
    assert "state        complete" in text
    assert "an older one cannot be read" in text
    assert answer_json("inspect", tmp_path)["versions"] is None


def test_an_empty_data_set(tmp_path: Path) -> None:
    ks.Dataset.range(0).save(tmp_path)
    assert "elements     0" in answer("inspect", tmp_path)
    assert answer_json("inspect", tmp_path)["elements"] == 0


def test_the_json_has_it_all(tmp_path: Path) -> None:
    ds = numbers(10)
    list(ds.snapshot(tmp_path, "LZ4", shard_func=lambda e: e["x"] % 2))
    found = answer_json("inspect", tmp_path, "--segments")
    assert spec_from_json(found["spec"]) == ds.element_spec
    assert found["columns"][1] == {"name": "x", "tensor": {"shape": [], "dtype": "int64"}}
    assert found["shards"] == {"0": 5, "1": 5}
    assert found["codecs"] == ["LZ4"]
    assert found["memory_bytes"] == 10 * (8 + 7 * 4)
    assert found["facts"]["digest"] == found["fingerprint"]
    assert [each["elements"] for each in found["files"]] == [10]
    assert [each["kind"] for each in found["versions"]] == ["complete"]
    assert set(found["created_by"]) == {"keepset", "python", "host"}


def test_what_gc_adds_to_the_log_does_not_change_the_answer(tmp_path: Path) -> None:
    numbers(10).snapshot(tmp_path, fingerprint="f").save(tmp_path / "copy")
    [commits] = (tmp_path / "f").glob("commits")
    before = answer_json("inspect", tmp_path, "-f", "f")
    (tmp_path / "f" / "segments" / "0123456789abcdef-0.arrow").write_bytes(b"left behind")
    answer("gc", tmp_path, "--grace", "0", "--yes")
    assert len(list(commits.iterdir())) > len(before["versions"])
    assert answer_json("inspect", tmp_path, "-f", "f") == before


def test_nothing_is_wider_than_the_terminal(tmp_path: Path) -> None:
    list(numbers(10).snapshot(tmp_path / "a-rather-long-name-of-a-folder-that-somebody-has-chosen"))
    text = keepset("inspect", tmp_path, "--segments", columns=80).stdout
    # But for the url, which is to be copied as a whole.
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_a_save_has_no_fingerprint_to_choose_it_by(tmp_path: Path) -> None:
    numbers(5).save(tmp_path / "kept")
    said = complaint("inspect", tmp_path / "kept", "-f", "zz")
    assert "kept holds one dataset, which has no name to choose it by; leave --fingerprint" in said
