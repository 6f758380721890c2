"""``keepset``: starts the command line, which may be interrupted at once.

Not a module of the library: importing one of those imports its first page before it, which takes a
tenth of a second, and more on a busy machine.
"""

import os
import signal
from importlib import import_module
from typing import Any


def main() -> None:
    """Import the commands and run one of them."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else interrupts are ignored, or not for us
        signal.signal(signal.SIGINT, _end)
    # Here, not above: this takes most of the time until a command begins.
    command = import_module("keepset.cli.main").main
    signal.signal(signal.SIGINT, handler)
    command(prog_name="keepset")


def _end(*_: Any) -> None:
    # No exception, for modules handle those of their imports in many ways, some with a traceback.
    os.write(2, b"interrupted\n")
    os._exit(130)
