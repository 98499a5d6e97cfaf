"""The picture of coefficients along a path."""

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

# Longer paths are drawn at so many sizes: more cannot be told apart, and each takes a solution.
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
# From one name to the next, in sizes of the font.
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
    # The largest at the right end, where the names are.
    order = np.argsort(-np.abs(profiles[-1]), kind="stable")
    named = np.sort(order[:n_labels])
    _draw_others(ax, sizes, profiles, np.sort(order[n_labels:]))
    colours = _draw_named(ax, sizes, profiles, named)
    # Not across the names.
    ax.plot([1, last], [0.0, 0.0], color="0.55", linewidth=0.8, zorder=1)
    parts.hide_frame(ax)
    parts.use_size_axis(ax, last, is_log=False)
    parts.set_labels(ax, "number of features", _measure(path, standardized, target))
    names = path.names(last)
    _write_names(ax, last, [names[place] for place in named], profiles[-1, named], colours)
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
    """Sizes to draw, ascending: all, or some that are evenly spread."""
    if last <= _MOST_SIZES:
        return np.arange(1, last + 1)
    return np.unique(np.linspace(1, last, _MOST_SIZES).round().astype(np.intp))


def _profiles(path: SelectionPath, sizes: Sizes, target: int | None, standardized: bool) -> Float:
    """Coefficients by size and feature of the last size; not a number where it is not in."""
    features = path.sets[int(sizes[-1]) - 1].features
    place_of = {feature: place for place, feature in enumerate(features)}
    values = np.full((len(sizes), len(features)), np.nan)
    for row, (size, solution) in enumerate(zip(sizes.tolist(), _models(path, sizes), strict=True)):
        own = _one_value(solution, target)
        for feature, value in zip(path.sets[size - 1].features, own, strict=True):
            if feature in place_of:
                values[row, place_of[feature]] = value
    if not standardized:
        return values
    squares = np.maximum(np.diagonal(path.moments.of(features).gram), 0.0)
    return np.asarray(values * np.sqrt(squares / path.settings.n_samples))


def _models(path: SelectionPath, sizes: Sizes) -> list[Float]:
    """Coefficients (k × t) of some sizes."""
    if not path.is_nested:
        return [path._solve(int(size)) for size in sizes]
    penalties = np.full(len(sizes), path.settings.alpha)
    if path.refit_alphas is not None:
        penalties = np.array(path.refit_alphas)[sizes - 1]
    models: list[Float] = [np.empty((0, 0))] * len(sizes)
    for penalty in np.unique(penalties):
        own = np.flatnonzero(penalties == penalty)
        for row, solution in zip(own, _solutions(path, float(penalty), sizes[own]), strict=True):
            models[row] = solution
    return models


def _one_value(solution: Float, target: int | None) -> Float:
    """Of coefficients (k × t): those of one target, or their norm, (k)."""
    if target is not None or solution.shape[1] == 1:
        return solution[:, target or 0]
    return np.asarray(np.linalg.norm(solution, axis=1))


def _solutions(path: SelectionPath, penalty: float, sizes: Sizes) -> Iterator[Float]:
    """Coefficients (k × t) for each of some sizes, all with the same penalty.

    With the factor LL' of all features, and z = L⁻¹c, those of the first k are the sum of the
    first k rows of L⁻¹, each times its entry of z: a single factor serves all sizes.
    """
    moments = path.moments.of(path.sets[int(sizes[-1]) - 1].features)
    try:
        factor = linalg.cholesky(moments.penalised(penalty), lower=True, overwrite_a=True)
    except linalg.LinAlgError:
        # Of some sizes there is none; the path knows what to do there.
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
    """What the curves are, in words."""
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


def _draw_others(ax: Axes, sizes: Sizes, profiles: Float, places: Sizes) -> None:
    """Features without a name, in grey behind the others."""
    from matplotlib.collections import LineCollection

    if not len(places):
        return
    curves = [np.column_stack((sizes, profiles[:, place])) for place in places]
    curves = [curve[np.isfinite(curve[:, 1])] for curve in curves]
    lines = LineCollection(
        curves,
        colors="0.75",
        linewidths=0.7,
        zorder=1.5,
        # So many lines make a large file in vector formats.
        rasterized=len(places) * len(sizes) > 20_000,
    )
    ax.add_collection(lines, autolim=True)
    ax.autoscale_view()


def _draw_named(ax: Axes, sizes: Sizes, profiles: Float, places: Sizes) -> list[str]:
    """Features with a name; the colours that they have."""
    colours = []
    for number, place in enumerate(places):
        colour = _COLOURS[number % len(_COLOURS)]
        line = _STYLES[number // len(_COLOURS) % len(_STYLES)]
        values = profiles[:, place]
        known = np.isfinite(values)
        (curve,) = ax.plot(sizes[known], values[known], color=colour, linestyle=line, linewidth=1.4)
        if np.count_nonzero(known) == 1:
            # One that enters last is a point.
            curve.set(marker="o", markersize=2.5)
        colours.append(colour)
    return colours


def _draw_chosen(ax: Axes, path: SelectionPath, last: int) -> None:
    """A line at the size that a rule chose."""
    choice = path.size_choice
    if choice is None or choice.rule == "given" or choice.size > last:
        return
    label = f"{parts.count_features(choice.size)} (rule '{choice.rule}')"
    if not choice.size:
        ax.plot([], [], linestyle="none", label=f"{label}: the mean")
        return
    ax.axvline(choice.size, color=parts.RED, linewidth=1.0, linestyle=":", label=label)


def _write_names(ax: Axes, last: int, names: list[str], ends: Float, colours: list[str]) -> None:
    """Names at the right ends of the curves, moved apart where they would overlap."""
    from matplotlib.colors import to_rgb

    if not names:
        return
    points = parts.text_size(ax)
    width, height = parts.extent(ax)
    room = min(parts.characters(_NAME_SHARE * width, points), _NAME_LENGTH)
    short_names = [parts.shortened(name, room) for name in names]
    bottom, top = ax.get_ylim()
    gap = _SPACING * points / (72.0 * height) * (top - bottom)
    places = spread_out(ends, gap, bottom + gap / 2.0, top - gap / 2.0)
    longest = max(map(len, short_names))
    _make_room(ax, last, min(longest * 0.62 * points / (72.0 * width), 0.5))
    left, right = ax.get_xlim()
    step = 0.02 * (right - left)
    for name, end, place, colour in zip(short_names, ends, places, colours, strict=True):
        ax.plot([last, last + 1.6 * step], [end, place], color=colour, linewidth=0.6)
        where = (last + 2.0 * step, place)
        ink = tuple(_INK * part for part in to_rgb(colour))
        # A name is not a formula for LaTeX either.
        ax.text(*where, name, color=ink, fontsize=points, va="center", usetex=False)


def _make_room(ax: Axes, last: int, share: float) -> None:
    """Room for names to the right of the curves; the axis itself ends with the curves."""
    left = ax.get_xlim()[0]
    ticks = [tick for tick in ax.get_xticks() if left <= tick <= last]
    ax.set_xlim(left, last + (last - left) * (share + 0.05) / (1.0 - share - 0.05))
    ax.set_xticks(ticks)
    ax.spines["bottom"].set_bounds(left, last)


def spread_out(wanted: Float, gap: float, low: float, high: float) -> Float:
    """Places at least `gap` apart, as near as possible to those wanted, from `low` to `high`.

    Where there is not enough room they are evenly spread.
    """
    count = len(wanted)
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = np.argsort(wanted, kind="stable")
    # Less the gaps, places may be equal but not descend: blocks of equals take their mean.
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
