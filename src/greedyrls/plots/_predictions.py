"""Plots of predictions of held-out rows against observed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from .._base import Float
from ..assess import ROC_GRID, PathAssessment, Predictions
from . import _parts as parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["observed", "residuals", "confusion", "roc", "reliability"]
_DIAGONAL: dict[str, Any] = {"color": "0.55", "linestyle": ":", "linewidth": 1.2, "zorder": 1}
# Most characters of a class name in a table.
_CLASS_LENGTH = 16
# Cells at least this dark have light text.
_DARK = 0.55


def plot_predictions(
    assessment: PathAssessment | Predictions, kind: Kind | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot predictions of held-out rows against the observed values.

    Parameters
    ----------
    assessment : PathAssessment or Predictions
        The result of `cross_validate_path`, or its `predictions`.
    kind : str, default: the first that there is
        For a regression "observed" (predicted against observed) or "residuals"; for a
        classification "confusion" (confusion matrix), "roc" (two classes) or "reliability"
        (predicted probabilities against observed shares).
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls.assess import cross_validate_path
    >>> from greedyrls.plots import plot_predictions
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> ax = plot_predictions(cross_validate_path(X, y, 5, alpha=0.01, n_random=0))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observed', 'predicted')
    """
    classes: tuple[Any, ...] | None = None
    predictions: Predictions | None
    if isinstance(assessment, Predictions):
        predictions = assessment
    elif isinstance(assessment, PathAssessment):
        predictions = assessment.predictions
        if assessment.class_rates is not None:
            classes = assessment.class_rates.classes
    else:
        raise TypeError(
            "plot_predictions takes a PathAssessment or its predictions, got "
            f"{parts.shown(assessment)}."
        )
    if predictions is None:
        raise ValueError(
            "This assessment was read from a file of an older release, which has no predictions."
        )
    kinds = _kinds(predictions)
    if kind is not None and kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {get_args(Kind)}, got {kind!r}.")
    if not kinds or (kind is not None and kind not in kinds):
        has = ", ".join(repr(available) for available in kinds) or "nothing to draw"
        raise ValueError(f"kind={kind!r} is not in these predictions; they have {has}.")
    if ax is None:
        ax = parts.new_axes(4.8, 4.5)
    _DRAW[kind or kinds[0]](ax, predictions, classes)
    return ax


def _kinds(predictions: Predictions) -> list[Kind]:
    """Return what can be drawn."""
    is_available: dict[Kind, bool] = {
        "observed": len(predictions.observed) > 0,
        "residuals": len(predictions.observed) > 0,
        "confusion": predictions.confusion is not None,
        "roc": predictions.roc is not None,
        "reliability": predictions.reliability is not None,
    }
    return [kind for kind, available in is_available.items() if available]


def _observed(ax: Axes, predictions: Predictions, classes: Any) -> None:
    observed, predicted = predictions.observed, predictions.predicted
    values = np.concatenate([observed, predicted])
    ends = float(values.min()), float(values.max())
    ax.plot(ends, ends, **_DIAGONAL)
    _scatter(ax, observed, predicted)
    _finish(ax, "observed", "predicted")


def _residuals(ax: Axes, predictions: Predictions, classes: Any) -> None:
    ax.axhline(0.0, **_DIAGONAL)
    _scatter(ax, predictions.predicted, predictions.observed - predictions.predicted)
    _finish(ax, "predicted", "observed − predicted")


def _scatter(ax: Axes, across: Float, up: Float) -> None:
    ax.plot(across, up, "o", color=parts.BLUE, alpha=0.45, markersize=4.0, markeredgewidth=0.0)


def _roc(ax: Axes, predictions: Predictions, classes: Any) -> None:
    assert predictions.roc is not None
    ax.plot([0.0, 1.0], [0.0, 1.0], **_DIAGONAL)
    area = float(np.trapezoid(predictions.roc, ROC_GRID))
    ax.plot(ROC_GRID, predictions.roc, color=parts.BLUE, label=f"AUC {area:.2f}")
    of_class = "" if classes is None else f" ({_named(classes[1])})"
    _finish(ax, "false positive rate", f"true positive rate{of_class}")
    ax.legend(loc="lower right", frameon=False, fontsize=parts.text_size(ax))


def _reliability(ax: Axes, predictions: Predictions, classes: Any) -> None:
    assert predictions.reliability is not None
    _, chance, event = predictions.reliability
    is_known = np.isfinite(chance)
    ax.plot([0.0, 1.0], [0.0, 1.0], **_DIAGONAL)
    ax.plot(
        chance[is_known], event[is_known], "o-", color=parts.BLUE, markersize=5.0, linewidth=1.3
    )
    event_words, share = "the most probable class", "share that is right"
    if classes is not None and len(classes) == 2:
        event_words, share = _named(classes[1]), f"observed share of {_named(classes[1])}"
    elif predictions.confusion is not None and len(predictions.confusion) == 2:
        event_words, share = "the second class", "observed share"
    _finish(ax, f"predicted probability of {event_words}", share)


def _confusion(ax: Axes, predictions: Predictions, classes: Any) -> None:
    table = predictions.confusion
    assert table is not None
    totals = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, totals, out=np.zeros_like(table), where=totals > 0.0)
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    names = [str(place) for place in range(len(table))]
    if classes is not None:
        names = [_named(one) for one in classes]
    ax.set_xticks(range(len(names)), names, rotation=90 if len(names) > 4 else 0)
    ax.set_yticks(range(len(names)), names)
    size = min(parts.text_size(ax), 60.0 / len(names))
    for row, column in np.ndindex(*table.shape):
        value = f"{table[row, column]:,.0f}" if table[row, column] else ""
        colour = "white" if shares[row, column] > _DARK else "black"
        ax.text(column, row, value, ha="center", va="center", color=colour, fontsize=size)
    parts.set_labels(ax, "predicted class", "class")
    parts.set_text_sizes(ax)


def _named(label: Any) -> str:
    return parts.plain(parts.shortened(str(label), _CLASS_LENGTH))


def _finish(ax: Axes, below: str, beside: str) -> None:
    parts.hide_frame(ax)
    parts.set_labels(ax, below, beside)
    parts.set_text_sizes(ax)


_DRAW: dict[Kind, Any] = {
    "observed": _observed,
    "residuals": _residuals,
    "confusion": _confusion,
    "roc": _roc,
    "reliability": _reliability,
}
