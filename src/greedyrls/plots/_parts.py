"""Common parts of plots: colours, text sizes, names as plain text, bands, legends."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import Float, counted, required

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.transforms import Bbox

# More sizes than this are drawn on a logarithmic axis: losses change most among the first.
_MANY_SIZES = 100
# Colours that are distinguishable with any kind of colour vision (Okabe and Ito).
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
# Colour of the chosen size.
RED = "#C00000"
# Styles of the selection's own estimate, and of the model without features.
OWN: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.3}
WITHOUT: dict[str, Any] = {"color": "0.55", "linestyle": ":", "linewidth": 1.2}
# Curves with more sizes than this have no dots.
DOTTED_SIZES = 60
# Losses that differ by more than this factor are drawn on a logarithmic scale.
WIDE = 20.0

# Axes narrower than this, in inches, are for one column of a paper: text in points, as in print.
_NARROW = 3.2
_NARROW_LABEL = 8.0
_NARROW_TEXT = 7.0
# Largest text size of a legend.
_LEGEND_TEXT = 9.0
# Approximate width of a character, relative to the font size.
_CHARACTER = 0.55
# Numbers of legend columns to try.
_COLUMNS = (1, 2, 3)
# Positions of legends, the best first.
_POSITIONS = ("upper right", "center right", "lower right", "lower left", "upper left")
# A legend takes at most this share of the height.
_MOST_LEGEND = 0.5
# Logarithmic axes with at most this many decades also have ticks at 2 and 5.
_DECADES = 3.0


def new_axes(width: float = 7.5, height: float = 4.5) -> Axes:
    """Return the axes of a new figure."""
    missing = "Plots need matplotlib: pip install 'greedyrls[plot]'."
    pyplot = required("matplotlib.pyplot", missing)
    ax: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return ax


# Text --------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Return any text on one line, with "$" escaped, which would start a formula."""
    return " ".join(text.split()).replace("$", r"\$")


def shortened(name: str, length: int) -> str:
    """Return a name of any length as plain text of at most `length` characters.

    The middle is left out: the names of many columns differ only at their ends.
    """
    # Unprintable characters have no glyph, or would change the text direction.
    words = "".join(sign if sign.isprintable() else " " for sign in name)
    one_line = " ".join(words.split())
    if len(one_line) > length:
        tail = (length - 1) // 3
        one_line = f"{one_line[: length - 1 - tail]}…{one_line[len(one_line) - tail :]}"
    return plain(one_line) or "(blank)"


def count_features(count: int) -> str:
    """Return the number of features in words."""
    return counted(count, "feature")


def shown(value: object) -> str:
    """Return an invalid value for an error message."""
    return f"{textwrap.shorten(repr(value), 60, placeholder='…')} ({type(value).__name__})"


# Sizes of text -----------------------------------------------------------------------------------


def extent(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes in inches."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def is_narrow(ax: Axes) -> bool:
    """Whether the axes are as narrow as one column of a paper."""
    spec = ax.get_subplotspec()
    if spec is None:
        return bool(extent(ax)[0] < _NARROW)
    # Measured on the grid, not the axes: a colour bar next to the axes must not change it.
    figure: Any = ax.figure
    share = spec.get_position(figure).width
    return bool(share * figure.bbox.width / figure.dpi < _NARROW)


def text_size(ax: Axes, setting: str = "legend.fontsize") -> float:
    """Return the text size of a matplotlib setting in points; smaller in narrow axes."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    settings: Any = rcParams
    size = float(FontProperties(size=settings[setting]).get_size_in_points())
    if is_narrow(ax):
        return min(size, _NARROW_LABEL if setting == "axes.labelsize" else _NARROW_TEXT)
    return min(size, _LEGEND_TEXT) if setting == "legend.fontsize" else size


def characters(inches: float, points: float) -> int:
    """Return how many characters fit on a line."""
    return max(int(inches * 72.0 / (points * _CHARACTER)), 1)


def set_text_sizes(ax: Axes) -> None:
    """Set print sizes for ticks and labels of narrow axes; others are unchanged."""
    if is_narrow(ax):
        ax.tick_params(axis="both", which="both", labelsize=text_size(ax, "xtick.labelsize"))
        size = text_size(ax, "axes.labelsize")
        ax.xaxis.label.set_fontsize(size)
        ax.yaxis.label.set_fontsize(size)
        ax.yaxis.get_offset_text().set_fontsize(_NARROW_TEXT)


def wrapped(text: str, inches: float, points: float) -> str:
    """Return the text broken into lines that fit."""
    lines = [textwrap.fill(line, max(characters(inches, points), 12)) for line in text.splitlines()]
    return "\n".join(lines)


def set_labels(ax: Axes, x: str, y: str) -> None:
    """Label the axes, on several lines if the labels are longer than the axes."""
    set_text_sizes(ax)
    settle(ax)
    width, height = extent(ax)
    points = text_size(ax, "axes.labelsize")
    ax.set_xlabel(wrapped(x, width, points))
    # The y label may also extend next to the ticks and label of the x axis.
    ax.set_ylabel(wrapped(y, 1.15 * height, points))


def hide_frame(ax: Axes) -> None:
    """Hide the lines of the frame that have no ticks."""
    ax.spines[["top", "right"]].set_visible(False)


def settle(ax: Axes) -> None:
    """Run the layout engine of the figure, if any, so that extents are final."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


# Curves ------------------------------------------------------------------------------------------


def band(ax: Axes, where: Any, low: Float, high: Float, **style: Any) -> Artist | None:
    """Draw the area between two curves; return None if they are nowhere finite."""
    if not (np.isfinite(low) & np.isfinite(high)).any():
        return None
    if len(where) == 1:
        # An area over a single point would have no width.
        return ax.vlines(where, low, high, linewidth=6.0, **style)
    return ax.fill_between(where, low, high, linewidth=0, **style)


def curve(ax: Axes, where: Any, values: Float, **style: Any) -> Artist:
    """Draw a line, or a short dash for a single size without a marker."""
    if len(where) == 1:
        style = {"marker": "_", "markersize": 14.0, **style}
    return ax.plot(where, values, **style)[0]


def main_curve(ax: Axes, count: int) -> dict[str, Any]:
    """Return the style of the main curve, with a dot at each size unless there are too many."""
    line = {"color": BLUE, "linewidth": 1.2 if is_narrow(ax) else 1.5}
    # Without a dot, a single size would be invisible.
    size = 2.2 if is_narrow(ax) else 3.5
    return {**line, "marker": "o", "markersize": size} if count <= DOTTED_SIZES else line


def mark(ax: Axes) -> dict[str, Any]:
    """Return the style of the ring at the chosen size."""
    return {
        "color": RED,
        "marker": "o",
        "markersize": 7.0 if is_narrow(ax) else 9.0,
        "markeredgewidth": 1.3 if is_narrow(ax) else 1.6,
        "markerfacecolor": "none",
        "linestyle": "none",
        "zorder": 4,
    }


def use_size_axis(ax: Axes, count: int, is_log: bool | None) -> None:
    """Use whole numbers from 1 to `count` on the x axis, logarithmic if there are many."""
    from matplotlib.ticker import MaxNLocator

    if count > _MANY_SIZES if is_log is None else is_log:
        ax.set_xscale("log")
        _write_in_full(ax.xaxis, 1.0, float(count))
        return
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    if count == 1:
        ax.set_xlim(0.0, 2.0, auto=True)
        ax.set_xticks([1])
    elif ax.get_autoscalex_on():
        # Exclude zero, where curves have no point.
        ax.set_xlim(left=max(1.0 - 0.05 * (count - 1), 0.3), auto=True)


def use_loss_axis(ax: Axes, *curves: Float) -> None:
    """Use a logarithmic y axis if the losses differ by orders of magnitude."""
    values = np.concatenate([np.ravel(curve) for curve in curves])
    values = values[np.isfinite(values)]
    if len(values) and 0.0 < values.min() * WIDE < values.max():
        ax.set_yscale("log")
        if ax.get_autoscaley_on():
            # A band may reach zero, where a logarithmic axis cannot end.
            ax.set_ylim(bottom=values.min() / 1.5, auto=True)
        _write_in_full(ax.yaxis, *ax.get_ylim())


def _write_in_full(axis: Axis, low: float, high: float) -> None:
    """Format a logarithmic axis without powers of ten, unless they are needed."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not 1e-4 <= low <= high < 1e5:
        return
    is_wide = np.log10(high / low) > _DECADES
    axis.set_major_locator(LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


# Legends -----------------------------------------------------------------------------------------


def place_legend(ax: Axes, handles: list[Any], labels: list[str]) -> None:
    """Put a legend where it hides nothing; otherwise extend the y axis for it."""
    if not handles:
        return
    settle(ax)
    frame = ax.get_window_extent()
    points = text_size(ax)
    labels = [wrapped(label, 0.85 * extent(ax)[0], points) for label in labels]
    style: dict[str, Any] = {
        "frameon": False,
        "fontsize": points,
        "handlelength": 1.8,
        "handletextpad": 0.5,
        "columnspacing": 1.0,
        "labelspacing": 0.35,
        "borderpad": 0.2,
        "borderaxespad": 0.3,
    }
    boxes = {}
    for columns in _COLUMNS[: len(handles)]:
        box = ax.legend(handles, labels, ncols=columns, **style).get_window_extent()
        if columns == 1 or box.width <= frame.width:
            boxes[columns] = box
    for columns, box in boxes.items():
        for position in _POSITIONS:
            if _is_free(ax, _box_at(frame, box, position)):
                ax.legend(handles, labels, ncols=columns, **style | {"loc": position})
                return
    columns = max(boxes)
    is_raised = _raise_top(ax, boxes[columns].height / frame.height)
    style["loc"] = "upper right" if is_raised else "best"
    ax.legend(handles, labels, ncols=columns, **style)


def _box_at(frame: Bbox, box: Bbox, position: str) -> Bbox:
    """Return a box of this size at a position in the frame."""
    from matplotlib.transforms import Bbox

    x = frame.x1 - box.width if "right" in position else frame.x0
    share = {"upper": 1.0, "center": 0.5, "lower": 0.0}[position.split()[0]]
    y = frame.y0 + share * (frame.height - box.height)
    return Bbox.from_bounds(x, y, box.width, box.height)


def _is_free(ax: Axes, box: Bbox) -> bool:
    """Whether a box lies in the axes with nothing drawn in it."""
    frame = ax.get_window_extent()
    if box.height > frame.height or box.width > frame.width:
        return False
    wide = box.padded(0.03 * frame.height)
    for line in ax.lines:
        if line.get_path().transformed(line.get_transform()).intersects_bbox(wide, filled=False):
            return False
    for part in ax.collections:
        transform = part.get_transform()
        if any(p.transformed(transform).intersects_bbox(wide) for p in part.get_paths()):
            return False
    return not any(part.get_window_extent().overlaps(wide) for part in (*ax.patches, *ax.texts))


def _raise_top(ax: Axes, share: float) -> bool:
    """Raise the upper end of the y axis by a share of its length, unless the caller set it."""
    if not ax.get_autoscaley_on():
        return False
    transform = ax.yaxis.get_transform()
    bottom, top = transform.transform(np.array(ax.get_ylim()))
    raised = bottom + (top - bottom) / (1.0 - min(share, _MOST_LEGEND))
    upper = float(transform.inverted().transform(np.array([raised]))[0])
    # Keep autoscaling for anything drawn later.
    ax.set_ylim(top=upper, auto=True)
    return True
