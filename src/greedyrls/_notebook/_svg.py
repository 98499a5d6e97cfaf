"""Small line pictures as SVG text, for notebooks: no scripts, no identifiers, nothing to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from .._base import Axis, Float

# A notebook may be white or black and does not say which. Text has the colour of the text around
# it, and these two stand out from either.
BLUE = "#2d86c9"
ORANGE = "#c8702a"
TEXT = "currentColor"

_WIDTH, _HEIGHT = 420.0, 160.0
_TOP, _RIGHT, _BOTTOM = 8.0, 10.0, 32.0
_FONT = 11.0
_CHARACTER = 0.56 * _FONT  # the width of a digit, about
# Where the largest value is more than this many times the smallest, a logarithmic axis shows more.
_WIDE = 20.0
# More sizes than this are drawn on a logarithmic axis: most happens among the first.
_MANY_SIZES = 100
_TICKS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Values at the sizes 1, 2, …; not a number where there is none."""

    label: str
    values: Float  # (k)
    colour: str = TEXT
    dashes: str = ""  # as in stroke-dasharray; empty for a solid line
    band: tuple[Float, Float] | None = None  # lower and upper ends, (k) each


def line_picture(lines: Sequence[Line], words: str, *, mark: int | None = None) -> str:
    """Values by number of features as an SVG element; empty if no value is finite.

    `words` says what the picture shows to those who cannot see it; `mark` is a size to point at on
    the first line.
    """
    parts = [end for line in lines for end in (line.values, *(line.band or ()))]
    values = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    size = max(len(line.values) for line in lines)
    across, up = _axes(float(values.min()), float(values.max()), size)
    drawn = [_grid(across, up)]
    drawn += [_band(line, across, up) for line in lines if line.band is not None]
    drawn += [_curve(line, across, up) for line in reversed(lines)]
    if mark is not None:
        drawn.append(_mark(lines[0], mark, across, up))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(words)}" '
        f'width="{_WIDTH:g}" height="{_HEIGHT:g}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" '
        f'font-size="{_FONT:g}" font-family="sans-serif" style="max-width:100%">'
        f"{''.join(drawn)}</svg>"
    )


def key(line: Line) -> str:
    """A short piece of a line, to stand before its label."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" width="24" height="8">'
        f'<path d="M0 4H24"{_stroke(line)}/></svg>'
    )


def bar(share: float) -> str:
    """A bar for a share between 0 and 1."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" width="100" height="8">'
        f'<rect width="{100.0 * share:.0f}" height="8" fill="{BLUE}"/></svg>'
    )


def _axes(low: float, high: float, size: int) -> tuple[Axis, Axis]:
    """Sizes from left to right, values from the bottom up; labels of the values have room."""
    is_log = low > 0.0 and high > _WIDE * low
    if not is_log:
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        low, high = low - margin, high + margin
    up = Axis(low, high, _HEIGHT - _BOTTOM, _TOP, is_log)
    longest = max((len(_written(tick)) for tick in up.ticks(_TICKS)), default=1)
    across = Axis(
        1.0, float(size), 12.0 + longest * _CHARACTER, _WIDTH - _RIGHT, size > _MANY_SIZES
    )
    return across, up


def _grid(across: Axis, up: Axis) -> str:
    """Light lines, numbers, and what the numbers below are."""
    marks = []
    for tick in up.ticks(_TICKS):
        y = up.inside(tick)
        marks.append(
            f'<path d="M{across.start:.1f} {y:.1f}H{across.end:.1f}" stroke="{TEXT}" '
            'stroke-opacity="0.15"/>'
            f'<text x="{across.start - 5.0:.1f}" y="{y + 0.35 * _FONT:.1f}" text-anchor="end" '
            f'fill="{TEXT}" fill-opacity="0.8">{_written(tick)}</text>'
        )
    below = up.start + 1.3 * _FONT
    # The first number is always shown; another one too near to it is not.
    near = across.inside(1.0) + 16.0
    others = [tick for tick in across.ticks(8) if tick == int(tick) and across.inside(tick) > near]
    marks += [
        f'<text x="{across.inside(tick):.1f}" y="{below:.1f}" text-anchor="middle" '
        f'fill="{TEXT}" fill-opacity="0.8">{_written(tick)}</text>'
        for tick in (1.0, *others)
    ]
    marks.append(
        f'<text x="{(across.start + across.end) / 2.0:.1f}" y="{_HEIGHT - 4.0:g}" '
        f'text-anchor="middle" fill="{TEXT}" fill-opacity="0.8">number of features</text>'
    )
    return "".join(marks)


def _curve(line: Line, across: Axis, up: Axis) -> str:
    """A path through the finite values, broken where there are none; a dot for one alone."""
    drawn = []
    for piece in _pieces(np.isfinite(line.values)):
        points = [(across.inside(place + 1.0), up.inside(line.values[place])) for place in piece]
        if len(points) == 1:
            ((x, y),) = points
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{line.colour}"/>')
        else:
            drawn.append(f'<path d="{_through(points)}"{_stroke(line)}/>')
    return "".join(drawn)


def _band(line: Line, across: Axis, up: Axis) -> str:
    """The area between the ends of a band, where both are finite."""
    if line.band is None:
        return ""
    low, high = line.band
    drawn = []
    for piece in _pieces(np.isfinite(low) & np.isfinite(high)):
        if len(piece) == 1:
            x = across.inside(piece[0] + 1.0)
            ends = f"M{x:.1f} {up.inside(low[piece[0]]):.1f}V{up.inside(high[piece[0]]):.1f}"
            drawn.append(f'<path d="{ends}" stroke="{line.colour}" stroke-opacity="0.5"/>')
            continue
        forth = [(across.inside(place + 1.0), up.inside(high[place])) for place in piece]
        back = [(across.inside(place + 1.0), up.inside(low[place])) for place in reversed(piece)]
        drawn.append(
            f'<path d="{_through(forth + back)}Z" fill="{line.colour}" fill-opacity="0.2"/>'
        )
    return "".join(drawn)


def _mark(line: Line, size: int, across: Axis, up: Axis) -> str:
    """A vertical line at a size, and a ring on the line if it has a value there."""
    x = across.inside(float(size))
    drawn = (
        f'<path d="M{x:.1f} {up.start:.1f}V{up.end:.1f}" stroke="{TEXT}" stroke-opacity="0.5" '
        'stroke-dasharray="3 3"/>'
    )
    if size <= len(line.values) and np.isfinite(line.values[size - 1]):
        drawn += (
            f'<circle cx="{x:.1f}" cy="{up.inside(line.values[size - 1]):.1f}" r="4" '
            f'fill="{line.colour}" stroke="{TEXT}"/>'
        )
    return drawn


def _stroke(line: Line) -> str:
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    faint = ' stroke-opacity="0.7"' if line.colour == TEXT else ""
    return f' fill="none" stroke="{line.colour}" stroke-width="1.8"{dashes}{faint}'


def _through(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _pieces(is_known: NDArray[np.bool_]) -> list[list[int]]:
    """Places that are known, in runs without a gap."""
    places = np.flatnonzero(is_known)
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    return [piece.tolist() for piece in np.split(places, cuts) if len(piece)]


def _written(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
