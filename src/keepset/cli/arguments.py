"""Arguments that the commands share: PATH and what goes with it, ``--json``, ``--traceback``."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import click

from keepset.cli.completion import complete_fingerprint, complete_path
from keepset.cli.place import Place

Function = Callable[..., Any]
_TRACEBACK = "keepset.traceback"


def _remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_TRACEBACK] = True


# Before the command and after it, as people write it.
traceback_option = click.option(
    "--traceback",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Show where in the code an error came from.",
)


def wants_traceback(ctx: click.Context) -> bool:
    """Whether ``--traceback`` was given, wherever."""
    return bool(ctx.meta.get(_TRACEBACK))


def pairs(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """What was given as KEY=VALUE, maybe several times."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{text!r} is not of the form {parameter.metavar}")
        found[key] = value
    return found


def _store_options(
    ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, Any]:
    return {key: _value(key, value) for key, value in pairs(ctx, parameter, given).items()}


def _value(key: str, text: str) -> Any:
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"{key} looks like JSON but is not: {error}") from error


options_option = click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_store_options,
    help="An option of the object store, such as endpoint, region or allow_http. May be repeated.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")


def takes_place(*, several: bool = False) -> Callable[[Function], Function]:
    """Give a command PATH and its options, as a ``place``, and ``--json``.

    Args:
        several: Whether the command is about everything below the path, so that there is nothing
            to choose.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(
            path: str, options: dict[str, Any], fingerprint: str | None = None, **rest: Any
        ) -> Any:
            return function(Place(path, options, fingerprint), **rest)

        for add in (traceback_option, json_option, options_option):
            command = add(command)
        if not several:
            command = click.option(
                "-f",
                "--fingerprint",
                metavar="PREFIX",
                shell_complete=complete_fingerprint("path"),
                help="Which snapshot, where PATH holds several: the first digits of its name.",
            )(command)
        return click.argument("path", shell_complete=complete_path)(command)

    return decorate
