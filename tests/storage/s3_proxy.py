"""A proxy in front of the S3 server of the tests that breaks requests on demand."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What a rule may ask for: an answer with this status instead of the server's, a connection that
# breaks before the request is passed on, one that breaks after it took effect, one that breaks
# in the middle of the body, one that stays silent until the proxy is closed, and an answer that
# breaks off in the middle of its body, or ends there as if it were whole.
FAULTS = ("500", "503", "403", "unsent", "unanswered", "cut", "silent", "half", "short")

Rule = Callable[[str, int], str | None]


class S3Proxy:
    """Passes requests on, but for those that ``rule`` names a fault for.

    ``rule`` is given the kind of a request and how many of that kind came before it.
    """

    def __init__(self, endpoint: str) -> None:
        self._target = urllib.parse.urlsplit(endpoint).netloc
        self._lock = threading.Lock()
        self.rule: Rule | None = None
        self.seen: dict[str, int] = {}
        self.closed = threading.Event()
        self.most_at_once = self._now = 0
        self.part_sizes: list[int] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def handle_one(self) -> None:
                proxy._handle(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one  # noqa: N815

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """Say nothing: clients that give up close their end."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        kind = kind_of(request.command, request.path)
        with self._lock:
            number = self.seen.get(kind, 0)
            self.seen[kind] = number + 1
            rule = self.rule
            if kind == "UploadPart":
                self._now += 1
                self.part_sizes.append(int(request.headers["Content-Length"]))
                self.most_at_once = max(self.most_at_once, self._now)
        try:
            self._pass_on(request, rule(kind, number) if rule is not None else None)
        finally:
            if kind == "UploadPart":
                with self._lock:
                    self._now -= 1

    def _pass_on(self, request: BaseHTTPRequestHandler, fault: str | None) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        if fault == "cut":
            self._send_half(request, length)
        body = request.rfile.read(length) if fault != "cut" else b""
        if fault == "silent":
            self.closed.wait()
        if fault in ("cut", "unsent", "silent") or (fault is None and len(body) < length):
            _break_off(request)
            return
        if fault is not None and fault.isdigit():
            request.send_response(int(fault))
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        status, headers, answer = self._forward(request, body)
        if fault == "unanswered":
            _break_off(request)
            return
        request.send_response_only(status)
        given = answer[: len(answer) // 2] if fault in ("half", "short") else answer
        if fault == "short":
            headers = [pair for pair in headers if pair[0].lower() != "content-length"]
            headers.append(("Content-Length", str(len(given))))
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection"):
                request.send_header(name, value)
        request.end_headers()
        request.wfile.write(given)
        if fault == "half":
            _break_off(request)

    def _forward(
        self, request: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self._target)
        try:
            connection.request(request.command, request.path, body, dict(request.headers))
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _send_half(self, request: BaseHTTPRequestHandler, length: int) -> None:
        """Begin a request at the server whose body ends too early."""
        half = request.rfile.read(length // 2)
        host, _, port = self._target.partition(":")
        with socket.create_connection((host, int(port))) as connection:
            lines = [f"{request.command} {request.path} HTTP/1.1"]
            lines += [f"{name}: {value}" for name, value in request.headers.items()]
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + half)


def kind_of(method: str, path: str) -> str:
    """The name that S3 has for a request."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query, keep_blank_values=True)
    if "uploadId" in query:
        return {
            "PUT": "UploadPart",
            "POST": "CompleteMultipartUpload",
            "DELETE": "AbortMultipartUpload",
        }.get(method, method)
    if "uploads" in query:
        return "CreateMultipartUpload" if method == "POST" else "ListMultipartUploads"
    return {"PUT": "PutObject", "HEAD": "HeadObject"}.get(method, method)


def _break_off(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True
    request.connection.shutdown(socket.SHUT_RDWR)


def uploads_at(endpoint: str) -> list[str]:
    """The keys that ListMultipartUploads of the bucket names: uploads without an end."""
    with urllib.request.urlopen(f"{endpoint}/bucket?uploads") as answer:
        listing = answer.read().decode()
    return re.findall("<Key>(.*?)</Key>", listing)
