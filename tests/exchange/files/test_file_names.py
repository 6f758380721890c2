"""Files as users name them: one by one, by patterns, by folders."""

from __future__ import annotations

import io
import pickle
import re
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import keepset as ks


def write(path: str, text: str) -> None:
    ks.Dataset.from_tensor_slices([text]).write_text(path)


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "local" else f"memory://{tmp_path.name}"


def test_a_folder_stands_for_the_files_in_it(folder: str) -> None:
    for name in ("b.txt", "a.txt", "deeper/c.txt", "_SUCCESS", ".crc/d.txt", "deeper/.hidden"):
        write(f"{folder}/{name}", name)
    expected = [b"a.txt", b"b.txt", b"deeper/c.txt"]
    assert list(ks.read_text(f"{folder}/")) == expected
    assert list(ks.read_text([f"{folder}/deeper/", f"{folder}/a.txt"])) == [
        expected[2],
        expected[0],
    ]


def test_a_folder_without_a_slash_is_one_on_a_disk(tmp_path: Path) -> None:
    write(f"{tmp_path}/a.txt", "a")
    assert list(ks.read_text(tmp_path)) == [b"a"]


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    write(f"{tmp_path}/_SUCCESS", "")
    with pytest.raises(ks.NoFilesError, match="there are no files in"):
        ks.read_text(tmp_path)


def test_values_that_are_only_in_the_names_of_folders_are_not_lost(folder: str) -> None:
    write(f"{folder}/year=2024/a.txt", "a")
    with pytest.raises(ks.InvalidArgumentError, match="'year=2024', whose values are in no file"):
        ks.read_text(f"{folder}/")
    assert list(ks.read_text(f"{folder}/*/*.txt")) == [b"a"]


def test_a_folder_that_a_data_set_names_is_an_error(tmp_path: Path) -> None:
    names = ks.Dataset.from_tensor_slices([str(tmp_path)])
    with pytest.raises(ks.InvalidArgumentError, match="is a folder, and read_text"):
        list(ks.read_text(names))


class Web(BaseHTTPRequestHandler):
    """Serves one text under every name, and knows ranges; ``asked`` is what for."""

    asked: ClassVar[list[str]] = []
    text = b"name\tx\n" + b"".join(b"a%d\t%d\n" % (i, i) for i in range(50))

    def do_GET(self) -> None:
        self.asked.append(self.path)
        found = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        first, last = (int(found[1]), int(found[2])) if found else (0, len(self.text) - 1)
        body = self.text[first : last + 1]
        self.send_response(206 if found else 200)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(self.text)}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    Web.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "query", ["?dl=1", "?X-Amz-Credential=ada/2026%2Fs3&X-Amz-Signature=0a1b", "?ids[]=1&name=*"]
)
def test_a_question_mark_in_a_url_begins_a_query(web: str, query: str, tmp_path: Path) -> None:
    rows = ks.read_csv(f"{web}/deeper/a.tsv{query}")
    assert len(list(rows.snapshot(tmp_path))) == 50
    assert set(Web.asked) == {f"/deeper/a.tsv{query}"}
    assert next(iter(rows)) == {"name": b"a0", "x": 0}  # the name ends with .tsv
    assert list(pickle.loads(pickle.dumps(rows))) == list(rows)


@pytest.mark.parametrize("query", ["", "?sig=a/b"])
def test_the_name_of_a_file_is_decoded_as_its_folder_is(
    web: str, query: str, tmp_path: Path
) -> None:
    url = f"{web}/the%20folder/a%20b%25.tsv{query}"
    assert len(list(ks.read_csv(url).snapshot(tmp_path))) == 50
    assert set(Web.asked) == {f"/the%20folder/a%20b%25.tsv{query}"}
    assert len(list(ks.read_csv(url.replace("a%20b", "a b")))) == 50
    assert len(set(Web.asked)) == 1


def test_files_of_one_folder_with_queries_of_their_own(web: str, tmp_path: Path) -> None:
    names = [f"{web}/{name}.tsv?sig={name}/{name}" for name in "ab"]
    assert len(list(ks.read_csv(names).snapshot(tmp_path))) == 100
    assert set(Web.asked) == {"/a.tsv?sig=a/a", "/b.tsv?sig=b/b"}


READERS: dict[str, Callable[[str], Any]] = {
    "csv": ks.read_csv,
    "json lines": ks.read_json_lines,
    "text": lambda url: ks.read_text(url, encoding="utf-16"),
    "fixed length": lambda url: ks.read_fixed_length(url, 7),
    "parquet": ks.read_parquet,
    "arrow": ks.read_arrow,
    "npy": ks.read_npy,
    "npz": ks.read_npz,
    "hdf5": ks.read_hdf5,
    "webdataset": ks.read_webdataset,
    "webdataset of pictures": lambda url: ks.read_webdataset(url, decode=["jpg"]),
    "webdataset of pickles": ks.read_webdataset,
    "images": lambda url: ks.read_images(url, labels=None),
    "image labels": lambda url: ks.read_images([url], class_names=["x"]),
    "path list": ks.read_path_list,
    "tfrecord": ks.TFRecordDataset,
    "tfrecord of a compression": lambda url: ks.TFRecordDataset(url, compression_type="GZIP"),
    "tfrecord features": ks.infer_features,
}


def archive(name: str) -> bytes:
    """A tar file of one file, which is damaged for all that it is called."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as written:
        info = tarfile.TarInfo(name)
        info.size = 6
        written.addfile(info, io.BytesIO(b"broken"))
    return data.getvalue()


DAMAGED = {
    "csv": b"",
    "json lines": b"{",
    "webdataset of pictures": archive("a.jpg"),
    "webdataset of pickles": archive("a.pkl"),
    "fixed length": b"12345678",
    "tfrecord features": b"",
}


@pytest.mark.parametrize("reader", READERS)
def test_a_query_is_not_shown_in_messages(
    web: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Web, "text", DAMAGED.get(reader, b"\xff broken" * 50))
    with pytest.raises(ks.KeepsetError) as raised:
        list(READERS[reader](f"{web}/a.txt?sig=Zq-signature"))
    assert "a.txt" in str(raised.value)
    assert "Zq" not in f"{raised.value} {raised.value.__dict__.get('path')}"


def test_a_question_mark_in_other_names_is_a_pattern(folder: str) -> None:
    write(f"{folder}/a1.txt", "a")
    assert list(ks.read_text(f"{folder}/a?.txt")) == [b"a"]
