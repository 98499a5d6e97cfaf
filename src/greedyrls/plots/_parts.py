"""What pictures have in common: colours, sizes of text, names as plain text, bands, legends."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import Float, counted

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.transforms import Bbox

# More sizes than this are drawn on a logarithmic axis: most happens among the first.
_MANY_SIZES = 100
# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
# What was chosen.
RED = "#C00000"
# What the selection believes of itself, and the model without features.
OWN: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.3}
WITHOUT: dict[str, Any] = {"color": "0.55", "linestyle": ":", "linewidth": 1.2}
# Curves of more sizes have no dots.
DOTTED_SIZES = 60
# Losses that differ by more than this factor are drawn on a logarithmic scale.
WIDE = 20.0

# Axes narrower than this, in inches, are for one column of a paper: text in points, as in print.
_NARROW = 3.2
_NARROW_LABEL = 8.0
_NARROW_TEXT = 7.0
# A legend is no larger than this anywhere.
_LEGEND_TEXT = 9.0
# Width of a character over the size of its font, about.
_CHARACTER = 0.55
# Sizes of legends that are tried, in columns.
_COLUMNS = (1, 2, 3)
# Places of legends, the best first.
_PLACES = ("upper right", "center right", "lower right", "lower left", "upper left")
# A legend never takes more than this share of the height.
_MOST_ROOM = 0.5
# Up to so many decades, numbers on a logarithmic axis are written in full, and 2 and 5 are, too.
_DECADES = 3.0


def new_axes(width: float = 7.5, height: float = 4.5) -> Axes:
    """Axes of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'greedyrls[plot]'.") from error
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


# Text --------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Any text, on one line; "$" would start a formula."""
    return " ".join(text.split()).replace("$", r"\$")


def shortened(name: str, length: int) -> str:
    """A name of any length as plain text of at most `length` characters.

    The middle is left out: the names of many columns differ only at their ends.
    """
    # What cannot be printed has no glyph, or would turn the direction of the text.
    words = "".join(sign if sign.isprintable() else " " for sign in name)
    one_line = " ".join(words.split())
    if len(one_line) > length:
        tail = (length - 1) // 3
        one_line = f"{one_line[: length - 1 - tail]}…{one_line[len(one_line) - tail :]}"
    return plain(one_line) or "(blank)"


def count_features(count: int) -> str:
    """The number with its word."""
    return counted(count, "feature")


def shown(value: object) -> str:
    """What was given, for a message that says that it was wrong."""
    return f"{textwrap.shorten(repr(value), 60, placeholder='…')} ({type(value).__name__})"


# Sizes of text -----------------------------------------------------------------------------------


def extent(ax: Axes) -> tuple[float, float]:
    """Width and height in inches."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def is_narrow(ax: Axes) -> bool:
    """Whether there is only the room of one column of a paper."""
    place = ax.get_subplotspec()
    if place is None:
        return bool(extent(ax)[0] < _NARROW)
    # Of the grid, not the axes: what is drawn beside the axes must not change the answer.
    figure: Any = ax.figure
    share = place.get_position(figure).width
    return bool(share * figure.bbox.width / figure.dpi < _NARROW)


def text_size(ax: Axes, setting: str = "legend.fontsize") -> float:
    """The size that a setting of matplotlib asks for, in points; smaller in narrow axes."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    settings: Any = rcParams
    size = float(FontProperties(size=settings[setting]).get_size_in_points())
    if is_narrow(ax):
        return min(size, _NARROW_LABEL if setting == "axes.labelsize" else _NARROW_TEXT)
    return min(size, _LEGEND_TEXT) if setting == "legend.fontsize" else size


def characters(inches: float, points: float) -> int:
    """How many characters have room on a line."""
    return max(int(inches * 72.0 / (points * _CHARACTER)), 1)


def set_text_sizes(ax: Axes) -> None:
    """Ticks and labels of narrow axes as in print; others stay as they are."""
    if is_narrow(ax):
        ax.tick_params(axis="both", which="both", labelsize=text_size(ax, "xtick.labelsize"))
        size = text_size(ax, "axes.labelsize")
        ax.xaxis.label.set_fontsize(size)
        ax.yaxis.label.set_fontsize(size)
        ax.yaxis.get_offset_text().set_fontsize(_NARROW_TEXT)


def wrapped(text: str, inches: float, points: float) -> str:
    """The text on as many lines as it takes."""
    lines = [textwrap.fill(line, max(characters(inches, points), 12)) for line in text.splitlines()]
    return "\n".join(lines)


def set_labels(ax: Axes, x: str, y: str) -> None:
    """Labels of the axes, on more lines where they would be longer than the axes."""
    set_text_sizes(ax)
    settle(ax)
    width, height = extent(ax)
    points = text_size(ax, "axes.labelsize")
    ax.set_xlabel(wrapped(x, width, points))
    # Beside the axes there is also the room of ticks and label below them.
    ax.set_ylabel(wrapped(y, 1.15 * height, points))


def hide_frame(ax: Axes) -> None:
    """Only the lines that have ticks."""
    ax.spines[["top", "right"]].set_visible(False)


def settle(ax: Axes) -> None:
    """Lay the figure out, where it does so by itself, so that extents are those of the picture."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


# Curves ------------------------------------------------------------------------------------------


def band(ax: Axes, where: Any, low: Float, high: Float, **style: Any) -> Artist | None:
    """The area between two curves, where both are numbers; None where they nowhere are."""
    if not (np.isfinite(low) & np.isfinite(high)).any():
        return None
    if len(where) == 1:
        # An area over a single point has no width.
        return ax.vlines(where, low, high, linewidth=6.0, **style)
    return ax.fill_between(where, low, high, linewidth=0, **style)


def curve(ax: Axes, where: Any, values: Float, **style: Any) -> Artist:
    """A line, or a short dash for a single size that has no mark of its own."""
    if len(where) == 1:
        style = {"marker": "_", "markersize": 14.0, **style}
    return ax.plot(where, values, **style)[0]


def main_curve(ax: Axes, count: int) -> dict[str, Any]:
    """The style of the curve to look at, with a dot at each size where there are not too many."""
    line = {"color": BLUE, "linewidth": 1.2 if is_narrow(ax) else 1.5}
    # A single size is no line: without a dot it would not be seen.
    size = 2.2 if is_narrow(ax) else 3.5
    return {**line, "marker": "o", "markersize": size} if count <= DOTTED_SIZES else line


def mark(ax: Axes) -> dict[str, Any]:
    """The style of the ring around what was chosen."""
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
    """Whole numbers from 1 to `count` along the x axis; logarithmic where there are many."""
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
        # Not as far as zero: a curve has no point there.
        ax.set_xlim(left=max(1.0 - 0.05 * (count - 1), 0.3), auto=True)


def use_loss_axis(ax: Axes, *curves: Float) -> None:
    """A logarithmic y axis where the losses differ by orders of magnitude."""
    values = np.concatenate([np.ravel(curve) for curve in curves])
    values = values[np.isfinite(values)]
    if len(values) and 0.0 < values.min() * WIDE < values.max():
        ax.set_yscale("log")
        if ax.get_autoscaley_on():
            # A band may go down to zero, which is no end of a logarithmic axis.
            ax.set_ylim(bottom=values.min() / 1.5, auto=True)
        _write_in_full(ax.yaxis, *ax.get_ylim())


def _write_in_full(axis: Axis, low: float, high: float) -> None:
    """Numbers on a logarithmic axis without powers of ten, unless they need them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not 1e-4 <= low <= high < 1e5:
        return
    is_wide = np.log10(high / low) > _DECADES
    axis.set_major_locator(LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


# Legends -----------------------------------------------------------------------------------------


def place_legend(ax: Axes, handles: list[Any], labels: list[str]) -> None:
    """A legend at a place where it hides nothing; else room for it is made above the data."""
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
        for place in _PLACES:
            if _is_free(ax, _box_at(frame, box, place)):
                ax.legend(handles, labels, ncols=columns, **style | {"loc": place})
                return
    columns = max(boxes)
    has_room = _make_room(ax, boxes[columns].height / frame.height)
    style["loc"] = "upper right" if has_room else "best"
    ax.legend(handles, labels, ncols=columns, **style)


def _box_at(frame: Bbox, box: Bbox, place: str) -> Bbox:
    """A box of this size at a place in the frame."""
    from matplotlib.transforms import Bbox

    x = frame.x1 - box.width if "right" in place else frame.x0
    share = {"upper": 1.0, "center": 0.5, "lower": 0.0}[place.split()[0]]
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


def _make_room(ax: Axes, share: float) -> bool:
    """Raise the upper end of the y axis by a share of its length, unless the caller set it."""
    if not ax.get_autoscaley_on():
        return False
    transform = ax.yaxis.get_transform()
    bottom, top = transform.transform(np.array(ax.get_ylim()))
    raised = bottom + (top - bottom) / (1.0 - min(share, _MOST_ROOM))
    upper = float(transform.inverted().transform(np.array([raised]))[0])
    # Automatic still: what is drawn later must come into view.
    ax.set_ylim(top=upper, auto=True)
    return True
