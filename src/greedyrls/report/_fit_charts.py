"""Small charts of how predictions compare with what was observed, and of coefficients, as SVG.

They stand side by side where there is room, and one below the other on a telephone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base import Float
from ..app import SelectionResult, in_terms_of
from ..assess import ROC_GRID, Predictions
from ..path import t_quantile
from ..plots import Axis, Plot, label, tag
from ._frames import NARROW, chart
from ._names import Name, Names
from ._words import count, number, percent, plain_name

_SIZE = (360.0, 320.0)
_STYLE = NARROW.style(top=34.0, right=14.0, bottom=46.0, side=0.0)
_TICKS = 5
_LINE = {"class_": "line"}
_WITHOUT = {"class_": "without"}
# Room at the ends of an axis, as a share of its range.
_MARGIN = 0.04
# A chart of more coefficients than this is too long; the table has all.
MOST_COEFFICIENTS = 30
# Of a class in the table of classes.
_CLASS_LENGTH = 24
_LEVEL = 0.95
_SHARES = (0.0, 1.0)


class Picture(NamedTuple):
    """A drawing with a heading."""

    heading: str
    svg: str


class Confusion(NamedTuple):
    """A table of classes against predicted classes."""

    classes: list[str]
    rows: list[list[tuple[str, str, int]]]  # count, share of the class, shade from 0 to 8
    is_weighted: bool


class Interval(NamedTuple):
    """A coefficient with its interval, on the chart from 0 to 100."""

    name: Name
    text: str
    place: float
    low: float
    high: float


class Intervals(NamedTuple):
    """Standardised coefficients with their intervals."""

    rows: list[Interval]
    zero: float
    note: str


def draw_fit(result: SelectionResult) -> list[Picture]:
    """Charts of the predictions of a result; none where there are none."""
    predictions = result.predictions
    if predictions is None:
        return []
    if result.classes is None:
        return _regression_charts(predictions, plain_name(result.target))
    found = []
    if predictions.roc is not None:
        found.append(_roc_chart(predictions.roc, result))
    if predictions.reliability is not None:
        found.append(_reliability_chart(predictions.reliability, result))
    return found


def fit_note(result: SelectionResult) -> str:
    """Which rows the charts show."""
    predictions = result.predictions
    if predictions is None:
        return ""
    shown = ""
    if len(predictions.observed) and predictions.n_rows > len(predictions.observed):
        shown = (
            f" {count(len(predictions.observed))} of {count(predictions.n_rows)} rows, drawn at "
            "random, are shown."
        )
    if predictions.source == "test folds":
        told = "Rows of the test folds: neither features nor coefficients were chosen with them."
    else:
        left = "each row" if predictions.source == "leave-one-out" else "each fold"
        (told,) = in_terms_of(
            result,
            [
                f"With {left} left out when coefficients were fitted; but all rows took part in "
                "the selection, so this is slightly optimistic. Run assess.cross_validate_path for "
                "an honest estimate."
            ],
        )
    return told + shown


def _regression_charts(predictions: Predictions, target: str) -> list[Picture]:
    observed, predicted = predictions.observed, predictions.predicted
    if not len(observed):
        return []
    both = _range(np.concatenate([observed, predicted]))
    plot = _plot(both, both)
    first = _drawn(
        plot,
        "Predicted against observed",
        _fit_in_words(observed, predicted, target),
        (f"observed {target}", f"predicted {target}"),
        _straight(plot, both, both),
        plot.dots(observed, predicted, 2.6, class_="points"),
    )
    residuals = observed - predicted
    plot = _plot(_range(predicted), _range(residuals))
    second = _drawn(
        plot,
        "Residuals",
        f"Residuals from {number(float(residuals.min()), 3)} to "
        f"{number(float(residuals.max()), 3)}, half of them within "
        f"{number(float(np.median(np.abs(residuals))), 3)} of zero.",
        (f"predicted {target}", "observed − predicted"),
        plot.horizontal(0.0, **_WITHOUT),
        plot.dots(predicted, residuals, 2.6, class_="points"),
    )
    return [first, second]


def _fit_in_words(observed: Float, predicted: Float, target: str) -> str:
    spread = float(np.std(observed)) * float(np.std(predicted))
    correlation = ""
    if spread > 0.0:
        value = float(np.corrcoef(observed, predicted)[0, 1])
        correlation = f" Their correlation is {value:.2f}."
    return (
        f"{count(len(observed))} rows: observed {target} from {number(float(observed.min()), 3)} "
        f"to {number(float(observed.max()), 3)}, predicted from "
        f"{number(float(predicted.min()), 3)} to {number(float(predicted.max()), 3)}.{correlation}"
    )


def _roc_chart(roc: Float, result: SelectionResult) -> Picture:
    area = float(np.trapezoid(roc, ROC_GRID))
    auc = None if result.class_rates is None else result.class_rates.auc
    told = f"AUC {area if auc is None else auc:.3f}"
    positive = plain_name(str((result.classes or ("", "?"))[1]), _CLASS_LENGTH)
    plot = _plot(_SHARES, _SHARES)
    return _drawn(
        plot,
        "ROC curve",
        f"{told}. Half of the cases are found at a false positive rate of "
        f"{number(float(ROC_GRID[np.argmax(roc >= 0.5)]), 2)}.",
        ("false positive rate", f"true positive rate ({positive})"),
        _straight(plot, _SHARES, _SHARES),
        tag("g", plot.line(ROC_GRID, roc, _LINE, _LINE), class_="curve test"),
        label(told, plot.right - 6.0, plot.up.start - 10.0, "end", class_="remark"),
    )


def _reliability_chart(reliability: Float, result: SelectionResult) -> Picture:
    weight, chance, event = reliability
    is_known = np.isfinite(chance)
    what = "most probable class"
    if len(result.classes or ()) == 2:
        what = plain_name(str((result.classes or ("", "?"))[1]), _CLASS_LENGTH)
    share = "share that is right" if what == "most probable class" else f"observed share of {what}"
    plot = _plot(_SHARES, _SHARES)
    weight, chance, event = weight[is_known], chance[is_known], event[is_known]
    # Wilson's, which stays within 0 and 1.
    z = 1.96
    middle = (event + z * z / (2.0 * weight)) / (1.0 + z * z / weight)
    half = z / (1.0 + z * z / weight)
    half = half * np.sqrt(event * (1.0 - event) / weight + z * z / (4.0 * weight**2))
    told = "; ".join(
        f"{number(float(x), 2)} predicted, {number(float(y), 2)} observed ({number(float(w), 3)})"
        for w, x, y in zip(weight, chance, event, strict=True)
    )
    return _drawn(
        plot,
        "Reliability of the probabilities",
        f"By ranges of probability (rows in brackets): {told}.",
        (f"predicted probability of {what}", share),
        _straight(plot, _SHARES, _SHARES),
        plot.errors(chance, middle - half, middle + half, class_="bars test"),
        tag("g", plot.dots(chance, event, 4.0, class_="points"), class_="curve test"),
    )


def _plot(across: tuple[float, float], up: tuple[float, float]) -> Plot:
    return Plot.of(_SIZE, _STYLE, (*across, False), (*up, False), _TICKS)


def _straight(plot: Plot, x: tuple[float, float], y: tuple[float, float]) -> str:
    """A dotted line from one point to another."""
    return plot.line(np.array(x), np.array(y), _WITHOUT, _WITHOUT)


def _drawn(
    plot: Plot, title: str, description: str, axes: tuple[str, str], *inside: str
) -> Picture:
    """A chart with its axes."""
    below, beside = plot.across.ticks(_TICKS), plot.up.ticks(_TICKS)
    scale = plot.scale(below, beside, axes[0], class_="measure")
    measure = label(axes[1], 0.0, 16.0, class_="measure")
    identity = f"fit-{title.split()[0].lower()}"
    frame = tag("g", scale, measure, class_="scale")
    return Picture(title, chart(_SIZE, identity, title, description, frame, *inside))


def _range(values: Float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * ((high - low) or abs(high) or 1.0)
    return low - margin, high + margin


def confusion_table(result: SelectionResult) -> Confusion | None:
    """Who is taken for whom, if the result is one of classes, and they are few."""
    predictions = result.predictions
    if predictions is None or predictions.confusion is None or result.classes is None:
        return None
    table = predictions.confusion
    totals = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, totals, out=np.zeros_like(table), where=totals > 0.0)
    is_whole = bool((table == np.round(table)).all())
    return Confusion(
        [plain_name(str(label), _CLASS_LENGTH) for label in result.classes],
        [
            [
                (
                    count(round(value)) if is_whole else number(value),
                    percent(share),
                    # The darkest shade of the style sheet is 0.
                    8 - min(8, int(8.99 * share)),
                )
                for value, share in zip(values, own, strict=True)
            ]
            for values, own in zip(table.tolist(), shares.tolist(), strict=True)
        ],
        not is_whole,
    )


def coefficient_intervals(result: SelectionResult, names: Names) -> Intervals | None:
    """Standardised coefficients of the chosen model, largest first, with 95 % intervals.

    None of several outputs, of too many features, and where errors are not known.
    """
    errors = result.coefficient_errors
    if errors is None or len(errors) != 1 or not 0 < errors.shape[1] - 1 <= MOST_COEFFICIENTS:
        return None
    own = errors[0, 1:]
    values = result.standardised_coefficients(result.size)[0]
    if not np.isfinite(own).all():
        return None
    width = t_quantile(_LEVEL, result.data.n_rows, None) * own
    lows, highs = values - width, values + width
    axis = Axis(min(0.0, float(lows.min())), max(0.0, float(highs.max())), 0.0, 100.0)
    indices = result.path.features(result.size).tolist()
    rows = [
        Interval(
            names.of(indices[place]),
            f"{number(float(values[place]), 3)} "
            f"({number(float(lows[place]), 3)} to {number(float(highs[place]), 3)})",
            axis.place(float(values[place])),
            axis.place(float(lows[place])),
            axis.place(float(highs[place])),
        )
        for place in np.argsort(-np.abs(values), kind="stable").tolist()
    ]
    note = (
        "95% intervals as if these features had been given in advance: that they were selected "
        "with the same rows makes the intervals too narrow, and a penalty draws coefficients "
        "towards zero."
    )
    return Intervals(rows, axis.place(0.0), note)
