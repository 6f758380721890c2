"""A server that speaks S3 on a free port of this machine, for tests; ends when its input does.

It is moto, with two things added. Requests are handled one at a time: moto looks whether a key
exists and then stores it, and another request may come in between; and it empties an object that
is replaced, which a read at that moment would see. S3 does neither. And keys that hold
``fault-...`` meet that fault the first time they are put.
"""

import io
import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET = "bucket"


class OneAtATime:
    """The application, with a lock around requests and with faults on demand."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app, self._lock = app, threading.Lock()
        self._met: set[str] = set()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if length := int(environ.get("CONTENT_LENGTH") or 0):
            # Before the lock: a client that sends slowly must not hold up others.
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        with self._lock:
            fault = re.search(r"fault-(\w+)", environ["PATH_INFO"])
            if (
                environ["REQUEST_METHOD"] == "PUT"
                and fault
                and environ["PATH_INFO"] not in self._met
            ):
                self._met.add(environ["PATH_INFO"])
                return self._fail(fault[1], environ, start)
            return list(self._app(environ, start))

    def _fail(self, fault: str, environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        if fault == "lost":  # the object is stored, and the answer does not arrive
            list(self._app(environ, lambda *_: None))
            status = "503 Slow Down"
        elif fault == "conflict":  # what S3 says while another conditional request is under way
            environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            status = "409 Conflict"
        else:
            environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            status = "403 Forbidden"
        start(status, [("Content-Type", "text/plain"), ("Content-Length", "0")])
        return [b""]


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.read()
