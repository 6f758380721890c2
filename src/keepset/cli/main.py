"""``keepset``: the group of all commands, what they print when they fail, and the exit codes."""

from __future__ import annotations

import io
import os
import sys
import traceback
from importlib import import_module
from typing import Any, NoReturn, TextIO

import click
from click.shell_completion import CompletionItem

from keepset.cli.arguments import traceback_option, wants_traceback
from keepset.cli.printable import printable
from keepset.core.version import __version__
from keepset.errors import KeepsetError
from keepset.storage.memory_errors import out_of_memory

# The answer was no: 1. Wrong usage: 2, which click gives by itself.
FAILED, INTERRUPTED, PIPE_CLOSED = 3, 130, 141

# By name, in the order of the help. The files are imported when they are needed, for the tables of
# one command take longer to import than all of this page takes to show.
COMMANDS = {
    "ls": "List what is kept at a path and below it.",
    "inspect": "Show everything that is known about a snapshot.",
    "cat": "Print elements.",
    "diff": "Compare two datasets, element by element.",
    "run": "Run a recipe, and keep what it gives.",
    "convert": "Write a dataset as files of another kind.",
    "explain": "Say why a pipeline is computed again, or that it is not.",
    "verify": "Check every chunk, and drop what is damaged if you say so.",
    "gc": "Remove what no version and no writer needs.",
    "rm": "Remove a snapshot.",
    "demo": "Show in a few seconds what Keepset does.",
}

_EPILOG = """\b
First steps:
  keepset demo
  keepset ls /data/kept
  keepset inspect /data/kept/images
  keepset cat /data/kept/images --limit 3

\b
Exit codes:
  0    fine
  1    the answer is no: damaged, different, a miss, nothing is stored,
       nothing was removed
  2    the command was written in a wrong way
  3    it failed: a path that is missing, storage, a permission, ...
  130  interrupted
  141  what read the output was closed, as by "| head"
"""


class _Commands(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = import_module(f"keepset.cli.{name}").command
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, without importing one of them, and the options."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        # A stream that the shell closed, as ">&-" does. First of all, so that no file of ours gets
        # the number of the stream, which libraries write to.
        sys.stdout = sys.stdout or _nowhere()
        sys.stderr = sys.stderr or _nowhere()
        try:
            return self._invoke(ctx)
        except KeyboardInterrupt:
            # A second one, while the first was handled, for which Click has another exit code.
            ctx.exit(INTERRUPTED)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                # Here, where it is known what to do if nobody listens any more.
                sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            _let_go_of(sys.stdout)
            ctx.exit(PIPE_CLOSED)
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except (KeepsetError, OSError) as error:
            _fail(ctx, error, wants_traceback(ctx))
        except MemoryError as error:
            _fail(ctx, out_of_memory(error, "what was asked for"), wants_traceback(ctx))
        except Exception as error:
            _fail(ctx, error, True)


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="keepset", message="%(prog)s %(version)s")
@traceback_option
def main() -> None:
    """Look at and look after what Keepset keeps: saved datasets and snapshots.

    PATH is what save() or snapshot() was given: a folder, or a url that begins
    with s3://, gs://, az:// or file://. Where it holds the snapshots of several
    pipelines, name the folder of one, or add --fingerprint with its first digits.
    What an object store needs to know follows -o: "-o region=eu-west-1".

    Every command has --help with examples, and --json for other programs.
    """
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show is no reason to stop.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _fail(ctx: click.Context, error: Exception, with_traceback: bool) -> NoReturn:
    if with_traceback:
        traceback.print_exception(error)
    else:
        click.echo(f"error: {printable(error)}", err=True)
    ctx.exit(FAILED)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _let_go_of(stream: Any) -> None:
    """Send what is still to be written to nowhere, or Python would complain when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
