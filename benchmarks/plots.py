"""Draw figures as small SVG files: horizontal bars of ratios, and lines on two logarithmic axes.

Pure functions from figures to text, without a plotting library: the same figures give the same
bytes everywhere. A drawing has a background of its own and follows the reader's light or dark
mode. Positions are pixels; the width of a text is not known here, so places for it are generous.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

Role = Literal["subject", "yardstick", "peer"]


@dataclass(frozen=True)
class Bar:
    """One contender in a group; the text stands behind the ratio."""

    label: str
    value: float
    role: Role
    text: str


@dataclass(frozen=True)
class Group:
    """The bars of one operation; ``dots``, on the last, are values not worth a bar each."""

    name: str
    bars: Sequence[Bar]
    dots: Sequence[float] = ()


@dataclass(frozen=True)
class Line:
    """One contender's curve; a point is x and y, both above zero."""

    label: str
    role: Role
    points: Sequence[tuple[float, float]]


# Of each colour, the one on a light and the one on a dark background.
_COLOURS = {
    "back": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#59636e", "#9aa4af"),
    "grid": ("#dde2e7", "#2b323b"),
    "subject": ("#c2410c", "#ff8a4c"),
    "yardstick": ("#3d7ea6", "#4f9fcf"),
    "peer": ("#b3bcc6", "#5b6572"),
    "dot": ("#57606a", "#c3ccd6"),
    # Lines of peers; far enough apart for colour-blind readers, who also have labels and dashes.
    "line0": ("#1b7f6b", "#3fc4a6"),
    "line1": ("#7b4fb5", "#b48cf0"),
    "line2": ("#8a6d00", "#d9b42c"),
    "line3": ("#b0307a", "#f07ab8"),
    "line4": ("#59636e", "#9aa4af"),
}
_DASHES = ("", "7 3", "2 3")
_PEER_LINES = 5

_WIDTH = 880
_LEFT, _RIGHT = 310, 726  # where bars begin, and where the longest may end; texts follow
_BAR, _STEP, _GAP, _TOP = 12, 18, 12, 84


def compact(value: float) -> str:
    """Three digits and a unit: 0.052, 930, 4.13k, 25.3M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size * 0.9995:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def bars(title: str, subtitle: str, groups: Sequence[Group]) -> str:
    """Draw groups of bars on a logarithmic axis of ratios, where 1x has a line of its own."""
    values = [value for g in groups for value in (*(bar.value for bar in g.bars), *g.dots)]
    # The shortest bar must be seen to be one.
    axis = _Axis.around([*(value * 0.8 for value in values), *values, 1.0], _LEFT, _RIGHT)
    height = _TOP + sum(len(group.bars) * _STEP + _GAP for group in groups) + 8
    note = f"{subtitle}, on a logarithmic axis; longer is better. Dots are the other peers."
    parts = [_text("title", 16, 28, title), _text("faint", 16, 48, note)]
    for tick in axis.ticks():
        x = axis.at(tick)
        parts.append(_rule("grid", x, _TOP - 6, x, height - 10))
        parts.append(_text("faint", x, _TOP - 12, f"{compact(tick)}x", "middle"))
    y = float(_TOP)
    for group in groups:
        parts.append(_text("ink", 16, y + 14, group.name))
        for bar in group.bars:
            size = f'width="{axis.at(bar.value) - _LEFT:.1f}" height="{_BAR}"'
            parts.append(f'<rect class="{bar.role}" x="{_LEFT}" y="{y + 4:.1f}" {size} rx="2"/>')
            style = "ink strong" if bar.role == "subject" else "faint"
            parts.append(_text(style, _LEFT - 8, y + 14, bar.label, "end"))
            # Not behind its bar, where lines of the axis would cross it.
            parts.append(_text(style, _RIGHT + 12, y + 14, f"{compact(bar.value)}x, {bar.text}"))
            y += _STEP
        for value in sorted(group.dots):
            place = f'cx="{axis.at(value):.1f}" cy="{y - _STEP + 4 + _BAR / 2:.1f}"'
            parts.append(f'<circle class="dot" {place} r="2.6"/>')
        y += _GAP
    parts.append(_rule("one", axis.at(1.0), _TOP - 6, axis.at(1.0), height - 10))
    return _document(title, height, parts)


def lines(title: str, x_name: str, y_name: str, curves: Sequence[Line]) -> str:
    """Draw curves on two logarithmic axes; each has its name at its right end."""
    left, right, top, bottom, height = 78, 690, 72, 376, 430
    xs = sorted({x for curve in curves for x, _ in curve.points})
    across = _Axis(xs[0], max(xs[-1], xs[0] * 1.001), left, right)
    up = _Axis.around([y for curve in curves for _, y in curve.points], bottom, top)
    subtitle = f"{y_name}, by {x_name}; both axes are logarithmic"
    parts = [_text("title", 16, 28, title), _text("faint", 16, 48, subtitle)]
    for tick in up.ticks():
        parts.append(_rule("grid", left, up.at(tick), right, up.at(tick)))
        parts.append(_text("faint", left - 8, up.at(tick) + 4, compact(tick), "end"))
    for tick in xs if len(xs) <= 9 else across.ticks():
        parts.append(_rule("grid", across.at(tick), top, across.at(tick), bottom))
        parts.append(_text("faint", across.at(tick), bottom + 18, compact(tick), "middle"))
    parts.append(_text("faint", (left + right) / 2, bottom + 40, x_name, "middle"))
    looks = _looks(curves)
    # The subject comes last, on top of the others.
    for curve in sorted(curves, key=lambda c: c.role == "subject"):
        parts += _curve(curve, looks[curve.label], across, up)
    ends = {curve.label: up.at(max(curve.points)[1]) for curve in curves}
    for label, y in _apart(ends, 15, top, bottom).items():
        x = across.at(max(next(c for c in curves if c.label == label).points)[0])
        name, _ = looks[label]
        parts.append(_rule(f"leader s-{name}", x + 5, ends[label], right + 14, y))
        strong = "ink strong" if name == "subject" else "ink"
        parts.append(_text(strong, right + 18, y + 4, label))
    return _document(title, height, parts)


def _looks(curves: Sequence[Line]) -> dict[str, tuple[str, str]]:
    """A colour and a dash for each label; yardsticks share a colour, peers take turns."""
    looks = {}
    counts = {"subject": 0, "yardstick": 0, "peer": 0}
    for curve in curves:
        number = counts[curve.role]
        counts[curve.role] += 1
        colour = f"line{number % _PEER_LINES}" if curve.role == "peer" else curve.role
        turn = number // _PEER_LINES if curve.role == "peer" else number
        looks[curve.label] = (colour, _DASHES[turn % len(_DASHES)])
    return looks


def _curve(curve: Line, look: tuple[str, str], across: _Axis, up: _Axis) -> Iterator[str]:
    colour, dash = look
    width = 3.5 if curve.role == "subject" else 1.8
    places = [(across.at(x), up.at(y)) for x, y in sorted(curve.points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield f'<polyline class="s-{colour}" stroke-width="{width}"{dashed} points="{path}"/>'
    for x, y in places:
        yield f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{width + 1:.1f}"/>'


def _apart(wanted: dict[str, float], least: float, top: float, bottom: float) -> dict[str, float]:
    """Move labels so that neighbours are ``least`` apart, and none is below ``bottom``."""
    order = sorted(wanted, key=lambda label: (wanted[label], label))
    places: dict[str, float] = {}
    free = top
    for label in order:
        places[label] = max(wanted[label], free)
        free = places[label] + least
    limit = bottom
    for label in reversed(order):
        places[label] = min(places[label], limit)
        limit = places[label] - least
    return places


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis from ``low`` at pixel ``start`` to ``high`` at pixel ``end``."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> _Axis:
        """From the last of 1, 2, 5, 10, 20... below all values to the first above them."""
        known = [value for value in values if value > 0]
        low = max(step for step in _steps(min(known)) if step <= min(known))
        high = min(step for step in _steps(max(known)) if step >= max(known))
        return cls(low, high if high > low else low * 10, start, end)

    def at(self, value: float) -> float:
        part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten, with 2 and 5 times them where that is not too many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        factors = (1, 2, 5) if self.high / self.low < 2000 else (1,)
        all_ticks = [10.0**power * factor for power in range(first, last + 1) for factor in factors]
        within = [t for t in all_ticks if self.low * 0.999 <= t <= self.high * 1.001]
        return within[:: 1 + len(within) // 12]


def _steps(value: float) -> list[float]:
    power = math.floor(math.log10(value))
    return [10.0**p * factor for p in range(power - 1, power + 2) for factor in (1, 2, 5)]


def _text(style: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>'


def _rule(style: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _document(title: str, height: float, parts: Iterable[str]) -> str:
    size = f'width="{_WIDTH}" height="{height:.0f}"'
    box = f'viewBox="0 0 {_WIDTH} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} {size} role="img">'
    back = f'<rect class="back" {size} rx="6"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", _style(), back, *parts, "</svg>\n"])


def _style() -> str:
    def rules(mode: int) -> str:
        fills = [f".{name}{{fill:{pair[mode]}}}" for name, pair in _COLOURS.items()]
        strokes = [f".s-{name}{{stroke:{pair[mode]}}}" for name, pair in _COLOURS.items()]
        grid, ink = _COLOURS["grid"][mode], _COLOURS["ink"][mode]
        more = [f".grid{{stroke:{grid}}}.one{{stroke:{ink}}}.title{{fill:{ink}}}"]
        return "".join(fills + strokes + more)

    return (
        "<style>text{font:12px system-ui,'DejaVu Sans',sans-serif}.title{font-size:16px;"
        "font-weight:600}.strong{font-weight:600}polyline{fill:none;stroke-linejoin:round}"
        ".one{stroke-dasharray:4 3}.leader{stroke-width:.8;stroke-opacity:.6}"
        f"{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"
    )
