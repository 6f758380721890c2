"""convert: from every kind of files to every other, and on after an interruption."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import answer, answer_json, complaint, numbers

import keepset as ks
from keepset.exchange.tensorflow import record_writer
from keepset.exchange.tensorflow.part_file import PartFile
from keepset.snapshot import beginning

KINDS = ("keepset", "tensorflow", "tfrecord")


def place(folder: Path, kind: str) -> Path:
    return folder / (f"{kind}.tfrecord" if kind == "tfrecord" else kind)


@pytest.mark.parametrize("last", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_every_kind_becomes_every_other(first: str, last: str, tmp_path: Path) -> None:
    ds = numbers(300)
    ds.save(tmp_path / "source")
    answer("convert", tmp_path / "source", place(tmp_path, first), "--to", first)
    target = place(tmp_path, f"{last}2")
    if last == "tfrecord":
        target = tmp_path / "two.tfrecord"
    said = answer("convert", place(tmp_path, first), target, "--to", last)
    assert said == f"300 elements written to {target}\n"
    found = (
        ks.TFRecordDataset(target).parse_example(ks.infer_features(target))
        if last == "tfrecord"
        else ks.load(target)
    )
    ks.assert_equal(found.map(dict), ds.map(dict))


def test_it_answers_in_json_too(tmp_path: Path) -> None:
    numbers(5).save(tmp_path / "a")
    target = tmp_path / "b.tfrecord"
    assert answer_json("convert", tmp_path / "a", target, "--to", "tfrecord") == {
        "source": str(tmp_path / "a"),
        "target": str(target),
        "kind": "tfrecord",
        "elements": 5,
        "was_there": False,
    }


def test_records_may_be_taken_as_they_are(tmp_path: Path) -> None:
    words = [b"one", b"two"]
    ks.Dataset.from_tensor_slices(words).write_tfrecord(tmp_path / "a.tfrecord", "GZIP")
    answer("convert", tmp_path / "a.tfrecord", tmp_path / "kept", "--to", "keepset", "--raw")
    assert list(ks.load(tmp_path / "kept")) == words


def test_several_files_are_one_source_and_one_target(tmp_path: Path) -> None:
    numbers(10).save(tmp_path / "a")
    target = tmp_path / "b.tfrecord"
    answer("convert", tmp_path / "a", target, "--to", "tfrecord", "--shards", "3")
    assert len(list(tmp_path.glob("b-*-of-00003.tfrecord"))) == 3
    answer("convert", f"{tmp_path}/b-*.tfrecord", tmp_path / "c", "--to", "keepset")
    assert len(ks.load(tmp_path / "c")) == 10


@pytest.mark.parametrize("to", KINDS)
def test_what_was_interrupted_goes_on(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers(20_000).save(tmp_path / "a")
    target = place(tmp_path, to)
    monkeypatch.setattr(record_writer, "_NOTED_BYTES", 1 << 16)
    noted: list[int] = []
    note = PartFile.note

    def stop(self: PartFile, elements: int) -> None:
        note(self, elements)
        noted.append(elements)
        if len(noted) == 2:
            raise KeyboardInterrupt

    if to != "keepset":  # a snapshot goes on by itself, which other tests look at
        with monkeypatch.context() as patched:
            patched.setattr(PartFile, "note", stop)
            complaint_code = 130
            assert "interrupted" in complaint(
                "convert", tmp_path / "a", target, "--to", to, code=complaint_code
            )
        assert noted[1] < 20_000
        assert not target.is_file()
        begun: list[int] = []
        opened = PartFile.__init__

        def watched(self: PartFile, path: str, source: str) -> None:
            opened(self, path, source)
            begun.append(self.elements)

        monkeypatch.setattr(PartFile, "__init__", watched)
        answer("convert", tmp_path / "a", target, "--to", to)
        assert begun == [noted[1]]
    else:
        answer("convert", tmp_path / "a", target, "--to", to)
    found = (
        ks.TFRecordDataset(target).parse_example(ks.infer_features(target))
        if to == "tfrecord"
        else ks.load(target)
    )
    assert [int(each["x"]) for each in found] == [*range(20_000)]
    assert not list(tmp_path.rglob("*.part*"))


def begun(path: Path, source: str, elements: int = 0) -> PartFile:
    part = PartFile(str(path), source)
    if elements:
        part.write(b"x" * elements)
        part.note(elements)
    return part


def test_a_part_counts_for_its_own_source_only(tmp_path: Path) -> None:
    begun(tmp_path / "f", "one", 3).abort()
    again = begun(tmp_path / "f", "one")
    again.abort()
    assert (again.elements, again.tell()) == (3, 3)
    other = begun(tmp_path / "f", "two", 2)
    other.abort()
    assert other.elements == 0
    assert len(list(tmp_path.glob("*.json"))) == 1
    [note] = tmp_path.glob("*.json")
    note.write_text("damaged")
    last = begun(tmp_path / "f", "two")
    last.abort()
    assert last.elements == 0


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    one = begun(tmp_path / "f", "same", 5)
    two = begun(tmp_path / "f", "same")
    assert two.elements == 0, "the part of a writer that is at work was taken"
    two.write(b"yyy")
    one.write(b"xx")
    two.close()
    assert (tmp_path / "f").read_bytes() == b"yyy"
    one.close()
    assert (tmp_path / "f").read_bytes() == b"xxxxxxx"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_what_a_killed_process_left_is_gone_on_with(tmp_path: Path) -> None:
    program = (
        "import os, sys; from keepset.exchange.tensorflow.part_file import PartFile; "
        "p = PartFile(sys.argv[1], 'same'); p.write(b'abc'); p.note(3); p.write(b'lost'); "
        "p._file.flush(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "f")], check=False)
    assert done.returncode == -9
    part = begun(tmp_path / "f", "same")
    assert part.elements == 3
    part.write(b"def")
    part.close()
    assert (tmp_path / "f").read_bytes() == b"abcdef"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("to", KINDS)
def test_a_full_disk_is_one_line_that_names_the_file(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    numbers(50).save(tmp_path / "a")
    target = place(tmp_path, to)

    call: Any = {"keepset": os.writev, "tensorflow": os.fsync, "tfrecord": os.fsync}[to]

    def full(*arguments: Any) -> Any:
        if to == "keepset" and threading.current_thread() is threading.main_thread():
            return call(*arguments)  # there is room for the first small files
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(beginning, "_PATIENCE_S", 0.2)
        patched.setattr(os, call.__name__, full)
        said = complaint("convert", tmp_path / "a", target, "--to", to)
    assert said.startswith(f"error: cannot write {target}")
    assert "No space left on device; free some space and run again" in said
    assert len(said.splitlines()) == 1
    if to == "keepset":  # which waits for room, and says so at once
        assert "No space left on device" in caplog.text
        assert "trying again for up to" in caplog.text
    answer("convert", tmp_path / "a", target, "--to", to)


def test_other_commands_say_what_to_do_with_files_of_tensorflow(tmp_path: Path) -> None:
    ks.save(numbers(3), tmp_path, format="tensorflow")
    assert f"keepset convert {tmp_path} TARGET" in complaint("cat", tmp_path)


@pytest.mark.parametrize("to", KINDS)
def test_what_is_there_is_not_written_over(to: str, tmp_path: Path) -> None:
    numbers(5).save(tmp_path / "a")
    numbers(6).save(tmp_path / "b")
    target = place(tmp_path, to)
    answer("convert", tmp_path / "a", target, "--to", to)
    said = complaint("convert", tmp_path / "b", target, "--to", to)
    assert str(target) in said
    assert "already; convert to another path, or remove it first" in said
    if to == "tfrecord":
        assert len(list(ks.TFRecordDataset(target))) == 5
        (tmp_path / "c-00001-of-00002.tfrecord").write_text("of another program")
        said = complaint(
            "convert", tmp_path / "a", tmp_path / "c.tfrecord", "--to", to, "--shards", 2
        )
        assert "c-00001-of-00002.tfrecord is there already" in said
        assert (tmp_path / "c-00001-of-00002.tfrecord").read_text() == "of another program"
    else:
        assert len(list(ks.load(target))) == 5


def test_mistakes_are_named(tmp_path: Path) -> None:
    assert "nothing is kept" in complaint("convert", tmp_path, tmp_path / "b", "--to", "keepset")
    assert "--to" in complaint("convert", tmp_path, tmp_path / "b", code=2)
    assert "no file matches" in complaint(
        "convert", f"{tmp_path}/*.tfrecord", tmp_path / "b", "--to", "keepset"
    )
    numbers(3).save(tmp_path / "a")
    assert "no compression" in complaint(
        "convert", tmp_path / "a", tmp_path / "b", "--to", "tensorflow", "--compression", "LZ4"
    )


def test_the_same_elements_are_not_said_to_be_written_again(tmp_path: Path) -> None:
    numbers(50).save(tmp_path / "a")
    target = tmp_path / "b"
    first = ("convert", tmp_path / "a", target, "--to", "keepset")
    answer(*first, "--compression", "GZIP")
    said = f"nothing is written: {target} holds these 50 elements already\n"
    for same in ((), ("--compression", "gzip"), ("--compression", "AUTO")):
        assert answer(*first, *same) == said
    assert answer_json(*first)["was_there"]
    refused = complaint(*first, "--compression", "ZSTD")
    assert "holds these elements already, with the compression GZIP; convert to another" in refused
    assert ks.Snapshot(target).codecs == ["GZIP"]


@pytest.mark.parametrize("to", ["keepset", "tensorflow"])
def test_options_are_refused_by_the_name_that_is_typed(to: str, tmp_path: Path) -> None:
    numbers(5).save(tmp_path / "a")
    convert = ("convert", tmp_path / "a", tmp_path / "b", "--to", to)
    said = complaint(*convert, "--shards", 3)
    assert said == f"error: --shards is for tfrecord, and not for {to}; leave it out\n"
    assert "--raw is for TFRecord files, not" in complaint(*convert, "--raw")
    assert not (tmp_path / "b").exists()


def test_a_source_that_is_no_folder_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, what in (("nosuch", "does not exist"), ("pipe", "is a named pipe")):
        said = complaint("convert", tmp_path / name, tmp_path / "b", "--to", "keepset")
        assert said.startswith(f"error: {tmp_path / name} {what}; name a folder")
        assert f"{tmp_path / name} {what}; " in complaint("cat", tmp_path / name)
