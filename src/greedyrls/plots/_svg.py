"""Charts as SVG text, for notebooks and reports: axes, lines, areas, error bars, points.

Whatever was given stays text. A notebook may remove style sheets, so that its charts carry colours
as attributes; those of a report have classes, and follow light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._base import Float, number
from ._axes import Axis

Point = tuple[float, float]
Attributes = dict[str, Any]

# Half of the width of the ends of an error bar, and of an area of a single value.
_CAP = 3.0
_LONE = 4.0


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element; `children` are elements or went through `words`, attributes are escaped.

    Numbers are written to a tenth of a pixel; ``class_`` and ``text_anchor`` are as expected.

    >>> tag("text", words("<b>"), x=1.25, class_="axis")
    '<text x="1.2" class="axis">&lt;b&gt;</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = "".join(children)
    return f"<{name}{written}>{body}</{name}>" if body else f"<{name}{written}/>"


def words(text: str) -> str:
    """Any text, to stand in an element."""
    return escape(text)


def label(text: str, x: float, y: float, anchor: str | None = None, **attributes: object) -> str:
    """Any text at a place; `anchor` is "middle" or "end" of the text, by default its start."""
    return tag("text", words(text), x=x, y=y, text_anchor=anchor, **attributes)


def through(points: Iterable[Point]) -> str:
    """A line through points, as the ``d`` of a path."""
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)


def _value(value: object) -> str:
    if isinstance(value, float):
        text = f"{value:.1f}".removesuffix(".0")
        return "0" if text == "-0" else text
    return escape(str(value))


@dataclass(frozen=True, slots=True)
class Style:
    """Sizes and attributes of what surrounds a chart."""

    font: float
    character: float  # the width of a digit
    top: float
    right: float
    bottom: float
    left: float  # besides the numbers
    below: float  # from the axis down to its numbers
    tick: float  # length of the marks on the axis
    grid: Attributes
    axis: Attributes
    text: Attributes
    side: float = 0.0  # how far the chart reaches beyond the first and the last value


@dataclass(frozen=True, slots=True)
class Plot:
    """Two axes, and what is drawn on them; values that are not finite are left out."""

    across: Axis
    up: Axis
    style: Style
    height: float

    @classmethod
    def of(
        cls,
        size: Point,
        style: Style,
        across: tuple[float, float, bool],
        up: tuple[float, float, bool],
        n_ticks: int,
    ) -> Plot:
        """A plot of some width and height; axes are low, high and whether they are logarithmic.

        The numbers beside it have room.
        """
        width, height = size
        beside = Axis(up[0], up[1], height - style.bottom, style.top, up[2])
        longest = max((len(number(tick)) for tick in beside.ticks(n_ticks)), default=1)
        left = style.left + longest * style.character + style.side
        below = Axis(across[0], across[1], left, width - style.right - style.side, across[2])
        return cls(below, beside, style, height)

    @property
    def left(self) -> float:
        """The left edge of the area of the plot."""
        return self.across.start - self.style.side

    @property
    def right(self) -> float:
        """The right edge of the area of the plot."""
        return self.across.end + self.style.side

    def points(self, x: Float, y: Float, shift: float = 0.0) -> list[Point]:
        """Where pairs of values are drawn, moved to the right by `shift`."""
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        return [(self.across.place(one) + shift, self.up.place(two)) for one, two in pairs]

    def line(
        self,
        x: Float,
        y: Float,
        line: Attributes,
        dot: Attributes,
        has_dots: bool = False,
        shift: float = 0.0,
    ) -> str:
        """A line, broken where values are missing, with dots if asked; one value alone has one."""
        drawn, dots = [], []
        for piece in _pieces(np.isfinite(y)):
            points = self.points(x[piece], y[piece], shift)
            if len(points) > 1:
                drawn.append(tag("path", d=through(points), **line))
            if len(points) == 1 or has_dots:
                dots += [tag("circle", cx=cx, cy=cy, **dot) for cx, cy in points]
        return "".join(drawn + dots)

    def area(self, x: Float, low: Float, high: Float, **attributes: object) -> str:
        """The area between two lines, where both are known."""
        drawn = []
        for piece in _pieces(np.isfinite(low) & np.isfinite(high)):
            forth, back = (self.points(x[piece], end[piece]) for end in (high, low))
            if len(piece) == 1:
                # An area needs some width to be seen.
                forth, back = ([(end - _LONE, y), (end + _LONE, y)] for end, y in (*forth, *back))
            drawn.append(through([*forth, *reversed(back)]) + "Z")
        return tag("path", d="".join(drawn), **attributes) if drawn else ""

    def errors(
        self, x: Float, low: Float, high: Float, shift: float = 0.0, **attributes: object
    ) -> str:
        """Bars with short ends, where both ends are known, moved to the right by `shift`."""
        is_known = np.isfinite(low) & np.isfinite(high)
        tops = self.points(x[is_known], high[is_known], shift)
        bottoms = self.points(x[is_known], low[is_known], shift)
        d = "".join(
            f"M{place:.1f} {bottom:.1f}V{top:.1f}m-{_CAP:g} 0h{2 * _CAP:g}"
            f"M{place - _CAP:.1f} {bottom:.1f}h{2 * _CAP:g}"
            for (place, top), (_, bottom) in zip(tops, bottoms, strict=True)
        )
        return tag("path", d=d, **attributes) if d else ""

    def dots(self, x: Float, y: Float, radius: float, **attributes: object) -> str:
        """A dot for each pair; all of them are one path, which is short."""
        d = "".join(f"M{cx:.1f} {cy:.1f}h0" for cx, cy in self.points(x, y))
        return tag("path", d=d, stroke_width=2.0 * radius, **attributes) if d else ""

    def horizontal(self, value: float, **attributes: object) -> str:
        """A line at a value, from the left to the right."""
        return tag("path", d=self._level(self.up.place(value)), **attributes)

    def vertical(self, value: float, above: float = 0.0, **attributes: object) -> str:
        """A line at a value, from the bottom to `above` the top."""
        x, end = self.across.place(value), self.up.end - above
        return tag("path", d=f"M{x:.1f} {self.up.start:.1f}V{end:.1f}", **attributes)

    def scale(
        self, below: Sequence[float], beside: Sequence[float], words_below: str, **more: object
    ) -> str:
        """Light lines, numbers on both axes, and what the numbers below are."""
        style, base = self.style, self.up.start
        drawn = []
        for tick in beside:
            y = self.up.place(tick)
            drawn.append(tag("path", d=self._level(y), **style.grid))
            at = (self.left - 6.0, y + 0.35 * style.font)
            drawn.append(label(number(tick), *at, "end", **style.text))
        drawn.append(tag("path", d=self._level(base), **style.axis))
        for tick in below:
            x = self.across.place(tick)
            drawn.append(tag("path", d=f"M{x:.1f} {base:.1f}v{style.tick:g}", **style.axis))
            drawn.append(label(number(tick), x, base + style.below, "middle", **style.text))
        middle = (self.across.start + self.across.end) / 2.0
        attributes = style.text | more
        drawn.append(label(words_below, middle, self.height - 6.0, "middle", **attributes))
        return "".join(drawn)

    def _level(self, y: float) -> str:
        return f"M{self.left:.1f} {y:.1f}H{self.right:.1f}"


def _pieces(is_known: Any) -> list[list[int]]:
    """Places that are known, in runs without a gap."""
    places = np.flatnonzero(is_known)
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    return [piece.tolist() for piece in np.split(places, cuts) if len(piece)]
