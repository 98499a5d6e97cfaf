"""The plot of a path: loss by number of features."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from .._base import Float, number
from ..assess import PermutationNull
from ..path import SelectionPath
from . import _parts as parts
from ._null import check_null, draw_null

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Feature names are written at the points of a path up to this length, cut to this many characters.
_NAMED_STEPS = 40
_NAME_LENGTH = 32
# Names take at most this share of the height of the axes.
_NAMES_SHARE = 0.45
# Characters on a line beside an axis.
_LINE = 34
# The loss without features is drawn if it is at most this many times as far away as the losses
# of the path are apart; otherwise only the legend has it.
_NEAR = 2.0

_LOSSES = {
    "squared": "squared loss",
    "absolute": "absolute loss",
    "zero_one": "zero-one error",
    "balanced_zero_one": "balanced zero-one error",
    "auc": "1 − AUC",
}


class Fitted(Protocol):
    """A fitted estimator, whose path is drawn."""

    path_: SelectionPath


def plot_path(
    path: SelectionPath | Fitted,
    null: PermutationNull | None = None,
    *,
    ax: Axes | None = None,
    chosen: int | None = None,
    level: float = 0.9,
    log_x: bool | None = None,
) -> Axes:
    """Plot the loss by number of features, with standard errors if available.

    With a penalty chosen by the nested rule this is the loss of the models on the path in the outer
    folds, next to the loss of the search. Names of features are shown where they fit.

    Parameters
    ----------
    path : SelectionPath, or a fitted estimator
        The path, or a fitted estimator that has one.
    null : PermutationNull, optional
        The result of `permutation_null` with the loss of the path as its measure.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    level : float, default=0.9
        The share of permutations in the band.
    chosen : int, optional
        The size to mark; by default the one that a size rule chose, otherwise that of smallest
        loss. 0 marks the line of no features.
    log_x : bool, optional
        Whether sizes are on a logarithmic axis; by default if there are more than 100.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import greedy_path
    >>> from greedyrls.plots import plot_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> plot_path(greedy_path(X, y, 5, alpha=0.01, cv=10)).get_ylabel()
    'held-out squared loss (10-fold)'
    """
    path = as_path(path, "plot_path")
    size, _ = _marked_size(path, chosen)
    measure, search = measure_with_folds(path), None
    main = Line(measure_of_path(path), path.losses, path.standard_errors)
    if path.held_out is not None and np.isfinite(path.held_out[0][max(size, 1) - 1]):
        # Losses of the models on the path, whose penalty differs from that of the search.
        main = Line("models, held-out in outer folds", *path.held_out)
        measure = loss_name(path.settings.loss)
        penalty = number(path.settings.alpha, 3)
        search = Line(f"search, {_kind(path)}, α = {penalty}", path.losses, path.standard_errors)
    elif path.refit_alphas is not None:
        penalty = number(path.settings.alpha, 3)
        main = main._replace(label=f"{main.label} of the search, α = {penalty}")
    return draw_path(
        path, main, search, measure, null, ax=ax, chosen=chosen, level=level, log_x=log_x
    )


class Line(NamedTuple):
    """A loss by number of features, with its label in the legend."""

    label: str
    losses: Float  # (k)
    errors: Float  # (k)


def draw_path(
    path: SelectionPath,
    main: Line,
    second: Line | None,
    measure: str,
    null: PermutationNull | None = None,
    *,
    ax: Axes | None = None,
    chosen: int | None = None,
    level: float = 0.9,
    log_x: bool | None = None,
) -> Axes:
    """Draw the main line with its errors and the chosen size, and a second line if given."""
    check_null(null, path.settings.loss, "path")
    band = None if null is None else null.band(level)
    size, why = _marked_size(path, chosen)
    if ax is None:
        ax = parts.new_axes()
    sizes = np.arange(1, len(path) + 1)
    losses, errors = main.losses, main.errors
    if second is not None:
        ax.plot(sizes, second.losses, **parts.OWN, label=second.label)
    style = {"color": parts.BLUE, "alpha": 0.2, "label": "± standard error"}
    parts.band(ax, sizes, losses - errors, losses + errors, **style)
    ax.plot(sizes, losses, label=main.label, **parts.main_curve(ax, len(path)))
    if null is not None and band is not None:
        draw_null(ax, null, band, level)
    others = main if second is None else second
    _draw_initial_loss(ax, path, others, "" if size else why or " (chosen)")
    if size:
        label = f"{parts.count_features(size)}{why}: {number(float(losses[size - 1]))}"
        ax.plot([size], [losses[size - 1]], **parts.mark(ax), label=label)
    parts.use_loss_axis(ax, losses, others.losses, *(band or ()))
    if log_x or not _write_names(ax, path):
        parts.use_size_axis(ax, len(path), log_x)
    parts.hide_frame(ax)
    parts.set_labels(ax, "number of features", measure)
    parts.place_legend(ax, *ax.get_legend_handles_labels())
    return ax


def as_path(path: object, function: str) -> SelectionPath:
    """Return a path, or the path of a fitted estimator."""
    result = getattr(path, "path_", path)
    if not isinstance(result, SelectionPath):
        raise TypeError(
            f"{function} takes a SelectionPath (of greedy_path) or a fitted estimator, got "
            f"{parts.shown(path)}."
        )
    return result


def measure_of_path(path: SelectionPath) -> str:
    """Return the losses of a path in words."""
    return f"{_kind(path)} {loss_name(path.settings.loss)}"


def measure_with_folds(path: SelectionPath) -> str:
    """Return the losses of a path in words with the folds, on several lines if it is long."""
    measure, cv = measure_of_path(path), path.settings.cv
    if cv == "loo":
        return measure
    folds = f"({parts.plain(cv)})"
    one_line = f"{measure} {folds}"
    return one_line if len(one_line) <= _LINE else f"{measure}\n{textwrap.fill(folds, _LINE)}"


def loss_name(loss: str) -> str:
    """Return a loss in words."""
    name = loss.removeprefix("callable:")
    if name == loss:
        return _LOSSES.get(loss, "loss")
    return "loss" if name == "<lambda>" else parts.plain(name)


def _kind(path: SelectionPath) -> str:
    return "leave-one-out" if path.settings.cv == "loo" else "held-out"


def _marked_size(path: SelectionPath, chosen: int | None) -> tuple[int, str]:
    """Return the size to mark on a path, and why in words."""
    if chosen is not None:
        return path._size(chosen), ""
    choice = path.size_choice
    if choice is None or choice.rule == "given":
        return path.best_size, ""
    return path.chosen_size, f" (rule '{choice.rule}')"


def _write_names(ax: Axes, path: SelectionPath) -> bool:
    """Label sizes with the names of features if they fit; return whether they do."""
    width, height = parts.extent(ax)
    points = parts.text_size(ax, "xtick.labelsize")
    points = points if parts.is_narrow(ax) else points / 1.2
    length = min(parts.characters(_NAMES_SHARE * height, points), _NAME_LENGTH)
    names = path.changes()[:_NAMED_STEPS]
    if len(path) > min(_NAMED_STEPS, width * 72.0 / (1.3 * points)):
        return False
    if parts.is_narrow(ax) and max(map(len, names)) + len(f"{len(path)}  ") > length:
        # Too little of the names, or of the curve, would be left.
        return False
    is_upright = len(path) > width * 72.0 / (2.6 * points)
    labels = [
        f"{size}  {parts.shortened(name, length)}" for size, name in enumerate(names, start=1)
    ]
    ax.set_xticks(np.arange(1, len(path) + 1), labels)
    ax.tick_params(axis="x", rotation=90 if is_upright else 60, labelsize=points)
    for tick in ax.get_xticklabels():
        tick.set_horizontalalignment("right")
        tick.set_rotation_mode("anchor")
        tick.set_verticalalignment("center" if is_upright else "top")
        # LaTeX must not interpret names.
        tick.set_usetex(False)
    return True


def _draw_initial_loss(ax: Axes, path: SelectionPath, line: Line, why: str) -> None:
    """Draw the loss without features; `why` says why it is chosen, if it is."""
    initial = path.initial_loss
    errors = np.nan_to_num(line.errors)
    low, high = line.losses - errors, line.losses + errors
    is_near = len(path) == 1 or _is_near(initial, low, high)
    label = f"no features{why}: {number(initial)}{'' if is_near else ', not shown'}"
    if is_near:
        ax.axhline(initial, **parts.WITHOUT, label=label)
    else:
        ax.plot([], [], linestyle="none", label=label)


def _is_near(value: float, low: Float, high: Float) -> bool:
    """Whether drawing a value leaves the curves readable."""
    bottom, top = low.min(), high.max()
    reach = _NEAR * (top - bottom)
    return bool(bottom - reach <= value <= top + reach)
