"""What runs inside a worker process: receive a group of rows, compute, send the results."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import traceback
from typing import Any

from keepset.workers.channel import Arena, Channel, Raised, Unreadable, UnreadableError
from keepset.workers.portable_error import portable


def main(connection: int, lifeline: int, incoming: int, outgoing: int, progress: int) -> None:
    """Serve until the parent closes the connection. Arguments are file descriptors, -1 for none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    arenas = [None if fd < 0 else Arena(fd) for fd in (outgoing, incoming)]
    channel = Channel(socket.socket(fileno=connection), *arenas)
    announce = _announcer(progress)
    try:
        compute = _received(channel)
        while True:
            request = _received(channel)
            if isinstance(request, tuple):
                chunk, position = request
                channel.send(_answer(compute, chunk, position, announce))
            else:
                channel.send(request.answer(compute))
    except (EOFError, ConnectionError):
        os._exit(0)


def _received(channel: Channel) -> Any:
    """What comes next; the parent learns of it if that cannot be made again here."""
    while True:
        try:
            value = channel.receive()
        except UnreadableError as error:
            channel.send(Unreadable(str(error)))
        else:
            return value


def _die_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)  # returns only when the parent is gone or closes its end
    os._exit(1)


def _announcer(descriptor: int) -> Any:
    """Note the row at work where the parent can read it, should this process die of it."""
    if descriptor < 0:
        return None
    shared, pack = Arena(descriptor).view(8), struct.Struct("<q").pack_into
    return lambda number: pack(shared, 0, number)


def _answer(compute: Any, chunk: Any, position: int, announce: Any) -> Any:
    try:
        outcome = compute(chunk, position, announce)
    except BaseException as error:  # SystemExit and its like, which a thread hands on, too
        return Raised(_sendable(error))
    if outcome.error is None:
        return outcome
    return outcome._replace(error=_sendable(outcome.error))


def _sendable(error: BaseException) -> Any:
    has_others = error.__cause__ or error.__context__ or isinstance(error, BaseExceptionGroup)
    # The text of an error on its own is shown by the error.
    lines = traceback.format_exception(error) if has_others else None
    trace = "".join(lines or traceback.format_tb(error.__traceback__))
    error.add_note(f"in a worker process, where the traceback was:\n{trace.rstrip()}")
    return portable(error)
