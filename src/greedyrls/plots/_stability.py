"""Plots of stability: which features are selected again, and how similar selections are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import counted, is_whole, number, percent, score
from ..assess import PathAssessment, Stability
from . import _parts as parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names beside bars take at most this share of the width.
_NAME_SHARE = 0.45
_NAME_LENGTH = 40
# Distance between bars, in multiples of the font size, and its minimum in points.
_SPACING = 1.2
_LEAST_TEXT = 6.0
# Height of a new figure in inches, without bars and for each bar.
_HEIGHT = 1.3
_BAR = 0.21


def plot_stability(
    stability: Stability | PathAssessment,
    k: int | None = None,
    *,
    n_features: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Plot how often each feature is selected, the most frequent first.

    The dotted line is the expected share for random features; the title has the stability
    index (Nogueira, Sechidis and Brown 2018) with its Monte-Carlo interval.

    Parameters
    ----------
    stability : Stability or PathAssessment
        The result of `resample_path` or `cross_validate_path`.
    k : int, default: the longest selection
        Number of features of each selection to count.
    n_features : int, default=20
        Largest number of features to show, as far as their names fit.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from greedyrls.assess import Stability
    >>> from greedyrls.plots import plot_stability
    >>> selections = (np.array([3, 1]), np.array([3, 2]), np.array([3, 1]))
    >>> ax = plot_stability(Stability(selections, n_features_in=5))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x3', 'x1', 'x2']
    """
    measured = _as_stability(stability, "plot_stability")
    if not is_whole(n_features) or n_features < 1:
        raise ValueError(f"n_features must be a whole number, 1 or more; got {n_features!r}.")
    size = len(measured.sizes) if k is None else k
    shares = measured.frequencies(size)
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)][:n_features]
    # A selection may have ended before k features; forced features are not there by chance.
    free = np.delete(shares, list(measured.forced)).sum()
    available = measured.n_features_in if measured.n_available is None else measured.n_available
    chance = float(free) / max(1, available - len(measured.forced))
    if ax is None:
        ax = parts.new_axes(6.4, _HEIGHT + _BAR * max(len(order), 5))
    ax.set_xlim(0.0, 1.0)
    parts.hide_frame(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    # Names are written twice: they reduce the width, so that title and label may take more
    # lines, which reduce the height, so that fewer or smaller names may fit.
    _write_names(ax, measured.names(order))
    _write_around(ax, measured, int(size), chance)
    parts.settle(ax)
    order = order[: _most_bars(ax)]
    _write_names(ax, measured.names(order))
    ax.barh(np.arange(len(order)), shares[order], height=0.72, color=parts.BLUE, zorder=2)
    ax.axvline(chance, color=parts.BLACK, linewidth=1.2, linestyle=":", zorder=3)
    ax.set_ylim(len(order) - 0.4, -0.6)
    return ax


def plot_stability_index(
    stability: Stability | PathAssessment,
    *,
    ax: Axes | None = None,
    log_x: bool | None = None,
) -> Axes:
    """Plot the stability index by number of features, with its Monte-Carlo interval.

    The interval is for the choice of draws only, see `Stability.interval`. The index is 1 where all
    selections are the same, 0 (the dotted line) where they are as alike as features drawn at
    random. There is no index where all features are selected.

    Parameters
    ----------
    stability : Stability or PathAssessment
        The result of `resample_path` or `cross_validate_path`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    log_x : bool, optional
        Whether sizes are on a logarithmic axis; by default if there are more than 100.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from greedyrls.assess import Stability
    >>> from greedyrls.plots import plot_stability_index
    >>> selections = (np.array([3, 1]), np.array([3, 2]), np.array([3, 1]))
    >>> ax = plot_stability_index(Stability(selections, n_features_in=5))
    >>> ax.lines[0].get_ydata().round(2).tolist()
    [1.0, 0.44]
    """
    measured = _as_stability(stability, "plot_stability_index")
    if not np.isfinite(measured.index).any():
        raise ValueError(
            "There is no stability index: it needs at least two selections, and features that were "
            f"not selected; there are {len(measured.selections)} selections from "
            f"{parts.count_features(measured.n_features_in)}."
        )
    if ax is None:
        ax = parts.new_axes()
    sizes, (low, high) = measured.sizes, measured.interval
    ax.plot(sizes, measured.index, **parts.main_curve(ax, len(sizes)), label="stability index")
    style: dict[str, Any] = {"color": parts.BLUE, "alpha": 0.2}
    parts.band(ax, sizes, low, high, label=f"{_level(measured)} Monte-Carlo interval", **style)
    ax.axhline(0.0, **parts.WITHOUT, label="by chance")
    # Intervals may exceed the scale of the index, but the plot does not.
    bottom = min(0.0, float(np.nanmin(np.fmin(measured.index, low))))
    ax.set_ylim(max(bottom, -1.0) - 0.05, 1.05, auto=True)
    parts.use_size_axis(ax, len(sizes), log_x)
    parts.hide_frame(ax)
    parts.set_labels(ax, "number of features", "stability index")
    parts.place_legend(ax, *ax.get_legend_handles_labels())
    return ax


def _as_stability(stability: object, function: str) -> Stability:
    result = stability.stability if isinstance(stability, PathAssessment) else stability
    if not isinstance(result, Stability):
        raise TypeError(
            f"{function} takes a Stability (of greedyrls.assess.resample_path) or a "
            f"PathAssessment, got {parts.shown(stability)}."
        )
    if not len(result.sizes):
        raise ValueError("There are no selections with features in them, so nothing to draw.")
    return result


def _level(stability: Stability) -> str:
    return percent(stability.level)


def _write_around(ax: Axes, stability: Stability, size: int, chance: float) -> None:
    """Write title and label, on as many lines as they need."""
    parts.settle(ax)
    points = parts.text_size(ax, "axes.labelsize")
    title = _title(stability, size, parts.is_narrow(ax))
    ax.set_title(parts.wrapped(title, parts.extent(ax)[0], points), fontsize=points)
    count, features = len(stability.selections), parts.count_features(size)
    # A line must not begin with a number.
    first = f"first\N{NO-BREAK SPACE}{size}" if parts.is_narrow(ax) else f"first {features}"
    label = f"share of {counted(count, 'selection')}, {first}"
    parts.set_labels(ax, f"{label}\n(dotted: by chance, {number(chance, 2)})", "")


def _title(stability: Stability, size: int, is_short: bool) -> str:
    """Return the index with its interval, if it is defined."""
    value = float(stability.index[size - 1])
    if np.isnan(value):
        return "Stability: not defined"
    low, high = (score(float(end[size - 1]), 2) for end in stability.interval)
    interval = f"({_level(stability)} Monte-Carlo interval {low} to {high})"
    if is_short:
        interval = f"({low} to {high})".replace(" ", "\N{NO-BREAK SPACE}")
    return f"Stability {score(value, 2)} {interval}"


def _most_bars(ax: Axes) -> int:
    """Return how many names fit one above the other."""
    return max(int(72.0 * parts.extent(ax)[1] / (_SPACING * _LEAST_TEXT)), 1)


def _write_names(ax: Axes, names: list[str]) -> None:
    """Write names next to the bars, as large as they fit."""
    width, height = parts.extent(ax)
    points = parts.text_size(ax, "ytick.labelsize")
    points = min(points, 72.0 * height / (_SPACING * len(names)))
    length = min(parts.characters(_NAME_SHARE * width, points), _NAME_LENGTH)
    labels = [parts.shortened(name, length) for name in names]
    # LaTeX must not interpret names.
    ax.set_yticks(np.arange(len(names)), labels, usetex=False, fontsize=points)
