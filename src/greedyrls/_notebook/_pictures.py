"""Small line pictures for notebooks: no scripts, no identifiers, nothing to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base import Float
from ..plots import Attributes, Plot, Style, tag

# A notebook may be white or black and does not say which. Text has the colour of the text around
# it, and these two stand out from either.
BLUE = "#2d86c9"
ORANGE = "#c8702a"
TEXT = "currentColor"

_WIDTH, _HEIGHT = 420.0, 160.0
_STYLE = Style(
    font=11.0,
    character=6.2,
    top=8.0,
    right=10.0,
    bottom=34.0,
    left=12.0,
    below=14.3,
    tick=3.0,
    grid={"stroke": TEXT, "stroke_opacity": "0.15"},
    axis={"stroke": TEXT, "stroke_opacity": "0.5"},
    text={"fill": TEXT, "fill_opacity": "0.8"},
)
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
    dashes: str | None = None  # as in stroke-dasharray; None for a solid line
    band: tuple[Float, Float] | None = None  # lower and upper ends, (k) each

    @property
    def stroke(self) -> Attributes:
        """How it is drawn."""
        return {
            "fill": "none",
            "stroke": self.colour,
            "stroke_width": "1.8",
            "stroke_dasharray": self.dashes,
            "stroke_opacity": "0.7" if self.colour == TEXT else None,
        }


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
    sizes = np.arange(1.0, max(len(line.values) for line in lines) + 1.0)
    plot = _plot(float(values.min()), float(values.max()), len(sizes))
    drawn = [
        plot.scale(plot.across.whole_ticks(8), plot.up.ticks(_TICKS), "number of features"),
    ]
    for line in lines:
        if line.band is not None:
            own = sizes[: len(line.values)]
            drawn.append(plot.area(own, *line.band, fill=line.colour, fill_opacity="0.2"))
    for line in reversed(lines):
        dot = {"r": 2.5, "fill": line.colour}
        drawn.append(plot.line(sizes[: len(line.values)], line.values, line.stroke, dot))
    if mark is not None:
        dashes: Attributes = {"stroke": TEXT, "stroke_opacity": "0.5", "stroke_dasharray": "3 3"}
        drawn += [plot.vertical(mark, **dashes), _ring(plot, lines[0], mark)]
    return tag(
        "svg",
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=words,
        width=_WIDTH,
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        font_size=_STYLE.font,
        font_family="sans-serif",
        style="max-width:100%",
    )


def key(line: Line) -> str:
    """A short piece of a line, to stand before its label."""
    return _mark(24, tag("path", d="M0 4H24", **line.stroke))


def bar(share: float) -> str:
    """A bar for a share between 0 and 1."""
    return _mark(100, tag("rect", width=f"{100.0 * share:.0f}", height=8, fill=BLUE))


def _mark(width: int, drawn: str) -> str:
    xmlns = "http://www.w3.org/2000/svg"
    return tag("svg", drawn, xmlns=xmlns, aria_hidden="true", width=width, height=8)


def _plot(low: float, high: float, size: int) -> Plot:
    """Sizes from left to right, values from the bottom up."""
    is_log = low > 0.0 and high > _WIDE * low
    if not is_log:
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        low, high = low - margin, high + margin
    across = (1.0, float(size), size > _MANY_SIZES)
    return Plot.of((_WIDTH, _HEIGHT), _STYLE, across, (low, high, is_log), _TICKS)


def _ring(plot: Plot, line: Line, size: int) -> str:
    """A ring on the line at a size, if it has a value there."""
    if size > len(line.values) or not np.isfinite(line.values[size - 1]):
        return ""
    x, y = plot.across.place(size), plot.up.place(float(line.values[size - 1]))
    return tag("circle", cx=x, cy=y, r=4, fill=line.colour, stroke=TEXT)
