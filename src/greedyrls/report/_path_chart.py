"""The chart of a panel as SVG: losses by number of features, with errors, the chosen size marked.

Colours come from the style sheet by class, so that they follow light and dark. Each chart is drawn
twice, wide and narrow: shrunk to a telephone, the text of the wide one could not be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._base import Axis, Float
from ._markup import Point, tag, through, words
from ._panels import Curve, Panel
from ._words import capitalised, counted, number

# More sizes than this are drawn on a logarithmic axis: most happens among the first.
_MANY_SIZES = 100
# Losses that differ by more than this factor are drawn on a logarithmic axis.
_WIDE = 50.0
# Room above the honest and the own curve, as a share of their range, for those of random features,
# permutations and none; what lies higher is cut off.
_ABOVE = 0.6
# Error bars of two curves stand side by side.
_ASIDE = 2.5


class Frame(NamedTuple):
    """The size of a chart, and how much has room in it."""

    name: str
    width: float
    height: float
    character: float  # the width of a digit
    ticks: tuple[int, int]  # below and beside
    most_bars: int  # with more sizes errors are drawn as a band
    most_dots: int


WIDE = Frame("wide", 760.0, 380.0, 7.6, (12, 6), 40, 60)
NARROW = Frame("narrow", 360.0, 300.0, 7.2, (6, 5), 16, 30)
_TOP, _RIGHT, _BOTTOM = 48.0, 18.0, 48.0


def has_dots(curve: Curve, frame: Frame) -> bool:
    """Whether each size of a curve is marked."""
    return curve.kind != "random" and len(curve.mean) <= frame.most_dots


class Chart(NamedTuple):
    """A drawing, and where it has each size, as shares of its width."""

    frame: Frame
    svg: str
    places: list[float]


def draw_panel(
    panel: Panel, chosen: int, frame: Frame, identity: str, titles: Sequence[str]
) -> Chart:
    """The chart of a panel.

    `identity` starts the identifiers in it; `titles` say what is to be known of each size, and are
    shown under the mouse where there are no scripts; there may be none.
    """
    count = len(panel.curves[-1].mean)
    across, up = _axes(panel, count, frame)
    clip = f"{identity}-clip"
    title, description = f"{identity}-title", f"{identity}-description"
    inside = [_band(panel, across, up), _without(panel, across, up)]
    inside += [_errors(curve, across, up, frame) for curve in reversed(panel.curves)]
    inside += [_line(curve, across, up, frame) for curve in reversed(panel.curves)]
    svg = tag(
        "svg",
        tag("title", words(f"{capitalised(panel.measure)} by number of features"), id=title),
        tag("desc", words(_description(panel, chosen)), id=description),
        tag("clipPath", _area(across, up, 6.0), id=clip),
        _grid(panel, across, up, frame),
        _chosen_line(chosen, across, up),
        tag("g", *inside, clip_path=f"url(#{clip})"),
        _chosen_ring(panel, chosen, across, up),
        tag("line", class_="cursor", y1=up.start, y2=up.end, visibility="hidden"),
        _without_label(panel, chosen, across, up),
        _titles(titles, across, up),
        viewBox=f"0 0 {frame.width:g} {frame.height:g}",
        role="img",
        aria_labelledby=f"{title} {description}",
        class_="chart",
    )
    places = [across.place(size) / frame.width for size in range(1, count + 1)]
    return Chart(frame, svg, places)


def _axes(panel: Panel, count: int, frame: Frame) -> tuple[Axis, Axis]:
    low, high = _range(panel)
    main = [curve.mean for curve in panel.curves if curve.kind != "random"]
    values = np.concatenate(main)
    values = values[np.isfinite(values)]
    is_log = bool(values.min() > 0.0 and values.max() > _WIDE * values.min())
    if is_log:
        low, high = float(values.min()) / 1.2, max(high, float(values.max()) * 1.2)
    up = Axis(low, high, frame.height - _BOTTOM, _TOP, is_log)
    longest = max((len(number(tick)) for tick in up.ticks(frame.ticks[1])), default=1)
    left = 14.0 + longest * frame.character
    # A single size stands in the middle of its axis.
    margin = 14.0 if count <= _MANY_SIZES else 4.0
    start, end = left + margin, frame.width - _RIGHT - margin
    return Axis(1.0, float(count), start, end, count > _MANY_SIZES), up


def _range(panel: Panel) -> tuple[float, float]:
    """From the lowest to the highest of the main curves, and somewhat more where others go on."""
    main: list[Float] = []
    others: list[Float] = [*(panel.band or ())]
    for curve in panel.curves:
        if curve.kind == "random":
            others.append(curve.mean)
            continue
        error = 0.0 if curve.error is None else np.nan_to_num(curve.error)
        main += [curve.mean - error, curve.mean + error]
    low, high = _ends(main)
    lowest, highest = _ends([*main, *others])
    room = _ABOVE * ((high - low) or abs(high) or 1.0)
    # A line is there as a whole or not at all.
    if low - room <= panel.without <= high + room:
        lowest, highest = min(lowest, panel.without), max(highest, panel.without)
    low, high = max(lowest, low - room), min(highest, high + room)
    margin = 0.06 * ((high - low) or abs(high) or 1.0)
    # Losses are not negative, and an axis that says so would mislead.
    return (low - margin if low - margin > 0.0 or low < 0.0 else min(low, 0.0)), high + margin


def _ends(parts: list[Float]) -> tuple[float, float]:
    values = np.concatenate(parts)
    values = values[np.isfinite(values)]
    return float(values.min()), float(values.max())


def _grid(panel: Panel, across: Axis, up: Axis, frame: Frame) -> str:
    """Light lines, numbers, and what the numbers are."""
    left, right = across.start - 14.0, across.end + 14.0
    drawn = []
    for tick in up.ticks(frame.ticks[1]):
        y = up.place(tick)
        drawn.append(tag("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}", class_="grid"))
        drawn.append(tag("text", words(number(tick)), x=left - 6.0, y=y + 4.5, class_="end"))
    drawn.append(tag("path", d=f"M{left:.1f} {up.start:.1f}H{right:.1f}", class_="axis"))
    for size in across.whole_ticks(frame.ticks[0]):
        x = across.place(size)
        drawn.append(tag("path", d=f"M{x:.1f} {up.start:.1f}v5", class_="axis"))
        drawn.append(tag("text", words(number(size)), x=x, y=up.start + 20.0, class_="middle"))
    middle = (across.start + across.end) / 2.0
    drawn.append(
        tag("text", words("number of features"), x=middle, y=frame.height - 6.0, class_="middle")
    )
    drawn.append(tag("text", words(capitalised(panel.measure)), x=0.0, y=16.0, class_="measure"))
    return tag("g", *drawn, class_="scale")


def _area(across: Axis, up: Axis, margin: float) -> str:
    left, right = across.start - 14.0, across.end + 14.0
    height = up.start - up.end + margin
    return tag("rect", x=left, y=up.end - margin, width=right - left, height=height)


def _line(curve: Curve, across: Axis, up: Axis, frame: Frame) -> str:
    """A line through the finite values, broken where there are none, with dots if there is room."""
    aside = _aside(curve)
    drawn, dots = [], []
    for piece in _pieces(np.isfinite(curve.mean)):
        points = [(across.place(at + 1) + aside, up.place(curve.mean[at])) for at in piece]
        if len(points) > 1:
            drawn.append(tag("path", d=through(points), class_="line"))
        if len(points) == 1 or has_dots(curve, frame):
            dots += [tag("circle", cx=x, cy=y, r=3.2, class_="dot") for x, y in points]
    return tag("g", *drawn, *dots, class_=f"curve {curve.kind}")


def _errors(curve: Curve, across: Axis, up: Axis, frame: Frame) -> str:
    """Bars of one standard error, or a band where there is no room for so many."""
    if curve.error is None:
        return ""
    low, high = curve.mean - curve.error, curve.mean + curve.error
    is_known = np.isfinite(low) & np.isfinite(high)
    if len(low) > frame.most_bars:
        return _between(low, high, across, up, f"spread {curve.kind}")
    parts = []
    for at in np.flatnonzero(is_known).tolist():
        x = across.place(at + 1) + _aside(curve)
        bottom, top = up.place(low[at]), up.place(high[at])
        parts.append(f"M{x:.1f} {bottom:.1f}V{top:.1f}m-3 0h6M{x - 3:.1f} {bottom:.1f}h6")
    return tag("path", d="".join(parts), class_=f"bars {curve.kind}") if parts else ""


def _aside(curve: Curve) -> float:
    if curve.error is None:
        return 0.0
    return _ASIDE if curve.is_honest else -_ASIDE


def _band(panel: Panel, across: Axis, up: Axis) -> str:
    if panel.band is None:
        return ""
    return _between(*panel.band, across, up, "null")


def _between(low: Float, high: Float, across: Axis, up: Axis, name: str) -> str:
    """The area between two curves, where both are known."""
    drawn = []
    for piece in _pieces(np.isfinite(low) & np.isfinite(high)):
        forth: list[Point] = [(across.place(at + 1), up.place(high[at])) for at in piece]
        back: list[Point] = [(across.place(at + 1), up.place(low[at])) for at in reversed(piece)]
        if len(piece) == 1:
            # An area needs some width to be seen.
            (x, top), (_, bottom) = forth[0], back[0]
            forth, back = [(x - 4.0, top), (x + 4.0, top)], [(x + 4.0, bottom), (x - 4.0, bottom)]
        drawn.append(through([*forth, *back]) + "Z")
    return tag("path", d="".join(drawn), class_=name) if drawn else ""


def is_band_in_sight(panel: Panel) -> bool:
    """Whether any of the band of permutations lies on the chart."""
    if panel.band is None:
        return False
    with np.errstate(invalid="ignore"):
        low, high = _range(panel)
        return bool(((panel.band[0] < high) & (panel.band[1] > low)).any())


def is_curve_in_sight(panel: Panel, curve: Curve) -> bool:
    """Whether any of a curve lies on the chart; that of random features may be far above it."""
    low, high = _range(panel)
    with np.errstate(invalid="ignore"):
        return bool(((curve.mean >= low) & (curve.mean <= high)).any())


def _is_in_sight(panel: Panel, up: Axis) -> bool:
    return bool(np.isfinite(panel.without)) and up.low <= panel.without <= up.high


def _without(panel: Panel, across: Axis, up: Axis) -> str:
    """A line at the loss without features."""
    if not _is_in_sight(panel, up):
        return ""
    y = up.place(panel.without)
    d = f"M{across.start - 14.0:.1f} {y:.1f}H{across.end + 14.0:.1f}"
    return tag("path", d=d, class_="without")


def _without_label(panel: Panel, chosen: int, across: Axis, up: Axis) -> str:
    """What the line is, away from the chosen size; an arrow points to a line out of sight."""
    if not np.isfinite(panel.without):
        return ""
    is_in_sight = _is_in_sight(panel, up)
    text = f"{'' if chosen else 'chosen: '}without features: {number(panel.without)}"
    y = up.place(panel.without) - 5.0 if is_in_sight else up.end - 4.0
    arrow = "" if is_in_sight else " ↑" if panel.without > up.high else " ↓"
    is_left = across.place(max(chosen, 1)) > (across.start + across.end) / 2.0
    x = across.start - 10.0 if is_left else across.end + 14.0
    return tag("text", words(text + arrow), x=x, y=y, class_="remark" if is_left else "end remark")


def _chosen_line(chosen: int, across: Axis, up: Axis) -> str:
    """A line at the chosen size; that of no features has a line already."""
    if not chosen:
        return ""
    x = across.place(chosen)
    anchor = "middle"
    if x - across.start < 60.0 and across.end - x > 60.0:
        anchor = "start"
    elif across.end - x < 60.0 and x - across.start > 60.0:
        anchor = "last"
    text = tag("text", words(f"chosen: {chosen}"), x=x, y=up.end - 18.0, class_=anchor)
    line = tag("path", d=f"M{x:.1f} {up.start:.1f}V{up.end - 13.0:.1f}")
    return tag("g", line, text, class_="chosen-size")


def _chosen_ring(panel: Panel, chosen: int, across: Axis, up: Axis) -> str:
    """A ring on the most honest curve that is known at the chosen size."""
    if not chosen:
        return ""
    for curve in panel.curves:
        loss = curve.mean[chosen - 1]
        if curve.kind != "random" and np.isfinite(loss):
            x = across.place(chosen) + _aside(curve)
            return tag("circle", cx=x, cy=up.place(float(loss)), r=6.5, class_="ring")
    return ""


def _titles(titles: Sequence[str], across: Axis, up: Axis) -> str:
    """An unseen strip for each size, with a text that browsers show under the mouse."""
    places = [across.place(size) for size in range(1, len(titles) + 1)]
    middles = [(one + two) / 2.0 for one, two in pairwise(places)]
    edges = [across.start - 14.0, *middles, across.end + 14.0]
    strips = [
        tag(
            "rect",
            tag("title", words(title)),
            x=left,
            y=up.end,
            width=right - left,
            height=up.start - up.end,
        )
        for title, left, right in zip(titles, edges, edges[1:], strict=False)
    ]
    return tag("g", *strips, class_="strips") if strips else ""


def _description(panel: Panel, chosen: int) -> str:
    """The chart in words, for those who cannot see it."""
    parts = [f"Chosen: {counted(chosen, 'feature')}."]
    for curve in panel.curves:
        known = np.flatnonzero(np.isfinite(curve.mean))
        if not len(known):
            continue
        first, last, best = int(known[0]), int(known[-1]), int(np.nanargmin(curve.mean))
        parts.append(
            f"{curve.label}: {number(curve.mean[first])} with {counted(first + 1, 'feature')}, "
            f"smallest {number(curve.mean[best])} with {best + 1}, "
            f"{number(curve.mean[last])} with {last + 1}."
        )
    parts.append(f"Without features: {number(panel.without)}.")
    return " ".join(parts)


def _pieces(is_known: np.ndarray) -> list[list[int]]:
    """Places that are known, in runs without a gap."""
    places = np.flatnonzero(is_known)
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    return [piece.tolist() for piece in np.split(places, cuts) if len(piece)]
