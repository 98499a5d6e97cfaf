"""The plot of an assessment: the selection's own estimate and the test loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import with_error
from ..assess import PathAssessment, PermutationNull, measure_in_words
from . import _parts as parts
from ._null import check_null, draw_null

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_RANDOM: dict[str, Any] = {"color": parts.GREEN, "linestyle": "-.", "linewidth": 1.3}
# Longer descriptions of inner folds do not fit into a legend.
_FOLDS_LENGTH = 16
# Labels of the legend: in full, and short for one column of a paper.
_WORDS = {
    "test": ("test ± standard error", "test ± s.e."),
    "test alone": ("test", "test"),
    "random": ("random features, test", "random features"),
}

Entry = tuple[Any, str]


def plot_assessment(
    assessment: PathAssessment,
    null: PermutationNull | None = None,
    *,
    ax: Axes | None = None,
    level: float = 0.9,
    log_x: bool | None = None,
) -> Axes:
    """Plot the test loss and the selection's own estimate by number of features.

    The plot also shows random features, the model without features and, if `null` is given, the
    losses on permuted targets; compare the latter with the selection's own estimate, not with the
    test loss. The distance between the selection's own curve and the test curve is its optimism.

    A ring marks the loss to report, at the number of features. If that was chosen in each fold, the
    ring is at the median of the chosen sizes, with a tick at each of them.

    Parameters
    ----------
    assessment : PathAssessment
        The result of `cross_validate_path`.
    null : PermutationNull, optional
        The result of `permutation_null` with the same measure.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    level : float, default=0.9
        The share of permutations in the band.
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
    >>> from greedyrls.assess import cross_validate_path, permutation_null
    >>> from greedyrls.plots import plot_assessment
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> assessment = cross_validate_path(X, y, 5, alpha=0.01)
    >>> null = permutation_null(X, y, 5, alpha=0.01, n_permutations=19)
    >>> plot_assessment(assessment, null).get_ylabel()
    'mean squared error'
    """
    _check(assessment, null)
    band = None if null is None else null.band(level)
    if ax is None:
        ax = parts.new_axes()
    sizes = assessment.sizes
    entries = [
        *_draw_test(ax, assessment),
        *_draw_own(ax, assessment),
        *([] if null is None or band is None else [_entry(*draw_null(ax, null, band, level))]),
        *_draw_random(ax, assessment),
        *_draw_initial_loss(ax, assessment),
        *_draw_estimate(ax, assessment),
    ]
    curves = [assessment.test[0], assessment.selection[0], assessment.random[0]]
    parts.use_loss_axis(ax, *curves, *(band or ()))
    parts.use_size_axis(ax, len(sizes), log_x)
    parts.hide_frame(ax)
    parts.set_labels(ax, "number of features", _measure(assessment))
    parts.place_legend(ax, [handle for handle, _ in entries], [label for _, label in entries])
    return ax


def _check(assessment: object, null: object) -> None:
    if not isinstance(assessment, PathAssessment):
        raise TypeError(
            "plot_assessment takes a PathAssessment (of greedyrls.assess.cross_validate_path), got "
            f"{parts.shown(assessment)}."
        )
    check_null(null, assessment.measure, "assessment")


def _entry(area: Artist | None, line: Artist) -> Entry:
    """Return an entry of the legend: a line, over its band if it has one."""
    return line if area is None else (area, line), str(line.get_label())


def _word(ax: Axes, name: str) -> str:
    return _WORDS[name][parts.is_narrow(ax)]


def _measure(assessment: PathAssessment) -> str:
    words = measure_in_words(assessment.measure)
    return "loss" if words == "<lambda>" else parts.plain(words)


def _draw_test(ax: Axes, assessment: PathAssessment) -> list[Entry]:
    sizes, (mean, error) = assessment.sizes, assessment.test
    area = parts.band(ax, sizes, mean - error, mean + error, color=parts.BLUE, alpha=0.2)
    label = _word(ax, "test alone" if area is None else "test")
    style = parts.main_curve(ax, len(sizes))
    return [_entry(area, parts.curve(ax, sizes, mean, **style, zorder=3, label=label))]


def _draw_own(ax: Axes, assessment: PathAssessment) -> list[Entry]:
    style = {**parts.OWN, "label": _own_words(ax, assessment)}
    return [_entry(None, parts.curve(ax, assessment.sizes, assessment.selection[0], **style))]


def _own_words(ax: Axes, assessment: PathAssessment) -> str:
    """Return the criterion of the selection in words, without the loss."""
    how = assessment.criterion.rsplit(",", 1)[0]
    how = parts.plain(how) if len(how) <= _FOLDS_LENGTH else "inner folds"
    return how if parts.is_narrow(ax) else f"selection's own ({how})"


def _draw_random(ax: Axes, assessment: PathAssessment) -> list[Entry]:
    mean, error = assessment.random
    if not np.isfinite(mean).any():
        return []
    sizes, style = assessment.sizes, {**_RANDOM, "label": _word(ax, "random")}
    area = parts.band(ax, sizes, mean - error, mean + error, color=parts.GREEN, alpha=0.12)
    return [_entry(area, parts.curve(ax, sizes, mean, **style))]


def _draw_initial_loss(ax: Axes, assessment: PathAssessment) -> list[Entry]:
    initial = assessment.initial_loss
    if not np.isfinite(initial):
        return []
    return [_entry(None, ax.axhline(initial, **parts.WITHOUT, label="no features"))]


def _draw_estimate(ax: Axes, assessment: PathAssessment) -> list[Entry]:
    """Draw a ring at the loss to report, and a tick at each chosen size if these differ."""
    mean, error = assessment.estimate
    if not np.isfinite(mean):
        return []
    sizes = assessment.chosen_sizes
    low, high = int(sizes.min()), int(sizes.max())
    if low < high:
        style: dict[str, Any] = {"color": parts.RED, "linewidth": 1.0, "zorder": 3.5}
        ax.plot(np.sort(sizes), np.full(len(sizes), mean), marker="|", markersize=6.0, **style)
    several = f"{low} to {high}{'' if parts.is_narrow(ax) else ' features'}"
    described = parts.count_features(high) if low == high else several
    label = f"{described}: {with_error(mean, error)}"
    (ring,) = ax.plot([float(np.median(sizes))], [mean], **parts.mark(ax), label=label)
    return [_entry(None, ring)]
