"""The plot of coefficients along a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._base import Float, is_whole
from ..path import SelectionPath
from . import _parts as parts
from ._path import Fitted, as_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Sizes = NDArray[np.intp]

# Longer paths are drawn at this many sizes: more cannot be distinguished, and each takes time.
_MOST_SIZES = 400
_COLOURS = (
    parts.BLUE,
    parts.VERMILION,
    parts.GREEN,
    parts.PURPLE,
    parts.ORANGE,
    parts.SKY,
    parts.BLACK,
)
_STYLES = ("-", "--", ":", "-.")
# A name takes at most this share of the width.
_NAME_SHARE = 0.35
_NAME_LENGTH = 32
# Letters are thinner than lines, so they are darker.
_INK = 0.75
# Distance between names, in multiples of the font size.
_SPACING = 1.2


def plot_coefficients(
    path: SelectionPath | Fitted,
    k: int | None = None,
    *,
    ax: Axes | None = None,
    n_labels: int = 10,
    standardized: bool = True,
    target: int | None = None,
) -> Axes:
    """Plot the coefficient of each feature in the models of all sizes.

    A coefficient that keeps its value as other features enter is reliable; one that changes its
    sign belongs to a feature that is correlated with others.

    Parameters
    ----------
    path : SelectionPath, or a fitted estimator
        The path, or a fitted estimator that has one.
    k : int, default: all
        Largest number of features to show.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    n_labels : int, default=10
        Number of features with a colour and a name: those with the largest coefficients at the last
        size. The others are grey.
    standardized : bool, default=True
        Coefficients times the standard deviation of their feature, so that they can be compared
        (without an intercept: times its root mean square). The path does not know the sum of
        sample weights; with weights it is taken to be the number of samples, which changes the
        scale of all coefficients alike.
    target : int, optional
        Index of a target, if there are several; by default the Euclidean norm over all targets.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> from greedyrls.plots import plot_coefficients
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> ax = plot_coefficients(greedy_path(X, y, 5, alpha=0.01))
    >>> [text.get_text() for text in ax.texts]
    ['bmi', 's5', 'bp', 's1', 'sex']
    """
    path = as_path(path, "plot_coefficients")
    if not len(path):
        raise ValueError("The path has no features.")
    last = path._size(k)
    if not last:
        raise ValueError(f"A model without features has no coefficients to draw, got k={k}.")
    targets = path.moments.correlation.shape[1]
    _check(n_labels, target, targets)
    if ax is None:
        ax = parts.new_axes()
    sizes = _sizes(last)
    profiles = _profiles(path, sizes, target, standardized)
    # By the values at the right end, where the names are.
    order = np.argsort(-np.abs(profiles[-1]), kind="stable")
    named = np.sort(order[:n_labels])
    _draw_others(ax, sizes, profiles, np.sort(order[n_labels:]))
    colours = _draw_named(ax, sizes, profiles, named)
    # The zero line must not cross the names.
    ax.plot([1, last], [0.0, 0.0], color="0.55", linewidth=0.8, zorder=1)
    parts.hide_frame(ax)
    parts.use_size_axis(ax, last, is_log=False)
    parts.set_labels(ax, "number of features", _measure(path, standardized, target))
    names = path.names(last)
    _write_names(ax, last, [names[index] for index in named], profiles[-1, named], colours)
    _draw_chosen(ax, path, last)
    parts.place_legend(ax, *ax.get_legend_handles_labels())
    return ax


def _check(n_labels: object, target: object, targets: int) -> None:
    if not is_whole(n_labels) or n_labels < 0:
        raise ValueError(f"n_labels must be a whole number, 0 or more; got {n_labels!r}.")
    if target is None:
        return
    if not is_whole(target) or not 0 <= target < targets:
        raise ValueError(
            f"target={target!r} is not the index of a target; there are {targets}, from 0 on. Use "
            "None for the norm over all."
        )


def _sizes(last: int) -> Sizes:
    """Return the sizes to draw, ascending: all, or some that are evenly spread."""
    if last <= _MOST_SIZES:
        return np.arange(1, last + 1)
    return np.unique(np.linspace(1, last, _MOST_SIZES).round().astype(np.intp))


def _profiles(path: SelectionPath, sizes: Sizes, target: int | None, standardized: bool) -> Float:
    """Return coefficients by size and feature of the last size; NaN if a size lacks it."""
    features = path.sets[int(sizes[-1]) - 1].features
    column_of = {feature: column for column, feature in enumerate(features)}
    values = np.full((len(sizes), len(features)), np.nan)
    for row, (size, solution) in enumerate(zip(sizes.tolist(), _models(path, sizes), strict=True)):
        coefficients = _one_value(solution, target)
        for feature, value in zip(path.sets[size - 1].features, coefficients, strict=True):
            if feature in column_of:
                values[row, column_of[feature]] = value
    if not standardized:
        return values
    squares = np.maximum(np.diagonal(path.moments.of(features).gram), 0.0)
    return np.asarray(values * np.sqrt(squares / path.settings.n_samples))


def _models(path: SelectionPath, sizes: Sizes) -> list[Float]:
    """Return coefficients (k × t) of some sizes."""
    if not path.is_nested:
        return [path._solve(int(size)) for size in sizes]
    penalties = np.full(len(sizes), path.settings.alpha)
    if path.refit_alphas is not None:
        penalties = np.array(path.refit_alphas)[sizes - 1]
    models: list[Float] = [np.empty((0, 0))] * len(sizes)
    for penalty in np.unique(penalties):
        rows = np.flatnonzero(penalties == penalty)
        for row, solution in zip(rows, _solutions(path, float(penalty), sizes[rows]), strict=True):
            models[row] = solution
    return models


def _one_value(solution: Float, target: int | None) -> Float:
    """Return the coefficients (k) of one target from (k × t), or their norm over targets."""
    if target is not None or solution.shape[1] == 1:
        return solution[:, target or 0]
    return np.asarray(np.linalg.norm(solution, axis=1))


def _solutions(path: SelectionPath, penalty: float, sizes: Sizes) -> Iterator[Float]:
    """Yield coefficients (k × t) for some sizes, all with the same penalty.

    With the factor LL' of all features and z = L⁻¹c, those of the first k features are the sum of
    the first k rows of L⁻¹, each times its entry of z: a single factor serves all sizes.
    """
    moments = path.moments.of(path.sets[int(sizes[-1]) - 1].features)
    try:
        factor = linalg.cholesky(moments.penalised(penalty), lower=True, overwrite_a=True)
    except linalg.LinAlgError:
        # Some sizes have no factor; the path handles these.
        yield from (path._solve(int(size)) for size in sizes)
        return
    unit = np.eye(len(factor))
    inverse = linalg.solve_triangular(factor, unit, lower=True, overwrite_b=True)
    z = inverse @ moments.correlation
    total, before = np.zeros_like(z), 0
    for count in (path.sets[size - 1].count for size in sizes.tolist()):
        total += inverse[before:count].T @ z[before:count]
        before = count
        yield total[:count].copy()


def _measure(path: SelectionPath, standardized: bool, target: int | None) -> str:
    """Return a description of the curves."""
    targets = path.moments.correlation.shape[1]
    words = "coefficient"
    if target is not None and targets > 1:
        words = f"coefficient, target {target}"
    elif targets > 1:
        words = f"norm of coefficients of {targets} targets"
    if not standardized:
        return words
    spread = "standard deviation" if path.settings.fit_intercept else "root mean square"
    return f"{words} × {spread}"


def _draw_others(ax: Axes, sizes: Sizes, profiles: Float, columns: Sizes) -> None:
    """Draw features without a name in grey, behind the others."""
    from matplotlib.collections import LineCollection

    if not len(columns):
        return
    curves = [np.column_stack((sizes, profiles[:, column])) for column in columns]
    curves = [curve[np.isfinite(curve[:, 1])] for curve in curves]
    lines = LineCollection(
        curves,
        colors="0.75",
        linewidths=0.7,
        zorder=1.5,
        # This many lines would make a large file in vector formats.
        rasterized=len(columns) * len(sizes) > 20_000,
    )
    ax.add_collection(lines, autolim=True)
    ax.autoscale_view()


def _draw_named(ax: Axes, sizes: Sizes, profiles: Float, columns: Sizes) -> list[str]:
    """Draw features with a name; return their colours."""
    colours = []
    for number, column in enumerate(columns):
        colour = _COLOURS[number % len(_COLOURS)]
        line = _STYLES[number // len(_COLOURS) % len(_STYLES)]
        values = profiles[:, column]
        is_known = np.isfinite(values)
        (curve,) = ax.plot(
            sizes[is_known], values[is_known], color=colour, linestyle=line, linewidth=1.4
        )
        if np.count_nonzero(is_known) == 1:
            # A feature that enters last is a point.
            curve.set(marker="o", markersize=2.5)
        colours.append(colour)
    return colours


def _draw_chosen(ax: Axes, path: SelectionPath, last: int) -> None:
    """Draw a line at the size that a rule chose."""
    choice = path.size_choice
    if choice is None or choice.rule == "given" or choice.size > last:
        return
    label = f"{parts.count_features(choice.size)} (rule '{choice.rule}')"
    if not choice.size:
        ax.plot([], [], linestyle="none", label=f"{label}: the mean")
        return
    ax.axvline(choice.size, color=parts.RED, linewidth=1.0, linestyle=":", label=label)


def _write_names(ax: Axes, last: int, names: list[str], ends: Float, colours: list[str]) -> None:
    """Write names at the right ends of the curves, moved apart if they would overlap."""
    from matplotlib.colors import to_rgb

    if not names:
        return
    points = parts.text_size(ax)
    width, height = parts.extent(ax)
    length = min(parts.characters(_NAME_SHARE * width, points), _NAME_LENGTH)
    short_names = [parts.shortened(name, length) for name in names]
    bottom, top = ax.get_ylim()
    gap = _SPACING * points / (72.0 * height) * (top - bottom)
    heights = spread_out(ends, gap, bottom + gap / 2.0, top - gap / 2.0)
    longest = max(map(len, short_names))
    _widen_for_names(ax, last, min(longest * 0.62 * points / (72.0 * width), 0.5))
    left, right = ax.get_xlim()
    step = 0.02 * (right - left)
    for name, end, text_height, colour in zip(short_names, ends, heights, colours, strict=True):
        ax.plot([last, last + 1.6 * step], [end, text_height], color=colour, linewidth=0.6)
        where = (last + 2.0 * step, text_height)
        ink = tuple(_INK * part for part in to_rgb(colour))
        # LaTeX must not interpret names.
        ax.text(*where, name, color=ink, fontsize=points, va="center", usetex=False)


def _widen_for_names(ax: Axes, last: int, share: float) -> None:
    """Extend the x range for names to the right; the axis line ends with the curves."""
    left = ax.get_xlim()[0]
    ticks = [tick for tick in ax.get_xticks() if left <= tick <= last]
    ax.set_xlim(left, last + (last - left) * (share + 0.05) / (1.0 - share - 0.05))
    ax.set_xticks(ticks)
    ax.spines["bottom"].set_bounds(left, last)


def spread_out(wanted: Float, gap: float, low: float, high: float) -> Float:
    """Return positions at least `gap` apart, as near as possible to those wanted.

    They lie between `low` and `high`, and are evenly spread if the range is too small.
    """
    count = len(wanted)
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = np.argsort(wanted, kind="stable")
    # Minus the gaps, positions may be equal but not descend: blocks of equals take their mean.
    steps = gap * np.arange(count)
    blocks: list[tuple[float, int]] = []
    for value in np.clip(wanted[order], low, high) - steps:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] >= mean:
            before, count_before = blocks.pop()
            mean = (before * count_before + mean * size) / (count_before + size)
            size += count_before
        blocks.append((mean, size))
    placed = np.concatenate([np.full(size, mean) for mean, size in blocks])
    result = np.empty(count)
    result[order] = np.clip(placed, low, high - steps[-1]) + steps
    return result
