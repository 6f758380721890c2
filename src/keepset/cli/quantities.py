"""Sizes and durations as people write them: ``10GB``, ``90m``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import click

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


if TYPE_CHECKING:
    _Numbers = click.ParamType[float]
else:
    _Numbers = click.ParamType  # which cannot be subscripted before 8.4


class Quantity(_Numbers):
    """A number with a unit behind it; without one it counts the smallest."""

    units: ClassVar[dict[str, float]]
    example: ClassVar[str]

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return value
        match = _NUMBER.fullmatch(str(value).strip())
        unit = match[2].lower() if match else None
        if match is None or unit not in self.units:
            self.fail(f"{value!r} is not a {self.name}; write it as in {self.example}", param, ctx)
        return float(match[1]) * self.units[unit]


class Size(Quantity):
    """Bytes. As on the labels of disks, a kB is 1000 of them and a KiB 1024."""

    name = "size"
    example = "500MB, 1.5GB or 2GiB"
    units: ClassVar = {
        "": 1,
        "b": 1,
        **{f"{letter}b": 1000.0**power for power, letter in enumerate("kmgtp", 1)},
        **{f"{letter}ib": 1024.0**power for power, letter in enumerate("kmgtp", 1)},
    }


class Duration(Quantity):
    """Seconds."""

    name = "duration"
    example = "30s, 90m, 12h or 7d"
    units: ClassVar = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
