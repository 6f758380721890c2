"""How fast a data set goes into a bucket, beside obstore's own upload of the same bytes.

    python benchmarks/uploads.py [--megabytes 256] [--rounds 7]

The server runs in a process of its own on the loopback, speaks the requests of S3 that writing
takes, and throws the bytes away: what is measured is what Keepset adds to the upload. The jobs take
turns; the least of several rounds counts. CPU time of this process stands beside the clock,
because the server shares the cores. Keepset also copies the rows into chunks, checks sums, and
creates a lease, a recipe and a commit. To compare two versions, run it with each of them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import obstore
from obstore.store import S3Store

import keepset as ks

RESULTS = Path(__file__).parent / "results" / "uploads.json"
PART_BYTES = 8 << 20
ROW_BYTES = 64 << 10


class Discarding(BaseHTTPRequestHandler):
    """Takes what it is given, and remembers names and sizes only."""

    protocol_version = "HTTP/1.1"
    sizes: ClassVar[dict[str, int]] = {}

    def do_PUT(self) -> None:
        left = int(self.headers.get("Content-Length", 0))
        self.sizes[self._key()] = left
        while left:
            left -= len(self.rfile.read(min(left, 1 << 20)))
        self._answer(200, b"", {"ETag": '"0"'})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "uploads" in query:
            name = "InitiateMultipartUploadResult"
            self._answer(200, f"<{name}><UploadId>1</UploadId></{name}>".encode(), {})
        else:
            name = "CompleteMultipartUploadResult"
            self._answer(200, f'<{name}><ETag>"0"</ETag></{name}>'.encode(), {})

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "list-type" not in query:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
            return
        prefix = query.get("prefix", [""])[0]
        found = "".join(
            f"<Contents><Key>{key}</Key><Size>{size}</Size><ETag>0</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in sorted(self.sizes.items())
            if key.startswith(prefix)
        )
        self._answer(200, f"<ListBucketResult>{found}</ListBucketResult>".encode(), {})

    def do_HEAD(self) -> None:
        size = self.sizes.get(self._key())
        self.send_response(404 if size is None else 200)
        self.send_header("Content-Length", str(size or 0))
        self.send_header("ETag", '"0"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()

    def do_DELETE(self) -> None:
        self.sizes.pop(self._key(), None)
        self._answer(204, b"", {})

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix("/bucket/")

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Discarding)
    print(server.server_port, flush=True)
    server.serve_forever()


def options(port: int) -> dict[str, Any]:
    return {
        "endpoint": f"http://127.0.0.1:{port}",
        "access_key_id": "a",
        "secret_access_key": "b",
        "region": "us-east-1",
        "client_options": {"allow_http": True},
    }


def by_obstore(data: Any, port: int) -> None:
    """The same bytes in parts of the same size, as fast as obstore takes them."""
    store = S3Store("bucket", **options(port))
    with obstore.open_writer(store, "x", buffer_size=PART_BYTES, max_concurrency=4) as writer:
        for start in range(0, len(data), PART_BYTES):
            writer.write(data[start : start + PART_BYTES])


def by_keepset(rows: Any, port: int, compression: str | None) -> None:
    ds = ks.Dataset.from_tensor_slices(rows)
    # A place of its own each time: nothing is there to be read first.
    ks.save(ds, f"s3://bucket/{uuid.uuid4().hex}", compression, **options(port))


def measured(jobs: dict[str, Callable[[], None]], rounds: int) -> dict[str, tuple[float, float]]:
    """The least time and the least CPU time of each job, in seconds; the jobs take turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for number in range(rounds):
        names = list(jobs)
        for name in names if number % 2 else reversed(names):
            began, spent = time.perf_counter(), time.process_time()
            jobs[name]()
            found[name].append((time.perf_counter() - began, time.process_time() - spent))
    return {
        name: (min(clock for clock, _ in each), min(cpu for _, cpu in each))
        for name, each in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return
    rng = np.random.default_rng(1)
    rows = rng.random((chosen.megabytes * (1 << 20) // ROW_BYTES, ROW_BYTES // 8))
    data = memoryview(rows).cast("B")
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(re.sub(r"\D", "", server.stdout.readline()))
            jobs: dict[str, Callable[[], None]] = {
                "obstore": lambda: by_obstore(data, port),
                "keepset": lambda: by_keepset(rows, port, None),
            }
            found = measured(jobs, chosen.rounds)
        finally:
            server.kill()
    limit = found["obstore"]
    print(f"{chosen.megabytes} MiB of arrays into a bucket, the least of {chosen.rounds} rounds")
    for name, (clock, cpu) in found.items():
        speed = chosen.megabytes / clock
        print(
            f"  {name:8} {1e3 * clock:6.0f} ms  {speed:6.0f} MiB/s  CPU {1e3 * cpu:6.0f} ms"
            f"  {limit[0] / clock:.2f}x of obstore"
        )
    results = {name: {"seconds": clock, "cpu_seconds": cpu} for name, (clock, cpu) in found.items()}
    RESULTS.write_text(json.dumps({"megabytes": chosen.megabytes, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
