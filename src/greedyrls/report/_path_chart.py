"""The chart of a panel: losses by number of features, with errors, the chosen size marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._base import Float
from ..plots import Plot, label, tag, words
from ._frames import Frame, chart
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
    plot = _plot(panel, count, frame)
    across, up = plot.across, plot.up
    sizes = np.arange(1.0, count + 1.0)
    clip = f"{identity}-clip"
    area = tag("rect", x=plot.left, y=up.end - 6.0, **_extent(plot, 6.0))
    inside = []
    if panel.band is not None:
        inside.append(plot.area(sizes, *panel.band, class_="null"))
    if _is_in_sight(panel, plot):
        inside.append(plot.horizontal(panel.without, class_="without"))
    inside += [_errors(curve, sizes, plot, frame) for curve in reversed(panel.curves)]
    inside += [_line(curve, sizes, plot, frame) for curve in reversed(panel.curves)]
    scale = plot.scale(
        across.whole_ticks(frame.ticks[0]), up.ticks(frame.ticks[1]), "number of features"
    )
    svg = chart(
        (frame.width, frame.height),
        identity,
        f"{capitalised(panel.measure)} by number of features",
        _description(panel, chosen),
        tag("clipPath", area, id=clip),
        tag("g", scale, _measure(capitalised(panel.measure)), class_="scale"),
        _chosen_line(chosen, plot),
        tag("g", *inside, clip_path=f"url(#{clip})"),
        _chosen_ring(panel, chosen, plot),
        tag("line", class_="cursor", y1=up.start, y2=up.end, visibility="hidden"),
        _without_label(panel, chosen, plot),
        _titles(titles, plot),
    )
    places = [across.place(size) / frame.width for size in range(1, count + 1)]
    return Chart(frame, svg, places)


def _measure(text: str) -> str:
    """What the numbers beside a chart are."""
    return label(text, 0.0, 16.0, class_="measure")


def _plot(panel: Panel, count: int, frame: Frame) -> Plot:
    low, high = _range(panel)
    main = [curve.mean for curve in panel.curves if curve.kind != "random"]
    values = np.concatenate(main)
    values = values[np.isfinite(values)]
    is_log = bool(values.min() > 0.0 and values.max() > _WIDE * values.min())
    if is_log:
        low, high = float(values.min()) / 1.2, max(high, float(values.max()) * 1.2)
    style = frame.style(top=48.0, right=18.0, bottom=48.0, side=14.0)
    across = (1.0, float(count), count > _MANY_SIZES)
    size = (frame.width, frame.height)
    return Plot.of(size, style, across, (low, high, is_log), frame.ticks[1])


def _extent(plot: Plot, margin: float = 0.0) -> dict[str, float]:
    """Width and height of the area of a plot."""
    height = plot.up.start - plot.up.end + margin
    return {"width": plot.right - plot.left, "height": height}


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


def _line(curve: Curve, sizes: Float, plot: Plot, frame: Frame) -> str:
    """A line, with dots if there is room."""
    line, dot = {"class_": "line"}, {"r": 3.2, "class_": "dot"}
    drawn = plot.line(sizes, curve.mean, line, dot, has_dots(curve, frame), _aside(curve))
    return tag("g", drawn, class_=f"curve {curve.kind}")


def _errors(curve: Curve, sizes: Float, plot: Plot, frame: Frame) -> str:
    """Bars of one standard error, or a band where there is no room for so many."""
    if curve.error is None:
        return ""
    low, high = curve.mean - curve.error, curve.mean + curve.error
    if len(low) > frame.most_bars:
        return plot.area(sizes, low, high, class_=f"spread {curve.kind}")
    return plot.errors(sizes, low, high, _aside(curve), class_=f"bars {curve.kind}")


def _aside(curve: Curve) -> float:
    if curve.error is None:
        return 0.0
    return _ASIDE if curve.is_honest else -_ASIDE


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


def _is_in_sight(panel: Panel, plot: Plot) -> bool:
    return bool(np.isfinite(panel.without)) and plot.up.low <= panel.without <= plot.up.high


def _without_label(panel: Panel, chosen: int, plot: Plot) -> str:
    """What the line is, away from the chosen size; an arrow points to a line out of sight."""
    across, up = plot.across, plot.up
    if not np.isfinite(panel.without):
        return ""
    is_in_sight = _is_in_sight(panel, plot)
    text = f"{'' if chosen else 'chosen: '}without features: {number(panel.without)}"
    y = up.place(panel.without) - 5.0 if is_in_sight else up.end - 4.0
    arrow = "" if is_in_sight else " ↑" if panel.without > up.high else " ↓"
    is_left = across.place(max(chosen, 1)) > (across.start + across.end) / 2.0
    x, anchor = (plot.left + 4.0, None) if is_left else (plot.right, "end")
    return label(text + arrow, x, y, anchor, class_="remark")


def _chosen_line(chosen: int, plot: Plot) -> str:
    """A line at the chosen size; that of no features has a line already."""
    if not chosen:
        return ""
    across = plot.across
    x = across.place(chosen)
    anchor: str | None = "middle"
    if x - across.start < 60.0 and across.end - x > 60.0:
        anchor = None
    elif across.end - x < 60.0 and x - across.start > 60.0:
        anchor = "end"
    text = label(f"chosen: {chosen}", x, plot.up.end - 18.0, anchor)
    return tag("g", plot.vertical(chosen, 13.0), text, class_="chosen-size")


def _chosen_ring(panel: Panel, chosen: int, plot: Plot) -> str:
    """A ring on the most honest curve that is known at the chosen size."""
    if not chosen:
        return ""
    for curve in panel.curves:
        loss = curve.mean[chosen - 1]
        if curve.kind != "random" and np.isfinite(loss):
            x = plot.across.place(chosen) + _aside(curve)
            return tag("circle", cx=x, cy=plot.up.place(float(loss)), r=6.5, class_="ring")
    return ""


def _titles(titles: Sequence[str], plot: Plot) -> str:
    """An unseen strip for each size, with a text that browsers show under the mouse."""
    places = [plot.across.place(size) for size in range(1, len(titles) + 1)]
    middles = [(one + two) / 2.0 for one, two in pairwise(places)]
    edges = [plot.left, *middles, plot.right]
    strips = [
        tag(
            "rect",
            tag("title", words(title)),
            x=left,
            y=plot.up.end,
            **(_extent(plot) | {"width": right - left}),
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
